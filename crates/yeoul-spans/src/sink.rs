//! What executes a body.
//!
//! Every sink asks each source before and after the body whether it still is what was indexed
//! ([`Source::check`](crate::Source::check)); a sink that publishes its result does so only after that.

use std::io;
use std::path::Path;

use crate::source::SourceError;
use crate::spans::{SourceRange, Span, Spans};

pub mod digest;
pub mod file;
pub mod memory;
pub mod write;

/// Why a body could not be executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// A source cannot be read, or is not what was indexed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The output cannot be created.
    #[error("{to}: cannot create: {error}")]
    Create {
        /// The output's path.
        to: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// Something is already where the output should be.
    #[error("{to}: already exists; choose another name or ask for it to be replaced")]
    Exists {
        /// The output's path.
        to: String,
    },
    /// The disk or the quota is full.
    #[error(
        "{to}: no space left: {written} of {wanted} bytes were written; free some and run again ({error})"
    )]
    NoSpace {
        /// The output's name.
        to: String,
        /// Bytes written before it was full.
        written: u64,
        /// Bytes of the whole body.
        wanted: u64,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// A write failed.
    #[error("{to}: cannot write at byte {written} of {wanted}: {error}")]
    Write {
        /// The output's name.
        to: String,
        /// Bytes written before.
        written: u64,
        /// Bytes of the whole body.
        wanted: u64,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The output, or its folder, did not reach the disk.
    #[error("{to}: cannot sync to disk: {error}")]
    Sync {
        /// The path of what was synced.
        to: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The finished output cannot be given its name.
    #[error("{to}: written beside its place, but cannot be renamed into it: {error}")]
    Publish {
        /// The output's path.
        to: String,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The body is longer than the caller allows.
    #[error(
        "a body of {len} bytes is over the limit of {limit} bytes for one in memory; raise it or use a file"
    )]
    Limit {
        /// Bytes of the whole body.
        len: u64,
        /// The limit.
        limit: u64,
    },
}

impl SinkError {
    /// A failed write to `to` after `written` of `wanted` bytes.
    fn write(to: &str, written: u64, wanted: u64, error: io::Error) -> Self {
        let to = to.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace {
                to,
                written,
                wanted,
                error,
            },
            _ => Self::Write {
                to,
                written,
                wanted,
                error,
            },
        }
    }
}

/// The path as errors show it.
fn display(path: &Path) -> String {
    path.display().to_string()
}

/// Runs `execute` between two checks of every source of `spans`.
fn checked<T>(
    spans: &Spans,
    execute: impl FnOnce() -> Result<T, SinkError>,
) -> Result<T, SinkError> {
    let sources = spans.sources();
    let check = || sources.iter().try_for_each(|source| source.check());
    check()?;
    let done = execute()?;
    check()?;
    Ok(done)
}

/// Gives the bytes of `spans` to `take` in order: inline bytes as they are, ranges in pieces of at most `buffer`.
fn read(
    spans: &Spans,
    buffer: &mut [u8],
    mut take: impl FnMut(&[u8]) -> Result<(), SinkError>,
) -> Result<(), SinkError> {
    checked(spans, || {
        for span in spans {
            match span {
                Span::Inline(bytes) => take(&bytes)?,
                Span::Range(range) => read_range(&range, 0, buffer, &mut take)?,
            }
        }
        Ok(())
    })
}

/// Gives the bytes of `range` from its byte `done` on to `take`, in pieces of at most `buffer`, which is not empty.
fn read_range(
    range: &SourceRange,
    mut done: u64,
    buffer: &mut [u8],
    take: &mut impl FnMut(&[u8]) -> Result<(), SinkError>,
) -> Result<(), SinkError> {
    while done < range.len {
        let piece = usize::try_from(range.len - done)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let piece = &mut buffer[..piece];
        range.source.read_exact_at(piece, range.offset + done)?;
        take(piece)?;
        done += piece.len() as u64;
    }
    Ok(())
}
