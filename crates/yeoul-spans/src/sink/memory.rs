//! A body as bytes in memory.

use std::io;

use super::{SinkError, checked};
use crate::spans::{Span, Spans};

/// The whole body, if it has at most `limit` bytes. Nothing is allocated before that is known.
///
/// # Errors
///
/// [`SinkError::Limit`] for a longer body, [`SinkError::NoSpace`] if there is not so much memory,
/// [`SinkError::Source`] if a source fails or changed.
pub fn to_vec(spans: &Spans, limit: u64) -> Result<Vec<u8>, SinkError> {
    let len = spans.len();
    if len > limit {
        return Err(SinkError::Limit { len, limit });
    }
    let no_memory = || SinkError::NoSpace {
        to: "memory".to_owned(),
        written: 0,
        wanted: len,
        error: io::ErrorKind::OutOfMemory.into(),
    };
    let room = usize::try_from(len).map_err(|_| no_memory())?;
    let mut body = Vec::new();
    body.try_reserve_exact(room).map_err(|_| no_memory())?;
    checked(spans, || {
        for span in spans {
            match span {
                Span::Inline(bytes) => body.extend_from_slice(&bytes),
                Span::Range(range) => {
                    let start = body.len();
                    body.resize(
                        start + usize::try_from(range.len).map_err(|_| no_memory())?,
                        0,
                    );
                    range
                        .source
                        .read_exact_at(&mut body[start..], range.offset)?;
                }
            }
        }
        Ok(())
    })?;
    Ok(body)
}
