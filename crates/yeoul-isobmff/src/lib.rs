//! ISO base media file format (ISO/IEC 14496-12) boxes: read with bounds, write deterministically.
//!
//! Reading borrows: a [`walk::Boxes`] walks the bytes of a container, a [`movie::Movie`] is a `moov` with its
//! sample entries kept byte for byte (so that every codec passes, known or not), and a [`moof::Moof`] is scanned
//! without an allocation a sample. Every claimed size and count is checked against the bytes that are there before
//! anything is allocated or looped over; [`Limits`] names what is allowed.
//!
//! Writing is a pure function of its arguments: same input, same bytes.
//!
//! ```
//! use yeoul_isobmff::FourCc;
//! use yeoul_isobmff::walk::Boxes;
//!
//! let bytes = b"\0\0\0\x14ftypisom\0\0\0\0isom\0\0\0\x0dmdathello\0\0\0\x10moof";
//! let mut boxes = Boxes::new(bytes, 0);
//! let ftyp = boxes.next().ok_or("no box")??;
//! assert_eq!((ftyp.kind, ftyp.offset), (FourCc(*b"ftyp"), 0));
//! let mdat = boxes.next().ok_or("no box")??;
//! assert_eq!((mdat.offset, mdat.content), (20, &b"hello"[..]));
//!
//! // A claimed size is checked against what is there; the error says where.
//! let torn = boxes.next().ok_or("no box")?.unwrap_err();
//! assert_eq!(torn.to_string(), "box 'moof' at offset 33: needs 16 bytes, 8 are there");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
