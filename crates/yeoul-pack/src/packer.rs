//! The packer: samples of a take in, segments out. A state machine without I/O.
//!
//! The first kept track is the *master*: it alone decides where segments begin (rule 7). The others follow: their samples
//! go to the segment that holds their presentation time (rule 8), which may come one part or one recording later; so a
//! segment leaves when every follower has passed its end, or lags hopelessly.
//!
//! ```text
//!  run of samples ─► Clock (a slot each) ─┬─ master ─► open segments ─┐
//!                    place, gaps, stalls  └─ follower ─► queue ───────┴─► Segment
//! ```

mod emit;
mod slot;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::Bytes;
use yeoul_isobmff::codec::{AccessUnit, NalCodec, Picture, SYNC_SAMPLE_HEAD};
use yeoul_isobmff::moof::FragmentSample;
use yeoul_isobmff::movie::{Handler, Track};

use self::slot::Slot;
use crate::clock::{Place, Placed, ROUNDING};
use crate::segment::{Dropped, Event, Segment, TrackInit};
use crate::time::Time;
use crate::warning::WarningKind;

/// How a take is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutOptions {
    /// Length that segments aim at: the cut falls on the first sync sample in each multiple of it.
    pub target: Time,
    /// A segment that grows longer than this is cut at a picture that is not a sync sample.
    pub max_gop: Time,
    /// How far the master may run ahead of a follower before segments leave without it.
    pub max_lag: Time,
}

impl CutOptions {
    /// Longest time between sync samples that is waited for.
    pub const MAX_GOP: Time = Time::new(60, 1);
    /// MediaMTX writes tracks at most a second apart; other writers up to some seconds.
    pub const MAX_LAG: Time = Time::new(10, 1);

    /// The defaults for a target.
    pub fn new(target: Time) -> Self {
        Self {
            target,
            max_gop: Self::MAX_GOP,
            max_lag: Self::MAX_LAG,
        }
    }
}

impl Default for CutOptions {
    fn default() -> Self {
        Self::new(Time::new(4, 1))
    }
}

/// Reads the first bytes of a sample: as many as asked for, or all that it has.
pub type ReadHead<'a, E> = &'a mut dyn FnMut(&FragmentSample, usize) -> Result<Bytes, E>;

/// Enough of a sync sample's head in most streams: parameter sets and the first slice's type.
const SHORT_HEAD: usize = 512;

/// Cuts a take into segments.
#[derive(Debug)]
pub struct Packer {
    options: CutOptions,
    slots: Vec<Slot>,
    open: VecDeque<Open>,
    ready: VecDeque<Segment>,
    recording: u32,
    stretch: u32,
    waits_for_sync: bool,
    leading_until: Option<i64>,
    /// A gap began before a sample that was left out.
    gap_left_out: bool,
    last_sync_number: Option<i64>,
    last_name: Option<(i64, u32)>,
    last_inits: Option<Vec<u32>>,
    force_cut: bool,
    master_at: i64,
    emitted_until: Option<Time>,
    previous_end: Option<Time>,
    dropped: Vec<Dropped>,
    events: Vec<Event>,
}

/// A segment that is not closed yet.
#[derive(Debug)]
struct Open {
    start: i64,
    number: i64,
    independent: bool,
    gap_before: bool,
    /// It begins with a follower's sample that comes before its first picture: the take or what is behind a stall does.
    followers_first: bool,
    stretch: u32,
    latest: i64,
    /// Every picture that is presented before its first sample has come: it begins with a sync sample, or one that is
    /// presented later followed.
    settled: bool,
    samples: Vec<Placed>,
}

/// What the head of a sync sample says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    independent: bool,
    open: bool,
}

impl Packer {
    /// A packer for a take that keeps these tracks, master first.
    pub fn new(options: CutOptions, tracks: Vec<TrackInit>) -> Self {
        Self {
            options,
            slots: tracks.into_iter().map(Slot::new).collect(),
            open: VecDeque::new(),
            ready: VecDeque::new(),
            recording: 0,
            stretch: 0,
            waits_for_sync: true,
            leading_until: None,
            gap_left_out: false,
            last_sync_number: None,
            last_name: None,
            last_inits: None,
            force_cut: false,
            master_at: i64::MIN,
            emitted_until: None,
            previous_end: None,
            dropped: Vec::new(),
            events: Vec::new(),
        }
    }

    /// A recording of the take begins. `tracks` are its kept tracks by slot; `after_missing` says that numbers are missing
    /// between it and the recording before.
    pub fn begin_recording(
        &mut self,
        recording: u32,
        tracks: &[Option<&Track>],
        after_missing: bool,
    ) {
        self.recording = recording;
        if after_missing {
            self.stretch += 1;
        }
        for (index, slot) in self.slots.iter_mut().enumerate() {
            slot.clock.begin_recording(after_missing);
            let changes = slot.begin_recording(tracks.get(index).copied().flatten());
            self.force_cut |= changes && index > 0;
        }
    }

    /// A run of a slot's samples; `own` is the decode time of the first on the recordings' clock, in the slot's ticks.
    /// `head` is asked for the first bytes of the master's sync samples, nothing else.
    ///
    /// # Errors
    /// What `head` returns.
    pub fn push_run<E>(
        &mut self,
        slot: usize,
        own: Option<i64>,
        description: u32,
        samples: &[FragmentSample],
        head: ReadHead<'_, E>,
    ) -> Result<(), E> {
        let Some(state) = self.slots.get_mut(slot) else {
            return Ok(());
        };
        state.clock.begin_run(own, samples);
        state.use_description(description);
        for sample in samples {
            let start = self.inspect(slot, sample, head)?;
            let state = &mut self.slots[slot];
            let place = Place {
                recording: self.recording,
                index: state.count,
                stretch: self.stretch,
                entry: state.current,
            };
            state.count += 1;
            state.starts.extend(start);
            if let Some(placed) = state.clock.push(sample, place) {
                self.placed(slot, placed);
            }
        }
        self.collect_notices(slot);
        self.emit_ready();
        Ok(())
    }

    /// The take ends: everything leaves.
    pub fn finish(&mut self) {
        for slot in 0..self.slots.len() {
            if let Some(placed) = self.slots[slot].clock.release() {
                self.placed(slot, placed);
            }
            self.slots[slot].finished = true;
            self.collect_notices(slot);
        }
        self.emit_all();
    }

    /// The next closed segment.
    pub fn poll_segment(&mut self) -> Option<Segment> {
        self.ready.pop_front()
    }

    /// After [`Packer::finish`]: goes on with other tracks (a timescale changed). What comes now begins anew.
    pub fn restart(&mut self, tracks: Vec<TrackInit>) {
        *self = Self {
            ready: std::mem::take(&mut self.ready),
            recording: self.recording,
            last_name: self.last_name,
            previous_end: self.previous_end,
            dropped: std::mem::take(&mut self.dropped),
            events: std::mem::take(&mut self.events),
            ..Self::new(self.options, tracks)
        };
    }

    /// The clock of each slot: where its next sample lies, and its skew.
    pub fn clocks(&self) -> Vec<(Option<i64>, i64)> {
        self.slots.iter().map(|slot| slot.clock.state()).collect()
    }

    /// Before the first recording: goes on where clocks stood; `continues`: what comes is no beginning for a player.
    pub fn resume(&mut self, clocks: &[(Option<i64>, i64)], continues: bool) {
        for (slot, (next, skew)) in self.slots.iter_mut().zip(clocks) {
            slot.clock.resume(*next, *skew);
        }
        if continues {
            self.last_inits = Some(vec![0; self.slots.len()]);
        }
    }

    /// How far the clock of the recording in hand was from the sum of durations where it began, in ticks of a slot.
    pub fn boundary(&self, slot: usize) -> Option<i64> {
        self.slots.get(slot)?.clock.boundary
    }

    /// Samples left out since the last call.
    pub fn take_dropped(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.dropped)
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The inits of a slot, by the numbers that segments use.
    pub fn inits(&self, slot: usize) -> &[TrackInit] {
        self.slots.get(slot).map_or(&[], |slot| &slot.inits)
    }

    /// Samples that a slot has been given in the recording in hand.
    pub fn sample_count(&self, slot: usize) -> u64 {
        self.slots.get(slot).map_or(0, |slot| slot.count)
    }

    /// Whether samples of a recording wait here, or may still come.
    pub fn needs(&self, recording: u32) -> bool {
        // Within a list recordings only go up.
        let within = |first: Option<&Placed>, last: Option<&Placed>| {
            let range = first.zip(last).map(|(a, b)| a.recording..=b.recording);
            range.is_some_and(|range| range.contains(&recording))
        };
        let open = |open: &Open| within(open.samples.first(), open.samples.last());
        let slot = |slot: &Slot| {
            let held = slot.clock.held().map(|held| held.recording);
            held == Some(recording) || within(slot.queue.front(), slot.queue.back())
        };
        recording == self.recording || self.open.iter().any(open) || self.slots.iter().any(slot)
    }

    /// Looks at a master's sync sample; brings the slot's entry up to date.
    fn inspect<E>(
        &mut self,
        slot: usize,
        sample: &FragmentSample,
        head: ReadHead<'_, E>,
    ) -> Result<Option<Start>, E> {
        let state = &mut self.slots[slot];
        if !state.is_sync(sample) {
            return Ok(None);
        }
        let before = state.current;
        let Some((codec, length_size)) = state.nal().filter(|_| slot == 0) else {
            state.apply_entry(None);
            self.note_entry_change(slot, before, false);
            return Ok((slot == 0).then_some(Start {
                independent: true,
                open: false,
            }));
        };
        let mut unit = AccessUnit::read(&head(sample, SHORT_HEAD)?, codec, length_size);
        if unit.picture.is_none() && sample.size as usize > SHORT_HEAD {
            unit = AccessUnit::read(&head(sample, SYNC_SAMPLE_HEAD)?, codec, length_size);
        }
        let in_band = state.apply_entry(Some(&unit.sets));
        self.note_entry_change(slot, before, in_band);
        Ok(Some(match unit.picture {
            Some(Picture::Instant) => Start {
                independent: true,
                open: false,
            },
            Some(Picture::Open) => Start {
                independent: false,
                open: true,
            },
            None => Start {
                independent: codec == NalCodec::Avc,
                open: false,
            },
        }))
    }

    fn note_entry_change(&mut self, slot: usize, before: u32, in_band: bool) {
        let state = &self.slots[slot];
        if state.current == before || !state.has_samples {
            return;
        }
        let kind = if in_band {
            WarningKind::ParametersChanged
        } else {
            WarningKind::EntryChanged
        };
        let at = Time::new(state.clock.position(), state.timescale());
        self.events.push(Event {
            kind,
            slot,
            recording: self.recording,
            at,
            by: None,
        });
    }

    fn placed(&mut self, slot: usize, placed: Placed) {
        self.slots[slot].has_samples = true;
        if slot == 0 {
            self.master(placed);
        } else {
            self.follower(slot, placed);
        }
    }

    fn follower(&mut self, slot: usize, placed: Placed) {
        let timescale = self.slots[slot].timescale();
        let pts = Time::new(placed.pts(), timescale);
        if self.emitted_until.is_some_and(|until| pts < until) && !self.slots[slot].late {
            self.slots[slot].late = true;
            let recording = placed.recording;
            self.events.push(Event {
                kind: WarningKind::Late,
                slot,
                recording,
                at: pts,
                by: None,
            });
        }
        self.slots[slot].queue.push_back(placed);
    }

    fn master(&mut self, mut placed: Placed) {
        let sync = self.slots[0].handler() == Handler::Audio || placed.is_sync();
        let start = if sync {
            self.slots[0].starts.pop_front()
        } else {
            None
        };
        self.master_at = self.master_at.max(placed.dts);
        let new_stretch = self
            .open
            .back()
            .is_some_and(|open| open.stretch != placed.stretch);
        let after_hole = new_stretch && placed.gap_before;
        if after_hole {
            self.waits_for_sync = true;
        }
        if self.waits_for_sync && !sync {
            self.drop_sample(0, &placed, WarningKind::NoSync);
            return;
        }
        if self.leading_until.is_some_and(|until| placed.pts() < until) {
            self.gap_left_out |= placed.gap_before;
            self.drop_sample(0, &placed, WarningKind::Leading);
            return;
        }
        placed.gap_before |= std::mem::take(&mut self.gap_left_out);
        let first = std::mem::take(&mut self.waits_for_sync);
        if sync {
            let open_gop = start.is_some_and(|start| start.open);
            self.leading_until = (first && open_gop).then(|| placed.pts());
        }
        if !placed.gap_before && !first {
            // Only samples left out between them can part two samples that no gap parts: the first lasts longer.
            let last = self
                .open
                .back_mut()
                .and_then(|open| open.samples.last_mut());
            if let Some(last) = last {
                last.duration =
                    u32::try_from(placed.dts.saturating_sub(last.dts)).unwrap_or(last.duration);
            }
        }
        if self.begins_segment(&placed, sync, first) {
            let independent = sync && start.is_none_or(|start| start.independent);
            // Before the take's first segment there is no gap: what followers have from before belongs to it.
            let begun = !self.open.is_empty() || self.last_inits.is_some();
            let gap_before = begun && (placed.gap_before || (first && !self.open.is_empty()));
            self.begin_segment(&placed, independent, first, gap_before);
            if let Some(open) = self.open.back_mut() {
                open.settled = sync;
            }
        }
        if let Some(open) = self.open.back_mut() {
            open.latest = open.latest.max(placed.pts());
            if let Some(begin) = open.samples.first().filter(|_| !open.settled) {
                open.settled = placed.pts() > begin.pts();
                open.start = open.start.min(placed.pts());
            }
            open.samples.push(placed);
        }
        if sync {
            self.last_sync_number = Some(self.number(placed.pts()));
        }
    }

    fn begins_segment(&mut self, placed: &Placed, sync: bool, first: bool) -> bool {
        let Some(open) = self.open.back() else {
            return true;
        };
        let Some(in_hand) = open.samples.last() else {
            return true;
        };
        if first || placed.gap_before || placed.entry != in_hand.entry {
            return true;
        }
        if placed.pts() <= open.start {
            return false;
        }
        if sync {
            let forced = std::mem::take(&mut self.force_cut);
            return forced || self.last_sync_number != Some(self.number(placed.pts()));
        }
        let timescale = self.slots[0].timescale();
        let length = Time::new(placed.pts().saturating_sub(open.start), timescale);
        if length > self.options.max_gop && placed.pts() > open.latest {
            let at = Time::new(placed.pts(), timescale);
            let recording = placed.recording;
            self.events.push(Event {
                kind: WarningKind::LongGop,
                slot: 0,
                recording,
                at,
                by: Some(length),
            });
            return true;
        }
        false
    }

    fn begin_segment(&mut self, placed: &Placed, independent: bool, first: bool, gap_before: bool) {
        self.open.push_back(Open {
            start: placed.pts(),
            number: self.number(placed.pts()),
            independent,
            gap_before,
            followers_first: first && !gap_before,
            stretch: placed.stretch,
            latest: placed.pts(),
            settled: true,
            samples: Vec::new(),
        });
    }

    /// floor(PTS / target) on the take's clock. A recording's clock is known to two ticks only, and sync samples like to
    /// stand on the very multiples; so a time counts as up to two ticks later, or the number would depend on which
    /// recording of the take is the first that is still there.
    fn number(&self, pts: i64) -> i64 {
        let timescale = self.slots[0].timescale();
        let target = self.options.target;
        let pts = i128::from(pts.saturating_add(ROUNDING)) * i128::from(target.timescale);
        let target = i128::from(target.ticks.max(1)) * i128::from(timescale);
        i64::try_from(pts.div_euclid(target)).unwrap_or(i64::MAX)
    }

    fn drop_sample(&mut self, slot: usize, placed: &Placed, kind: WarningKind) {
        let (recording, index) = (placed.recording, placed.index);
        if let Some(last) = self.dropped.iter_mut().rev().find(|last| last.slot == slot) {
            let follows = last.recording == recording && last.samples.1 == index;
            if last.kind == kind && follows {
                last.samples.1 += 1;
                return;
            }
        }
        self.dropped.push(Dropped {
            recording,
            slot,
            samples: (index, index + 1),
            kind,
        });
    }

    fn collect_notices(&mut self, slot: usize) {
        let recording = self.recording;
        let state = &mut self.slots[slot];
        let timescale = state.timescale();
        for notice in state.clock.notices.drain(..) {
            let at = Time::new(notice.at, timescale);
            let by = Some(Time::new(notice.by, timescale));
            self.events.push(Event {
                kind: notice.kind,
                slot,
                recording,
                at,
                by,
            });
        }
    }
}
