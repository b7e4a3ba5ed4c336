//! ISO base media file format (ISO/IEC 14496-12) boxes: read with bounds, write deterministically.
//!
//! Reading borrows: a [`walk::Boxes`] walks the bytes of a container, a [`movie::Movie`] is a `moov` with its
//! sample entries kept byte for byte (so that every codec passes, known or not), and a [`moof::Moof`] is scanned
//! without an allocation a sample. Every claimed size and count is checked against the bytes that are there before
//! anything is allocated or looped over; [`Limits`] names what is allowed.
//!
//! Writing is a pure function of its arguments: same input, same bytes.

pub mod codec;
mod error;
mod fourcc;
mod limits;
pub mod moof;
pub mod movie;
pub mod tables;
pub mod walk;
pub mod write;

pub use error::{BoxError, Fault};
pub use fourcc::FourCc;
pub use limits::Limits;
