//! Deterministic writers: the same input gives the same bytes.
//!
//! Everything here writes *headers*. Sample payload is never seen: a writer is told sizes, and returns the bytes that go
//! before the payload. Times of creation are 0, handler names are empty, arithmetic is checked.
//!
//! | function | writes | standard |
//! |---|---|---|
//! | [`init`] | `ftyp moov` of a fragmented movie | ISO/IEC 14496-12 §8.8, HLS `EXT-X-MAP` |
//! | [`styp`] | the segment type before a fragment | §8.16.2 |
//! | [`fragment`] | `moof` and the header of its `mdat` | §8.8.4–8.8.12 |
//! | [`sidx`] | the segment index, hierarchical when needed | §8.16.3 |
//! | [`Progressive::layout`] | `ftyp moov` and the header of `mdat` of an ordinary MP4 | §8.5–8.7 |

mod brands;
mod buffer;
mod error;
mod fragment;
mod init;
mod progressive;
mod sample;
mod sidx;
mod track;

pub use crate::FourCc;
pub use brands::{Brands, styp};
pub use buffer::BoxBuffer;
pub use error::WriteError;
pub use fragment::{FragmentTrack, MAX_FRAGMENT_SIZE, fragment};
pub use init::init;
pub use progressive::{
    Chunk, ChunkRef, Interleave, Layout, Progressive, ProgressiveTrack, movie_timescale,
};
pub use sample::Sample;
pub use sidx::{MAX_REFERENCES, SegmentIndex, Subsegment, sidx};
pub use track::InitTrack;
