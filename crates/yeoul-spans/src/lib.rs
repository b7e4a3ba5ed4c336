//! A media body as an ordered list of spans, and the sinks that execute it.
//!
//! A *span* is either a few bytes that were made here ([`Span::Inline`]) or a byte range of something that already
//! exists ([`Span::Range`]). [`Spans`] is a whole body: immutable, cheap to clone and to slice, and as large as its
//! headers, not as its payload. What executes a body is a *sink*:
//!
//! | sink | what it does |
//! |---|---|
//! | [`sink::file`] | a new file, by `copy_file_range` where the kernel can, published by a rename |
//! | [`sink::write`] | any [`std::io::Write`], through a bounded buffer |
//! | [`sink::memory`] | a `Vec<u8>`, up to a limit |
//! | [`sink::digest`] | SHA-256 |
//!
//! Every sink asks each source before and after the body whether it still is what was indexed
//! ([`Source::check`]), so that a file which changed meanwhile is an error that names it, not wrong bytes.
//!
//! ```
//! use std::sync::Arc;
//! use yeoul_spans::{SealedFile, Source, SpansBuilder, sink};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! std::fs::write(folder.join("녹화.mp4"), b"....payload....")?;
//! let recording: Arc<dyn Source> = Arc::new(SealedFile::open(folder.join("녹화.mp4"))?);
//!
//! let mut body = SpansBuilder::new();
//! body.inline(&b"header "[..]);
//! body.range(&recording, 4, 7)?;
//! let body = body.build()?;
//! assert_eq!(body.len(), 14);
//! assert_eq!(sink::memory::to_vec(&body.slice(5..10)?, 1 << 20)?, b"r pay");
//!
//! let written = sink::file::write_new(folder.join("조각.m4s"), &body, &Default::default())?;
//! assert_eq!(written.bytes, 14);
//! assert_eq!(std::fs::read(folder.join("조각.m4s"))?, b"header payload");
//! # Ok(())
//! # }
//! ```

mod builder;
pub mod sink;
mod source;
mod spans;

pub use builder::{INLINE_MERGE_LIMIT, SpansBuilder};
pub use source::{GrowingFile, Identity, Memory, SealedFile, Source, SourceError};
pub use spans::{Iter, SourceRange, Span, Spans, SpansError};
