use std::sync::Arc;

use bytes::Bytes;
use yeoul_isobmff::moof::FragmentSample;
use yeoul_isobmff::movie::Track;
use yeoul_spans::{Source, SourceError};

use super::{
    Boundary, FileKind, Lane, Output, PackError, PlacedSegment, RecordingReport, SegmentFile,
    Sources, TakeReport, TrackKept, TrackSummary, folder, join,
};
use crate::catalogue::{Take, TakeRecording, short};
use crate::layout::{Layout, body};
use crate::packer::Packer;
use crate::placement::{Placement, Shift};
use crate::scan::Parts;
use crate::segment::{Event, Piece, Segment, TrackInit};
use crate::select::Kept;
use crate::time::{Time, ns_from_ticks, ticks_from_ns};
use crate::warning::{Warning, WarningKind};

/// The tracks to keep of a take, and what an init says of each.
struct Chosen {
    kept: Vec<Kept>,
    tracks: Vec<TrackInit>,
}

/// A take in hand.
struct InHand {
    kept: Vec<Kept>,
    packer: Packer,
    shift: Shift,
    sources: Sources,
    report: TakeReport,
    /// Latest end of anything, on the take's clock.
    end: Option<Time>,
    /// By kept track: where its last sample ends in decode time.
    decoded_until: Vec<Option<i64>>,
}

impl InHand {
    /// Ticks of a kept track.
    fn time(&self, slot: usize, ticks: i64) -> Option<Time> {
        Some(Time::new(ticks, self.packer.inits(slot).first()?.timescale))
    }
}

impl<O: Output> Lane<'_, O> {
    pub(super) fn take(&mut self, take: Take) -> Result<(), PackError<O::Error>> {
        let Some(Chosen { kept, tracks }) = self.choose(&take)? else {
            let bytes = take.recordings.iter().map(|recording| recording.size).sum();
            self.output.advanced(bytes);
            return Ok(());
        };
        let shift = match self
            .timeline
            .place(&tracks, take.start_ns(), take.anchor_ns)
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
                self.report.beside.push(take);
                return Ok(());
            }
        };
        self.pack(&take, kept, tracks, shift)
    }

    /// The tracks to keep, by the first recording of the take that has any (rule 3).
    fn choose(&mut self, take: &Take) -> Result<Option<Chosen>, PackError<O::Error>> {
        let mut warnings = Vec::new();
        for found in &take.recordings {
            let source = found.input.open(!found.recording.closed)?;
            let (rendition, limits) = (&self.options.rendition, &self.options.limits);
            let kept = rendition.choose(&*source, &found.recording, limits, &mut warnings)?;
            let tracks: Option<Vec<_>> = kept
                .iter()
                .map(|kept| TrackInit::new(found.recording.track(kept.track_id)?, 1))
                .collect();
            if let Some(tracks) = tracks.filter(|tracks| !tracks.is_empty()) {
                return Ok(Some(Chosen { kept, tracks }));
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

    fn pack(
        &mut self,
        take: &Take,
        kept: Vec<Kept>,
        tracks: Vec<TrackInit>,
        shift: Shift,
    ) -> Result<(), PackError<O::Error>> {
        let zero = Time::new(0, 1);
        let mut hand = InHand {
            decoded_until: vec![None; kept.len()],
            kept,
            packer: Packer::new(self.options.cut, tracks),
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
        };
        for (index, found) in take.recordings.iter().enumerate() {
            self.recording(&mut hand, take, index, found)?;
        }
        hand.packer.finish();
        self.drain(&mut hand)?;
        if let Some(end) = hand.end {
            self.timeline.end(hand.shift, end, take.anchor_ns);
        }
        self.report.takes.push(hand.report);
        Ok(())
    }

    fn recording(
        &mut self,
        hand: &mut InHand,
        take: &Take,
        index: usize,
        found: &TakeRecording,
    ) -> Result<(), PackError<O::Error>> {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let recording = &found.recording;
        let source = found.input.open(!recording.closed)?;
        self.restart_if_timescales_differ(hand, found)?;
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
                let own = run.decode_time.map(|time| {
                    ticks_from_ns(base_ns.into(), track.timescale).saturating_add(time)
                });
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
        self.warn_if_open(take, index, &warnings);
        self.report.warnings.extend(warnings);
        self.close_recording(hand, index, found, &parts, base_ns);
        Ok(())
    }

    /// Rule 15: a recording is closed when its `mvhd` says so or the next one is there. That it is torn says enough.
    fn warn_if_open(&mut self, take: &Take, index: usize, said: &[Warning]) {
        let found = &take.recordings[index];
        let is_open = !found.recording.closed && found.recording.mtxi.is_some();
        let torn =
            |warning: &Warning| matches!(warning.kind, WarningKind::Torn | WarningKind::NoParts);
        if is_open && index + 1 == take.recordings.len() && !said.iter().any(torn) {
            let message =
                "its recorder did not close it: killed, or still writing; its whole parts are kept";
            self.warn(Warning::of(WarningKind::Open, found.input.name(), message));
        }
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
        hand.decoded_until.fill(None);
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
            self.warn(describe(&event, hand.kept[event.slot], name));
        }
        self.note_dropped(hand);
        let packer = &hand.packer;
        hand.sources.retain(|recording, _| packer.needs(*recording));
        Ok(())
    }

    fn note_dropped(&mut self, hand: &mut InHand) {
        for dropped in hand.packer.take_dropped() {
            let index = dropped.recording as usize;
            let (from, to) = dropped.samples;
            self.report.dropped.push((
                self.report.takes.len(),
                index,
                hand.kept[dropped.slot].slot,
                (from, to),
            ));
            let why = match dropped.kind {
                WarningKind::Leading => {
                    "lead a picture that nothing before it is left of: they cannot be decoded"
                }
                WarningKind::AudioInHole => "lie in a hole, before the picture comes back",
                _ => "come before the first sync sample: they cannot be decoded",
            };
            let message = format!(
                "{} samples of track {} (from sample {from}) are left out: they {why}",
                to - from,
                hand.kept[dropped.slot].track_id,
            );
            let path = hand
                .sources
                .get(&dropped.recording)
                .map(|source| source.name().to_owned());
            self.warn(Warning {
                kind: dropped.kind,
                path,
                offset: None,
                message,
            });
        }
    }

    /// Places a segment and writes its files.
    fn segment(&mut self, hand: &mut InHand, segment: &Segment) -> Result<(), PackError<O::Error>> {
        if let Some(hole) = segment.hole_before {
            let parted = decode_gap(hand, segment);
            hand.shift = self.timeline.close_hole(hand.shift, hole, parted);
        }
        let shift = hand.shift;
        if hand.end.is_none() {
            self.timeline.begin(shift, hand.report.anchor_ns);
            hand.report.start = shift.apply(segment.start);
        }
        hand.report.end = shift.apply(segment.end);
        hand.end = hand.end.max(Some(segment.end));
        for (slot, pieces) in segment.tracks.iter().enumerate() {
            let Some(end) = pieces.last().map(Piece::decode_end) else {
                continue;
            };
            hand.decoded_until[slot] = Some(end);
            // Nothing of a later take may be decoded before it.
            hand.end = hand.end.max(hand.time(slot, end));
        }

        let inits: Vec<TrackInit> = (0..hand.kept.len())
            .map(|slot| hand.packer.inits(slot)[segment.inits[slot] as usize].clone())
            .collect();
        self.summarise(hand, segment, &inits);
        let tracks: Vec<(usize, &[Piece], u32)> = (0..hand.kept.len())
            .map(|slot| {
                (
                    hand.kept[slot].slot,
                    &segment.tracks[slot][..],
                    inits[slot].timescale,
                )
            })
            .collect();
        let name = format!("{}-{}.m4s", short(hand.report.id), segment.stem());
        let layout = self.options.layout;
        let mut files = std::collections::BTreeMap::new();
        let groups: Vec<Vec<usize>> = match layout {
            Layout::Muxed => vec![(0..tracks.len()).collect()],
            Layout::Cmaf => (0..tracks.len()).map(|slot| vec![slot]).collect(),
        };
        for group in groups {
            let slot = if layout == Layout::Muxed {
                0
            } else {
                hand.kept[group[0]].slot
            };
            let folder = folder(layout, slot);
            let init: Vec<_> = group
                .iter()
                .map(|i| (hand.kept[*i].slot, &inits[*i]))
                .collect();
            let map = self.init(&folder, &init)?;
            let tracks: Vec<_> = group.iter().map(|i| tracks[*i]).collect();
            if tracks.iter().all(|(_, pieces, _)| pieces.is_empty()) {
                files.insert(
                    slot,
                    SegmentFile {
                        uri: None,
                        map,
                        bytes: 0,
                    },
                );
                continue;
            }
            let source = |recording: u32| hand.sources.get(&recording).cloned();
            let body = body(segment, &tracks, layout, shift, &source)?;
            let bytes = body.len();
            let init = join(&folder, &map);
            self.write(join(&folder, &name), body, FileKind::Segment { init })?;
            files.insert(
                slot,
                SegmentFile {
                    uri: Some(name.clone()),
                    map,
                    bytes,
                },
            );
        }
        let start_ns = ns_from_ticks(segment.start.ticks, segment.start.timescale);
        self.segments.push(PlacedSegment {
            start: shift.apply(segment.start),
            end: shift.apply(segment.end),
            discontinuity: segment.discontinuity,
            independent: segment.independent,
            wall_ns: hand
                .report
                .anchor_ns
                .map(|anchor| anchor.saturating_add(start_ns)),
            files,
        });
        Ok(())
    }

    fn summarise(&mut self, hand: &InHand, segment: &Segment, inits: &[TrackInit]) {
        for (index, init) in inits.iter().enumerate() {
            let slot = hand.kept[index].slot;
            let summary = self.tracks.entry(slot).or_insert_with(|| TrackSummary {
                init: init.clone(),
                codecs: Vec::new(),
                samples: 0,
                ticks: 0,
            });
            let codec = init
                .entry
                .codec_name()
                .unwrap_or_else(|| init.entry.kind().to_string());
            if !summary.codecs.contains(&codec) {
                summary.codecs.push(codec);
            }
            for piece in &segment.tracks[index] {
                summary.samples += piece.samples.len() as u64;
                summary.ticks += piece
                    .samples
                    .iter()
                    .map(|s| u64::from(s.duration))
                    .sum::<u64>();
            }
        }
    }
}

/// The shortest time between the end of what a track had so far and its first sample in a segment, by decode time.
fn decode_gap(hand: &InHand, segment: &Segment) -> Option<Time> {
    let gaps = segment
        .tracks
        .iter()
        .enumerate()
        .filter_map(|(slot, pieces)| {
            let until = hand.decoded_until[slot]?;
            hand.time(slot, pieces.first()?.decode_time.saturating_sub(until))
        });
    gaps.min()
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

fn describe(event: &Event, kept: Kept, path: Option<String>) -> Warning {
    let track = kept.track_id;
    let at = event.at.seconds();
    let by = event.by.map_or(0, |by| by.ticks);
    let seconds = event.by.map_or(0.0, Time::seconds);
    let message = match event.kind {
        WarningKind::Jump if by < 0 => format!(
            "track {track}: the recordings' clock jumps back by {} ticks at {at:.3} s of the take: time goes on from the sum of durations",
            -by
        ),
        WarningKind::Jump => format!(
            "track {track}: the recordings' clock jumps ahead by {by} ticks ({seconds:.3} s) at {at:.3} s of the take: samples were lost there"
        ),
        WarningKind::Stall => format!(
            "track {track}: a sample at {at:.3} s of the take lasts {seconds:.3} s too long: cut short, the rest is a gap"
        ),
        WarningKind::ParametersChanged => format!(
            "track {track}: parameter sets change at {at:.3} s of the take, inside the recording: a new init from there"
        ),
        WarningKind::EntryChanged => {
            format!(
                "track {track}: another sample entry from {at:.3} s of the take: a new init from there"
            )
        }
        WarningKind::LongGop => format!(
            "track {track}: no sync sample for {seconds:.3} s at {at:.3} s of the take: cut without one"
        ),
        WarningKind::Late => format!(
            "track {track}: comes too late at {at:.3} s of the take: its samples are in later segments than their times"
        ),
        _ => format!("track {track}: at {at:.3} s of the take"),
    };
    Warning {
        kind: event.kind,
        path,
        offset: None,
        message,
    }
}
