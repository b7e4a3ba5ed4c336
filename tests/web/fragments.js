// Just enough of ISO BMFF to know where each track's samples lie in decode time: tfdt + trun, read by our own means.

/** Map track id → [{tfdt, samples: [{duration, offset}]}] in ticks, one for each traf of the bytes. */
export function trafs(bytes) {
  const found = new Map();
  for (const moof of boxes(bytes, 0, bytes.length, "moof")) {
    for (const traf of boxes(bytes, moof.from, moof.to, "traf")) {
      const [tfhd] = boxes(bytes, traf.from, traf.to, "tfhd");
      const [tfdt] = boxes(bytes, traf.from, traf.to, "tfdt");
      const id = bytes.readUInt32BE(tfhd.from + 4);
      const wide = bytes[tfdt.from] === 1;
      const start = wide ? Number(bytes.readBigUInt64BE(tfdt.from + 4)) : bytes.readUInt32BE(tfdt.from + 4);
      const samples = [...boxes(bytes, traf.from, traf.to, "trun")].flatMap((trun) => run(bytes, trun.from, tfhd.from));
      if (!found.has(id)) found.set(id, []);
      found.get(id).push({ tfdt: start, samples });
    }
  }
  return found;
}

function run(bytes, trun, tfhd) {
  const flags = bytes.readUIntBE(trun + 1, 3);
  const count = bytes.readUInt32BE(trun + 4);
  const usual = defaultDuration(bytes, tfhd);
  let at = trun + 8 + (flags & 0x1 ? 4 : 0) + (flags & 0x4 ? 4 : 0);
  return Array.from({ length: count }, () => {
    const sample = { duration: usual, offset: 0 };
    if (flags & 0x100) {
      sample.duration = bytes.readUInt32BE(at);
      at += 4;
    }
    if (flags & 0x200) at += 4;
    if (flags & 0x400) at += 4;
    if (flags & 0x800) {
      sample.offset = bytes.readInt32BE(at);
      at += 4;
    }
    return sample;
  });
}

function defaultDuration(bytes, tfhd) {
  const flags = bytes.readUIntBE(tfhd + 1, 3);
  const at = tfhd + 8 + (flags & 0x1 ? 8 : 0) + (flags & 0x2 ? 4 : 0);
  return flags & 0x8 ? bytes.readUInt32BE(at) : 0;
}

/** Map track id → timescale, from the moov. */
export function timescales(bytes) {
  const found = new Map();
  const [moov] = boxes(bytes, 0, bytes.length, "moov");
  for (const trak of boxes(bytes, moov.from, moov.to, "trak")) {
    const [tkhd] = boxes(bytes, trak.from, trak.to, "tkhd");
    const [mdia] = boxes(bytes, trak.from, trak.to, "mdia");
    const [mdhd] = boxes(bytes, mdia.from, mdia.to, "mdhd");
    const id = bytes.readUInt32BE(tkhd.from + (bytes[tkhd.from] ? 20 : 12));
    found.set(id, bytes.readUInt32BE(mdhd.from + (bytes[mdhd.from] ? 20 : 12)));
  }
  return found;
}

function* boxes(bytes, from, to, wanted) {
  for (let at = from; at + 8 <= to; ) {
    const size = bytes.readUInt32BE(at);
    if (size < 8 || at + size > to) throw new Error(`box of ${size} bytes at ${at} of ${to}`);
    if (bytes.toString("latin1", at + 4, at + 8) === wanted) yield { from: at + 8, to: at + size };
    at += size;
  }
}
