use bytes::Bytes;

use super::{FourCc, WriteError};

/// An append-only buffer of nested boxes. All numbers are big-endian; sizes are written when a box ends.
#[derive(Debug, Default, Clone)]
pub struct BoxBuffer {
    bytes: Vec<u8>,
}

impl BoxBuffer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer with room for `bytes` bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
        }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was written yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A box `name` around what `content` writes.
    ///
    /// # Errors
    ///
    /// [`WriteError::BoxTooLarge`] if the box exceeds 32 bits; whatever `content` returns. The buffer is then of no use.
    pub fn boxed(
        &mut self,
        name: &[u8; 4],
        content: impl FnOnce(&mut Self) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let start = self.bytes.len();
        self.u32(0);
        self.raw(name);
        content(self)?;
        let size = self.bytes.len() - start;
        let size = u32::try_from(size).map_err(|_| WriteError::BoxTooLarge {
            name: FourCc(*name),
            size: u64::try_from(size).unwrap_or(u64::MAX),
        })?;
        self.bytes[start..start + 4].copy_from_slice(&size.to_be_bytes());
        Ok(())
    }

    /// A box with a version and 24 bits of flags (`FullBox`, ISO/IEC 14496-12 §4.2).
    ///
    /// # Errors
    ///
    /// As [`BoxBuffer::boxed`].
    pub fn full_box(
        &mut self,
        name: &[u8; 4],
        version: u8,
        flags: u32,
        content: impl FnOnce(&mut Self) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        debug_assert!(flags < 1 << 24, "flags of a full box are 24 bits");
        self.boxed(name, |b| {
            b.u32(u32::from(version) << 24 | (flags & 0x00ff_ffff));
            content(b)
        })
    }

    /// The header alone of a box whose `payload` bytes follow elsewhere: 8 bytes, or 16 with a 64-bit size when needed.
    ///
    /// # Errors
    ///
    /// [`WriteError::BoxTooLarge`] if the size exceeds 64 bits.
    pub fn header(&mut self, name: &[u8; 4], payload: u64) -> Result<(), WriteError> {
        let size = header_len(payload).checked_add(payload);
        let size = size.ok_or(WriteError::BoxTooLarge {
            name: FourCc(*name),
            size: u64::MAX,
        })?;
        if let Ok(size) = u32::try_from(size) {
            self.u32(size);
            self.raw(name);
        } else {
            self.u32(1);
            self.raw(name);
            self.u64(size);
        }
        Ok(())
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_be_bytes());
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_be_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_be_bytes());
    }

    /// Four bytes, two's complement.
    pub fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }

    /// Eight bytes, two's complement.
    pub fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// `count` zero bytes.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// What was written.
    #[must_use]
    pub fn finish(self) -> Bytes {
        Bytes::from(self.bytes)
    }
}

/// Length of the header of a box with `payload` bytes: 8, or 16 where its size exceeds 32 bits.
pub(super) const fn header_len(payload: u64) -> u64 {
    if payload > u32::MAX as u64 - 8 { 16 } else { 8 }
}
