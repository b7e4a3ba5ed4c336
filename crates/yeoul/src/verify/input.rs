//! Bytes at an offset, from a file or from memory, and fields of a box.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Why something could not be read on: the place in its file and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at}: {what}")]
pub(super) struct Fault {
    pub(super) at: u64,
    pub(super) what: String,
}

impl Fault {
    pub(super) fn new(at: u64, what: impl Into<String>) -> Self {
        Self {
            at,
            what: what.into(),
        }
    }
}

/// A file (read by `pread`) or bytes in memory. Its length is taken once, when it is opened.
#[derive(Debug)]
pub(super) enum Input<'a> {
    File { file: File, len: u64 },
    Memory(&'a [u8]),
}

impl Input<'_> {
    pub(super) fn open(path: &Path) -> io::Result<Input<'static>> {
        // Asked before it is opened: to open a FIFO would wait for a writer.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
        }
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Input::File { file, len })
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Memory(bytes) => to_u64(bytes.len()),
        }
    }

    pub(super) fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        match self {
            Self::File { file, .. } => file
                .read_exact_at(into, at)
                .map_err(|e| Fault::new(at, format!("cannot read {} bytes: {e}", into.len()))),
            Self::Memory(bytes) => {
                let start = usize::try_from(at).ok();
                let part = start.and_then(|s| bytes.get(s..s.checked_add(into.len())?));
                let part = part.ok_or_else(|| Fault::new(at, "past the end"))?;
                into.copy_from_slice(part);
                Ok(())
            }
        }
    }

    /// `len` bytes at `at`; refused before anything is allocated when they are more than `limit` or not there.
    pub(super) fn take(&self, at: u64, len: u64, limit: u64, what: &str) -> Result<Vec<u8>, Fault> {
        if len > limit {
            return Err(Fault::new(
                at,
                format!("{what} of {len} bytes is over the limit of {limit}"),
            ));
        }
        if at.checked_add(len).is_none_or(|end| end > self.len()) {
            return Err(Fault::new(
                at,
                format!("{what} of {len} bytes goes past the end at {}", self.len()),
            ));
        }
        let size =
            usize::try_from(len).map_err(|_| Fault::new(at, "too large for this machine"))?;
        let mut bytes = vec![0; size];
        self.read_at(at, &mut bytes)?;
        Ok(bytes)
    }
}

pub(super) fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Big-endian fields, one after the other; `at` is where the box lies in its file.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    at: u64,
    what: &'static str,
}

impl<'a> Fields<'a> {
    pub(super) fn new(rest: &'a [u8], at: u64, what: &'static str) -> Self {
        Self { rest, at, what }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let (head, tail) = self
            .rest
            .split_at_checked(n)
            .ok_or_else(|| Fault::new(self.at, format!("{} ends inside a field", self.what)))?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }

    pub(super) fn four(&mut self) -> Result<[u8; 4], Fault> {
        self.array()
    }

    pub(super) fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, Fault> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Fault> {
        self.array().map(i64::from_be_bytes)
    }

    /// Version and flags of a full box.
    pub(super) fn version(&mut self) -> Result<(u8, u32), Fault> {
        let word = self.u32()?;
        Ok((word.to_be_bytes()[0], word & 0x00ff_ffff))
    }

    /// A field of 32 bits in version 0 and of 64 bits after it.
    pub(super) fn wide(&mut self, version: u8) -> Result<u64, Fault> {
        if version == 0 {
            self.u32().map(u64::from)
        } else {
            self.u64()
        }
    }
}
