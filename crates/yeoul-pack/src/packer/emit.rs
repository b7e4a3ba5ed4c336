use yeoul_isobmff::movie::Handler;
use yeoul_isobmff::write::Sample;

use super::{Open, Packer};
use crate::clock::Placed;
use crate::segment::{PayloadRange, Piece, Segment};
use crate::time::Time;
use crate::warning::WarningKind;

/// A silence shorter than this is no hole: the picture stands.
const SHORTEST_HOLE: Time = Time::new(1, 1);

impl Packer {
    /// Lets go of the segments that nothing can be added to.
    pub(super) fn emit_ready(&mut self) {
        while let Some(next) = self.open.get(1) {
            if !next.settled && self.open.len() == 2 {
                break;
            }
            let end = Time::new(next.start, self.slots[0].timescale());
            if !self.followers_passed(end) {
                break;
            }
            self.emit_first();
        }
    }

    pub(super) fn emit_all(&mut self) {
        while !self.open.is_empty() {
            self.emit_first();
        }
        while self.last_inits.is_some() && self.begin_rest() {
            self.emit_first();
        }
        for slot in 1..self.slots.len() {
            // Without a segment there is nothing that audio could go to: a take whose video never had a sync sample.
            for placed in std::mem::take(&mut self.slots[slot].queue) {
                self.drop_sample(slot, &placed, WarningKind::NoSync);
            }
        }
    }

    /// What followers still have behind the last picture: samples that need another init than the last segment has.
    fn begin_rest(&mut self) -> bool {
        let timescale = self.slots[0].timescale();
        let begins = self.slots[1..].iter().filter_map(|slot| {
            let first = slot.queue.front()?;
            Some(Time::new(first.pts(), slot.timescale()).floor(timescale))
        });
        let Some(start) = begins.min() else {
            return false;
        };
        self.open.push_back(Open {
            start,
            number: self.number(start),
            independent: true,
            gap_before: false,
            followers_first: false,
            stretch: self.stretch,
            latest: start,
            samples: Vec::new(),
            settled: true,
        });
        true
    }

    fn followers_passed(&self, end: Time) -> bool {
        let ahead = Time::new(self.master_at, self.slots[0].timescale());
        self.slots[1..].iter().all(|slot| {
            let timescale = slot.timescale();
            let latest = slot.clock.held().or(slot.queue.back()).map(Placed::pts);
            let passed = latest.is_some_and(|pts| Time::new(pts, timescale) >= end);
            slot.finished || passed || ahead.minus(end) > self.options.max_lag
        })
    }

    fn emit_first(&mut self) {
        let Some(open) = self.open.pop_front() else {
            return;
        };
        let timescale = self.slots[0].timescale();
        let limit = self
            .open
            .front()
            .map(|next| Time::new(next.start, timescale));
        let mut inits = self
            .last_inits
            .clone()
            .unwrap_or_else(|| vec![0; self.slots.len()]);
        if let Some(first) = open.samples.first() {
            inits[0] = first.entry;
        }

        let mut start = Time::new(open.start, timescale);
        let mut end = open
            .samples
            .iter()
            .map(Placed::presented_until)
            .max()
            .unwrap_or(open.start);
        let before_stall = self.before_stall(&open, Time::new(end, timescale));
        let mut tracks = vec![pieces(&open.samples)];
        for slot in 1..self.slots.len() {
            let most = before_stall.as_ref().map(|counts| counts[slot - 1]);
            let mut samples = self.take_followers(slot, &open, limit, most, &mut inits);
            let follower_timescale = self.slots[slot].timescale();
            let goes_on = self.open.front().is_some_and(|next| !next.gap_before);
            let next = self.slots[slot].queue.front().filter(|_| goes_on);
            fill_short_gaps(&mut samples, next, follower_timescale);
            if let (true, Some(first)) = (open.followers_first, samples.first()) {
                let first = Time::new(first.pts(), follower_timescale);
                if first < start {
                    start = Time::new(first.floor(timescale), timescale);
                }
            }
            if let Some(last) = samples.iter().map(Placed::presented_until).max() {
                end = end.max(Time::new(last, follower_timescale).nearest(timescale));
            }
            tracks.push(pieces(&samples));
        }
        let end = self.close(&open, end).max(start.ticks.saturating_add(1));
        self.emitted_until = limit;
        self.push_ready(&open, start, Time::new(end, timescale), inits, tracks);
    }

    /// Where the presentation of a segment ends: at the next one, unless a hole comes first. Marks the hole there.
    fn close(&mut self, open: &Open, content_end: i64) -> i64 {
        let timescale = self.slots[0].timescale();
        let Some(next) = self.open.front_mut() else {
            return content_end;
        };
        if !next.gap_before {
            return next.start;
        }
        let missing = next.stretch != open.stretch;
        let hole = Time::new(next.start.saturating_sub(content_end), timescale);
        if hole.ticks > 0 && (missing || hole > SHORTEST_HOLE) {
            next.followers_first = !missing;
            content_end
        } else {
            next.gap_before = missing;
            next.start
        }
    }

    /// If all tracks stall behind a segment whose picture stands until `end` (rule 13): how many samples of each follower
    /// come before that. Those behind it belong to the next segment although they may come before its first picture.
    fn before_stall(&self, open: &Open, end: Time) -> Option<Vec<usize>> {
        let next = self.open.front()?;
        if !next.gap_before || next.stretch != open.stretch {
            return None;
        }
        let limit = Time::new(next.start, end.timescale);
        let (mut silent_from, mut silent_until) = (end, limit);
        let mut counts = Vec::with_capacity(self.slots.len());
        for slot in &self.slots[1..] {
            let time = |ticks| Time::new(ticks, slot.timescale());
            let is_behind = |placed: &Placed| {
                let pts = time(placed.pts());
                pts >= limit || (placed.gap_before && pts >= end)
            };
            let count = slot.queue.iter().position(is_behind);
            let count = count.unwrap_or(slot.queue.len());
            let before = slot.queue.iter().take(count).map(Placed::presented_until);
            silent_from = silent_from.max(time(before.max().unwrap_or(i64::MIN)));
            if let Some(behind) = slot.queue.get(count) {
                silent_until = silent_until.min(time(behind.pts()));
            }
            counts.push(count);
        }
        (silent_until.minus(silent_from) > SHORTEST_HOLE).then_some(counts)
    }

    /// The samples of a follower that belong to a segment: presented before the next one begins, and decodable with one
    /// init; `most` so many. Those of behind a hole that would be presented within it are left out.
    fn take_followers(
        &mut self,
        slot: usize,
        open: &Open,
        limit: Option<Time>,
        most: Option<usize>,
        inits: &mut [u32],
    ) -> Vec<Placed> {
        let timescale = self.slots[slot].timescale();
        let is_audio = self.slots[slot].handler() == Handler::Audio;
        let mut taken: Vec<Placed> = Vec::new();
        while let Some(placed) = self.slots[slot].queue.front().copied() {
            let inside = limit.is_none_or(|limit| Time::new(placed.pts(), timescale) < limit);
            let same_init = taken
                .first()
                .is_none_or(|first| first.entry == placed.entry);
            let enough = most.is_some_and(|most| taken.len() >= most);
            if enough || !inside || !same_init {
                break;
            }
            self.slots[slot].queue.pop_front();
            let in_hole = self.open.front().is_some_and(|next| {
                next.gap_before && next.stretch == placed.stretch && placed.stretch != open.stretch
            });
            if in_hole && is_audio {
                self.drop_sample(slot, &placed, WarningKind::AudioInHole);
                continue;
            }
            inits[slot] = placed.entry;
            taken.push(placed);
        }
        taken
    }

    fn push_ready(
        &mut self,
        open: &Open,
        start: Time,
        end: Time,
        inits: Vec<u32>,
        tracks: Vec<Vec<Piece>>,
    ) {
        // Where presentation goes back, numbers do not: two segments would have one name.
        let (number, suffix) = match self.last_name {
            Some((last, suffix)) if last >= open.number => (last, suffix + 1),
            _ => (open.number, 0),
        };
        self.last_name = Some((number, suffix));
        let first = self.last_inits.is_none();
        let new_init = self.last_inits.as_ref().is_some_and(|last| *last != inits);
        let previous_end = self.previous_end.replace(end);
        let hole_before = match previous_end {
            Some(previous) if open.gap_before && previous < start => Some((previous, start)),
            _ => None,
        };
        self.last_inits = Some(inits.clone());
        self.ready.push_back(Segment {
            number,
            suffix,
            start,
            end,
            hole_before,
            discontinuity: first || new_init || open.gap_before,
            independent: open.independent,
            inits,
            tracks,
        });
    }
}

/// A follower may have a hole where the master has none (behind a missing number). One that is shorter than a pause may be
/// is no discontinuity: the sample before it lasts over it. `next` is what comes first in the next segment.
fn fill_short_gaps(samples: &mut [Placed], next: Option<&Placed>, timescale: u32) {
    for index in 0..samples.len() {
        let Some(following) = samples.get(index + 1).or(next).map(|placed| placed.dts) else {
            return;
        };
        let gap = following.saturating_sub(samples[index].end());
        if (1..=i64::from(timescale)).contains(&gap) {
            let lasts = following.saturating_sub(samples[index].dts);
            samples[index].duration = u32::try_from(lasts).unwrap_or(samples[index].duration);
        }
    }
}

/// Samples as pieces without gaps, and where their payload lies.
fn pieces(samples: &[Placed]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut next = None;
    for placed in samples {
        if next != Some(placed.dts) {
            pieces.push(Piece {
                decode_time: placed.dts,
                ..Piece::default()
            });
        }
        next = Some(placed.end());
        let Some(piece) = pieces.last_mut() else {
            continue;
        };
        piece.samples.push(Sample {
            duration: placed.duration,
            size: placed.size,
            flags: with_dependency(placed.flags),
            composition_offset: placed.composition_offset,
        });
        push_range(&mut piece.ranges, placed);
    }
    pieces
}

fn push_range(ranges: &mut Vec<PayloadRange>, placed: &Placed) {
    let (recording, offset, len) = (placed.recording, placed.offset, u64::from(placed.size));
    match ranges.last_mut() {
        Some(last) if last.recording == recording && last.offset + last.len == offset => {
            last.len += len
        }
        _ => ranges.push(PayloadRange {
            recording,
            offset,
            len,
        }),
    }
}

/// Flags that also say whether the sample depends on others, where the recorder left that open.
fn with_dependency(flags: u32) -> u32 {
    const DEPENDS_ON: u32 = 0x0300_0000;
    if flags & DEPENDS_ON != 0 {
        flags
    } else if flags & Sample::IS_NON_SYNC == 0 {
        flags | Sample::SYNC
    } else {
        flags | Sample::NON_SYNC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(dts: i64) -> Placed {
        Placed {
            dts,
            duration: 960,
            size: 1,
            flags: 0,
            composition_offset: 0,
            offset: 0,
            recording: 0,
            index: 0,
            gap_before: false,
            stretch: 0,
            entry: 0,
        }
    }

    #[test]
    fn a_short_hole_of_a_follower_is_filled_and_a_long_one_stays() {
        let mut samples = [placed(0), placed(30_000), placed(90_000)];
        fill_short_gaps(&mut samples, Some(&placed(91_000)), 48_000);
        assert_eq!(samples.map(|placed| placed.duration), [30_000, 960, 1000]);
        let mut last = [placed(0)];
        fill_short_gaps(&mut last, None, 48_000);
        assert_eq!(last[0].duration, 960);
    }
}
