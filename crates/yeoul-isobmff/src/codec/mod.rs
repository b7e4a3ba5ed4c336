//! Sample entries and what can be told of a sample from its first bytes.
//!
//! A [`SampleEntry`] stays the bytes that the recorder wrote, so a codec that nobody here knows passes untouched. What a
//! playlist or a cut needs of known codecs is read through typed views: RFC 6381 names, picture sizes, and the parameter
//! sets of H.264 and H.265.

mod access_unit;
mod avc;
mod bits;
mod hevc;
mod name;
mod parameter_sets;

pub use access_unit::{AccessUnit, Picture};
pub use parameter_sets::{NalCodec, ParameterSets};

use bytes::Bytes;

use crate::movie::Handler;
use crate::walk::{BoxHeader, Boxes, array};
use crate::{BoxError, Fault, FourCc};

/// The first bytes of a sync sample that are read to see its parameter sets and its picture's type; nothing else of
/// a payload is ever read.
pub const SYNC_SAMPLE_HEAD: usize = 4096;

/// A sample entry (ISO/IEC 14496-12 §8.5.2): the whole box, without its `btrt`.
///
/// `btrt` says the bit rate of the recording that the entry stood in; it differs between recordings of one stream and
/// says nothing true of a body made from several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SampleEntry {
    bytes: Bytes,
    handler: Handler,
}

impl SampleEntry {
    /// Takes an entry of a track, whole box, dropping a `btrt` that is a direct child.
    ///
    /// # Errors
    /// The box header is malformed. Children that do not parse leave the entry as it is.
    pub fn new(entry: &Bytes, handler: Handler) -> Result<Self, BoxError> {
        BoxHeader::parse(entry, 0)?;
        let bytes = without_bit_rate(entry, handler).unwrap_or_else(|| entry.clone());
        Ok(Self { bytes, handler })
    }

    /// The entry's box, byte for byte what goes into `stsd`.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The coding name: the entry's box type.
    pub fn kind(&self) -> FourCc {
        FourCc(array(&self.bytes, 4).unwrap_or(*b"????"))
    }

    /// Width and height in pixels as a visual entry claims them (§12.1.3).
    pub fn dimensions(&self) -> Option<(u16, u16)> {
        if self.handler != Handler::Video {
            return None;
        }
        let side = |at| array(&self.bytes, at).map(u16::from_be_bytes);
        side(32).zip(side(34))
    }

    /// The name that goes into a playlist's CODECS (RFC 6381), if the codec has one.
    pub fn codec_name(&self) -> Option<String> {
        name::rfc6381(self)
    }

    /// Channels and sampling rate as an audio entry claims them, by the typed view.
    pub fn channels_and_rate(&self) -> Option<(u16, u32)> {
        name::channels_and_rate(self)
    }

    /// The parameter sets in an `avc1`/`avc3`/`hvc1`/`hev1` entry.
    pub fn parameter_sets(&self) -> Option<ParameterSets> {
        let codec = match &self.kind().0 {
            b"avc1" | b"avc3" => NalCodec::Avc,
            b"hvc1" | b"hev1" => NalCodec::Hevc,
            _ => return None,
        };
        let config = self.child(codec.configuration_box())?;
        match codec {
            NalCodec::Avc => avc::parameter_sets(config),
            NalCodec::Hevc => hevc::parameter_sets(config),
        }
    }

    /// Whether samples may carry parameter sets that the entry does not (`avc3`, `hev1`): then a change is legal in the
    /// stream and needs no new entry.
    pub fn allows_in_band_sets(&self) -> bool {
        matches!(&self.kind().0, b"avc3" | b"hev1")
    }

    /// The same entry with other parameter sets, and the picture size that they give.
    ///
    /// # Errors
    /// The entry is not H.264 or H.265, or the sequence parameter set cannot be read.
    pub fn with_parameter_sets(
        &self,
        sets: &ParameterSets,
    ) -> Result<(Self, (u16, u16)), BoxError> {
        let fault = |what| BoxError::new(self.kind(), 0, Fault::Value(what));
        let name = sets.codec.configuration_box();
        let old = self
            .child(name)
            .ok_or_else(|| fault("has no decoder configuration"))?;
        let rebuilt = match sets.codec {
            NalCodec::Avc => avc::rebuild(old, sets),
            NalCodec::Hevc => hevc::rebuild(old, sets),
        };
        let (config, (width, height)) =
            rebuilt.ok_or_else(|| fault("its new sequence parameter set cannot be read"))?;

        let children_at = self.children_at().unwrap_or(self.bytes.len());
        let mut out = self.bytes[..children_at].to_vec();
        out[32..34].copy_from_slice(&width.to_be_bytes());
        out[34..36].copy_from_slice(&height.to_be_bytes());
        for child in self.children() {
            let child = child?;
            if child.kind.0 == *name {
                push_box(&mut out, name, &config);
            } else {
                out.extend_from_slice(child.bytes);
            }
        }
        let size = u32::try_from(out.len()).map_err(|_| fault("grew past 4 GiB"))?;
        out[..4].copy_from_slice(&size.to_be_bytes());
        Ok((
            Self {
                bytes: out.into(),
                handler: self.handler,
            },
            (width, height),
        ))
    }

    fn child(&self, kind: &[u8; 4]) -> Option<&[u8]> {
        self.children()
            .find(kind)
            .ok()
            .flatten()
            .map(|found| found.content)
    }

    fn children(&self) -> Boxes<'_> {
        let at = self.children_at().unwrap_or(self.bytes.len());
        Boxes::new(&self.bytes[at..], at as u64)
    }

    /// Where its child boxes begin; `None` where that is not known or there is no room for any.
    fn children_at(&self) -> Option<usize> {
        children_at(&self.bytes, self.handler).filter(|at| *at <= self.bytes.len())
    }
}

/// Where an entry's child boxes begin: after the fields of its kind (§12.1.3, §12.2.3; QuickTime's sound versions).
fn children_at(entry: &[u8], handler: Handler) -> Option<usize> {
    match handler {
        Handler::Video => Some(8 + 78),
        Handler::Audio => match array(entry, 16).map(u16::from_be_bytes)? {
            0 => Some(8 + 28),
            1 => Some(8 + 28 + 16),
            2 => Some(8 + 28 + 36),
            _ => None,
        },
        Handler::Other(_) => None,
    }
}

fn without_bit_rate(entry: &Bytes, handler: Handler) -> Option<Bytes> {
    let at = children_at(entry, handler).filter(|at| *at <= entry.len())?;
    let mut out = entry[..at].to_vec();
    let mut kept = at;
    for child in Boxes::new(&entry[at..], at as u64) {
        let child = child.ok()?;
        kept += child.bytes.len();
        if child.kind != FourCc(*b"btrt") {
            out.extend_from_slice(child.bytes);
        }
    }
    out.extend_from_slice(&entry[kept..]);
    if out.len() == entry.len() {
        return None;
    }
    let size = u32::try_from(out.len()).ok()?;
    out.get_mut(..4)?.copy_from_slice(&size.to_be_bytes());
    Some(out.into())
}

fn push_box(out: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    // A decoder configuration is at most some 64 KiB a set: its size always fits.
    let size = u32::try_from(content.len() + 8).unwrap_or(u32::MAX);
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(kind);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests;
