use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use yeoul_isobmff::moof::FragmentSample;
use yeoul_isobmff::movie::Track;
use yeoul_spans::{Source, SourceError};

use super::events::{MOST_OF_A_KIND, describe};
use super::state::{Line, RecordingLine, TakeLine};
use super::{Boundary, Lane, Output, PackError, RecordingReport, Sources, TakeReport, TrackKept};
use crate::catalogue::{Take, TakeRecording, short};
use crate::packer::Packer;
use crate::placement::{Placement, Shift};
use crate::scan::Parts;
use crate::segment::TrackInit;
use crate::select::{Kept, Selector};
use crate::time::{Time, ticks_from_ns};
use crate::warning::{Warning, WarningKind};

/// The tracks to keep of a take, and what an init says of each.
struct Chosen {
    kept: Vec<Kept>,
    tracks: Vec<TrackInit>,
    /// Where their first sample lies on the take's clock, nanoseconds.
    start_ns: i64,
}

/// A take in hand.
pub(super) struct InHand {
    pub(super) kept: Vec<Kept>,
    pub(super) packer: Packer,
    pub(super) shift: Shift,
    pub(super) sources: Sources,
    pub(super) report: TakeReport,
    /// Latest end of anything, on the take's clock.
    pub(super) end: Option<Time>,
    /// By kept track: the broadcast time at which its last sample ends in decode time.
    pub(super) decoded_until: Vec<Option<Time>>,
    /// By kept track: where what it has shown so far ends, in broadcast time.
    pub(super) presented_until: Vec<Option<Time>>,
    /// How far the take was moved before any hole of it was closed.
    pub(super) first_shift: Shift,
    /// Where the take begins on its own clock, nanoseconds.
    pub(super) start_ns: i64,
    /// The last recording, if its recorder did not close it and it is not torn.
    pub(super) left_open: Option<String>,
    /// How often something happened in a recording and slot.
    pub(super) said: BTreeMap<(u32, usize, WarningKind), u64>,
}

/// What becomes of a take that is to begin.
pub(super) enum Begin {
    At(Box<InHand>),
    Beside,
    Nothing,
}

impl InHand {
    pub(super) fn new(take: &Take, kept: Vec<Kept>, packer: Packer, shift: Shift) -> Self {
        let zero = Time::new(0, 1);
        Self {
            decoded_until: vec![None; kept.len()],
            presented_until: vec![None; kept.len()],
            start_ns: take.start_ns(),
            said: BTreeMap::new(),
            left_open: None,
            kept,
            packer,
            first_shift: shift,
            shift,
            sources: Sources::new(),
            report: TakeReport {
                id: take.id,
                anchor_ns: take.anchor_ns,
                start: zero,
                end: zero,
                recordings: Vec::with_capacity(take.recordings.len()),
                boundaries: Vec::new(),
            },
            end: None,
        }
    }

    /// Broadcast time at which the take begins: nothing of it is decoded earlier.
    pub(super) fn begin(&self, timescale: u32) -> Time {
        let start = ticks_from_ns(self.start_ns.into(), timescale);
        self.first_shift.apply(Time::new(start, timescale))
    }

    /// Ticks of a kept track.
    pub(super) fn time(&self, slot: usize, ticks: i64) -> Option<Time> {
        Some(Time::new(ticks, self.packer.inits(slot).first()?.timescale))
    }
}

impl<O: Output> Lane<'_, O> {
    /// Chooses a take's tracks and its place.
    pub(super) fn begin(&mut self, take: &Take) -> Result<Begin, PackError<O::Error>> {
        let Some(Chosen {
            kept,
            tracks,
            start_ns,
        }) = self.choose(take)?
        else {
            return Ok(Begin::Nothing);
        };
        let shift = match self
            .timeline
            .place(&tracks, (take.start_ns(), start_ns), take.anchor_ns)
        {
            Placement::At(shift) => shift,
            Placement::ClockStep(shift, early) => {
                let message = format!(
                    "take {} would begin {:.3} s before the one before it ends: its clock was set back; placed right behind it",
                    short(take.id),
                    early.seconds()
                );
                self.warn(Warning::new(WarningKind::ClockStep, message));
                shift
            }
            Placement::Beside(overlap) => {
                let message = format!(
                    "take {} overlaps the one before it by {:.3} s: it ran beside it and has an output of its own \
                     (--offset {0}=SECONDS places it elsewhere)",
                    short(take.id),
                    overlap.seconds()
                );
                self.warn(Warning::new(WarningKind::Lane, message));
                return Ok(Begin::Beside);
            }
        };
        self.journal.add(Line::Take(TakeLine {
            id: take.id.to_string(),
            anchor_ns: take.anchor_ns,
            start_ns: take.start_ns(),
            kept: kept.iter().map(|kept| (kept.slot, kept.track_id)).collect(),
            shift: shift.steps(),
        }));
        let packer = Packer::new(self.options.cut, tracks);
        Ok(Begin::At(Box::new(InHand::new(take, kept, packer, shift))))
    }

    /// The tracks to keep, by the first recording of the take that has any (rule 3).
    fn choose(&mut self, take: &Take) -> Result<Option<Chosen>, PackError<O::Error>> {
        let mut warnings = Vec::new();
        for found in &take.recordings {
            let source = found.input.open(!found.recording.closed)?;
            let (rendition, limits) = (&self.options.rendition, &self.options.limits);
            let choice = rendition.choose(&*source, &found.recording, limits, &mut warnings)?;
            let kept = choice.kept;
            let tracks: Option<Vec<_>> = kept
                .iter()
                .map(|kept| TrackInit::new(found.recording.track(kept.track_id)?, 1))
                .collect();
            if let Some(tracks) = tracks.filter(|tracks| !tracks.is_empty()) {
                if choice.videos > 1 {
                    let message = format!(
                        "has {} video tracks with samples; a rendition has one: the first is kept (--video N keeps another)",
                        choice.videos
                    );
                    let name = found.input.name();
                    self.report
                        .warnings
                        .push(Warning::of(WarningKind::NotSelected, name, message));
                }
                let base_ns = found.recording.mtxi.map_or(0, |_| found.dts_ns);
                let start_ns = base_ns.saturating_add(choice.start_ns.unwrap_or(0));
                self.warn_if_not_selected(&kept, found.input.name());
                return Ok(Some(Chosen {
                    kept,
                    tracks,
                    start_ns: start_ns.max(take.start_ns()),
                }));
            }
        }
        let names: Vec<_> = take
            .recordings
            .iter()
            .map(|found| found.input.name())
            .collect();
        self.report.warnings.extend(warnings);
        for name in names {
            let message = "no track with samples fits the selection: nothing of it is kept";
            self.report
                .warnings
                .push(Warning::of(WarningKind::NotSelected, name, message));
        }
        Ok(None)
    }

    /// A track that was asked for by number or language and is not in a take.
    fn warn_if_not_selected(&mut self, kept: &[Kept], name: &str) {
        let rendition = &self.options.rendition;
        let video = kept.iter().any(|kept| kept.slot == 0);
        let audio = kept.iter().any(|kept| kept.slot > 0);
        for (kind, selector, there) in [
            ("video", &rendition.video, video),
            ("audio", &rendition.audio, audio),
        ] {
            let asked = matches!(selector, Selector::Number(_) | Selector::Language(_));
            if asked && !there {
                let message =
                    format!("no {kind} track fits --{kind} {selector}: its take goes without");
                let warning = Warning::of(WarningKind::NotSelected, name, message);
                self.report.warnings.push(warning);
            }
        }
    }

    /// Lets go of a take's last segments.
    pub(super) fn end(&mut self, mut hand: InHand) -> Result<(), PackError<O::Error>> {
        hand.packer.finish();
        self.drain(&mut hand)?;
        self.tell_counts(&hand);
        if let Some(name) = &hand.left_open {
            // Rule 15: with another behind it, it would count as closed.
            let message =
                "its recorder did not close it: killed, or still writing; its whole parts are kept";
            self.warn(Warning::of(WarningKind::Open, name, message));
        }
        if let Some(end) = hand.end {
            self.journal.add(Line::End((end.ticks, end.timescale)));
            self.timeline.end(hand.shift, end, hand.report.anchor_ns);
        }
        self.journal.clear_take();
        self.report.takes.push(hand.report);
        Ok(())
    }

    /// Packs the next recording of a take.
    pub(super) fn recording(
        &mut self,
        hand: &mut InHand,
        found: &TakeRecording,
    ) -> Result<(), PackError<O::Error>> {
        let index = hand.report.recordings.len();
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let recording = &found.recording;
        let source = found.input.open(!recording.closed)?;
        self.restart_if_timescales_differ(hand, found)?;
        if self.journal.enabled && !self.journal.recordings.contains_key(&found.number) {
            let line = RecordingLine {
                number: found.number,
                clocks: hand.packer.clocks(),
            };
            self.journal.recordings.insert(found.number, line.clone());
            self.journal.add(Line::Recording(line));
        }
        let tracks: Vec<Option<&Track>> = (0..hand.kept.len())
            .map(|slot| {
                let wanted = hand.packer.inits(slot).first()?;
                recording
                    .track(hand.kept[slot].track_id)
                    .filter(|track| track.handler == wanted.handler)
            })
            .collect();
        for (kept, track) in hand.kept.iter().zip(&tracks) {
            if track.is_none() {
                let message = format!(
                    "has no track {} of the kept kind: a hole in it",
                    kept.track_id
                );
                self.warn(Warning::of(
                    WarningKind::TrackAbsent,
                    found.input.name(),
                    message,
                ));
            }
        }
        let after_missing = found.after_missing && index > 0;
        hand.packer.begin_recording(number, &tracks, after_missing);
        hand.sources.insert(number, Arc::clone(&source));

        let ids: Vec<u32> = hand.kept.iter().map(|kept| kept.track_id).collect();
        let mut parts = Parts::new(&*source, recording, &ids, &self.options.limits)?;
        let base_ns = if recording.mtxi.is_some() {
            found.dts_ns
        } else {
            0
        };
        let mut head = |sample: &FragmentSample, want: usize| read_head(&*source, sample, want);
        let mut done = recording.body;
        self.output.advanced(recording.body);
        loop {
            let mut failed = None;
            let more = parts.next(&mut |run| {
                let Some(Some(track)) = tracks.get(run.slot) else {
                    return;
                };
                // An edit list may shift a track before its take: nothing lies before that.
                let floor = ticks_from_ns(hand.start_ns.into(), track.timescale);
                let base = ticks_from_ns(base_ns.into(), track.timescale);
                // Without a `tfdt` a recording's first run begins at its 0, what comes later goes on.
                let first = hand.packer.sample_count(run.slot) == 0;
                let own = run
                    .decode_time
                    .or(first.then_some(0))
                    .map(|time| base.saturating_add(time).max(floor));
                let pushed =
                    hand.packer
                        .push_run(run.slot, own, run.description, run.samples, &mut head);
                failed = failed.take().or(pushed.err());
            })?;
            if let Some(error) = failed {
                return Err(PackError::Source(error));
            }
            self.output.advanced(parts.used() - done.min(parts.used()));
            done = done.max(parts.used());
            self.drain(hand)?;
            if !more {
                break;
            }
        }
        self.output.advanced(found.size - done.min(found.size));
        let warnings = parts.take_warnings();
        let torn =
            |warning: &Warning| matches!(warning.kind, WarningKind::Torn | WarningKind::NoParts);
        let open = !recording.closed && recording.mtxi.is_some() && !warnings.iter().any(torn);
        hand.left_open = open.then(|| found.input.name().to_owned());
        self.report.warnings.extend(warnings);
        self.close_recording(hand, index, found, &parts, base_ns);
        Ok(())
    }

    fn close_recording(
        &mut self,
        hand: &mut InHand,
        index: usize,
        found: &TakeRecording,
        parts: &Parts<'_>,
        base_ns: i64,
    ) {
        let mut tracks = Vec::with_capacity(hand.kept.len());
        for (slot, kept) in hand.kept.iter().enumerate() {
            let samples = hand.packer.sample_count(slot);
            tracks.push(TrackKept {
                slot: kept.slot,
                track_id: kept.track_id,
                samples,
                dropped: Vec::new(),
            });
            let timescale = hand
                .packer
                .inits(slot)
                .first()
                .map_or(1, |init| init.timescale);
            if let Some(clock_ticks) = hand.packer.boundary(slot).filter(|_| index > 0) {
                let boundary = Boundary {
                    recording: index,
                    slot: kept.slot,
                    clock_ticks,
                    timescale,
                };
                hand.report.boundaries.push(boundary);
            }
        }
        hand.report.recordings.push(RecordingReport {
            name: found.input.name().to_owned(),
            number: found.number,
            dts_ns: base_ns,
            ntp_ns: found.ntp_ns,
            size: parts.size(),
            used: parts.used(),
            parts: parts.count(),
            tracks,
        });
    }

    /// A track with another timescale cannot go on: everything leaves, and what comes begins anew at its own clock.
    fn restart_if_timescales_differ(
        &mut self,
        hand: &mut InHand,
        found: &TakeRecording,
    ) -> Result<(), PackError<O::Error>> {
        let current = |slot: usize| hand.packer.inits(slot).first().cloned();
        let next: Vec<Option<TrackInit>> = (0..hand.kept.len())
            .map(|slot| {
                let track = found.recording.track(hand.kept[slot].track_id)?;
                let init = TrackInit::new(track, 1)?;
                current(slot)
                    .filter(|old| old.handler == init.handler)
                    .map(|_| init)
            })
            .collect();
        let differs = next.iter().enumerate().any(|(slot, init)| {
            init.as_ref().is_some_and(|init| {
                current(slot).is_some_and(|old| old.timescale != init.timescale)
            })
        });
        if !differs {
            return Ok(());
        }
        let tracks = (0..hand.kept.len())
            .filter_map(|slot| next[slot].clone().or(current(slot)))
            .collect();
        hand.packer.finish();
        self.drain(hand)?;
        hand.packer.restart(tracks);
        let message = "a track's timescale differs from the recording before: the timeline goes on with a discontinuity";
        self.warn(Warning::of(
            WarningKind::EntryChanged,
            found.input.name(),
            message,
        ));
        Ok(())
    }

    /// Takes what the packer has ready.
    fn drain(&mut self, hand: &mut InHand) -> Result<(), PackError<O::Error>> {
        while let Some(segment) = hand.packer.poll_segment() {
            self.segment(hand, &segment)?;
        }
        for event in hand.packer.take_events() {
            let name = hand
                .sources
                .get(&event.recording)
                .map(|source| source.name().to_owned());
            let said = hand
                .said
                .entry((event.recording, event.slot, event.kind))
                .or_default();
            *said += 1;
            if *said <= MOST_OF_A_KIND {
                self.warn(describe(&event, hand.kept[event.slot], name));
            }
        }
        self.note_dropped(hand);
        let packer = &hand.packer;
        hand.sources.retain(|recording, _| packer.needs(*recording));
        Ok(())
    }
}

/// The first bytes of a sample.
fn read_head(
    source: &dyn Source,
    sample: &FragmentSample,
    want: usize,
) -> Result<Bytes, SourceError> {
    let len = usize::try_from(sample.size).unwrap_or(usize::MAX).min(want);
    let mut bytes = vec![0; len];
    source.read_exact_at(&mut bytes, sample.offset)?;
    Ok(bytes.into())
}
