use std::borrow::Cow;

use bytes::Bytes;

use super::{BoxBuffer, FourCc, WriteError};

/// The content of `ftyp` or `styp`: which specifications a file obeys (ISO/IEC 14496-12 §4.3, §8.16.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brands {
    /// The brand that describes the file best.
    pub major: FourCc,
    /// Informative version of the major brand.
    pub minor: u32,
    /// Every brand that the file obeys, the major one included.
    pub compatible: Cow<'static, [FourCc]>,
}

const fn brands(major: &'static [u8; 4], compatible: &'static [FourCc]) -> Brands {
    Brands {
        major: FourCc(*major),
        minor: 0,
        compatible: Cow::Borrowed(compatible),
    }
}

const ISO4: FourCc = FourCc(*b"iso4");
const ISO5: FourCc = FourCc(*b"iso5");
const ISO6: FourCc = FourCc(*b"iso6");
const ISOM: FourCc = FourCc(*b"isom");
const MP41: FourCc = FourCc(*b"mp41");
const MSDH: FourCc = FourCc(*b"msdh");
const CMFC: FourCc = FourCc(*b"cmfc");
const CMF2: FourCc = FourCc(*b"cmf2");
const CMFS: FourCc = FourCc(*b"cmfs");

impl Brands {
    /// Init of a muxed fragmented movie. `iso5` has default-base-is-moof, `iso6` has `tfdt` and signed composition
    /// offsets, and is what HLS (RFC 8216 §3.3) asks for. Several tracks in one file are not CMAF.
    pub const MUXED: Self = brands(b"iso6", &[ISO6, ISO5, MP41]);

    /// Init of a CMAF track (`cmfc`, ISO/IEC 23000-19 clause 7): one track in the file.
    pub const CMAF: Self = brands(b"iso6", &[ISO6, ISO5, MP41, CMFC]);

    /// Init of a CMAF track in which the earliest presentation time of each fragment is its `tfdt` (`cmf2`, ISO/IEC
    /// 23000-19 clause 7): pictures that are reordered have negative composition offsets, and there is no edit list.
    pub const CMAF_CMF2: Self = brands(b"iso6", &[ISO6, ISO5, MP41, CMFC, CMF2]);

    /// `styp` of a muxed segment: a DASH media segment.
    pub const MUXED_SEGMENT: Self = brands(b"msdh", &[MSDH, ISO6]);

    /// `styp` of a CMAF segment (ISO/IEC 23000-19 clause 7).
    pub const CMAF_SEGMENT: Self = brands(b"msdh", &[MSDH, ISO6, CMFS]);

    /// An ordinary MP4 with sample tables; `iso4` has signed composition offsets.
    pub const PROGRESSIVE: Self = brands(b"isom", &[ISOM, ISO4, MP41]);

    /// The brands of a CMAF track; `presents_at_tfdt`: each fragment's earliest presentation time is its `tfdt`.
    #[must_use]
    pub const fn cmaf(presents_at_tfdt: bool) -> Self {
        if presents_at_tfdt {
            Self::CMAF_CMF2
        } else {
            Self::CMAF
        }
    }

    /// Whether the file says that it is a CMAF track.
    pub(super) fn is_cmaf(&self) -> bool {
        self.compatible.contains(&CMFC)
    }
}

/// A `styp` box: goes before the fragment of a segment.
///
/// # Errors
///
/// [`WriteError::BoxTooLarge`] with more than a billion brands.
pub fn styp(brands: &Brands) -> Result<Bytes, WriteError> {
    let mut b = BoxBuffer::with_capacity(16 + 4 * brands.compatible.len());
    write_brands(&mut b, b"styp", brands)?;
    Ok(b.finish())
}

pub(super) fn write_brands(
    b: &mut BoxBuffer,
    name: &[u8; 4],
    brands: &Brands,
) -> Result<(), WriteError> {
    b.boxed(name, |b| {
        b.raw(&brands.major.0);
        b.u32(brands.minor);
        for brand in brands.compatible.iter() {
            b.raw(&brand.0);
        }
        Ok(())
    })
}
