//! Small files of every kind, and how they are inspected.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use yeoul::inspect::{Options, Verdict, inspect};
use yeoul_isobmff::FourCc;
use yeoul_isobmff::write::{
    Brands, Chunk, InitTrack, Interleave, Progressive, ProgressiveTrack, Sample,
};
use yeoul_spans::Memory;
use yeoul_testkit::{
    Codec, Recorder, SampleEntry, SampleTruth, Scenario, Sizes, Take, Track, TrackTruth,
};

pub(crate) const NAME: &str = "녹화/2026-11-30.mp4";

/// A recording of H.264 and AAC, two parts, some 6 KB, and what is in it.
pub(crate) fn recording() -> (Vec<u8>, Vec<TrackTruth>) {
    let sizes = Sizes {
        sync: 60,
        anchor: 30,
        leaf: 15,
    };
    let mut scenario = Scenario::new(3)
        .track(Track::h264_720p30().sizes(sizes))
        .track(Track::audio(Codec::Aac, 1024, 12, SampleEntry::aac_mono_48k()).language(*b"kor"))
        .take(Take::lasting(Duration::from_millis(1300)));
    scenario.part_duration = Duration::from_millis(700);
    let recorder = Recorder::new(scenario, yeoul_testkit::Memory::default()).unwrap();
    let (files, truth) = recorder.record().unwrap();
    let mut files = files.into_files();
    assert_eq!(files.len(), 1);
    (
        files.remove(0).1,
        truth.takes.into_iter().next().unwrap().tracks,
    )
}

/// The bytes of `recording` behind its `moov`.
pub(crate) fn segment(recording: &[u8]) -> Vec<u8> {
    recording[init_len(recording)..].to_vec()
}

/// Where the first part of `recording` begins.
pub(crate) fn init_len(recording: &[u8]) -> usize {
    top_level(recording)
        .into_iter()
        .find(|(kind, ..)| kind == b"moof")
        .map(|(_, start, _)| start)
        .unwrap()
}

/// Type, start and end of each box at the top level.
pub(crate) fn top_level(bytes: &[u8]) -> Vec<([u8; 4], usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let size = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let end = at + usize::try_from(size).unwrap();
        found.push((bytes[at + 4..at + 8].try_into().unwrap(), at, end));
        at = end;
    }
    found
}

/// An ordinary MP4 with one H.264 track.
pub(crate) fn plain() -> Vec<u8> {
    let samples: Vec<Sample> = (0..12u32)
        .map(|n| Sample {
            duration: 3000,
            size: 10 + n,
            flags: if n % 6 == 0 {
                Sample::SYNC
            } else {
                Sample::NON_SYNC
            },
            composition_offset: [6000, 3000, 0][n as usize % 3],
        })
        .collect();
    let chunk = Chunk {
        samples: 4,
        description: 1,
    };
    let layout = Progressive {
        brands: Brands::PROGRESSIVE,
        tracks: vec![ProgressiveTrack {
            init: InitTrack {
                track_id: 7,
                handler: FourCc(*b"vide"),
                timescale: 90_000,
                language: InitTrack::UNDETERMINED,
                width: 1280 << 16,
                height: 720 << 16,
                entries: vec![Bytes::from(SampleEntry::h264_720p30().bytes)],
            },
            edits: Vec::new(),
            samples,
            chunks: vec![chunk; 3],
        }],
        interleave: Interleave::ByTime,
    }
    .layout()
    .unwrap();
    let mut file = layout.header.to_vec();
    file.resize(file.len() + usize::try_from(layout.mdat_len).unwrap(), 0xAB);
    file
}

/// The report on `bytes`.
pub(crate) fn report(bytes: &[u8], options: &Options) -> (Verdict, String) {
    let file = Memory::new(NAME, Bytes::copy_from_slice(bytes));
    let mut out = Vec::new();
    let verdict = inspect(&file, options, &mut out).unwrap();
    (verdict, String::from_utf8(out).unwrap())
}

/// The report on `bytes` as JSON, with all samples.
pub(crate) fn json(bytes: &[u8]) -> (Verdict, Value) {
    let options = Options {
        json: true,
        samples: true,
        ..Options::default()
    };
    let (verdict, text) = report(bytes, &options);
    (verdict, serde_json::from_str(&text).expect(&text))
}

/// The samples of a track in a JSON report.
pub(crate) fn samples_of(report: &Value, track: u32) -> Vec<Value> {
    let lists = report["samples"].as_array().unwrap();
    let list = lists.iter().find(|list| list["track"] == track);
    list.map_or(Vec::new(), |list| {
        list["samples"].as_array().unwrap().clone()
    })
}

/// The samples of a track that are wholly in its recording's first `len` bytes.
pub(crate) fn whole(track: &TrackTruth, len: usize) -> Vec<SampleTruth> {
    let len = len as u64;
    let samples = track.samples.iter();
    samples
        .filter(|s| s.offset + u64::from(s.size) <= len)
        .cloned()
        .collect()
}
