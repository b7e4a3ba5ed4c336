//! A body into any writer.

use std::io::Write;

use super::{SinkError, read};
use crate::spans::Spans;

const BUFFER: usize = 64 * 1024;

/// Writes the whole body to `writer`, whose errors are told under the name `to`, and returns its length. Needs 64 KiB,
/// whatever the length; does not flush.
///
/// # Errors
///
/// [`SinkError::Source`] if a source fails or changed; since that may be known only after the last byte, what was
/// written is to be trusted only on `Ok`. [`SinkError::NoSpace`] or [`SinkError::Write`] if the writer fails.
pub fn write_to(
    spans: &Spans,
    writer: &mut (impl Write + ?Sized),
    to: &str,
) -> Result<u64, SinkError> {
    let mut written = 0;
    read(spans, &mut vec![0; BUFFER], |piece| {
        writer
            .write_all(piece)
            .map_err(|error| SinkError::write(to, written, spans.len(), error))?;
        written += piece.len() as u64;
        Ok(())
    })?;
    Ok(written)
}
