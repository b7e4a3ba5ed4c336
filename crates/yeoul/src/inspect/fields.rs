//! Fields of a box, as values to show and as bytes to read.

use yeoul_isobmff::Fault as BoxFault;

/// A value to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Number(u64),
    Signed(i64),
    /// Flags.
    Hex(u32),
    /// Nanoseconds; a string in JSON, always, because most exceed 2⁵³.
    Nanos(i64),
    Text(String),
    List(Vec<String>),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<u16> for Value {
    fn from(value: u16) -> Self {
        Self::Number(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// A name and its value.
pub(super) type Field = (&'static str, Value);

/// Big-endian fields, read in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    content: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self { content, at: 0 }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], BoxFault> {
        let found = self.content.get(self.at..).and_then(<[u8]>::first_chunk);
        let Some(found) = found else {
            return Err(BoxFault::Truncated {
                needed: (self.at as u64).saturating_add(N as u64),
                have: self.content.len() as u64,
            });
        };
        self.at += N;
        Ok(*found)
    }

    pub(super) fn skip(&mut self, len: usize) -> Result<(), BoxFault> {
        let end = self.at.saturating_add(len);
        if end > self.content.len() {
            return Err(BoxFault::Truncated {
                needed: end as u64,
                have: self.content.len() as u64,
            });
        }
        self.at = end;
        Ok(())
    }

    pub(super) fn u16(&mut self) -> Result<u16, BoxFault> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, BoxFault> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, BoxFault> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, BoxFault> {
        self.array().map(i64::from_be_bytes)
    }

    /// Version and flags of a full box (ISO/IEC 14496-12 §4.2.2).
    pub(super) fn full(&mut self) -> Result<(u8, u32), BoxFault> {
        let [version, flags @ ..] = self.array::<4>()?;
        let [a, b, c] = flags;
        Ok((version, u32::from_be_bytes([0, a, b, c])))
    }

    /// 64 bits in version 1, else 32.
    pub(super) fn by_version(&mut self, version: u8) -> Result<u64, BoxFault> {
        if version == 1 {
            self.u64()
        } else {
            self.u32().map(u64::from)
        }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.content.get(self.at..).unwrap_or_default()
    }
}
