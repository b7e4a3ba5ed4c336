//! What the writer tests share: a box finder, sums, and inputs.
#![allow(dead_code, clippy::unwrap_used, clippy::cast_possible_truncation)]

use bytes::Bytes;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use yeoul_isobmff::write::{FourCc, InitTrack, Sample};

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter().map(|b| format!("{b:02x}")).collect()
}

/// The boxes in `bytes`: name, content, whole length. Panics on bytes that are not whole boxes.
pub(crate) fn boxes(mut bytes: &[u8]) -> Vec<([u8; 4], &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let size = u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize;
        found.push((bytes[4..8].try_into().unwrap(), &bytes[8..size]));
        bytes = &bytes[size..];
    }
    found
}

/// Contents of all boxes at `path`.
pub(crate) fn all<'a>(bytes: &'a [u8], path: &[&[u8; 4]]) -> Vec<&'a [u8]> {
    let Some((name, rest)) = path.split_first() else {
        return vec![bytes];
    };
    boxes(bytes)
        .into_iter()
        .filter(|(n, _)| n == *name)
        .flat_map(|(_, content)| all(content, rest))
        .collect()
}

/// Content of the first box at `path`.
pub(crate) fn one<'a>(bytes: &'a [u8], path: &[&[u8; 4]]) -> &'a [u8] {
    all(bytes, path)
        .first()
        .unwrap_or_else(|| panic!("no box {path:?}"))
}

/// A sample entry box without fields of its own.
pub(crate) fn entry(name: &[u8; 4], marker: u8) -> Bytes {
    let mut bytes = vec![0, 0, 0, 20];
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 1, marker, 0, 0, 0]);
    Bytes::from(bytes)
}

pub(crate) fn video() -> InitTrack {
    InitTrack {
        track_id: 1,
        handler: FourCc(*b"vide"),
        timescale: 90_000,
        language: InitTrack::UNDETERMINED,
        width: 1280 << 16,
        height: 720 << 16,
        entries: vec![entry(b"vvvv", 1)],
    }
}

pub(crate) fn audio() -> InitTrack {
    InitTrack {
        track_id: 2,
        handler: FourCc(*b"soun"),
        timescale: 48_000,
        language: InitTrack::UNDETERMINED,
        width: 0,
        height: 0,
        entries: vec![entry(b"aaaa", 2)],
    }
}

pub(crate) fn sample(duration: u32, size: u32, sync: bool, composition_offset: i32) -> Sample {
    Sample {
        duration,
        size,
        flags: if sync { Sample::SYNC } else { Sample::NON_SYNC },
        composition_offset,
    }
}

/// 2 s of 30 pictures a second with two B-frames.
pub(crate) fn pictures() -> Vec<Sample> {
    (0..60)
        .map(|n| {
            let offset = [6000, 3000, 0][n as usize % 3];
            sample(3000, 1000 + 37 * n, n % 30 == 0, offset)
        })
        .collect()
}

/// 94 AAC frames.
pub(crate) fn frames() -> Vec<Sample> {
    (0..94)
        .map(|n| sample(1024, 300 + n % 7, true, 0))
        .collect()
}

/// Runs of samples in which any field may be the same for all, or not.
pub(crate) fn any_samples(most: usize) -> impl Strategy<Value = Vec<Sample>> {
    let few = prop_oneof![Just(0u32), Just(3000), 0..10_000u32];
    let sample = (
        few,
        prop_oneof![Just(0u32), Just(417), 0..5_000u32],
        any::<bool>(),
        prop_oneof![Just(0i32), -6000..6000, Just(i32::MIN), Just(i32::MAX)],
    );
    let list = prop::collection::vec(sample, 1..most);
    (list, any::<[bool; 4]>()).prop_map(|(list, same)| {
        let first = list[0];
        list.into_iter()
            .map(|s| Sample {
                duration: if same[0] { first.0 } else { s.0 },
                size: if same[1] { first.1 } else { s.1 },
                flags: match if same[2] { first.2 } else { s.2 } {
                    true => Sample::SYNC,
                    false => Sample::NON_SYNC,
                },
                composition_offset: if same[3] { first.3 } else { s.3 },
            })
            .collect()
    })
}
