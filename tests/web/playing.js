// A case played by hls.js in Chromium: what is fetched, buffered, dated, shown, and how far it plays.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { known, within } from "./limits.js";

// Two slow cores decode pictures no faster, and hls.js takes it for a stall when a start is slow for the rate.
const RATE = 2;
// A player finds out at most this long before a hole that it cannot go on, and says so.
const AHEAD = 1;
const AT_A_HOLE = ["bufferStalledError", "bufferSeekOverHole", "bufferNudgeOnStall"];
// Where the pictures change size: those of each run.
const SIZES = { "sps-change": ["1280x720", "640x480"] };

/** Every check of one case on a page of its own. */
export async function judge(report, one, server, browser, screenshots) {
  const base = `${server.origin}/out/${encodeURIComponent(path.basename(one.out))}`;
  const page = await browser.newPage();
  const ask = (name, ...args) => page.evaluate(([name, args]) => window.player[name](...args), [name, args]);
  const check = (title, run) => report.check(`${title} ${one.name}`, () => within(title.split(" ")[0], one.name, run));
  try {
    await page.goto(`${server.origin}/page/index.html`);
    await page.waitForFunction(() => document.title === "ready");
    const stretches = together(one.playlists);
    const foreign = [];
    for (const codec of one.codecs) if (!(await ask("takes", `video/mp4; codecs="${codec}"`))) foreign.push(codec);
    if (foreign.length) {
      await check("refused", () => refused(one, ask, base, foreign));
      return;
    }
    await check("decode", () => decode(one, ask, base));
    if (!(await check("load", () => load(one, stretches, ask, base))) || known("load", one.name)) return;
    const state = await ask("state");
    await check("fetches", () => fetches(one, server.requests, 1));
    await check("buffered", () => covered(one, stretches, state));
    await check("dates", () => dated(one, state));
    const places = stretches.map((stretch) => placed(stretch, state));
    if (places.some(({ pictures }) => pictures)) await check("frames", () => frames(one, places, ask));
    await check("play", () => play(one, stretches, places, ask));
    if (screenshots) await page.screenshot({ path: path.join(screenshots, `${one.name}.png`) });
    for (const hole of one.gaps === "keep" ? holes(places) : []) {
      await check(`cross ${hole.number}`, () => cross(hole, ask));
      await check(`seek ${hole.number}`, () => seekInto(hole, ask));
    }
    await check("fetches-after", () => fetches(one, server.requests));
  } finally {
    await page.close();
  }
}

/** Runs of all playlists by discontinuity: [{run, start, end, tracks, wanted: [{type, sn}]}]. */
function together(playlists) {
  const found = [];
  for (const { type, segments, runs } of playlists) {
    for (const { run, start, end, tracks, segments: own } of runs) {
      let stretch = found.find((one) => one.run === run);
      if (!stretch) found.push((stretch = { run, start, end, tracks: [], wanted: [] }));
      stretch.tracks.push(...tracks.filter(({ packets }) => packets.length));
      stretch.wanted.push(...own.map((segment) => ({ type, sn: segments.indexOf(segment) })));
      stretch.end = Math.max(stretch.end, end);
    }
  }
  return found.sort((a, b) => a.run - b.run);
}

/** A frame of the slowest track, and a little for microseconds in playlists. */
function frame({ tracks }) {
  return Math.max(...tracks.map(({ usual }) => usual)) + 0.001;
}

/** Where hls.js put a stretch: all tracks there, any track there, in the time of the video element. */
function placed(stretch, { mappings }) {
  const mapping = mappings.find(({ run }) => run === stretch.run);
  assert.ok(mapping, `hls.js found no initPTS for run ${stretch.run}`);
  const at = (time) => Math.max(0, time - mapping.seconds);
  return {
    run: stretch.run,
    frame: frame(stretch),
    pictures: stretch.tracks.some(({ kind }) => kind === "video"),
    all: [at(Math.max(...stretch.tracks.map(({ start }) => start))), at(Math.min(...stretch.tracks.map(({ end }) => end)))],
    any: [at(Math.min(...stretch.tracks.map(({ start }) => start))), at(Math.max(...stretch.tracks.map(({ end }) => end)))],
    shift: Math.min(...stretch.tracks.map(({ start }) => start)) - mapping.seconds - stretch.start,
  };
}

function holes(places) {
  return places.slice(1).map((next, i) => ({ number: i + 1, before: places[i], next }));
}

/** A codec that this Chromium lacks: hls.js must have read the playlists all the same, and refuse only for the codec. */
async function refused({ layout, playlists }, ask, base, foreign) {
  await ask("load", `${base}/index.m3u8`);
  const { errors, parsed, fragments } = await ask("state");
  const fatal = errors.filter(({ fatal }) => fatal).map(({ details }) => details);
  assert.deepEqual(fatal, [layout === "cmaf" ? "manifestIncompatibleCodecsError" : "bufferAddCodecError"], JSON.stringify(errors));
  assert.equal(parsed.length, 1, "levels");
  if (layout === "cmaf") {
    const [{ videoCodec, audioCodec, width, height }] = parsed;
    assert.match(videoCodec, /^hvc1\.1\.6\.L93\.90$/);
    assert.equal(audioCodec, "opus");
    assert.ok(width > 0 && height > 0);
  } else {
    assert.equal(fragments.length, playlists[0].segments.length, "fragments");
  }
  return `this Chromium has no ${foreign.join(", ")}: parsed by hls.js and read by mediabunny, not played`;
}

/** Everything decodes: as many pictures and as much sound as there are packets, in every run by itself. */
async function decode({ playlists, out }, ask, base) {
  const said = [];
  await mkdir(path.join(out, "joined"));
  for (const { type, runs } of playlists) {
    for (const { run, bytes, tracks } of runs) {
      const name = `joined/${type}-${run}.mp4`;
      await writeFile(path.join(out, name), bytes);
      for (const { kind, count, seconds, times } of await ask("decode", `${base}/${name}`)) {
        const { packets, usual } = tracks.find((track) => track.kind === kind && track.packets.length) ?? { packets: [] };
        assert.equal(count, packets.length, `${type} run ${run}: decoded ${kind} for its packets`);
        if (kind === "video") {
          const shown = packets.map(({ start }) => start).sort((a, b) => a - b);
          times.forEach((time, i) => assert.ok(Math.abs(time - shown[i]) < 0.001, `${type} run ${run}: picture ${i} at ${time}, packet at ${shown[i]}`));
        } else if (count) {
          assert.ok(Math.abs(seconds - count * usual) < 0.03, `${type} run ${run}: ${seconds} s of sound of ${count * usual}`);
        }
        said.push(`${count} ${kind}`);
      }
    }
  }
  return said.join(", ");
}

/** hls.js gets every segment that is there, by seeking over what is not. */
async function load({ gaps }, stretches, ask, base) {
  await ask("load", `${base}/index.m3u8`);
  for (const [i, { start, wanted }] of stretches.entries()) {
    await ask("fetchRun", i && gaps === "keep" ? start + 0.1 : null, wanted);
  }
  const { errors } = await ask("state");
  const others = errors.filter(({ details }) => details !== "fragGap");
  assert.deepEqual(others, [], "errors of hls.js");
  assert.ok(errors.every(({ gap }) => gap), "fragGap only for GAP entries");
}

/** What is buffered is what is there, no more and no less than by a frame, and it lies where the playlist says. */
function covered({ layout }, stretches, state) {
  const said = [];
  let allowed = 0;
  for (const stretch of stretches) {
    const { all, shift, frame } = placed(stretch, state);
    // hls.js takes the first decode time of its main track for the start of the run, whatever is shown or heard first.
    allowed += frame + reorder(stretch) + lead(layout, stretch);
    said.push(`${(shift * 1000).toFixed(0)} ms`);
    assert.ok(Math.abs(shift) <= allowed, `run ${stretch.run} begins ${shift} s from where the playlist has it`);
    const missing = minus([all], state.buffered).filter(([from, to]) => to - from > frame);
    assert.deepEqual(missing, [], `not buffered of run ${stretch.run} at ${all}, in ${JSON.stringify(state.buffered)}`);
  }
  const there = stretches.map((stretch) => placed(stretch, state)).map(({ any, frame }) => [any[0] - frame, any[1] + frame]);
  assert.deepEqual(minus(state.buffered, there), [], "buffered where nothing is");
  return `off the playlist by ${said.join(", ")}`;
}

/** From the first decode time to the first picture. */
function reorder({ tracks }) {
  return Math.max(0, ...tracks.filter(({ kind }) => kind === "video").map(({ start, firstDecode }) => start - firstDecode));
}

/** How long the first track of a stretch sounds before its pictures: what hls.js leaves out with separate audio. */
function lead(layout, { tracks }) {
  const pictures = tracks.find(({ kind }) => kind === "video");
  return layout === "cmaf" && pictures ? Math.max(0, pictures.firstDecode - Math.min(...tracks.map(({ firstDecode }) => firstDecode))) : 0;
}

/** Ranges without what other ranges cover. */
function minus(ranges, others) {
  return others.reduce(
    (left, [from, to]) => left.flatMap(([a, b]) => [[a, Math.min(b, from)], [Math.max(a, to), b]].filter(([x, y]) => y > x)),
    ranges,
  );
}

/** hls.js has the playlist's dates. */
function dated({ playlists }, { fragments }) {
  let count = 0;
  for (const { type, segments } of playlists) {
    for (const [sn, { date }] of segments.entries()) {
      const seen = fragments.find((one) => one.type === type && one.sn === sn);
      assert.ok(seen, `${type} ${sn}: hls.js has no such fragment`);
      const same = date === null ? seen.date === null : Math.abs(seen.date - date) <= 1;
      assert.ok(same, `${type} ${sn}: hls.js dates it ${seen.date}, the playlist ${date}`);
      count += 1;
    }
  }
  return `${count} fragments`;
}

/** The first picture of each run is shown, and its clock is the playlist's. */
async function frames({ kind, playlists }, places, ask) {
  const said = [];
  const drift = Math.max(...places.map(({ shift }) => Math.abs(shift)));
  for (const { run, all, frame, pictures, shift } of places.filter(({ pictures }) => pictures)) {
    const shown = await ask("frameAt", all[0] + 0.001);
    assert.ok(pictures && shown, `run ${run}: no picture`);
    assert.ok(Math.abs(shown.mediaTime - all[0]) <= frame, `run ${run} from ${all[0]}: the picture there is of ${shown.mediaTime}`);
    const size = `${shown.width}x${shown.height}`;
    if (SIZES[kind]) assert.equal(size, SIZES[kind][run], `run ${run}`);
    const first = playlists[0].segments.find((segment) => segment.run === run && !segment.gap);
    // Not at the seam, where hls.js may still be in the fragment before.
    const later = await ask("frameAt", (all[0] + all[1]) / 2);
    if (first.date !== null) {
      const wanted = first.date + (later.at - first.start - shift) * 1000;
      const off = Math.abs(later.date - wanted);
      assert.ok(off <= 1000 * (frame + drift), `run ${run}: ${later.at} is dated ${later.date}, by the playlist ${wanted}`);
      said.push(`${size}, date off by ${off.toFixed(0)} ms`);
    } else {
      assert.equal(later.date, null);
      said.push(size);
    }
  }
  return said.join("; ");
}

/** Playing gets to the end of each run, and at the last one to the end of all. With closed gaps, in one go. */
async function play({ gaps, layout }, stretches, places, ask) {
  const parts = gaps === "close" ? [[places[0], places.at(-1)]] : places.map((place) => [place, place]);
  // Where hls.js put separate audio earlier than its playlist has it, it does not always see that the end is there, and
  // takes it for a hole.
  const sure = stretches.every((stretch) => lead(layout, stretch) === 0);
  const said = new Map();
  for (const [first, last] of parts) {
    const ends = sure && last === places.at(-1);
    const end = ends ? Infinity : last.all[1] - 2 * last.frame;
    const { at, ended, errors, corrupted } = await ask("play", first.all[0], end, RATE);
    if (ends) assert.ok(ended, `run ${last.run}: stopped at ${at}`);
    assert.equal(corrupted, 0, "corrupted pictures");
    // A take's tracks do not end together: where one of them is not there, there is a hole for a player.
    const lacking = holes(places).filter(({ before, next }) => next.all[0] - before.all[1] > before.frame);
    const unseen = sure ? [] : [{ before: places.at(-1), next: places.at(-1) }];
    const wrong = errors.filter((error) => ![...lacking, ...unseen].some(({ before, next }) => atHole(error, before.all[1], Math.max(before.all[1], next.all[0]), RATE)));
    assert.deepEqual(wrong, [], `run ${last.run}: errors`);
    for (const { details } of errors) said.set(details, (said.get(details) ?? 0) + 1);
  }
  return [...said].map(([details, count]) => `${count} ${details}`).join(", ");
}

function atHole({ details, at, gap }, from, to, rate = 1) {
  return (details === "fragGap" && gap) || (AT_A_HOLE.includes(details) && at >= from - AHEAD * rate && at <= to + AHEAD * rate);
}

/** Playback goes over the gap by itself. */
async function cross({ before, next }, ask) {
  const { at, errors } = await ask("play", before.all[1] - 0.5, next.all[0] + 0.3, 1);
  assert.ok(at <= next.all[1], `went to ${at}`);
  assert.deepEqual(errors.filter((error) => !atHole(error, before.all[1], next.all[0])), []);
  return [...new Set(errors.map(({ details }) => details))].join(", ");
}

/** A viewer who seeks into a gap sees what comes after it. */
async function seekInto({ before, next }, ask) {
  const { at, errors } = await ask("play", (before.any[1] + next.any[0]) / 2, next.all[0] + 0.2, 1);
  assert.ok(at <= next.all[1], `went to ${at}`);
  assert.deepEqual(errors.filter((error) => !atHole(error, before.any[1], next.all[0])), []);
  return [...new Set(errors.map(({ details }) => details))].join(", ");
}

/** Every segment and init was asked for, at most so often; gap.m4s never. */
function fetches({ playlists, out }, requests, most = Infinity) {
  const asked = (folder, uri) => requests.get(`/out/${path.join(path.basename(out), path.relative(out, folder), uri)}`) ?? 0;
  const again = [];
  for (const { folder, segments } of playlists) {
    for (const { uri, init, gap } of segments) {
      const times = asked(folder, uri);
      if (gap) assert.equal(times, 0, `requests of ${uri}`);
      else assert.ok(times >= 1 && times <= most, `${times} requests of ${uri}`);
      if (times > 1) again.push(uri);
      assert.ok(asked(folder, init) >= 1, `no request of ${init}`);
    }
  }
  return again.length ? `again: ${again.join(", ")}` : null;
}
