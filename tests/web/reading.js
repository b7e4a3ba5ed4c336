// What mediabunny reads of each run of segments, against the boxes themselves and the report of the repack.

import assert from "node:assert/strict";

// mediabunny gives seconds as floats; a tick is at least a ninetieth of a millisecond.
const EXACT = 1e-6;

/** Packets of every track of every run: count, order, times. */
export function packetsAsWritten({ playlists }) {
  const counts = {};
  for (const { type, runs } of playlists) {
    for (const { run, tracks } of runs) {
      for (const { kind, packets, scale, trafs } of tracks) {
        const where = `${type} run ${run} ${kind}`;
        const samples = [];
        let at = trafs[0]?.tfdt;
        for (const { tfdt, samples: own } of trafs) {
          assert.equal(tfdt, at, `${where}: tfdt is where the samples before it end`);
          const placed = own.map(({ duration, offset }) => {
            assert.ok(duration > 0, `${where}: decode time goes on at ${at}`);
            const sample = { start: at + offset, duration };
            at += duration;
            return sample;
          });
          samples.push(...shownUntilTheNext(placed));
        }
        assert.equal(packets.length, samples.length, `${where}: packets`);
        packets.forEach(({ start, duration, bytes }, i) => {
          const written = samples[i].start / scale;
          assert.ok(Math.abs(start - written) < EXACT, `${where}: packet ${i} at ${start}, written ${written}`);
          const lasts = samples[i].duration / scale;
          assert.ok(Math.abs(duration - lasts) < EXACT, `${where}: packet ${i} lasts ${duration}, written ${lasts}`);
          assert.ok(bytes > 0, `${where}: packet ${i} is empty`);
        });
        if (samples.length) {
          assert.ok(packets[0].key, `${where}: begins with a key packet`);
          const shown = packets.map(({ start }) => start).sort((a, b) => a - b);
          shown.slice(1).forEach((start, i) => assert.ok(start - shown[i] > EXACT, `${where}: two packets at ${start}`));
        }
        counts[kind] = (counts[kind] ?? 0) + packets.length;
      }
    }
  }
  return Object.entries(counts).map(([kind, count]) => `${count} ${kind}`).join(", ");
}

/** mediabunny has a sample last until the next one in presentation order; the last of a fragment as long as written. */
function shownUntilTheNext(samples) {
  const order = samples.toSorted((a, b) => a.start - b.start);
  order.slice(1).forEach((next, i) => (order[i].duration = next.start - order[i].start));
  return samples;
}

/** As many packets a track as the repack says it kept. */
export function packetsAsReported({ playlists, report }) {
  assert.equal(report.broadcasts.length, 1);
  const [{ tracks, takes }] = report.broadcasts;
  const kept = {};
  for (const { slot, kept: ranges } of takes.flatMap(({ recordings }) => recordings.flatMap(({ tracks }) => tracks))) {
    const { kind } = tracks.find((track) => track.slot === slot);
    kept[kind] = (kept[kind] ?? 0) + ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  }
  const seen = {};
  for (const { kind, packets } of playlists.flatMap(({ runs }) => runs.flatMap(({ tracks }) => tracks))) {
    seen[kind] = (seen[kind] ?? 0) + packets.length;
  }
  assert.deepEqual(seen, kept);
}

/**
 * What is there lies where the playlist says. A run's last sample may last until something else begins: the end that
 * is listed lies between that and the sample's usual length.
 */
export function timesAsListed({ playlists }) {
  const runs = playlists.flatMap(({ runs }) => runs);
  const numbers = [...new Set(runs.map(({ run }) => run))];
  const parts = numbers.map((run) => {
    const own = runs.filter((one) => one.run === run);
    const tracks = own.flatMap(({ tracks }) => tracks).filter(({ packets }) => packets.length);
    return {
      run,
      from: Math.min(...own.map(({ start }) => start)),
      to: Math.max(...own.map(({ end }) => end)),
      first: Math.min(...tracks.map(({ start }) => start)),
      shortest: Math.max(...tracks.map(({ usual, packets }) => Math.max(...packets.map(({ start }) => start + usual)))),
      longest: Math.max(...tracks.map(({ end }) => end)),
      frame: Math.max(...tracks.map(({ usual }) => usual)) + EXACT,
    };
  });
  const origin = parts[0].first - parts[0].from;
  for (const { run, from, to, first, shortest, longest, frame } of parts) {
    const begins = first - origin;
    assert.ok(Math.abs(from - begins) <= frame, `run ${run} is listed from ${from}, its first picture or sound is at ${begins}`);
    const [least, most] = [shortest - origin - frame, longest - origin + frame];
    assert.ok(to >= least && to <= most, `run ${run} is listed to ${to}, its last picture or sound ends between ${least} and ${most}`);
  }
}
