#!/usr/bin/env node
// Judge what `yeoul repack` makes as people will meet it: hls.js plays it in Chromium, mediabunny reads it.
//
//   node judge.js --yeoul ../../target/release/yeoul
//   node judge.js … --kind reconnects --kind killed     only these recordings
//   node judge.js … --work FOLDER                       where outputs go, removed afterwards
//   node judge.js … --screenshots FOLDER                a picture of each player there
//
// Each check prints a line; the last one counts them; exit code 1 when one failed.

import { mkdtemp, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { open } from "./browser.js";
import { within } from "./limits.js";
import { CASES, make } from "./outputs.js";
import { judge } from "./playing.js";
import * as reading from "./reading.js";
import { serve } from "./server.js";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(HERE, "../..");

/** Runs checks, prints a line for each, counts. */
class Report {
  passed = 0;
  failed = 0;

  /** Run one check: it throws where something is wrong, and may return a remark. Whether it passed. */
  async check(title, run) {
    const began = performance.now();
    let verdict = "ok  ", remark;
    try {
      remark = await run();
      this.passed += 1;
    } catch (error) {
      [verdict, remark] = ["FAIL", String(error?.message ?? error)];
      this.failed += 1;
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`${verdict} ${title} (${seconds} s)${remark ? `: ${remark}` : ""}`);
    return verdict === "ok  ";
  }
}

const { values } = parseArgs({
  options: {
    yeoul: { type: "string", default: path.join(ROOT, "target/release/yeoul") },
    chromium: { type: "string", default: "/usr/bin/chromium" },
    work: { type: "string", default: path.join(ROOT, "target") },
    kind: { type: "string", multiple: true },
    screenshots: { type: "string" },
  },
});
const unknown = (values.kind ?? []).filter((kind) => !CASES.some((one) => one.kind === kind));
if (unknown.length) {
  console.error(`judge: no recordings ${unknown}; there are ${[...new Set(CASES.map(({ kind }) => kind))].join(", ")}`);
  process.exit(2);
}

const work = await mkdtemp(path.join(values.work, "web-"));
const report = new Report();
const server = await serve({ out: work, lib: path.join(HERE, "node_modules"), page: path.join(HERE, "page") });
const browser = await open(path.join(work, "profile"), values.chromium);
try {
  console.log(`Chromium ${browser.browser().version()}`);
  for (const one of CASES.filter(({ kind }) => !values.kind || values.kind.includes(kind))) {
    const out = path.join(work, `여울 ${one.name.replaceAll("/", " ")}`);
    let made;
    const testdata = path.join(ROOT, "testdata");
    await report.check(`repack ${one.name}`, async () => void (made = await make(one, values.yeoul, testdata, out)));
    if (!made) continue;
    await report.check(`packets ${one.name}`, () => reading.packetsAsWritten(made));
    await report.check(`kept ${one.name}`, () => reading.packetsAsReported(made));
    await report.check(`times ${one.name}`, () => within("times", one.name, () => reading.timesAsListed(made)));
    await judge(report, { ...one, ...made, out }, server, browser, values.screenshots);
  }
} finally {
  await browser.close();
  await server.stop();
  await rm(work, { recursive: true, force: true });
}
console.log(`\n${report.passed} passed, ${report.failed} failed`);
process.exitCode = report.failed ? 1 : 0;
