//! Makes `fuzz/seeds/` from the test recorder and the heads of the recordings in `testdata/`:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`. The same bytes every time.
//! Those named `found-…` are inputs that once failed and are not made here.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use yeoul_fuzz::repack_verify::MARKER;
use yeoul_isobmff::write::{
    Brands, Chunk, FourCc, InitTrack, Interleave, Progressive, ProgressiveTrack, Sample,
};
use yeoul_testkit::{Event, Kind, Memory, Recorder, SampleEntry, Scenario, Sizes, Take, Track};

type Seeds = Vec<(String, Vec<u8>)>;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let testdata = root
        .parent()
        .expect("fuzz is in the repository")
        .join("testdata");
    let (sessions, torn) = (sessions(), torn(&testdata));
    let (mut boxes, mut moofs, mut units, mut repack) =
        (Seeds::new(), Seeds::new(), Seeds::new(), Seeds::new());
    for (n, (name, files)) in sessions.iter().enumerate() {
        let how = u8::try_from(n * 5 % 64).expect("below 64");
        let joined = files.join(MARKER);
        repack.push((name.clone(), [joined, vec![how]].concat()));
        boxes.push((name.clone(), head(&files[0])));
    }
    for (name, bytes) in &torn {
        boxes.push((name.clone(), head(bytes)));
        repack.push((name.clone(), [bytes.clone(), vec![2]].concat()));
        if let Some(moof) = first_moof(bytes) {
            moofs.push((name.clone(), [vec![1], moof].concat()));
        }
    }
    let plain = plain();
    boxes.push(("plain".into(), plain.clone()));
    repack.push(("plain".into(), [plain, vec![0]].concat()));
    moofs.push(("written".into(), [vec![0x80], (0..=255).collect()].concat()));
    for (options, entry) in [
        (6, SampleEntry::h264_480p30()),
        (7, SampleEntry::h265_720p30()),
    ] {
        let mut sample = Vec::new();
        for (n, set) in entry.parameter_sets.iter().enumerate() {
            let length = u32::try_from(set.len()).expect("a set is small");
            sample.extend(length.to_be_bytes());
            sample.extend(set);
            units.push((
                format!("set-{options}-{n}"),
                [vec![options], set.clone()].concat(),
            ));
        }
        sample.extend([
            0,
            0,
            0,
            9,
            if options & 1 == 0 { 0x65 } else { 0x2A },
            1,
            2,
            3,
        ]);
        units.push((
            format!("sample-{options}"),
            [vec![options], sample].concat(),
        ));
    }
    let scenarios = (0..8).map(|n: u32| {
        let bytes =
            (0..160u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_mul(n + 1) >> 24) as u8);
        (format!("bytes-{n}"), bytes.collect())
    });
    write(root, "boxes", boxes);
    write(root, "moof", moofs);
    write(root, "access_unit", units);
    write(root, "repack_verify", repack);
    write(root, "scenario", scenarios.collect());
}

fn write(root: &Path, target: &str, seeds: Seeds) {
    let folder = root.join("seeds").join(target);
    fs::create_dir_all(&folder).expect("the repository can be written to");
    for (name, bytes) in seeds {
        assert!(bytes.len() < 64 << 10, "{name} has {} bytes", bytes.len());
        fs::write(folder.join(name), bytes).expect("the repository can be written to");
    }
}

/// Small sessions of every kind, as files.
fn sessions() -> Vec<(String, Vec<Vec<u8>>)> {
    let take = |ms| Take::lasting(Duration::from_millis(ms));
    let second = Duration::from_secs(1);
    let stall = Event::Stall {
        track: 0,
        at: second,
        length: 2 * second,
    };
    let change = Event::Parameters {
        track: 0,
        at: second,
        entry: 1,
    };
    let both = |video: Track| vec![video, Track::aac_mono_48k()];
    let plans = [
        ("h264-aac", both(Track::h264_720p30()), vec![take(5000)]),
        (
            "h265-opus",
            vec![Track::h265_720p30(), Track::opus_stereo()],
            vec![take(5000)],
        ),
        ("vp9", vec![Track::vp9_30()], vec![take(4500)]),
        (
            "audio",
            vec![Track::aac_mono_48k(), Track::opus_stereo()],
            vec![take(3000)],
        ),
        (
            "takes",
            both(Track::h264_720p30()),
            vec![take(2500), take(2500).killed()],
        ),
        (
            "missing",
            both(Track::h264_720p30()),
            vec![take(8500).with(Event::Missing { file: 1 })],
        ),
        (
            "stall",
            both(Track::h264_720p30()),
            vec![take(6500).with(stall)],
        ),
        (
            "change",
            both(Track::h264_720p30()),
            vec![take(6500).with(change)],
        ),
    ];
    let record = |(name, tracks, takes): (&str, Vec<Track>, Vec<Take>)| {
        let mut scenario = Scenario::new(1);
        scenario.segment_duration = Duration::from_secs(2);
        scenario.tracks = tracks.into_iter().map(tiny).collect();
        scenario.takes = takes;
        let recorder = Recorder::new(scenario, Memory::default()).expect("the scenario is sound");
        let (files, _) = recorder.record().expect("memory takes all");
        let files = files.into_files().into_iter().map(|(_, bytes)| bytes);
        (name.to_owned(), files.collect())
    };
    plans.into_iter().map(record).collect()
}

fn tiny(track: Track) -> Track {
    let sync = match track.kind {
        Kind::Video => 160,
        Kind::Audio => 8,
    };
    track.sizes(Sizes {
        sync,
        anchor: 16,
        leaf: 8,
    })
}

/// The first 12 KiB of a recording of every kind.
fn torn(testdata: &Path) -> Seeds {
    let mut out = Seeds::new();
    let kinds = [
        "1080p-six-audio",
        "audio-only",
        "av1-empty-files",
        "hevc-opus",
        "sps-change",
        "vp9-opus",
    ];
    for kind in kinds {
        let entries = fs::read_dir(testdata.join(kind)).expect("testdata is there");
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("it is readable").path())
            .collect();
        files.sort();
        let files = files
            .iter()
            .map(|file| fs::read(file).expect("it is readable"));
        let bytes = files
            .into_iter()
            .find(|bytes| !bytes.is_empty())
            .expect("one has bytes");
        out.push((
            format!("torn-{kind}"),
            bytes[..bytes.len().min(12 << 10)].to_vec(),
        ));
    }
    out
}

fn boxes(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let size = bytes.get(at..at + 4)?;
        let size = u32::from_be_bytes([size[0], size[1], size[2], size[3]]) as usize;
        let found = &bytes[at..(at + size.max(8)).min(bytes.len())];
        at += size.max(8);
        Some((found.get(4..8)?, found))
    })
}

/// All before the first `moof`.
fn head(bytes: &[u8]) -> Vec<u8> {
    let head = boxes(bytes).take_while(|(kind, _)| kind != b"moof");
    head.flat_map(|(_, found)| found).copied().collect()
}

fn first_moof(bytes: &[u8]) -> Option<Vec<u8>> {
    let moof = boxes(bytes).find(|(kind, _)| kind == b"moof");
    moof.map(|(_, found)| found.to_vec())
}

/// An ordinary MP4 with an edit list.
fn plain() -> Vec<u8> {
    let sample = |n: u32, duration, size| Sample {
        duration,
        size,
        flags: if n.is_multiple_of(15) {
            Sample::SYNC
        } else {
            Sample::NON_SYNC
        },
        composition_offset: [0, 3000, -3000][n as usize % 3],
    };
    let track =
        |track_id, handler: &[u8; 4], timescale, entry: SampleEntry, samples: Vec<Sample>| {
            let chunk = Chunk {
                samples: 10,
                description: 1,
            };
            ProgressiveTrack {
                init: InitTrack {
                    track_id,
                    handler: FourCc(*handler),
                    timescale,
                    language: InitTrack::UNDETERMINED,
                    width: u32::from(entry.width) << 16,
                    height: u32::from(entry.height) << 16,
                    entries: vec![entry.bytes.into()],
                },
                edits: vec![yeoul_isobmff::tables::Edit::media(4000, 3000)],
                chunks: vec![chunk; samples.len() / 10],
                samples,
            }
        };
    let video: Vec<_> = (0..60).map(|n| sample(n, 3000, 20 + n)).collect();
    let audio = (0..90).map(|n| Sample {
        composition_offset: 0,
        ..sample(0, 1024, 12 + n % 3)
    });
    let movie = Progressive {
        brands: Brands::PROGRESSIVE,
        tracks: vec![
            track(1, b"vide", 90_000, SampleEntry::h264_720p30(), video),
            track(
                2,
                b"soun",
                48_000,
                SampleEntry::aac_mono_48k(),
                audio.collect(),
            ),
        ],
        interleave: Interleave::ByTime,
    };
    let layout = movie.layout().expect("the movie is sound");
    let payload = (0..layout.mdat_len).map(|n| (n * 7 % 251) as u8);
    layout.header.iter().copied().chain(payload).collect()
}
