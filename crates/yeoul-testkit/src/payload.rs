//! Sample bodies: real bytes, or a believable head and cheap filler.

use std::sync::Arc;

use crate::codec::{Codec, SampleEntry};
use crate::rng::SplitMix64;

/// What a picture is for, as far as its NAL or frame header tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Idr,
    Cra,
    Anchor,
    Leaf,
    /// A leaf or reference shown before the CRA that it follows.
    Leading,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Real(Arc<[u8]>),
    Made { codec: Codec, role: Role, seed: u64 },
}

/// The bytes that a made sample of at least `wanted` bytes begins with, and the whole sample's size.
pub(crate) fn head(
    codec: Codec,
    role: Role,
    entry: Option<&SampleEntry>,
    wanted: u32,
) -> (Vec<u8>, u32) {
    let mut head = Vec::new();
    let sync = matches!(role, Role::Idr | Role::Cra);
    if let Some(entry) = entry.filter(|_| sync) {
        for set in &entry.parameter_sets {
            head.extend(u32::try_from(set.len()).unwrap_or(u32::MAX).to_be_bytes());
            head.extend(set);
        }
    }
    let start: &[u8] = match (codec, role) {
        (Codec::H264, Role::Idr | Role::Cra) => &[0x65, 0x88, 0x84],
        (Codec::H264, Role::Anchor) => &[0x41, 0x9a],
        (Codec::H264, Role::Leaf | Role::Leading) => &[0x01, 0x9e],
        (Codec::H265, Role::Idr) => &[0x28, 0x01, 0xac],
        (Codec::H265, Role::Cra) => &[0x2a, 0x01, 0xac],
        (Codec::H265, Role::Anchor) => &[0x02, 0x01, 0xd0],
        (Codec::H265, Role::Leaf) => &[0x00, 0x01, 0xe0],
        (Codec::H265, Role::Leading) => &[0x10, 0x01, 0xe0],
        (Codec::Vp9, Role::Idr | Role::Cra) => {
            &[0x82, 0x49, 0x83, 0x42, 0x00, 0x27, 0xf0, 0x16, 0x70]
        }
        (Codec::Vp9, _) => &[0x86, 0x00, 0x40, 0x92],
        (Codec::Aac, _) => &[0x01],
        (Codec::Opus, _) => &[0xfc],
    };
    let prefixed = matches!(codec, Codec::H264 | Codec::H265);
    let before = u32::try_from(head.len()).unwrap_or(u32::MAX);
    let start_len = u32::try_from(start.len()).unwrap_or(u32::MAX);
    let size = wanted.max(before + u32::from(prefixed) * 4 + start_len + 8);
    if prefixed {
        head.extend((size - before - 4).to_be_bytes());
    }
    head.extend(start);
    (head, size)
}

/// Fills `out` with bytes that are never 0, so that no start code and no emulation prevention can arise.
pub(crate) fn noise(rng: &mut SplitMix64, out: &mut [u8]) {
    for chunk in out.chunks_mut(8) {
        let word = (rng.next_u64() | 0x0101_0101_0101_0101).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}
