//! Making a body, span by span.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::source::Source;
use crate::spans::{SourceRange, Span, Spans, SpansError};

/// Neighbouring inline pieces become one span as long as together they have at most this many bytes; larger ones stay
/// apart, so that no large piece is copied.
pub const INLINE_MERGE_LIMIT: usize = 16 * 1024;

/// Collects spans into a [`Spans`].
#[derive(Debug, Default)]
pub struct SpansBuilder {
    spans: Vec<Span>,
    last: Last,
    total: u128,
}

/// The last span, while it may still grow.
#[derive(Debug, Default)]
enum Last {
    #[default]
    None,
    Inline(Bytes),
    Merged(BytesMut),
    Range(SourceRange),
}

impl SpansBuilder {
    /// An empty body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes so far; at most [`u64::MAX`], past which [`build`](SpansBuilder::build) fails.
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::try_from(self.total).unwrap_or(u64::MAX)
    }

    /// Whether there are no bytes so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Adds bytes that were made here.
    pub fn inline(&mut self, bytes: impl Into<Bytes>) -> &mut Self {
        let bytes = bytes.into();
        self.total += bytes.len() as u128;
        if bytes.is_empty() {
            return self;
        }
        let fits = |last: usize| {
            last.checked_add(bytes.len())
                .is_some_and(|sum| sum <= INLINE_MERGE_LIMIT)
        };
        match &mut self.last {
            Last::Inline(last) if fits(last.len()) => {
                let mut merged = BytesMut::with_capacity(last.len() + bytes.len());
                merged.extend_from_slice(last);
                merged.extend_from_slice(&bytes);
                self.last = Last::Merged(merged);
            }
            Last::Merged(last) if fits(last.len()) => last.extend_from_slice(&bytes),
            _ => self.begin(Last::Inline(bytes)),
        }
        self
    }

    /// Adds `len` bytes of `source` from `offset` on.
    ///
    /// # Errors
    ///
    /// [`SpansError::OutOfBounds`] if they do not lie within [`Source::len`], [`SpansError::TooLong`] if the body would
    /// be longer than 64 bits can say. The body then stays as it was.
    pub fn range(
        &mut self,
        source: &Arc<dyn Source>,
        offset: u64,
        len: u64,
    ) -> Result<&mut Self, SpansError> {
        let size = source.len();
        if offset.checked_add(len).is_none_or(|end| end > size) {
            return Err(SpansError::OutOfBounds {
                name: source.name().to_owned(),
                offset,
                len,
                size,
            });
        }
        self.require_room(len)?;
        self.push_range(SourceRange {
            source: Arc::clone(source),
            offset,
            len,
        });
        Ok(self)
    }

    /// Adds a whole body after what is here.
    ///
    /// # Errors
    ///
    /// [`SpansError::TooLong`]; the body then stays as it was.
    pub fn append(&mut self, spans: &Spans) -> Result<&mut Self, SpansError> {
        self.require_room(spans.len())?;
        for span in spans {
            match span {
                Span::Inline(bytes) => {
                    self.inline(bytes);
                }
                Span::Range(range) => self.push_range(range),
            }
        }
        Ok(self)
    }

    /// The body.
    ///
    /// # Errors
    ///
    /// [`SpansError::TooLong`] if inline bytes made it longer than 64 bits can say.
    pub fn build(mut self) -> Result<Spans, SpansError> {
        self.require_room(0)?;
        let len = self.len();
        self.begin(Last::None);
        Ok(Spans::from_checked(self.spans, len))
    }

    fn push_range(&mut self, range: SourceRange) {
        self.total += u128::from(range.len);
        match &mut self.last {
            _ if range.len == 0 => {}
            Last::Range(last)
                if Arc::ptr_eq(&last.source, &range.source)
                    && last.offset + last.len == range.offset =>
            {
                last.len += range.len;
            }
            _ => self.begin(Last::Range(range)),
        }
    }

    /// Closes the last span and begins another.
    fn begin(&mut self, next: Last) {
        match std::mem::replace(&mut self.last, next) {
            Last::None => {}
            Last::Inline(bytes) => self.spans.push(Span::Inline(bytes)),
            Last::Merged(bytes) => self.spans.push(Span::Inline(bytes.freeze())),
            Last::Range(range) => self.spans.push(Span::Range(range)),
        }
    }

    fn require_room(&self, len: u64) -> Result<(), SpansError> {
        let total = self.total + u128::from(len);
        if total > u128::from(u64::MAX) {
            Err(SpansError::TooLong { total })
        } else {
            Ok(())
        }
    }
}
