// Reads what the judge must know of a playlist, by itself: hls.js's own reading is what is judged.

import { readFile } from "node:fs/promises";
import path from "node:path";

/**
 * The media playlists behind an index: [{type: "main" | "audio", folder, segments}].
 * A segment: {uri, init, gap, start, duration (seconds), date (ms or null), run}; `run` counts discontinuities.
 */
export async function mediaPlaylists(index) {
  const lines = (await readFile(index, "utf8")).split("\n");
  const folder = path.dirname(index);
  if (!lines.some((line) => line.startsWith("#EXT-X-STREAM-INF:"))) {
    return [{ type: "main", folder, segments: segments(lines) }];
  }
  const named = lines.filter((line) => line && !line.startsWith("#")).map((uri) => ({ type: "main", uri }));
  for (const line of lines.filter((line) => line.startsWith("#EXT-X-MEDIA:"))) {
    named.push({ type: "audio", uri: /URI="([^"]+)"/.exec(line)[1] });
  }
  return Promise.all(
    named.map(async ({ type, uri }) => ({
      type,
      folder: path.join(folder, path.dirname(uri)),
      segments: segments((await readFile(path.join(folder, uri), "utf8")).split("\n")),
    })),
  );
}

function segments(lines) {
  const found = [];
  let init = null, gap = false, duration = null, date = null, start = 0, run = 0;
  for (const line of lines) {
    const value = line.slice(line.indexOf(":") + 1);
    if (line.startsWith("#EXT-X-MAP:")) init = /URI="([^"]+)"/.exec(value)[1];
    else if (line.startsWith("#EXT-X-PROGRAM-DATE-TIME:")) date = Date.parse(value);
    else if (line.startsWith("#EXTINF:")) duration = Number.parseFloat(value);
    else if (line === "#EXT-X-DISCONTINUITY") run += 1;
    else if (line === "#EXT-X-GAP") gap = true;
    else if (line && !line.startsWith("#")) {
      found.push({ uri: line, init, gap, start, duration, date, run });
      start += duration;
      if (date !== null) date += duration * 1000;
      gap = false;
    }
  }
  return found;
}

/** Segments that are there, in groups without a discontinuity or a hole: [{run, init, segments}]. */
export function runs(segments) {
  const found = [];
  let previous = null;
  for (const segment of segments) {
    if (!segment.gap) {
      const joins = previous && !previous.gap && previous.run === segment.run;
      if (!joins) found.push({ run: segment.run, init: segment.init, segments: [] });
      found.at(-1).segments.push(segment);
    }
    previous = segment;
  }
  return found;
}
