//! A body: an ordered list of spans, and views of it.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::builder::SpansBuilder;
use crate::source::Source;

/// A piece of a body.
#[derive(Clone)]
pub enum Span {
    /// Bytes that were made here: headers.
    Inline(Bytes),
    /// Bytes that already exist: payload.
    Range(SourceRange),
}

/// `len` bytes of a source from `offset` on.
#[derive(Clone)]
pub struct SourceRange {
    /// Where the bytes are.
    pub source: Arc<dyn Source>,
    /// First byte, counted from the source's start.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Range(range) => range.len,
        }
    }

    /// Whether it has no bytes. No span of a [`Spans`] is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part of the span from `start` to `end`, both counted from its first byte and within it.
    fn trim(&self, start: u64, end: u64) -> Self {
        match self {
            // An offset within `Bytes` fits `usize`.
            #[allow(clippy::cast_possible_truncation)]
            Self::Inline(bytes) => Self::Inline(bytes.slice(start as usize..end as usize)),
            Self::Range(range) => Self::Range(SourceRange {
                source: Arc::clone(&range.source),
                offset: range.offset + start,
                len: end - start,
            }),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(bytes) => write!(f, "inline {}", bytes.len()),
            Self::Range(range) => range.fmt(f),
        }
    }
}

impl fmt::Debug for SourceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}+{}", self.source.name(), self.offset, self.len)
    }
}

/// A whole body, or a view of one: immutable, and cheap to clone and to slice.
///
/// Made by a [`SpansBuilder`]. No span is empty, neighbouring ranges of one source are one span, and so are small
/// neighbouring inline pieces (see [`INLINE_MERGE_LIMIT`](crate::INLINE_MERGE_LIMIT)).
#[derive(Clone, Default)]
pub struct Spans {
    list: Arc<List>,
    start: u64,
    end: u64,
}

/// The spans of a body, and for each the offset in the body where it ends.
#[derive(Default)]
struct List {
    spans: Vec<Span>,
    ends: Vec<u64>,
}

impl Spans {
    /// A body of `spans`, whose sum of lengths is known to fit.
    pub(crate) fn from_checked(spans: Vec<Span>, len: u64) -> Self {
        let ends = spans
            .iter()
            .scan(0, |end, span| {
                *end += span.len();
                Some(*end)
            })
            .collect();
        Self {
            list: Arc::new(List { spans, ends }),
            start: 0,
            end: len,
        }
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The bytes of `range` as a view: the list is shared, not copied.
    ///
    /// # Errors
    ///
    /// [`SpansError::Slice`] if the range is reversed or goes beyond the end.
    pub fn slice(&self, range: Range<u64>) -> Result<Self, SpansError> {
        let Range { start, end } = range;
        if start > end || end > self.len() {
            return Err(SpansError::Slice {
                start,
                end,
                len: self.len(),
            });
        }
        Ok(Self {
            list: Arc::clone(&self.list),
            start: self.start + start,
            end: self.start + end,
        })
    }

    /// The bodies of `parts`, one after another, as one.
    ///
    /// # Errors
    ///
    /// [`SpansError::TooLong`] if the sum of their lengths does not fit 64 bits.
    pub fn concat<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Result<Self, SpansError> {
        let mut all = SpansBuilder::new();
        for part in parts {
            all.append(part)?;
        }
        all.build()
    }

    /// The spans in order, the first and last trimmed to the view. The first is found in O(log n).
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        let ends = &self.list.ends;
        let next = ends.partition_point(|&end| end <= self.start);
        let stop = if self.is_empty() {
            next
        } else {
            ends.partition_point(|&end| end < self.end) + 1
        };
        Iter {
            view: self,
            next,
            stop,
        }
    }

    /// The distinct sources in the body, in order of first use.
    #[must_use]
    pub fn sources(&self) -> Vec<Arc<dyn Source>> {
        let (mut seen, mut sources) = (HashSet::new(), Vec::<Arc<dyn Source>>::new());
        let iter = self.iter();
        for span in &self.list.spans[iter.next..iter.stop] {
            let Span::Range(SourceRange { source, .. }) = span else {
                continue;
            };
            if sources.last().is_some_and(|last| Arc::ptr_eq(last, source)) {
                continue;
            }
            if seen.insert(Arc::as_ptr(source).cast::<()>()) {
                sources.push(Arc::clone(source));
            }
        }
        sources
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a Spans {
    type Item = Span;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The spans of a [`Spans`], trimmed to its view.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    view: &'a Spans,
    next: usize,
    stop: usize,
}

impl Iterator for Iter<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        if self.next == self.stop {
            return None;
        }
        let List { spans, ends } = &*self.view.list;
        let (span, span_end) = (&spans[self.next], ends[self.next]);
        let span_start = span_end - span.len();
        self.next += 1;
        let (start, end) = (self.view.start.max(span_start), self.view.end.min(span_end));
        Some(span.trim(start - span_start, end - span_start))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.stop - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

/// Why a body cannot be made or sliced.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpansError {
    /// A range beyond what its source holds.
    #[error("{name}: a span of {len} bytes at offset {offset} lies beyond its {size} bytes")]
    OutOfBounds {
        /// The source's name.
        name: String,
        /// First byte of the span.
        offset: u64,
        /// Length of the span.
        len: u64,
        /// Bytes that the source holds.
        size: u64,
    },
    /// The lengths add up to more than 64 bits hold.
    #[error(
        "the spans of a body add up to {total} bytes; the limit is {}",
        u64::MAX
    )]
    TooLong {
        /// What they add up to.
        total: u128,
    },
    /// A slice that is reversed or goes beyond the end.
    #[error("bytes {start}..{end} are not a part of a body of {len} bytes")]
    Slice {
        /// First byte wanted.
        start: u64,
        /// One past the last byte wanted.
        end: u64,
        /// Length of the body.
        len: u64,
    },
}
