//! Boxes of `stbl` and the fixed-size entries in them.

use super::TableError;
use crate::write::FourCc;

/// A box: where it begins in its parent's content, and its own content.
#[derive(Clone, Copy)]
pub(super) struct ChildBox<'a> {
    pub(super) name: FourCc,
    pub(super) offset: usize,
    pub(super) content: &'a [u8],
}

/// The boxes in `parent`, one after another. A tail under 8 bytes is padding.
pub(super) fn children(parent: &[u8]) -> impl Iterator<Item = Result<ChildBox<'_>, TableError>> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = parent.get(offset..)?;
        let (head, _) = rest.split_first_chunk::<8>()?;
        let [s0, s1, s2, s3, name @ ..] = *head;
        let name = FourCc(name);
        let (header, size) = match u32::from_be_bytes([s0, s1, s2, s3]) {
            0 => (8, u64::try_from(rest.len()).unwrap_or(u64::MAX)),
            1 => match rest[8..].first_chunk::<8>() {
                Some(size) => (16, u64::from_be_bytes(*size)),
                None => (16, 16),
            },
            size => (8, u64::from(size)),
        };
        let start = offset;
        let content = usize::try_from(size).ok().and_then(|s| rest.get(header..s));
        let Some(content) = content else {
            offset = parent.len();
            return Some(Err(TableError::Truncated {
                name,
                offset: start,
                need: size.max(8),
                have: u64::try_from(rest.len()).unwrap_or(u64::MAX),
            }));
        };
        offset += header + content.len();
        Some(Ok(ChildBox {
            name,
            offset: start,
            content,
        }))
    })
}

impl<'a> ChildBox<'a> {
    /// The version of a full box, and what follows its flags.
    pub(super) fn versioned(&self) -> Result<(u8, &'a [u8]), TableError> {
        let (head, rest) = self.content.split_first_chunk::<4>().ok_or(self.short(4))?;
        Ok((head[0], rest))
    }

    /// A 32-bit number and what follows it.
    pub(super) fn number(&self, bytes: &'a [u8]) -> Result<(u32, &'a [u8]), TableError> {
        let (head, rest) = bytes.split_first_chunk::<4>().ok_or(self.short(8))?;
        Ok((u32::from_be_bytes(*head), rest))
    }

    /// A 32-bit count and as many entries of `N` bytes.
    pub(super) fn counted<const N: usize>(
        &self,
        bytes: &'a [u8],
    ) -> Result<&'a [[u8; N]], TableError> {
        let (count, rest) = self.number(bytes)?;
        self.entries(count, rest)
    }

    /// `count` entries of `N` bytes at the start of `bytes`.
    pub(super) fn entries<const N: usize>(
        &self,
        count: u32,
        bytes: &'a [u8],
    ) -> Result<&'a [[u8; N]], TableError> {
        let (entries, _) = bytes.as_chunks::<N>();
        usize::try_from(count)
            .ok()
            .and_then(|count| entries.get(..count))
            .ok_or_else(|| {
                let entry = u64::try_from(N).unwrap_or(u64::MAX);
                self.short(u64::from(count).saturating_mul(entry))
            })
    }

    pub(super) fn short(&self, need: u64) -> TableError {
        TableError::Truncated {
            name: self.name,
            offset: self.offset,
            need,
            have: u64::try_from(self.content.len()).unwrap_or(u64::MAX),
        }
    }
}

/// The `INDEX`-th 32-bit number of an entry.
pub(super) fn field<const N: usize>(entry: &[u8; N], index: usize) -> u32 {
    match entry.as_chunks::<4>().0.get(index) {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => 0,
    }
}
