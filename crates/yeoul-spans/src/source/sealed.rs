//! A file that must not change.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::open::{RegularFile, require_equal, require_same_inode};
use super::{Identity, Source, SourceError, within};

/// A file that is finished: any change of its size or modification time is an error.
///
/// It holds one descriptor. Renaming or removing the file while it is open does no harm: the descriptor keeps the
/// bytes.
#[derive(Debug)]
pub struct SealedFile {
    file: RegularFile,
    identity: Identity,
}

impl SealedFile {
    /// Opens the file at `path` as it is now.
    ///
    /// # Errors
    ///
    /// [`SourceError::Open`], or [`SourceError::NotRegular`] for a directory, FIFO, socket or device (none of which
    /// is waited on).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        let (file, identity) = RegularFile::open(path.as_ref())?;
        Ok(Self { file, identity })
    }

    /// Opens the file at `path` if it still is the file, unchanged, that had the identity `expected`.
    ///
    /// # Errors
    ///
    /// As [`open`](SealedFile::open), and [`SourceError::Changed`] with the first field that differs.
    pub fn open_as(path: impl AsRef<Path>, expected: &Identity) -> Result<Self, SourceError> {
        let opened = Self::open(path)?;
        unchanged(&opened.file.name, expected, &opened.identity)?;
        Ok(opened)
    }

    /// What the file was when it was opened.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }
}

impl Source for SealedFile {
    fn name(&self) -> &str {
        &self.file.name
    }

    fn len(&self) -> u64 {
        self.identity.size
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<(), SourceError> {
        within(&self.file.name, offset, buf.len(), self.identity.size)?;
        self.file.read_exact_at(buf, offset)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.file.as_fd())
    }

    fn check(&self) -> Result<(), SourceError> {
        unchanged(&self.file.name, &self.identity, &self.file.identity()?)
    }
}

fn unchanged(name: &str, was: &Identity, now: &Identity) -> Result<(), SourceError> {
    require_same_inode(name, was, now)?;
    require_equal(name, "size", was.size, now.size)?;
    require_equal(name, "mtime_ns", was.mtime_ns, now.mtime_ns)
}
