// The outputs that are judged: what they are made from, and what was made.

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { timescales, trafs } from "./fragments.js";
import { joined, tracks } from "./packets.js";
import { mediaPlaylists, runs } from "./playlist.js";

const KINDS = [
  "reconnects",
  "sps-change",
  "audio-only",
  "video-only",
  "av1-empty-files",
  "av1-empty-files/2026-11-30_19-46-35-467942.mp4",
  "hevc-opus",
  "vp9-opus",
  "killed",
  "1080p-six-audio",
  "방송",
  "plain-4s.mp4",
];
// Kinds with time between takes.
const GAPS = ["reconnects", "av1-empty-files"];

/** [{name, kind, options}] */
export const CASES = KINDS.flatMap((kind) =>
  ["muxed", "cmaf"].flatMap((layout) =>
    (GAPS.includes(kind) ? ["keep", "close"] : ["keep"]).map((gaps) => ({
      name: [kind, layout, ...(GAPS.includes(kind) ? [gaps] : [])].join(" "),
      kind,
      layout,
      gaps,
    })),
  ),
);

/** Repack a case into `out`; its playlists, and per run of segments what its tracks hold. */
export async function make(one, yeoul, testdata, out) {
  const args = ["repack", path.join(testdata, one.kind), "-o", out, "--layout", one.layout, "--gaps", one.gaps, "--json"];
  const { stdout } = await promisify(execFile)(yeoul, args, { maxBuffer: 1 << 26 });
  const report = JSON.parse(stdout);
  const playlists = await mediaPlaylists(path.join(out, "index.m3u8"));
  for (const playlist of playlists) {
    playlist.runs = await Promise.all(runs(playlist.segments).map((run) => read(playlist, run)));
  }
  return { report, playlists, codecs: [...new Set(report.broadcasts[0].tracks.map(({ codec }) => codec))] };
}

async function read(playlist, run) {
  const bytes = await joined(playlist.folder, run);
  const written = trafs(bytes);
  const scales = timescales(bytes);
  const seen = (await tracks(bytes)).map((track) => {
    const scale = scales.get(track.id);
    const own = written.get(track.id) ?? [];
    const ends = track.packets.map(({ start, duration }) => start + duration);
    return {
      ...track,
      scale,
      trafs: own,
      firstDecode: own.length ? own[0].tfdt / scale : null,
      usual: track.packets.map(({ duration }) => duration).sort((a, b) => a - b)[track.packets.length >> 1],
      start: Math.min(...track.packets.map(({ start }) => start)),
      end: Math.max(...ends),
    };
  });
  const last = run.segments.at(-1);
  return { ...run, bytes, tracks: seen, start: run.segments[0].start, end: last.start + last.duration };
}
