//! What a lane must remember over a restart, as lines that are only ever added (a journal).
//!
//! Anchors, shifts and clocks are frozen when they are first used; a segment's line is added once its files are there. After a
//! restart the take in hand is scanned again from the first recording that is left, with its clock as the journal has it: the
//! same segments come again, and those that the journal has are passed over. So every segment is published once.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use yeoul_isobmff::FourCc;
use yeoul_isobmff::codec::SampleEntry;
use yeoul_isobmff::movie::Handler;

use super::take::InHand;
use super::{LanePacker, PlacedSegment, SegmentFile, TrackSummary};
use crate::catalogue::{Take, TakeId, TakeRecording};
use crate::packer::Packer;
use crate::placement::Shift;
use crate::segment::TrackInit;
use crate::select::Kept;
use crate::time::Time;
use crate::warning::Warning;

/// One line of a lane's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// A take began; the one before it has ended.
    Take(TakeLine),
    /// A recording of the take in hand begins.
    Recording(RecordingLine),
    /// A slot's track, when it is first seen or has changed.
    Track(TrackLine),
    /// A segment was published.
    Segment(SegmentLine),
    /// The take in hand ended, here on its own clock.
    End(TimeLine),
}

/// A moment: ticks and timescale.
pub type TimeLine = (i64, u32);

/// A take: everything that was decided when it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeLine {
    /// Id, hex.
    pub id: String,
    /// Wall clock less the take's clock, nanoseconds.
    pub anchor_ns: Option<i64>,
    /// Begin on its clock, nanoseconds.
    pub start_ns: i64,
    /// Kept tracks: slot and track id.
    pub kept: Vec<(usize, u32)>,
    /// How far it was moved: steps, and steps a second.
    pub shift: (i64, u32),
}

/// A recording, and the clock of each kept track where it begins: next tick and skew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingLine {
    /// Number in the take.
    pub number: u64,
    /// By kept track.
    pub clocks: Vec<(Option<i64>, i64)>,
}

/// A track of the rendition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackLine {
    /// Slot.
    pub slot: usize,
    /// Handler code.
    pub handler: String,
    /// Ticks a second.
    pub timescale: u32,
    /// Packed language.
    pub language: u16,
    /// 16.16.
    pub width: u32,
    /// 16.16.
    pub height: u32,
    /// Sample entry, hex.
    pub entry: String,
    /// Codec names.
    pub codecs: Vec<String>,
}

/// A published segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentLine {
    /// Its name within its take: number and suffix.
    pub stem: String,
    /// End on the take's clock.
    pub take_end: TimeLine,
    /// Start in broadcast time.
    pub start: TimeLine,
    /// End in broadcast time.
    pub end: TimeLine,
    /// Whether a discontinuity lies before it.
    pub discontinuity: bool,
    /// Whether it can be decoded alone.
    pub independent: bool,
    /// Wall clock, nanoseconds.
    pub wall_ns: Option<i64>,
    /// The shift in force.
    pub shift: (i64, u32),
    /// Slot, file, init, bytes.
    pub files: Vec<(usize, Option<String>, String, u64)>,
    /// Slot, samples, ticks.
    pub samples: Vec<(usize, u64, u64)>,
}

/// Journaled lines, and what they say of the take in hand.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) enabled: bool,
    pub(super) lines: Vec<Line>,
    /// Segments of the take in hand that are published, with the shift in force.
    pub(super) published: BTreeMap<String, Shift>,
    /// Recordings of the take in hand that have a line.
    pub(super) recordings: BTreeMap<u64, RecordingLine>,
    /// The take in hand, after a restart, until it is taken up again.
    pub(super) interrupted: Option<TakeLine>,
    last_end: Option<Time>,
    last_shift: Option<Shift>,
}

impl Journal {
    pub(super) fn add(&mut self, line: Line) {
        if self.enabled {
            self.lines.push(line);
        }
    }
}

impl LanePacker {
    /// A lane that keeps a journal, as `lines` have it: none for a new one.
    pub fn resume(options: super::PackOptions, lines: impl IntoIterator<Item = Line>) -> Self {
        let mut lane = Self::new(options);
        lane.journal.enabled = true;
        for line in lines {
            lane.replay(line);
        }
        lane
    }

    /// Lines to be added to the journal: everything that they speak of has been written.
    pub fn take_journal(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.journal.lines)
    }

    /// The take that was in hand when the journal ended, until [`LanePacker::take_up`] or the next take.
    pub fn interrupted(&self) -> Option<TakeId> {
        parse_id(&self.journal.interrupted.as_ref()?.id)
    }

    /// The take in hand, its end so far on the wall clock, and its last recording's number.
    pub fn in_hand(&self) -> Option<TakeId> {
        self.hand.as_ref().map(|hand| hand.report.id)
    }

    /// Whether a recording of the take in hand has been given already.
    pub fn has_recording(&self, number: u64) -> bool {
        self.journal.recordings.contains_key(&number)
    }

    /// Wall clock at which what has been packed of the take in hand ends, nanoseconds.
    pub fn wall_end_ns(&self) -> Option<i64> {
        let hand = self.hand.as_ref()?;
        let end = hand.end?;
        Some(
            hand.report
                .anchor_ns?
                .saturating_add(end.nearest(1_000_000_000)),
        )
    }

    /// Among an interrupted take's recordings that are left, by number: the one from which they are to be given again. What
    /// comes before it is published, and none is missing behind it.
    pub fn resumes_at(&self, recordings: &[TakeRecording]) -> usize {
        let lag = Time::new(
            self.options.cut.max_lag.ticks,
            self.options.cut.max_lag.timescale,
        );
        let needed_ns = self
            .journal
            .last_end
            .map_or(i64::MIN, |end| end.minus(lag).nearest(1_000_000_000));
        let early = recordings
            .iter()
            .rposition(|found| found.dts_ns <= needed_ns)
            .unwrap_or(0);
        let follows = |index: usize| recordings[index].number == recordings[index - 1].number + 1;
        (early + 1..recordings.len())
            .rev()
            .find(|index| !follows(*index))
            .unwrap_or(early)
    }

    /// Warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.report.warnings)
    }

    /// Takes up the interrupted take with the recordings of it that are left. All of them are to be given again.
    pub fn take_up(&mut self, take: &Take) -> bool {
        let Some(line) = self.journal.interrupted.take() else {
            return false;
        };
        let kept: Vec<Kept> = line
            .kept
            .iter()
            .map(|(slot, track_id)| Kept {
                slot: *slot,
                track_id: *track_id,
            })
            .collect();
        let first = take.recordings.iter().find_map(|found| {
            let track = |kept: &Kept| TrackInit::new(found.recording.track(kept.track_id)?, 1);
            kept.iter()
                .map(track)
                .collect::<Option<Vec<_>>>()
                .map(|tracks| (found.number, tracks))
        });
        let Some((number, tracks)) = first else {
            self.journal.interrupted = Some(line);
            return false;
        };
        let mut packer = Packer::new(self.options.cut, tracks);
        if let Some(recording) = self.journal.recordings.get(&number) {
            packer.resume(&recording.clocks, !self.journal.published.is_empty());
        }
        let shift = Shift::from_steps(line.shift);
        let mut hand = InHand::new(take, kept, packer, shift);
        hand.report.anchor_ns = line.anchor_ns;
        hand.start_ns = line.start_ns;
        hand.end = self.journal.last_end;
        self.hand = Some(hand);
        true
    }

    fn replay(&mut self, line: Line) {
        match line {
            Line::Take(take) => {
                self.abandon();
                self.timeline
                    .begin(Shift::from_steps(take.shift), take.anchor_ns);
                self.journal.interrupted = Some(take);
            }
            Line::Recording(recording) => {
                self.journal.recordings.insert(recording.number, recording);
            }
            Line::Track(track) => self.replay_track(track),
            Line::Segment(segment) => self.replay_segment(segment),
            Line::End(end) => {
                if let Some(take) = self.journal.interrupted.take() {
                    let shift = self
                        .journal
                        .last_shift
                        .unwrap_or(Shift::from_steps(take.shift));
                    self.timeline
                        .end(shift, Time::new(end.0, end.1), take.anchor_ns);
                }
                self.journal.clear_take();
            }
        }
    }

    /// The interrupted take cannot go on: nothing of it is left. It ended with its last segment.
    pub(super) fn abandon(&mut self) {
        if let (Some(take), Some(end)) = (self.journal.interrupted.take(), self.journal.last_end) {
            let shift = self
                .journal
                .last_shift
                .unwrap_or(Shift::from_steps(take.shift));
            self.timeline.end(shift, end, take.anchor_ns);
            self.journal.add(Line::End((end.ticks, end.timescale)));
        }
        self.journal.clear_take();
    }

    fn replay_track(&mut self, line: TrackLine) {
        let handler: Option<[u8; 4]> = line.handler.as_bytes().try_into().ok();
        let handler = Handler::from(FourCc(handler.unwrap_or(*b"meta")));
        let Ok(entry) = SampleEntry::new(&unhex(&line.entry), handler) else {
            return;
        };
        let init = TrackInit {
            handler,
            timescale: line.timescale,
            language: line.language,
            width: line.width,
            height: line.height,
            entry,
        };
        let summary = self
            .tracks
            .entry(line.slot)
            .or_insert_with(|| TrackSummary {
                init: init.clone(),
                latest: init.clone(),
                codecs: Vec::new(),
                samples: 0,
                ticks: 0,
            });
        summary.codecs = line.codecs;
        summary.latest = init;
    }

    fn replay_segment(&mut self, line: SegmentLine) {
        let time = |(ticks, timescale): TimeLine| Time::new(ticks, timescale.max(1));
        for (slot, samples, ticks) in &line.samples {
            if let Some(summary) = self.tracks.get_mut(slot) {
                summary.samples += samples;
                summary.ticks += ticks;
            }
        }
        let shift = Shift::from_steps(line.shift);
        self.journal.published.insert(line.stem, shift);
        self.journal.last_shift = Some(shift);
        self.journal.last_end = self.journal.last_end.max(Some(time(line.take_end)));
        let file = |(slot, uri, map, bytes)| (slot, SegmentFile { uri, map, bytes });
        self.segments.push(PlacedSegment {
            start: time(line.start),
            end: time(line.end),
            discontinuity: line.discontinuity,
            independent: line.independent,
            wall_ns: line.wall_ns,
            files: line.files.into_iter().map(file).collect(),
        });
    }
}

impl Journal {
    pub(super) fn clear_take(&mut self) {
        self.published.clear();
        self.recordings.clear();
        self.last_end = None;
        self.last_shift = None;
    }
}

impl TrackLine {
    pub(super) fn new(slot: usize, summary: &TrackSummary) -> Self {
        let init = &summary.latest;
        Self {
            slot,
            handler: init.handler.code().to_string(),
            timescale: init.timescale,
            language: init.language,
            width: init.width,
            height: init.height,
            entry: init
                .entry
                .bytes()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            codecs: summary.codecs.clone(),
        }
    }
}

fn parse_id(hex: &str) -> Option<TakeId> {
    let bytes = unhex(hex);
    bytes.as_ref().try_into().ok().map(TakeId)
}

fn unhex(text: &str) -> Bytes {
    let digits = text.as_bytes().chunks_exact(2);
    digits
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
