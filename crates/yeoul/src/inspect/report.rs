use std::io;

use yeoul_isobmff::FourCc;
use yeoul_isobmff::movie::Mtxi;

use super::fault::Fault;
use super::fields::Field;

/// What a walk tells, in this order; written as it comes.
pub(super) trait Report {
    fn begin(&mut self, name: &str, size: u64) -> io::Result<()>;
    /// A box begins; `depth` counts from 1 at the top level.
    fn open(&mut self, node: &Node, depth: u32) -> io::Result<()>;
    /// The box that was opened last and is not closed ends.
    fn close(&mut self) -> io::Result<()>;
    fn tracks(&mut self, rows: &[Row]) -> io::Result<()>;
    fn begin_samples(&mut self) -> io::Result<()>;
    fn begin_track(&mut self, row: &Row) -> io::Result<()>;
    fn sample(&mut self, sample: &Sample) -> io::Result<()>;
    fn end_track(&mut self) -> io::Result<()>;
    fn end_samples(&mut self) -> io::Result<()>;
    fn summary(&mut self, summary: &Summary<'_>) -> io::Result<()>;
    fn end(&mut self, fault: Option<&Fault>) -> io::Result<()>;
}

/// A box.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: FourCc,
    pub(super) offset: u64,
    /// As claimed; what is there of a torn box is less.
    pub(super) size: u64,
    pub(super) fields: Vec<Field>,
}

/// A track.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: u32,
    /// `video`, `audio`, a handler's code, or `unknown` without a `moov`.
    pub(super) kind: String,
    /// Name by RFC 6381, else the sample entry's type; of several entries all.
    pub(super) codec: Option<String>,
    pub(super) timescale: Option<u32>,
    pub(super) language: Option<String>,
    /// Width and height.
    pub(super) picture: Option<(u16, u16)>,
    /// Channels and sampling rate.
    pub(super) sound: Option<(u16, u32)>,
    pub(super) totals: Totals,
}

/// What there is of a track: samples that are wholly in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Decode time of the first sample.
    pub(super) start: Option<u64>,
    pub(super) samples: u64,
    pub(super) duration: u64,
    pub(super) bytes: u64,
    pub(super) sync: u64,
}

/// A sample. Times are in the track's ticks, before any edit list.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) dts: u64,
    pub(super) pts: i128,
    pub(super) duration: u32,
    pub(super) size: u32,
    pub(super) sync: bool,
    pub(super) offset: u64,
}

/// What kind of file it is, by its boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A fragmented movie with parts, or one that a recorder began.
    Recording,
    /// A fragmented movie without parts.
    Init,
    /// Parts without a `moov`.
    Segment,
    /// `styp` alone: what GAP entries of a playlist name.
    EmptySegment,
    /// A movie with sample tables.
    Plain,
    /// Neither.
    Unknown,
}

impl FileKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Init => "init",
            Self::Segment => "segment",
            Self::EmptySegment => "empty segment",
            Self::Plain => "plain MP4",
            Self::Unknown => "unknown",
        }
    }
}

/// What the file is as a whole.
#[derive(Debug)]
pub(super) struct Summary<'a> {
    pub(super) kind: FileKind,
    pub(super) parts: u64,
    /// Whether `mvhd` has a duration, in a recording: MediaMTX writes it last of all.
    pub(super) closed: Option<bool>,
    /// Timescale and duration of `mvhd`.
    pub(super) movie: Option<(u32, u64)>,
    pub(super) mtxi: Option<Mtxi>,
    /// Where the box begins that is not wholly there.
    pub(super) torn: Option<u64>,
    /// Samples that headers tell of and that are not wholly there.
    pub(super) missing_samples: u64,
    pub(super) notes: &'a [String],
}
