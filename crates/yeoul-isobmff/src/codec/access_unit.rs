use bytes::Bytes;

use super::{NalCodec, ParameterSets, avc, hevc};

/// What the first bytes of a sync sample tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessUnit {
    /// The type of its first picture; `None` when no slice begins within the bytes read.
    pub picture: Option<Picture>,
    /// Whole parameter sets before it.
    pub sets: ParameterSets,
}

/// How a decoder may begin at a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// IDR (or BLA): nothing after it refers to anything before it.
    Instant,
    /// Clean random access or a recovery point: pictures that lead it may refer to what came before.
    Open,
}

impl AccessUnit {
    /// Reads the head of a sample: at most `SYNC_SAMPLE_HEAD` bytes of it.
    pub fn read(head: &Bytes, codec: NalCodec, length_size: usize) -> Self {
        let sets = ParameterSets {
            codec,
            length_size,
            vps: vec![],
            sps: vec![],
            pps: vec![],
        };
        let mut unit = Self {
            picture: None,
            sets,
        };
        let mut at = 0usize;
        while let Some(length) = head.get(at..at.saturating_add(length_size)) {
            let length = length
                .iter()
                .fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
            at += length_size;
            let Some(first) = head.get(at).copied() else {
                break;
            };
            if length == 0 {
                continue;
            }
            let end = at.saturating_add(length);
            match codec.classify(first) {
                Unit::Slice(picture) => {
                    unit.picture = Some(picture);
                    break;
                }
                Unit::Other => {}
                kind if end <= head.len() => unit.sets.push(kind, head.slice(at..end)),
                _ => break,
            }
            at = end;
        }
        unit
    }
}

/// What a NAL unit is, as far as a cut needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Slice(Picture),
    Vps,
    Sps,
    Pps,
    Other,
}

impl NalCodec {
    fn classify(self, first: u8) -> Unit {
        match self {
            Self::Avc => avc::classify(first),
            Self::Hevc => hevc::classify(first),
        }
    }
}

impl ParameterSets {
    fn push(&mut self, kind: Unit, unit: Bytes) {
        match kind {
            Unit::Vps => self.vps.push(unit),
            Unit::Sps => self.sps.push(unit),
            Unit::Pps => self.pps.push(unit),
            Unit::Slice(_) | Unit::Other => {}
        }
    }
}
