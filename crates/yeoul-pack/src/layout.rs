//! A segment as bodies: header bytes that we write, and ranges of recordings.

use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use yeoul_isobmff::movie::Handler;
use yeoul_isobmff::write::{self, Brands, FragmentTrack, InitTrack, WriteError};
use yeoul_spans::{Source, Spans, SpansBuilder, SpansError};

use crate::placement::Shift;
use crate::segment::{Piece, Segment, TrackInit};

/// How tracks are put into files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// All kept tracks in one file a segment, video first.
    #[default]
    Muxed,
    /// A file a track (CMAF).
    Cmaf,
}

impl Layout {
    /// The layout's name on the command line and in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Muxed => "muxed",
            Self::Cmaf => "cmaf",
        }
    }
}

/// A layout that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a layout: use muxed or cmaf")]
pub struct LayoutError(String);

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "muxed" => Ok(Self::Muxed),
            "cmaf" => Ok(Self::Cmaf),
            _ => Err(LayoutError(text.to_owned())),
        }
    }
}

/// Why a body cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LayoutProblem {
    /// A header cannot say it.
    #[error("segment {stem}: {error}; a shorter --segment makes smaller ones")]
    Write {
        /// The segment's name.
        stem: String,
        /// What does not fit.
        #[source]
        error: WriteError,
    },
    /// A range is not in its source.
    #[error(transparent)]
    Spans(#[from] SpansError),
    /// A recording was closed although samples of it were still to come. A fault of ours.
    #[error("segment {stem}: recording {recording} of its take is closed already")]
    Closed {
        /// The segment's name.
        stem: String,
        /// Which recording of the take, from 0.
        recording: u32,
    },
    /// A decode time before broadcast time 0. A fault of ours.
    #[error("segment {stem}: decode time {time} is negative")]
    Negative {
        /// The segment's name.
        stem: String,
        /// Ticks.
        time: i64,
    },
}

/// The track id that a slot has in every file: 1 the video, 2 the first audio, …
pub fn track_id(slot: usize) -> u32 {
    u32::try_from(slot + 1).unwrap_or(u32::MAX)
}

/// The init of some tracks, each with its slot.
///
/// # Errors
/// A track's entry is not a whole box.
pub fn init(tracks: &[(usize, &TrackInit)], layout: Layout) -> Result<Bytes, WriteError> {
    let written: Vec<InitTrack> = tracks
        .iter()
        .map(|(slot, track)| InitTrack {
            track_id: track_id(*slot),
            handler: track.handler.code(),
            timescale: track.timescale,
            language: track.language,
            width: track.width,
            height: track.height,
            entries: vec![track.entry.bytes().clone()],
        })
        .collect();
    let brands = match layout {
        Layout::Muxed => Brands::MUXED,
        // Audio is presented as it is decoded; reordered pictures of ours begin later than their `tfdt` (rule 22).
        Layout::Cmaf => Brands::cmaf(
            tracks
                .iter()
                .all(|(_, track)| track.handler == Handler::Audio),
        ),
    };
    write::init(&written, &brands)
}

/// One body of a segment: the samples of `tracks` (output slot, pieces, timescale), in this order.
pub(crate) fn body(
    segment: &Segment,
    tracks: &[(usize, &[Piece], u32)],
    layout: Layout,
    shift: Shift,
    source: &dyn Fn(u32) -> Option<Arc<dyn Source>>,
) -> Result<Spans, LayoutProblem> {
    let stem = || segment.stem();
    let brands = match layout {
        Layout::Muxed => Brands::MUXED_SEGMENT,
        Layout::Cmaf => Brands::CMAF_SEGMENT,
    };
    let failed = |error| LayoutProblem::Write {
        stem: stem(),
        error,
    };
    let mut out = SpansBuilder::new();
    out.inline(write::styp(&brands).map_err(failed)?);
    let fragments = tracks
        .iter()
        .map(|(_, pieces, _)| pieces.len())
        .max()
        .unwrap_or(0);
    for index in 0..fragments {
        let pieces: Vec<_> = tracks
            .iter()
            .filter_map(|(slot, pieces, timescale)| Some((*slot, pieces.get(index)?, *timescale)))
            .collect();
        let mut headers = Vec::with_capacity(pieces.len());
        for (slot, piece, timescale) in &pieces {
            let time = piece.decode_time.saturating_add(shift.ticks(*timescale));
            let base_decode_time =
                u64::try_from(time).map_err(|_| LayoutProblem::Negative { stem: stem(), time })?;
            headers.push(FragmentTrack {
                track_id: track_id(*slot),
                base_decode_time,
                samples: &piece.samples,
            });
        }
        out.inline(write::fragment(sequence(segment, index), &headers).map_err(failed)?);
        for range in pieces.iter().flat_map(|(_, piece, _)| &piece.ranges) {
            let recording = range.recording;
            let source = source(recording).ok_or_else(|| LayoutProblem::Closed {
                stem: stem(),
                recording,
            })?;
            out.range(&source, range.offset, range.len)?;
        }
    }
    Ok(out.build()?)
}

/// A fragment's sequence number: from its place on the take's clock, so that it does not depend on what came before.
fn sequence(segment: &Segment, index: usize) -> u32 {
    let number = u32::try_from(segment.number.max(0)).unwrap_or(u32::MAX);
    let further = segment
        .suffix
        .saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
    number.saturating_add(1).saturating_add(further)
}
