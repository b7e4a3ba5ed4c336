//! A file that a recorder still appends to.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::open::{RegularFile, require_same_inode};
use super::{Identity, Source, SourceError, within};

/// A file that grows at its end while its prefix is in use.
///
/// [`len`](Source::len) is the size seen when it was opened or last [refreshed](GrowingFile::refresh), so ranges made
/// within it stay valid. The modification time may change, and so may bytes in place: a recorder patches the
/// duration in `mvhd` when it closes a file, which lies outside every payload range. What is refused is a file that
/// became smaller than the prefix.
#[derive(Debug)]
pub struct GrowingFile {
    file: RegularFile,
    opened: Identity,
    len: AtomicU64,
}

impl GrowingFile {
    /// Opens the file at `path`; what it holds now is the first prefix.
    ///
    /// # Errors
    ///
    /// [`SourceError::Open`], or [`SourceError::NotRegular`] for a directory, FIFO, socket or device (none of which
    /// is waited on).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        let (file, opened) = RegularFile::open(path.as_ref())?;
        Ok(Self {
            file,
            opened,
            len: AtomicU64::new(opened.size),
        })
    }

    /// Opens the file at `path` if it is the file that had the identity `expected`, grown or not.
    ///
    /// # Errors
    ///
    /// As [`open`](GrowingFile::open), [`SourceError::Changed`] for another device or inode, and
    /// [`SourceError::Shrunk`] for a smaller size.
    pub fn open_as(path: impl AsRef<Path>, expected: &Identity) -> Result<Self, SourceError> {
        let opened = Self::open(path)?;
        require_same_inode(&opened.file.name, expected, &opened.opened)?;
        opened.require_at_least(expected.size, opened.opened.size)?;
        Ok(opened)
    }

    /// Looks at the file's size again and returns it as the new [`len`](Source::len).
    ///
    /// # Errors
    ///
    /// [`SourceError::Shrunk`] if it is smaller than the prefix already seen; the prefix then stays as it was.
    pub fn refresh(&self) -> Result<u64, SourceError> {
        let now = self.file.identity()?.size;
        let seen = self.len.fetch_max(now, Ordering::AcqRel);
        self.require_at_least(seen, now)?;
        Ok(now)
    }

    /// What the file was when it was opened, with the size last seen. Its `mtime_ns` is that of the opening.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity {
            size: self.len(),
            ..self.opened
        }
    }

    fn require_at_least(&self, was: u64, now: u64) -> Result<(), SourceError> {
        if now >= was {
            Ok(())
        } else {
            Err(SourceError::Shrunk {
                name: self.file.name.clone(),
                was,
                now,
            })
        }
    }
}

impl Source for GrowingFile {
    fn name(&self) -> &str {
        &self.file.name
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<(), SourceError> {
        within(&self.file.name, offset, buf.len(), self.len())?;
        self.file.read_exact_at(buf, offset)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.file.as_fd())
    }

    fn check(&self) -> Result<(), SourceError> {
        self.require_at_least(self.len(), self.file.identity()?.size)
    }
}
