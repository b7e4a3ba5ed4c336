//! Boxes by hand: just enough of an fMP4 writer to make recordings and segments, right or wrong.

pub(crate) const VIDEO: Track = Track {
    id: 1,
    timescale: 90_000,
    handler: *b"vide",
};
pub(crate) const AUDIO: Track = Track {
    id: 2,
    timescale: 48_000,
    handler: *b"soun",
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Track {
    pub(crate) id: u32,
    pub(crate) timescale: u32,
    pub(crate) handler: [u8; 4],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) duration: u32,
    pub(crate) cts: i32,
    pub(crate) sync: bool,
    pub(crate) payload: Vec<u8>,
}

/// A `traf` with one `trun`.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) track: u32,
    pub(crate) tfdt: u64,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mtxi {
    pub(crate) stream: [u8; 16],
    pub(crate) number: u64,
    pub(crate) dts_ns: i64,
    pub(crate) ntp_ns: i64,
}

pub(crate) fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len() + 8).unwrap();
    [&size.to_be_bytes()[..], kind, body].concat()
}

pub(crate) fn full(kind: &[u8; 4], version: u8, flags: u32, body: &[u8]) -> Vec<u8> {
    let word = u32::from(version) << 24 | flags;
    boxed(kind, &[&word.to_be_bytes(), body].concat())
}

pub(crate) fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

fn trak(track: &Track, stbl: &[u8]) -> Vec<u8> {
    let tkhd = full(b"tkhd", 0, 3, &words(&[0, 0, track.id, 0, 0]));
    let mdhd = full(b"mdhd", 0, 0, &words(&[0, 0, track.timescale, 0, 0]));
    let hdlr = full(
        b"hdlr",
        0,
        0,
        &[&[0; 4], &track.handler[..], &[0; 13]].concat(),
    );
    let minf = boxed(b"minf", &boxed(b"stbl", stbl));
    let mdia = boxed(b"mdia", &[mdhd, hdlr, minf].concat());
    boxed(b"trak", &[tkhd, mdia].concat())
}

fn mvhd() -> Vec<u8> {
    full(b"mvhd", 0, 0, &words(&[0, 0, 1000, 4000]))
}

fn ftyp() -> Vec<u8> {
    boxed(b"ftyp", b"iso6\0\0\0\0iso6")
}

/// `ftyp` + fragmented `moov`; `defaults` are the duration, size and flags in every `trex`.
pub(crate) fn head(tracks: &[Track], mtxi: Option<Mtxi>, defaults: [u32; 3]) -> Vec<u8> {
    let mut moov = mvhd();
    let empty = [b"stts", b"stsc", b"stco"]
        .map(|k| full(k, 0, 0, &words(&[0])))
        .concat();
    let stbl = [empty, full(b"stsz", 0, 0, &words(&[0, 0]))].concat();
    for track in tracks {
        moov.extend(trak(track, &stbl));
    }
    let [duration, size, flags] = defaults;
    let trex = tracks
        .iter()
        .flat_map(|t| full(b"trex", 0, 0, &words(&[t.id, 1, duration, size, flags])));
    moov.extend(boxed(b"mvex", &trex.collect::<Vec<_>>()));
    if let Some(m) = mtxi {
        let body = [
            &m.stream[..],
            &m.number.to_be_bytes(),
            &m.dts_ns.to_be_bytes(),
            &m.ntp_ns.to_be_bytes(),
        ]
        .concat();
        moov.extend(boxed(b"udta", &full(b"mtxi", 0, 0, &body)));
    }
    [ftyp(), boxed(b"moov", &moov)].concat()
}

/// `moof` + `mdat`: a `traf` for each run, `tfdt` v1, `trun` v1 with every per-sample field.
pub(crate) fn part(runs: &[Run]) -> Vec<u8> {
    let build = |base: i32| {
        let mut moof = full(b"mfhd", 0, 0, &words(&[1]));
        let mut data = base;
        for run in runs {
            let tfhd = full(b"tfhd", 0, 0x2_0000, &words(&[run.track]));
            let tfdt = full(b"tfdt", 1, 0, &run.tfdt.to_be_bytes());
            let mut body = words(&[u32::try_from(run.samples.len()).unwrap()]);
            body.extend(data.to_be_bytes());
            for s in &run.samples {
                let size = u32::try_from(s.payload.len()).unwrap();
                body.extend(words(&[
                    s.duration,
                    size,
                    if s.sync { 0 } else { 0x1_0000 },
                    s.cts.cast_unsigned(),
                ]));
                data += i32::try_from(size).unwrap();
            }
            moof.extend(boxed(
                b"traf",
                &[tfhd, tfdt, full(b"trun", 1, 0xf01, &body)].concat(),
            ));
        }
        boxed(b"moof", &moof)
    };
    let size = i32::try_from(build(0).len()).unwrap();
    let payload: Vec<u8> = runs
        .iter()
        .flat_map(|r| &r.samples)
        .flat_map(|s| s.payload.clone())
        .collect();
    [build(size + 8), boxed(b"mdat", &payload)].concat()
}

/// A `sidx` with one reference to `size` bytes that follow it.
pub(crate) fn sidx(track: &Track, earliest: u64, size: usize) -> Vec<u8> {
    let mut body = words(&[track.id, track.timescale]);
    body.extend(earliest.to_be_bytes());
    body.extend(0_u64.to_be_bytes());
    body.extend(words(&[1, u32::try_from(size).unwrap(), 0, 0x9000_0000]));
    full(b"sidx", 1, 0, &body)
}

pub(crate) fn styp() -> Vec<u8> {
    boxed(b"styp", b"msdh\0\0\0\0msdh")
}

/// A plain MP4: `mdat` first, then a `moov` with sample tables, one chunk for every `per_chunk` samples.
pub(crate) fn plain(tracks: &[(Track, Vec<Sample>)], per_chunk: usize) -> Vec<u8> {
    let mut file = ftyp();
    let mut moov = mvhd();
    let data_at = file.len() + 8;
    let mut data = Vec::new();
    for (track, samples) in tracks {
        let count = u32::try_from(samples.len()).unwrap();
        let mut chunks = Vec::new();
        for chunk in samples.chunks(per_chunk) {
            chunks.push(u32::try_from(data_at + data.len()).unwrap());
            data.extend(chunk.iter().flat_map(|s| s.payload.clone()));
        }
        let tail = samples.len() % per_chunk;
        let mut stsc = vec![1, u32::try_from(per_chunk).unwrap(), 1];
        if tail > 0 && chunks.len() > 1 {
            stsc.extend([
                u32::try_from(chunks.len()).unwrap(),
                u32::try_from(tail).unwrap(),
                1,
            ]);
        }
        let stts: Vec<u32> = samples.iter().flat_map(|s| [1, s.duration]).collect();
        let ctts: Vec<u32> = samples
            .iter()
            .flat_map(|s| [1, s.cts.cast_unsigned()])
            .collect();
        let sizes: Vec<u32> = samples
            .iter()
            .map(|s| u32::try_from(s.payload.len()).unwrap())
            .collect();
        let stss: Vec<u32> = (1..)
            .zip(samples)
            .filter(|(_, s)| s.sync)
            .map(|(n, _)| n)
            .collect();
        let table = |kind: &[u8; 4], version, rows: u32, values: &[u32]| {
            full(kind, version, 0, &[words(&[rows]), words(values)].concat())
        };
        let stbl = [
            table(b"stts", 0, count, &stts),
            table(b"ctts", 1, count, &ctts),
            table(b"stss", 0, u32::try_from(stss.len()).unwrap(), &stss),
            table(b"stsc", 0, u32::try_from(stsc.len() / 3).unwrap(), &stsc),
            full(b"stsz", 0, 0, &[words(&[0, count]), words(&sizes)].concat()),
            table(b"stco", 0, u32::try_from(chunks.len()).unwrap(), &chunks),
        ];
        moov.extend(trak(track, &stbl.concat()));
    }
    file.extend(boxed(b"mdat", &data));
    file.extend(boxed(b"moov", &moov));
    file
}
