//! Recordings to init and segments on one exact timeline, without touching payload.
//!
//! ```text
//!  inputs ─► Catalogue ─► takes ─► pack_lane ─┬─ Parts    samples of a recording, part by part
//!            (heads)                          ├─ Packer   their place on the take's clock, cuts
//!                                             ├─ timeline the take's place in the broadcast
//!                                             └─► OutputFile { name, Spans }: inits, segments, playlists
//! ```
//!
//! Nothing here reads payload but at most 4 KiB at each video sync sample. What comes out are [`Spans`](yeoul_spans::Spans):
//! header bytes, and ranges of the recordings. [`pack_recording`] does it for one recording; [`pack_lane`] for takes.
//!
//! ```
//! use std::sync::Arc;
//! use yeoul_pack::{MemoryInput, PackOptions, pack_recording};
//! use yeoul_spans::Span;
//!
//! # let recording = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/plain-4s.mp4"))?;
//! let input = Arc::new(MemoryInput::new("cam1/2026-11-30_19-47-55-613655.mp4", recording));
//! let packed = pack_recording(input, &PackOptions::default())?;
//! assert_eq!((packed.inits.len(), packed.fragments.len()), (1, 1));
//!
//! // Little of a segment is ours: the rest is ranges of the recording, for a sink to copy.
//! let segment = &packed.fragments[0].body;
//! let ours: u64 = segment.iter().map(|span| match span {
//!     Span::Inline(header) => header.len() as u64,
//!     Span::Range(_) => 0,
//! }).sum();
//! assert!(ours * 20 < segment.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod clock;
mod input;
mod lane;
mod layout;
mod one;
mod packer;
mod placement;
mod playlist;
mod recording;
mod scan;
mod segment;
mod select;
mod time;
mod warning;

pub use catalogue::{Catalogue, Take, TakeId, TakeRecording, anchor};
pub use input::{FileInput, Input, MemoryInput};
pub use lane::{
    Begun, Boundary, FORMAT_VERSION, FileKind, LanePacker, LaneReport, Line, Output, OutputFile,
    PackError, PackOptions, RecordingLine, RecordingReport, SegmentLine, TakeLine, TakeReport,
    TimeLine, TrackKept, TrackLine, TrackReport, pack_lane,
};
pub use layout::{Layout, LayoutError, LayoutProblem, init, track_id};
pub use one::{Fragment, OneError, PackedRecording, pack_recording};
pub use packer::{CutOptions, Packer, ReadHead};
pub use placement::{Gaps, MAX_OVERLAP, Shift};
pub use playlist::{
    AudioRendition, GAP_URI, MAX_GAP_ENTRIES, MAX_GAP_ENTRIES_GROWING, MediaPlaylist,
    PlaylistEntry, PlaylistKind, Variant, media_playlist, multivariant_playlist, rfc3339,
};
pub use recording::{MAX_BOXES_BEFORE_MOOV, Recording, RecordingError};
pub use scan::{Parts, Run};
pub use segment::{Dropped, Event, PayloadRange, Piece, Segment, TrackInit};
pub use select::{Kept, Rendition, Selector, SelectorError};
pub use time::{NANOS, Time, ns_from_ticks, ticks_from_ns};
pub use warning::{Warning, WarningKind};
