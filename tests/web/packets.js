// The packets of a run of segments, as mediabunny reads them.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from "mediabunny";

/** init + segments of a run, laid end to end. */
export async function joined(folder, run) {
  const names = [run.init, ...run.segments.map((segment) => segment.uri)];
  return Buffer.concat(await Promise.all(names.map((name) => readFile(path.join(folder, name)))));
}

/** [{id, kind, codec, packets: [{start, duration, key, bytes}]}], packets in decode order, times in seconds. */
export async function tracks(bytes) {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(bytes) });
  const found = [];
  for (const track of await input.getTracks()) {
    const packets = [];
    for await (const packet of new EncodedPacketSink(track).packets()) {
      packets.push({
        start: packet.timestamp,
        duration: packet.duration,
        key: packet.type === "key",
        bytes: packet.data.byteLength,
      });
    }
    found.push({ id: track.id, kind: track.type, codec: await track.getCodecParameterString(), packets });
  }
  return found;
}
