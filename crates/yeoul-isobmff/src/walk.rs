//! The box structure (ISO/IEC 14496-12 §4.2): headers and a borrowed walk over a container's children.

use crate::{BoxError, Fault, FourCc};

/// Bytes that are enough for any box header but `uuid`'s extended type: size, type and a 64-bit size.
pub const HEADER_PROBE: usize = 16;

/// The header of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxHeader {
    /// The box's type.
    pub kind: FourCc,
    /// Bytes of the header: 8, 16 with a 64-bit size, 16 more for `uuid`.
    pub header_len: u64,
    /// Bytes of the whole box, header included; `None` when its size field is 0: it reaches to the end.
    pub size: Option<u64>,
}

impl BoxHeader {
    /// Stands for the type in an error where there are too few bytes to read one.
    pub const UNREADABLE: FourCc = FourCc(*b"????");

    /// Reads the header at the start of `bytes`. `offset` only goes into errors.
    ///
    /// # Errors
    /// Fewer bytes than the header needs, or a size smaller than the header.
    pub fn parse(bytes: &[u8], offset: u64) -> Result<Self, BoxError> {
        let short = |kind, needed: u64| {
            BoxError::new(
                kind,
                offset,
                Fault::Truncated {
                    needed,
                    have: bytes.len() as u64,
                },
            )
        };
        let Some((size, kind)) = be32(bytes, 0).zip(array::<4>(bytes, 4)) else {
            return Err(short(Self::UNREADABLE, 8));
        };
        let kind = FourCc(kind);
        let (mut header_len, size) = match size {
            0 => (8, None),
            1 => (16, Some(be64(bytes, 8).ok_or_else(|| short(kind, 16))?)),
            size => (8, Some(u64::from(size))),
        };
        if kind == FourCc(*b"uuid") {
            header_len += 16;
        }
        match size {
            Some(size) if size < header_len => {
                Err(BoxError::new(kind, offset, Fault::SizeTooSmall(size)))
            }
            _ => Ok(Self {
                kind,
                header_len,
                size,
            }),
        }
    }
}

/// A box within borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub struct BoxRef<'a> {
    /// The box's type.
    pub kind: FourCc,
    /// Where the box begins, from the start of the file.
    pub offset: u64,
    /// The whole box, header included.
    pub bytes: &'a [u8],
    /// What follows the header.
    pub content: &'a [u8],
}

impl<'a> BoxRef<'a> {
    /// Where the content begins, from the start of the file.
    pub fn content_offset(&self) -> u64 {
        self.offset + (self.bytes.len() - self.content.len()) as u64
    }

    /// Walks the content as a sequence of boxes.
    pub fn children(&self) -> Boxes<'a> {
        Boxes::new(self.content, self.content_offset())
    }

    /// Walks the content as boxes after `skip` bytes of fields.
    pub(crate) fn children_after(&self, skip: usize) -> Boxes<'a> {
        let skip = skip.min(self.content.len());
        Boxes::new(&self.content[skip..], self.content_offset() + skip as u64)
    }

    /// The first child of a type.
    ///
    /// # Errors
    /// A child before it is malformed.
    pub fn child(&self, kind: &[u8; 4]) -> Result<Option<BoxRef<'a>>, BoxError> {
        self.children().find(kind)
    }

    /// The first child of a type, which must be there.
    ///
    /// # Errors
    /// It is absent, or a child before it is malformed.
    pub fn require(&self, kind: &[u8; 4]) -> Result<BoxRef<'a>, BoxError> {
        self.child(kind)?
            .ok_or_else(|| self.error(Fault::Missing(FourCc(*kind))))
    }

    /// The version and flags of a full box (§4.2.2) and the fields behind them.
    pub(crate) fn full(&self) -> Result<(u8, u32, Fields<'a>), BoxError> {
        let mut fields = self.fields();
        let word = fields.u32()?;
        Ok(((word >> 24) as u8, word & 0x00FF_FFFF, fields))
    }

    pub(crate) fn fields(&self) -> Fields<'a> {
        Fields {
            kind: self.kind,
            offset: self.offset,
            content: self.content,
            at: 0,
        }
    }

    pub(crate) fn error(&self, fault: Fault) -> BoxError {
        BoxError::new(self.kind, self.offset, fault)
    }
}

/// A walk over boxes that lie one behind the other.
#[derive(Debug, Clone)]
pub struct Boxes<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Boxes<'a> {
    /// Walks `bytes`, which begin at `offset` in the file.
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self {
            rest: bytes,
            offset,
        }
    }

    /// Advances to the first box of a type.
    ///
    /// # Errors
    /// A box before it is malformed.
    pub fn find(&mut self, kind: &[u8; 4]) -> Result<Option<BoxRef<'a>>, BoxError> {
        for found in self {
            let found = found?;
            if found.kind.0 == *kind {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl<'a> Iterator for Boxes<'a> {
    type Item = Result<BoxRef<'a>, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Some writers end a container with a 32-bit zero (QuickTime's udta); fewer than eight bytes hold no box.
        if self.rest.len() < 8 {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        let offset = self.offset;
        let header = match BoxHeader::parse(rest, offset) {
            Ok(header) => header,
            Err(error) => return Some(Err(error)),
        };
        let have = rest.len() as u64;
        let size = header.size.unwrap_or(have);
        if size > have || header.header_len > have {
            let needed = size.max(header.header_len);
            return Some(Err(BoxError::new(
                header.kind,
                offset,
                Fault::Truncated { needed, have },
            )));
        }
        let (Ok(end), Ok(start)) = (usize::try_from(size), usize::try_from(header.header_len))
        else {
            return Some(Err(BoxError::new(
                header.kind,
                offset,
                Fault::Overflow("its size"),
            )));
        };
        let (bytes, next) = rest.split_at(end);
        self.rest = next;
        self.offset += size;
        Some(Ok(BoxRef {
            kind: header.kind,
            offset,
            bytes,
            content: &bytes[start..],
        }))
    }
}

/// Big-endian fields of a box, read in order; a read past the end is an error that names the box.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    kind: FourCc,
    offset: u64,
    content: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], BoxError> {
        let end = self
            .at
            .checked_add(len)
            .filter(|end| *end <= self.content.len());
        let Some(end) = end else {
            let needed = (self.at as u64).saturating_add(len as u64);
            let fault = Fault::Truncated {
                needed,
                have: self.content.len() as u64,
            };
            return Err(BoxError::new(self.kind, self.offset, fault));
        };
        let bytes = &self.content[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Result<(), BoxError> {
        self.take(len).map(|_| ())
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], BoxError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, BoxError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, BoxError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, BoxError> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, BoxError> {
        self.array().map(i64::from_be_bytes)
    }

    /// 64 bits in version 1, else 32.
    pub(crate) fn by_version(&mut self, version: u8) -> Result<u64, BoxError> {
        if version == 1 {
            self.u64()
        } else {
            self.u32().map(u64::from)
        }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.content[self.at..]
    }
}

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

pub(crate) fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_32_and_64_bits_and_to_the_end() {
        let mut bytes = b"\0\0\0\x0cfreeabcd".to_vec();
        bytes.extend_from_slice(b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x12xy");
        bytes.extend_from_slice(b"\0\0\0\0mdatrest");
        let found: Vec<_> = Boxes::new(&bytes, 100).map(Result::unwrap).collect();
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].offset, found[0].content), (100, &b"abcd"[..]));
        assert_eq!((found[1].offset, found[1].content), (112, &b"xy"[..]));
        assert_eq!((found[2].offset, found[2].content), (130, &b"rest"[..]));
    }

    #[test]
    fn a_size_that_lies_is_named() {
        let error = Boxes::new(b"\0\0\0\x20freeabcd", 0)
            .next()
            .unwrap()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "box 'free' at offset 0: needs 32 bytes, 12 are there"
        );
        let error = Boxes::new(b"\0\0\0\x04freeabcd", 7)
            .next()
            .unwrap()
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "box 'free' at offset 7: its size 4 is smaller than its own header"
        );
    }

    #[test]
    fn an_extended_type_counts_as_header() {
        let mut bytes = b"\0\0\0\x1auuid0123456789abcdefxy".to_vec();
        let found = Boxes::new(&bytes, 0).next().unwrap().unwrap();
        assert_eq!(found.content, b"xy");
        bytes.truncate(20);
        assert!(Boxes::new(&bytes, 0).next().unwrap().is_err());
    }
}
