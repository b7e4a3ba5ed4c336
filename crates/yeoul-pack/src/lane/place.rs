use std::collections::BTreeMap;

use super::state::{Line, SegmentLine, TrackLine};
use super::take::InHand;
use super::{
    FileKind, Lane, Output, PackError, PlacedSegment, SegmentFile, TrackSummary, folder, join,
};
use crate::catalogue::{TakeId, short};
use crate::layout::{Layout, body};
use crate::placement::Shift;
use crate::segment::{Piece, Segment, TrackInit};
use crate::time::{Time, ns_from_ticks};

impl<O: Output> Lane<'_, O> {
    /// Places a segment and writes its files.
    pub(super) fn segment(
        &mut self,
        hand: &mut InHand,
        segment: &Segment,
    ) -> Result<(), PackError<O::Error>> {
        let parted = decode_gap(hand, segment);
        if let Some(hole) = segment.hole_before {
            let shown = presented_gap(hand, segment);
            let parted = parted.map(|parted| shown.map_or(parted, |shown| shown.min(parted)));
            hand.shift = self.timeline.close_hole(hand.shift, hole, parted);
        }
        // A track that comes late may lie before a hole that is closed by now: it opens again.
        let reopened = parted.filter(|parted| parted.ticks < 0);
        if let Some(overlap) = reopened {
            let overlap = Time::new(-overlap.ticks, overlap.timescale);
            hand.shift = hand.shift.later_by(overlap);
            let start = hand.shift.apply(segment.start);
            if let Some(before) = self.segments.last().filter(|before| start < before.end) {
                hand.shift = hand.shift.later_by(before.end.minus(start));
            }
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
            // Nothing of a later take may be decoded before it.
            let end = hand.time(slot, end);
            hand.decoded_until[slot] = end.map(|end| shift.apply(end));
            hand.end = hand.end.max(end);
            let shown = pieces
                .iter()
                .flat_map(Piece::presentations)
                .map(|(_, end)| end);
            let shown = shown.max().and_then(|end| hand.time(slot, end));
            hand.presented_until[slot] = shown.map(|end| shift.apply(end));
        }

        if let Some(shift) = self.journal.published.get(&segment.stem()) {
            // Published before a restart: it only tells where things stood.
            hand.shift = *shift;
            return Ok(());
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
        let name = format!("{}-{}.m4s", self.prefix(hand.report.id), segment.stem());
        let layout = self.options.layout;
        let mut files = BTreeMap::new();
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
            let mut init: Vec<_> = group
                .iter()
                .map(|i| (hand.kept[*i].slot, inits[*i].clone()))
                .collect();
            if layout == Layout::Muxed {
                // Players take no init with other tracks than the one before: a take without the picture, say, keeps its track.
                let absent = self
                    .tracks
                    .iter()
                    .filter(|(slot, _)| !init.iter().any(|(own, _)| own == *slot));
                let absent: Vec<_> = absent
                    .map(|(slot, track)| (*slot, track.latest.clone()))
                    .collect();
                init.extend(absent);
                init.sort_by_key(|(slot, _)| *slot);
            }
            let init: Vec<_> = init.iter().map(|(slot, init)| (*slot, init)).collect();
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
            discontinuity: segment.discontinuity || reopened.is_some(),
            independent: segment.independent,
            wall_ns: hand
                .report
                .anchor_ns
                .map(|anchor| anchor.saturating_add(start_ns)),
            files,
        });
        self.journal_segment(shift, segment, hand);
        Ok(())
    }

    /// How a take's files are named: by its short id, unless a take before it has the same one.
    fn prefix(&self, id: TakeId) -> String {
        let mut before = self.report.takes.iter();
        if before.any(|take| take.id != id && short(take.id) == short(id)) {
            id.to_string()
        } else {
            short(id)
        }
    }

    /// Says in the journal that the segment just placed is there.
    fn journal_segment(&mut self, shift: Shift, segment: &Segment, hand: &InHand) {
        let (true, Some(placed)) = (self.journal.enabled, self.segments.last()) else {
            return;
        };
        let line = |time: Time| (time.ticks, time.timescale);
        let file = |(slot, file): (&usize, &SegmentFile)| {
            (*slot, file.uri.clone(), file.map.clone(), file.bytes)
        };
        let counted = |(slot, pieces): (usize, &Vec<Piece>)| {
            let samples = pieces.iter().map(|piece| piece.samples.len() as u64).sum();
            (
                hand.kept[slot].slot,
                samples,
                pieces.iter().map(Piece::ticks).sum(),
            )
        };
        let line = SegmentLine {
            stem: segment.stem(),
            take_end: line(hand.end.unwrap_or(segment.end)),
            start: line(placed.start),
            end: line(placed.end),
            discontinuity: placed.discontinuity,
            independent: placed.independent,
            wall_ns: placed.wall_ns,
            shift: shift.steps(),
            files: placed.files.iter().map(file).collect(),
            samples: segment.tracks.iter().enumerate().map(counted).collect(),
        };
        self.journal.add(Line::Segment(line));
    }

    fn summarise(&mut self, hand: &InHand, segment: &Segment, inits: &[TrackInit]) {
        for (index, init) in inits.iter().enumerate() {
            let slot = hand.kept[index].slot;
            let summary = self.tracks.entry(slot).or_insert_with(|| TrackSummary {
                init: init.clone(),
                latest: init.clone(),
                codecs: Vec::new(),
                samples: 0,
                ticks: 0,
            });
            let codec = init
                .entry
                .codec_name()
                .unwrap_or_else(|| init.entry.kind().to_string());
            let is_new = summary.samples == 0 || summary.latest != *init;
            summary.latest.clone_from(init);
            if !summary.codecs.contains(&codec) {
                summary.codecs.push(codec);
            }
            if is_new {
                self.journal.add(Line::Track(TrackLine::new(slot, summary)));
            }
            for piece in &segment.tracks[index] {
                summary.samples += piece.samples.len() as u64;
                summary.ticks += piece.ticks();
            }
        }
    }
}

/// The shortest time between the end of what a track had so far and its first sample in a segment, by decode time; below
/// zero where they overlap. A track that had nothing so far may go back to where the take begins.
fn decode_gap(hand: &InHand, segment: &Segment) -> Option<Time> {
    let gaps = segment
        .tracks
        .iter()
        .enumerate()
        .filter_map(|(slot, pieces)| {
            let begins = hand.time(slot, pieces.first()?.decode_time)?;
            let until = hand.decoded_until[slot].unwrap_or(hand.begin(begins.timescale));
            Some(hand.shift.apply(begins).minus(until))
        });
    gaps.min()
}

/// The shortest time between the end of what a track has shown so far and the earliest picture of a segment: behind an open
/// group of pictures that is not the first one.
fn presented_gap(hand: &InHand, segment: &Segment) -> Option<Time> {
    let gaps = segment
        .tracks
        .iter()
        .enumerate()
        .filter_map(|(slot, pieces)| {
            let until = hand.presented_until[slot]?;
            let starts = pieces.iter().flat_map(Piece::presentations);
            let begins = hand.time(slot, starts.map(|(start, _)| start).min()?)?;
            Some(hand.shift.apply(begins).minus(until))
        });
    gaps.min()
}
