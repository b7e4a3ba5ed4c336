//! Boxes by hand: recordings in the shapes that other writers use, and in shapes that nobody should.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Track {
    pub(crate) id: u32,
    pub(crate) timescale: u32,
    pub(crate) handler: [u8; 4],
}

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) duration: u32,
    pub(crate) cts: i32,
    pub(crate) sync: bool,
    pub(crate) payload: Vec<u8>,
}

/// `count` samples of a fixed duration, the first sync, each with its own bytes.
pub(crate) fn samples(seed: u8, count: usize, duration: u32) -> Vec<Sample> {
    (0..count)
        .map(|index| Sample {
            duration,
            cts: 0,
            sync: index == 0,
            payload: vec![seed.wrapping_add(u8::try_from(index % 200).unwrap()); 5 + index % 7],
        })
        .collect()
}

/// How a `traf` says what its samples are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As MediaMTX: default-base-is-moof, one `trun` with all fields.
    Plain,
    /// An explicit base: the absolute offset of the `mdat`'s content.
    ExplicitBase,
    /// No base, no data offset: behind the `traf` before, the first behind the `moof`'s `mdat` header by offset.
    Previous,
    /// Each sample in a `trun` of its own, only the first with an offset.
    SeveralRuns,
    /// `first-sample-flags` and defaults in `tfhd`, as FFmpeg writes.
    FirstFlags,
}

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) track: u32,
    pub(crate) tfdt: Option<u64>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) shape: Shape,
}

pub(crate) fn run(track: Track, tfdt: u64, samples: &[Sample]) -> Run {
    Run {
        track: track.id,
        tfdt: Some(tfdt),
        samples: samples.to_vec(),
        shape: Shape::Plain,
    }
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

pub(crate) fn ftyp() -> Vec<u8> {
    boxed(b"ftyp", b"iso6\0\0\0\0iso6")
}

fn mvhd(timescale: u32, duration: u32) -> Vec<u8> {
    let rest = [0; 80];
    full(
        b"mvhd",
        0,
        0,
        &[words(&[0, 0, timescale, duration]), rest.to_vec()].concat(),
    )
}

/// An entry of a codec that nobody knows.
fn entry(handler: [u8; 4]) -> Vec<u8> {
    let rest = if handler == *b"vide" { 70 } else { 20 };
    boxed(
        b"test",
        &[&[0, 0, 0, 0, 0, 0, 0, 1][..], &vec![0; rest]].concat(),
    )
}

fn trak(track: &Track, edits: Option<&[u8]>, table: &[u8]) -> Vec<u8> {
    let tkhd = [
        words(&[0, 0, track.id, 0, 0]),
        vec![0; 52],
        words(&[64 << 16, 48 << 16]),
    ];
    let tkhd = full(b"tkhd", 0, 3, &tkhd.concat());
    let mdhd = full(
        b"mdhd",
        0,
        0,
        &words(&[0, 0, track.timescale, 0, 0x55c4_0000]),
    );
    let hdlr = full(
        b"hdlr",
        0,
        0,
        &[&[0; 4], &track.handler[..], &[0; 13]].concat(),
    );
    let stsd = full(b"stsd", 0, 0, &[words(&[1]), entry(track.handler)].concat());
    let stbl = boxed(b"stbl", &[&stsd, table].concat());
    let mdia = boxed(b"mdia", &[mdhd, hdlr, boxed(b"minf", &stbl)].concat());
    let edts = edits.map(|elst| boxed(b"edts", elst)).unwrap_or_default();
    boxed(b"trak", &[tkhd, edts, mdia].concat())
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mtxi {
    pub(crate) stream: u8,
    pub(crate) number: u64,
    pub(crate) dts_ns: i64,
    pub(crate) ntp_ns: i64,
}

/// A fragmented `moov`. `trex`: defaults (duration, size, flags) in a `trex` a track, or an `mvex` without any.
pub(crate) fn moov(tracks: &[Track], mtxi: Option<Mtxi>, trex: Option<[u32; 3]>) -> Vec<u8> {
    let empty = [b"stts", b"stsc", b"stco"].map(|kind| full(kind, 0, 0, &words(&[0])));
    let table = [empty.concat(), full(b"stsz", 0, 0, &words(&[0, 0]))].concat();
    let mut moov = mvhd(1000, 4000);
    for track in tracks {
        moov.extend(trak(track, None, &table));
    }
    let trexes = tracks.iter().flat_map(|track| {
        let [duration, size, flags] = trex.unwrap_or_default();
        full(b"trex", 0, 0, &words(&[track.id, 1, duration, size, flags]))
    });
    let trexes: Vec<u8> = trexes.collect();
    moov.extend(boxed(b"mvex", if trex.is_some() { &trexes } else { &[] }));
    if let Some(mtxi) = mtxi {
        let body = [
            &[mtxi.stream; 16][..],
            &mtxi.number.to_be_bytes(),
            &mtxi.dts_ns.to_be_bytes(),
            &mtxi.ntp_ns.to_be_bytes(),
        ];
        moov.extend(boxed(b"udta", &full(b"mtxi", 0, 0, &body.concat())));
    }
    boxed(b"moov", &moov)
}

fn flags(sample: &Sample) -> u32 {
    if sample.sync {
        0x0200_0000
    } else {
        0x0101_0000
    }
}

fn size(sample: &Sample) -> u32 {
    u32::try_from(sample.payload.len()).unwrap()
}

fn trun(samples: &[Sample], offset: Option<i32>) -> Vec<u8> {
    let mut body = words(&[u32::try_from(samples.len()).unwrap()]);
    body.extend(offset.map(i32::to_be_bytes).iter().flatten());
    for sample in samples {
        let cts = sample.cts.cast_unsigned();
        body.extend(words(&[sample.duration, size(sample), flags(sample), cts]));
    }
    full(b"trun", 1, 0xf00 | u32::from(offset.is_some()), &body)
}

fn traf(run: &Run, moof_size: i32, data: i32, data_at: u64) -> Vec<u8> {
    let samples = &run.samples;
    let payload = moof_size + 8 + data;
    let (tfhd, truns) = match run.shape {
        Shape::Plain => (
            full(b"tfhd", 0, 0x2_0000, &words(&[run.track])),
            trun(samples, Some(payload)),
        ),
        Shape::ExplicitBase => (
            full(
                b"tfhd",
                0,
                1,
                &[words(&[run.track]), data_at.to_be_bytes().to_vec()].concat(),
            ),
            trun(samples, Some(data)),
        ),
        Shape::Previous => (
            full(b"tfhd", 0, 0, &words(&[run.track])),
            trun(samples, (data == 0).then_some(payload)),
        ),
        Shape::SeveralRuns => {
            let runs = samples.iter().enumerate().flat_map(|(index, sample)| {
                trun(
                    std::slice::from_ref(sample),
                    (index == 0).then_some(payload),
                )
            });
            (
                full(b"tfhd", 0, 0x2_0000, &words(&[run.track])),
                runs.collect(),
            )
        }
        Shape::FirstFlags => {
            let defaults = [run.track, samples[0].duration, 0x0101_0000];
            let mut body = words(&[u32::try_from(samples.len()).unwrap()]);
            body.extend(payload.to_be_bytes());
            body.extend(words(&[flags(&samples[0])]));
            body.extend(
                samples
                    .iter()
                    .flat_map(|s| words(&[size(s), s.cts.cast_unsigned()])),
            );
            (
                full(b"tfhd", 0, 0x2_0028, &words(&defaults)),
                full(b"trun", 1, 0xa05, &body),
            )
        }
    };
    let tfdt = run
        .tfdt
        .map(|time| full(b"tfdt", 1, 0, &time.to_be_bytes()));
    boxed(b"traf", &[tfhd, tfdt.unwrap_or_default(), truns].concat())
}

/// `moof` and `mdat` that stand at byte `at` of their file.
pub(crate) fn part(at: usize, runs: &[Run]) -> Vec<u8> {
    let build = |moof_size: i32| {
        let mut moof = full(b"mfhd", 0, 0, &words(&[1]));
        let mut data = 0;
        let data_at = at as u64 + u64::try_from(moof_size).unwrap() + 8;
        for run in runs {
            moof.extend(traf(run, moof_size, data, data_at));
            data +=
                i32::try_from(run.samples.iter().map(|s| s.payload.len()).sum::<usize>()).unwrap();
        }
        boxed(b"moof", &moof)
    };
    let moof_size = i32::try_from(build(0).len()).unwrap();
    [build(moof_size), boxed(b"mdat", &payload(runs))].concat()
}

fn payload(runs: &[Run]) -> Vec<u8> {
    let samples = runs.iter().flat_map(|run| &run.samples);
    samples.flat_map(|sample| sample.payload.clone()).collect()
}

/// A recording of these parts.
pub(crate) fn recording(tracks: &[Track], mtxi: Option<Mtxi>, parts: &[Vec<Run>]) -> Vec<u8> {
    let mut file = [ftyp(), moov(tracks, mtxi, Some([0; 3]))].concat();
    for runs in parts {
        let part = part(file.len(), runs);
        file.extend(part);
    }
    file
}

/// A track of a plain MP4 and its edit list: (duration, media time) pairs.
pub(crate) type Edited = (Track, Vec<Sample>, Vec<(u32, i32)>);

/// A plain MP4 with `moov` behind `mdat`.
pub(crate) fn plain(tracks: &[Edited]) -> Vec<u8> {
    let mut file = ftyp();
    let mut data = Vec::new();
    let mut moov = mvhd(600, 1200);
    for (track, samples, edits) in tracks {
        let count = u32::try_from(samples.len()).unwrap();
        let offset = u32::try_from(file.len() + 8 + data.len()).unwrap();
        data.extend(samples.iter().flat_map(|s| s.payload.clone()));
        let table = |kind: &[u8; 4], version, rows: u32, values: &[u32]| {
            full(kind, version, 0, &[words(&[rows]), words(values)].concat())
        };
        let pairs = |value: fn(&Sample) -> u32| -> Vec<u32> {
            samples.iter().flat_map(|s| [1, value(s)]).collect()
        };
        let numbered = (1..).zip(samples).filter(|(_, s)| s.sync);
        let syncs: Vec<u32> = numbered.map(|(number, _)| number).collect();
        let sizes: Vec<u32> = samples.iter().map(size).collect();
        let stbl = [
            table(b"stts", 0, count, &pairs(|s| s.duration)),
            table(b"ctts", 1, count, &pairs(|s| s.cts.cast_unsigned())),
            table(b"stss", 0, u32::try_from(syncs.len()).unwrap(), &syncs),
            table(b"stsc", 0, 1, &[1, count, 1]),
            full(b"stsz", 0, 0, &[words(&[0, count]), words(&sizes)].concat()),
            table(b"stco", 0, 1, &[offset]),
        ];
        let rows = edits
            .iter()
            .flat_map(|(length, start)| words(&[*length, start.cast_unsigned(), 0x1_0000]));
        let rows: Vec<u8> = rows.collect();
        let elst = [words(&[u32::try_from(edits.len()).unwrap()]), rows].concat();
        let elst = full(b"elst", 0, 0, &elst);
        moov.extend(trak(
            track,
            (!edits.is_empty()).then_some(&elst[..]),
            &stbl.concat(),
        ));
    }
    file.extend(boxed(b"mdat", &data));
    file.extend(boxed(b"moov", &moov));
    file
}
