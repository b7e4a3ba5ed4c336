use super::TableError;
use super::entries::{ChildBox, field};

/// Sample sizes, as `stsz` or `stz2` has them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sizes<'a> {
    /// All the same: (size, count).
    Fixed(u32, u32),
    Bits32(&'a [[u8; 4]]),
    Bits16(&'a [[u8; 2]]),
    Bits8(&'a [[u8; 1]]),
    /// Two a byte, the high half first; the count of samples.
    Bits4(&'a [[u8; 1]], u32),
}

impl<'a> Sizes<'a> {
    pub(super) fn stsz(stsz: &ChildBox<'a>) -> Result<Self, TableError> {
        let (_, rest) = stsz.versioned()?;
        let (size, rest) = stsz.number(rest)?;
        if size == 0 {
            return stsz.counted(rest).map(Self::Bits32);
        }
        let (count, _) = stsz.number(rest)?;
        Ok(Self::Fixed(size, count))
    }

    pub(super) fn stz2(stz2: &ChildBox<'a>) -> Result<Self, TableError> {
        let (_, rest) = stz2.versioned()?;
        let (width, rest) = stz2.number(rest)?;
        let width = width & 0xff; // after 24 reserved bits
        match width {
            4 => {
                let (count, rest) = stz2.number(rest)?;
                let bytes = stz2.entries(count.div_ceil(2), rest)?;
                Ok(Self::Bits4(bytes, count))
            }
            8 => stz2.counted(rest).map(Self::Bits8),
            16 => stz2.counted(rest).map(Self::Bits16),
            _ => Err(TableError::Unknown {
                name: stz2.name,
                offset: stz2.offset,
                field: "field size",
                value: width,
            }),
        }
    }

    pub(super) fn count(&self) -> u64 {
        let len = match self {
            Self::Fixed(_, count) | Self::Bits4(_, count) => return u64::from(*count),
            Self::Bits32(entries) => entries.len(),
            Self::Bits16(entries) => entries.len(),
            Self::Bits8(entries) => entries.len(),
        };
        u64::try_from(len).unwrap_or(u64::MAX)
    }

    /// The size of sample `index`, from 0; 0 past the last.
    pub(super) fn size(&self, index: u64) -> u32 {
        let Ok(index) = usize::try_from(index) else {
            return 0;
        };
        match self {
            Self::Fixed(size, _) => *size,
            Self::Bits32(entries) => entries.get(index).map_or(0, |e| field(e, 0)),
            Self::Bits16(entries) => entries
                .get(index)
                .map_or(0, |e| u32::from(u16::from_be_bytes(*e))),
            Self::Bits8(entries) => entries.get(index).map_or(0, |e| u32::from(e[0])),
            Self::Bits4(entries, _) => entries.get(index / 2).map_or(0, |e| {
                let half = if index % 2 == 0 { e[0] >> 4 } else { e[0] & 15 };
                u32::from(half)
            }),
        }
    }
}
