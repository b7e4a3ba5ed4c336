use super::take::InHand;
use super::{Lane, Output};
use crate::segment::Event;
use crate::select::Kept;
use crate::time::Time;
use crate::warning::{Warning, WarningKind};

/// What happens more often in a recording is counted, not told one by one.
pub(super) const MOST_OF_A_KIND: u64 = 4;

impl<O: Output> Lane<'_, O> {
    pub(super) fn note_dropped(&mut self, hand: &mut InHand) {
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

    /// Says how often more something happened that was not told each time.
    pub(super) fn tell_counts(&mut self, hand: &InHand) {
        for ((recording, slot, kind), count) in &hand.said {
            let found = hand.report.recordings.get(*recording as usize);
            let (Some(found), Some(more)) = (found, count.checked_sub(MOST_OF_A_KIND)) else {
                continue;
            };
            if more > 0 {
                let track = hand.kept[*slot].track_id;
                let message = format!("track {track}: {more} times more: {}", kind.name());
                self.warn(Warning::of(*kind, &found.name, message));
            }
        }
    }
}

/// What happened, for people.
pub(super) fn describe(event: &Event, kept: Kept, path: Option<String>) -> Warning {
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
