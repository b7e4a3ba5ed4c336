use bytes::Bytes;

use super::{avc, hevc};

/// Codecs whose samples are length-prefixed NAL units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NalCodec {
    /// H.264 (ISO/IEC 14496-10).
    Avc,
    /// H.265 (ISO/IEC 23008-2).
    Hevc,
}

impl NalCodec {
    pub(super) fn configuration_box(self) -> &'static [u8; 4] {
        match self {
            Self::Avc => b"avcC",
            Self::Hevc => b"hvcC",
        }
    }
}

/// The parameter sets of an entry or of the head of a sample, each a NAL unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSets {
    /// The codec.
    pub codec: NalCodec,
    /// Bytes of a NAL unit's length field in samples: 1, 2 or 4.
    pub length_size: usize,
    /// Video parameter sets (H.265 only).
    pub vps: Vec<Bytes>,
    /// Sequence parameter sets.
    pub sps: Vec<Bytes>,
    /// Picture parameter sets.
    pub pps: Vec<Bytes>,
}

impl ParameterSets {
    /// The sets in force once a sample has brought `in_band` sets, if that changes anything.
    ///
    /// A set counts as changed when one with its own id is in force with other bytes. A set with a new id adds to what
    /// the stream carries and needs no new entry. Where one changed, the sets in band take the place of all of their kind.
    pub fn changed_by(&self, in_band: &Self) -> Option<Self> {
        let (vps_id, sps_id, pps_id): (SetId, SetId, SetId) = match self.codec {
            NalCodec::Avc => (avc::no_id, avc::sps_id, avc::pps_id),
            NalCodec::Hevc => (hevc::vps_id, hevc::sps_id, hevc::pps_id),
        };
        let changed = differs(&self.vps, &in_band.vps, vps_id)
            || differs(&self.sps, &in_band.sps, sps_id)
            || differs(&self.pps, &in_band.pps, pps_id);
        changed.then(|| {
            let pick = |old: &Vec<Bytes>, new: &Vec<Bytes>| {
                if new.is_empty() {
                    old.clone()
                } else {
                    new.clone()
                }
            };
            Self {
                codec: self.codec,
                length_size: self.length_size,
                vps: pick(&self.vps, &in_band.vps),
                sps: pick(&self.sps, &in_band.sps),
                pps: pick(&self.pps, &in_band.pps),
            }
        })
    }
}

type SetId = fn(&[u8]) -> Option<u64>;

fn differs(old: &[Bytes], new: &[Bytes], id: SetId) -> bool {
    new.iter().any(|set| {
        !old.contains(set)
            && id(set).is_some_and(|new_id| old.iter().any(|o| id(o) == Some(new_id)))
    })
}
