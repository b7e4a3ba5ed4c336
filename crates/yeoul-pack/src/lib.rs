//! Recordings to init and segments on one exact timeline, without touching payload.

mod clock;
mod packer;
mod recording;
mod scan;
mod segment;
mod time;
mod warning;

pub use packer::{CutOptions, Packer, ReadHead};
pub use recording::{MAX_BOXES_BEFORE_MOOV, Recording, RecordingError};
pub use scan::{Parts, Run};
pub use segment::{Dropped, Event, PayloadRange, Piece, Segment, TrackInit};
pub use time::{NANOS, Time, ns_from_ticks, ticks_from_ns};
pub use warning::{Warning, WarningKind};
