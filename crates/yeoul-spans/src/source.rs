//! Where payload lies: the [`Source`] trait, and files and memory as sources.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

mod growing;
mod memory;
mod open;
mod sealed;

pub use growing::GrowingFile;
pub use memory::Memory;
pub use sealed::SealedFile;

/// Bytes that already exist and can be read at any offset.
///
/// Nothing here assumes a file: a source without a descriptor (memory, an object in a bucket) is read by
/// [`read_exact_at`](Source::read_exact_at) alone.
pub trait Source: fmt::Debug + Send + Sync {
    /// The name to show in errors, for a file its path.
    fn name(&self) -> &str;

    /// How many bytes may be read, from offset 0. For a growing file: the prefix that has been seen.
    fn len(&self) -> u64;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` with the bytes at `offset`, wholly or not at all.
    ///
    /// # Errors
    ///
    /// [`SourceError::OutOfBounds`] past [`len`](Source::len), [`SourceError::Truncated`] if the bytes are no longer
    /// there, [`SourceError::Read`] if the system fails.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<(), SourceError>;

    /// A descriptor with the same bytes at the same offsets, for copies inside the kernel.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Asks whether the source still is what was opened. Sinks call it before and after a body.
    ///
    /// # Errors
    ///
    /// [`SourceError::Changed`] or [`SourceError::Shrunk`], which name the source and what differs.
    fn check(&self) -> Result<(), SourceError>;
}

/// What makes a file the same file, unchanged.
///
/// A change is seen as finely as the filesystem stamps `mtime`: on kernels before 6.13 two writes within one timer
/// tick (1 to 10 ms) that keep the size look the same. A file that was at rest when it was opened is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The device that holds the file (`st_dev`).
    pub dev: u64,
    /// The inode on that device (`st_ino`).
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, nanoseconds since 1970.
    pub mtime_ns: i128,
}

/// Why a source cannot be opened, read or trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The file cannot be opened.
    #[error("{name}: cannot open: {error}")]
    Open {
        /// The path.
        name: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The path is a directory, FIFO, socket or device.
    #[error("{name}: not a regular file, it is a {kind}")]
    NotRegular {
        /// The path.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// The state of an open file cannot be read.
    #[error("{name}: cannot read its size and time: {error}")]
    Stat {
        /// The path.
        name: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// A read failed.
    #[error("{name}: cannot read {len} bytes at offset {offset}: {error}")]
    Read {
        /// The source's name.
        name: String,
        /// First byte wanted.
        offset: u64,
        /// Bytes wanted.
        len: u64,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// A read beyond what the source holds.
    #[error("{name}: {len} bytes at offset {offset} lie beyond its {size} bytes")]
    OutOfBounds {
        /// The source's name.
        name: String,
        /// First byte wanted.
        offset: u64,
        /// Bytes wanted.
        len: u64,
        /// Bytes that the source holds.
        size: u64,
    },
    /// The file ended before bytes that it had when it was opened.
    #[error("{name}: truncated while in use: {len} bytes at offset {offset} are no longer there")]
    Truncated {
        /// The path.
        name: String,
        /// First byte wanted.
        offset: u64,
        /// Bytes wanted.
        len: u64,
    },
    /// The file is not the one that was indexed.
    #[error(
        "{name}: changed since it was indexed: {field} was {was}, is now {now}; index it again"
    )]
    Changed {
        /// The path.
        name: String,
        /// `device`, `inode`, `size` or `mtime_ns`.
        field: &'static str,
        /// The value that was indexed.
        was: i128,
        /// The value now.
        now: i128,
    },
    /// A growing file is smaller than the prefix that was indexed.
    #[error("{name}: shrank from {was} to {now} bytes since it was indexed; index it again")]
    Shrunk {
        /// The path.
        name: String,
        /// The prefix that was indexed.
        was: u64,
        /// The size now.
        now: u64,
    },
}

/// Refuses a read beyond `size`.
fn within(name: &str, offset: u64, len: usize, size: u64) -> Result<(), SourceError> {
    let len = len as u64;
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(()),
        _ => Err(SourceError::OutOfBounds {
            name: name.to_owned(),
            offset,
            len,
            size,
        }),
    }
}
