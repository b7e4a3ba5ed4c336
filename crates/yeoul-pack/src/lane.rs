//! Takes to files: drives the scan and the packer, places segments on broadcast time, writes playlists.

mod events;
mod place;
mod playlists;
mod report;
mod state;
mod take;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use yeoul_isobmff::Limits;
use yeoul_isobmff::write::WriteError;
use yeoul_spans::{SourceError, Spans, SpansBuilder, SpansError};

pub use self::report::{Boundary, LaneReport, RecordingReport, TakeReport, TrackKept, TrackReport};
use self::state::Journal;
pub use self::state::{Line, RecordingLine, SegmentLine, TakeLine, TimeLine, TrackLine};
use self::take::InHand;
use crate::catalogue::{Take, TakeRecording};
use crate::layout::{Layout, LayoutProblem, init};
use crate::packer::CutOptions;
use crate::placement::{Gaps, Timeline};
use crate::segment::TrackInit;
use crate::select::Rendition;
use crate::time::Time;
use crate::warning::Warning;

/// Changes whenever the same input would give other bytes.
pub const FORMAT_VERSION: u32 = 1;

/// How a broadcast is packed.
#[derive(Debug, Clone, Default)]
pub struct PackOptions {
    /// Where segments are cut.
    pub cut: CutOptions,
    /// Tracks to files.
    pub layout: Layout,
    /// What becomes of gaps.
    pub gaps: Gaps,
    /// Which tracks are kept.
    pub rendition: Rendition,
    /// What is accepted.
    pub limits: Limits,
}

/// A file of the output.
#[derive(Debug, Clone)]
pub struct OutputFile {
    /// Path within the output folder, with `/`.
    pub name: String,
    /// Its bytes.
    pub body: Spans,
    /// What it is.
    pub kind: FileKind,
}

/// What a file of the output is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileKind {
    /// `ftyp` and `moov`; comes before the first segment that needs it.
    Init,
    /// A segment, with the name of its init.
    Segment {
        /// As in [`OutputFile::name`].
        init: String,
    },
    /// A playlist, or what its GAP entries name.
    Playlist,
}

/// Takes the files, each once; playlists come last.
pub trait Output {
    /// Why a file cannot be taken.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Takes a file.
    ///
    /// # Errors
    /// It cannot; packing ends.
    fn file(&mut self, file: OutputFile) -> Result<(), Self::Error>;

    /// So many more bytes of recordings are done with.
    fn advanced(&mut self, _bytes: u64) {}
}

/// Why packing ended.
#[derive(Debug, thiserror::Error)]
pub enum PackError<E: std::error::Error + 'static> {
    /// A recording cannot be read or changed meanwhile.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A segment cannot be described.
    #[error(transparent)]
    Layout(#[from] LayoutProblem),
    /// An init cannot be written.
    #[error("init: {0}")]
    Init(#[from] WriteError),
    /// A body cannot be put together.
    #[error(transparent)]
    Spans(#[from] SpansError),
    /// The output did not take a file.
    #[error(transparent)]
    Output(E),
}

/// Packs takes that follow one another. Those that ran beside another come back in the report, for a lane of their own.
///
/// # Errors
/// See [`PackError`]. A broken recording is not an error: it is in the report's warnings.
pub fn pack_lane<O: Output>(
    takes: Vec<Take>,
    options: &PackOptions,
    output: &mut O,
) -> Result<LaneReport, PackError<O::Error>> {
    let mut packer = LanePacker::new(options.clone());
    for take in takes {
        match packer.begin_take(&take, output)? {
            Begun::Packing => {
                for recording in &take.recordings {
                    packer.recording(recording, output)?;
                }
                packer.end_take(output)?;
            }
            Begun::Nothing => {
                output.advanced(take.recordings.iter().map(|recording| recording.size).sum());
            }
            Begun::Beside => packer.report.beside.push(take),
        }
    }
    packer.finish(output)
}

/// Packs a lane as its recordings come. Takes follow one another: each is begun, given its recordings by number, and ended.
pub struct LanePacker {
    options: PackOptions,
    timeline: Timeline,
    /// Names of the inits written so far, by folder and content.
    inits: BTreeMap<(String, Bytes), String>,
    segments: Vec<PlacedSegment>,
    /// By slot: what the first take that has it says of it.
    tracks: BTreeMap<usize, TrackSummary>,
    report: LaneReport,
    hand: Option<InHand>,
    journal: Journal,
}

/// What became of a take that was to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// Its recordings can come.
    Packing,
    /// It ran beside the take before: it needs another lane.
    Beside,
    /// Nothing of it fits the selection.
    Nothing,
}

impl LanePacker {
    /// An empty lane.
    pub fn new(options: PackOptions) -> Self {
        Self {
            timeline: Timeline::new(options.gaps),
            options,
            inits: BTreeMap::new(),
            segments: Vec::new(),
            tracks: BTreeMap::new(),
            report: LaneReport::default(),
            hand: None,
            journal: Journal::default(),
        }
    }

    /// Begins a take, known by its id, its anchor and its recordings so far (at least the first). A take in hand ends.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn begin_take<O: Output>(
        &mut self,
        take: &Take,
        output: &mut O,
    ) -> Result<Begun, PackError<O::Error>> {
        self.end_take(output)?;
        self.abandon();
        let (mut lane, hand) = self.split(output);
        let begun = lane.begin(take)?;
        Ok(match begun {
            take::Begin::At(new) => {
                *hand = Some(*new);
                Begun::Packing
            }
            take::Begin::Beside => Begun::Beside,
            take::Begin::Nothing => Begun::Nothing,
        })
    }

    /// The next recording of the take in hand.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn recording<O: Output>(
        &mut self,
        found: &TakeRecording,
        output: &mut O,
    ) -> Result<(), PackError<O::Error>> {
        let (mut lane, hand) = self.split(output);
        match hand {
            Some(hand) => lane.recording(hand, found),
            None => Ok(()),
        }
    }

    /// Ends the take in hand: its last segment leaves.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn end_take<O: Output>(&mut self, output: &mut O) -> Result<(), PackError<O::Error>> {
        let (mut lane, hand) = self.split(output);
        match hand.take() {
            Some(hand) => lane.end(hand),
            None => Ok(()),
        }
    }

    /// Ends the lane and writes its playlists.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn finish<O: Output>(mut self, output: &mut O) -> Result<LaneReport, PackError<O::Error>> {
        self.end_take(output)?;
        self.split(output).0.finish()?;
        Ok(self.report)
    }

    fn split<'a, O: Output>(
        &'a mut self,
        output: &'a mut O,
    ) -> (Lane<'a, O>, &'a mut Option<InHand>) {
        let lane = Lane {
            options: &self.options,
            output,
            timeline: &mut self.timeline,
            inits: &mut self.inits,
            segments: &mut self.segments,
            tracks: &mut self.tracks,
            report: &mut self.report,
            journal: &mut self.journal,
        };
        (lane, &mut self.hand)
    }
}

/// A lane while something is done to it.
struct Lane<'a, O: Output> {
    options: &'a PackOptions,
    output: &'a mut O,
    timeline: &'a mut Timeline,
    inits: &'a mut BTreeMap<(String, Bytes), String>,
    segments: &'a mut Vec<PlacedSegment>,
    tracks: &'a mut BTreeMap<usize, TrackSummary>,
    report: &'a mut LaneReport,
    journal: &'a mut Journal,
}

/// A segment in broadcast time, and its files.
struct PlacedSegment {
    start: Time,
    end: Time,
    discontinuity: bool,
    independent: bool,
    wall_ns: Option<i64>,
    /// By slot (muxed: slot 0 stands for all).
    files: BTreeMap<usize, SegmentFile>,
}

struct SegmentFile {
    /// `None`: the track has no samples in this segment.
    uri: Option<String>,
    map: String,
    bytes: u64,
}

struct TrackSummary {
    /// As it was when the track came first.
    init: TrackInit,
    /// As it is now.
    latest: TrackInit,
    codecs: Vec<String>,
    samples: u64,
    ticks: u64,
}

impl<O: Output> Lane<'_, O> {
    /// The name of the init of some tracks, written when it is new. Equal tracks have one init, across takes.
    fn init(
        &mut self,
        folder: &str,
        tracks: &[(usize, &TrackInit)],
    ) -> Result<String, PackError<O::Error>> {
        let bytes = init(tracks, self.options.layout)?;
        let key = (folder.to_owned(), bytes.clone());
        if let Some(name) = self.inits.get(&key) {
            return Ok(name.clone());
        }
        let digest = Sha256::digest(&bytes);
        let name = format!(
            "init-{:02x}{:02x}{:02x}{:02x}.mp4",
            digest[0], digest[1], digest[2], digest[3]
        );
        self.write(join(folder, &name), inline(bytes)?, FileKind::Init)?;
        self.report.inits.push(join(folder, &name));
        self.inits.insert(key, name.clone());
        Ok(name)
    }

    fn write(
        &mut self,
        name: String,
        body: Spans,
        kind: FileKind,
    ) -> Result<(), PackError<O::Error>> {
        self.report.bytes += body.len();
        self.output
            .file(OutputFile { name, body, kind })
            .map_err(PackError::Output)
    }

    fn warn(&mut self, warning: Warning) {
        self.report.warnings.push(warning);
    }
}

/// The folder of a slot in the CMAF layout.
pub(crate) fn folder(layout: Layout, slot: usize) -> String {
    match (layout, slot) {
        (Layout::Muxed, _) => String::new(),
        (Layout::Cmaf, 0) => "video".to_owned(),
        (Layout::Cmaf, 1) => "audio".to_owned(),
        (Layout::Cmaf, slot) => format!("audio-{slot}"),
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn inline(bytes: impl Into<Bytes>) -> Result<Spans, SpansError> {
    let mut body = SpansBuilder::new();
    body.inline(bytes);
    body.build()
}

type Sources = BTreeMap<u32, Arc<dyn yeoul_spans::Source>>;
