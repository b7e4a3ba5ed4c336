//! A small recording cut after every byte, and zeroed from every byte on.

use std::collections::BTreeMap;

use yeoul_pack::{PackOptions, RecordingError, WarningKind};
use yeoul_testkit::{Sizes, Track, tear};

use crate::world::*;

/// Two parts of video and audio.
fn small() -> Recorded {
    let sizes = |sync, anchor, leaf| Sizes { sync, anchor, leaf };
    let mut scenario = yeoul_testkit::Scenario::new(90)
        .track(Track::h264_720p30().sizes(sizes(90, 30, 20)))
        .track(Track::aac_mono_48k().sizes(sizes(12, 12, 12)))
        .take(lasting(1));
    scenario.part_duration = std::time::Duration::from_millis(700);
    let recorded = record(scenario);
    assert_eq!(recorded.truth.takes[0].files[0].parts, 2);
    assert!(recorded.files[0].1.len() < 10_000);
    recorded
}

/// The samples that are wholly within the first `size` bytes: their `moof` comes before them.
fn whole(recorded: &Recorded, track: usize, size: usize) -> Vec<Meant> {
    let ends = |m: &Meant| usize::try_from(m.truth.offset).unwrap() + m.payload.len();
    let meant = recorded.meant(0, track).into_iter();
    meant.filter(|m| ends(m) <= size).collect()
}

/// Where each `moof` begins and ends.
fn moofs(bytes: &[u8]) -> Vec<(usize, usize)> {
    let boxes = crate::reader::boxes(bytes);
    let moofs = boxes.iter().filter(|(kind, ..)| kind == b"moof");
    moofs
        .map(|(_, at, content)| (*at, at + 8 + content.len()))
        .collect()
}

fn check(recorded: &Recorded, bytes: Vec<u8>, size: usize, what: &str) {
    let original = &recorded.files[0].1;
    let moofs = moofs(original);
    let packed = try_pack_inputs(
        inputs(&[("torn.mp4".to_owned(), bytes)]),
        &PackOptions::default(),
    );
    let packed = packed.unwrap_or_else(|error| panic!("{what}: {error}"));
    if size < moofs[0].0 {
        let [refused] = &packed.refused[..] else {
            panic!("{what}: {} refused", packed.refused.len());
        };
        let documented = match refused {
            RecordingError::Empty { .. } => size == 0,
            RecordingError::NotMp4 { .. } => size < 8,
            RecordingError::NoMovie { .. } | RecordingError::Box { .. } => true,
            _ => false,
        };
        assert!(documented, "{what}: {refused}");
        assert!(packed.files.is_empty());
        return;
    }
    assert!(packed.refused.is_empty(), "{what}");
    let mut left_out = 0;
    for (track, id) in [(0, 1), (1, 2)] {
        let meant = whole(recorded, track, size);
        left_out += recorded.meant(0, track).len() - meant.len();
        let samples = if packed.files.is_empty() {
            Vec::new()
        } else {
            packed.samples(id)
        };
        // Sound without any picture is there too: the recording then has a video track without samples.
        assert_eq!(samples.len(), meant.len(), "{what}: samples of track {id}");
        for (sample, meant) in samples.iter().zip(&meant) {
            assert!(sample.payload == meant.payload, "{what}: payload");
        }
    }
    // Cut exactly between two parts, a recording that says that it is closed looks like a shorter one.
    let looks_whole = size == moofs[1].0 && original[64..68] != [0; 4];
    if left_out > 0 && !looks_whole {
        let kinds: BTreeMap<&str, Option<u64>> = packed
            .warnings
            .iter()
            .map(|warning| (warning.kind.name(), warning.offset))
            .collect();
        let said = [
            WarningKind::Torn,
            WarningKind::NoParts,
            WarningKind::Open,
            WarningKind::OutsideFile,
        ];
        assert!(
            said.iter().any(|kind| kinds.contains_key(kind.name())),
            "{what}: {left_out} left out, said: {:?}",
            packed.warnings
        );
    }
}

#[test]
fn cut_after_every_byte() {
    let recorded = small();
    let bytes = &recorded.files[0].1;
    for size in 0..=bytes.len() {
        let torn = tear::truncate(bytes, size).to_vec();
        check(&recorded, torn, size, &format!("cut at {size}"));
    }
}

/// As a recorder that was killed leaves it: `mvhd` says nothing.
#[test]
fn cut_after_every_byte_and_never_closed() {
    let mut recorded = small();
    recorded.files[0].1[64..68].fill(0);
    let bytes = recorded.files[0].1.clone();
    for size in 0..=bytes.len() {
        let torn = tear::truncate(&bytes, size).to_vec();
        check(&recorded, torn, size, &format!("cut at {size}"));
    }
}

/// As a power cut leaves it. Within the last sector zeros cannot be told from payload: there only what is said counts.
#[test]
fn zeroed_from_every_byte_on() {
    let mut recorded = small();
    recorded.files[0].1[64..68].fill(0);
    let bytes = recorded.files[0].1.clone();
    let moofs = moofs(&bytes);
    for size in 0..bytes.len() {
        for tail in [bytes.len(), bytes.len() + 5000] {
            let mut torn = tear::zero_tail(&bytes, size);
            torn.resize(tail, 0);
            let what = format!("zeros from {size} to {tail}");
            // A last byte that is zero itself is part of the tail.
            let end = bytes[..size]
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |at| at + 1);
            if tail - end >= 512 && end >= moofs[0].0 {
                check(&recorded, torn, end, &what);
            } else {
                let packed = try_pack_inputs(
                    inputs(&[("torn.mp4".to_owned(), torn)]),
                    &PackOptions::default(),
                );
                packed.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
        }
    }
}
