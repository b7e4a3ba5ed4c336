//! A track's place on its take's clock (rules 1, 10 and 13 of the timeline).
//!
//! The first sample of a take lies at mtxi DTS + `tfdt`; each later one where the durations before it end. A recording's own
//! clock has gone from ticks to nanoseconds and back with two roundings and is a tick or two off; it is used only to see
//! real jumps. One sample is held back, because what follows decides how long it lasts.

use yeoul_isobmff::moof::{FragmentSample, NON_SYNC};

use crate::warning::WarningKind;

/// Ticks by which the sum of durations and a recording's own clock may differ: two floors of MediaMTX's, and ours.
pub(crate) const ROUNDING: i64 = 2;

/// A sample at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Decode time on the take's clock, ticks.
    pub dts: i64,
    pub duration: u32,
    pub size: u32,
    pub flags: u32,
    pub composition_offset: i32,
    /// Where the payload begins in its recording.
    pub offset: u64,
    /// Which recording of the take.
    pub recording: u32,
    /// Its index among the track's whole samples in that recording.
    pub index: u64,
    /// Nothing of the track lies between the end of the sample before and this one: a gap begins there.
    pub gap_before: bool,
    /// How many holes in the numbering of the take's recordings came before it.
    pub stretch: u32,
    /// Which of the track's sample entries it needs.
    pub entry: u32,
}

impl Placed {
    pub(crate) fn is_sync(&self) -> bool {
        self.flags & NON_SYNC == 0
    }

    pub(crate) fn pts(&self) -> i64 {
        self.dts.saturating_add(self.composition_offset.into())
    }

    pub(crate) fn end(&self) -> i64 {
        self.dts.saturating_add(self.duration.into())
    }

    /// When its presentation ends.
    pub(crate) fn presented_until(&self) -> i64 {
        self.pts().saturating_add(self.duration.into())
    }
}

/// What the clock noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Notice {
    pub kind: WarningKind,
    /// Decode time at which it happened.
    pub at: i64,
    /// By how many ticks.
    pub by: i64,
}

/// A track's clock.
#[derive(Debug)]
pub(crate) struct Clock {
    timescale: u32,
    /// Where the durations so far end.
    next: Option<i64>,
    /// How far the recordings' clock is known to lie behind the sum.
    skew: i64,
    held: Option<(Placed, i64)>,
    durations: Durations,
    gap_next: bool,
    expect_hole: bool,
    first_run: bool,
    pub(crate) boundary: Option<i64>,
    pub(crate) notices: Vec<Notice>,
}

impl Clock {
    pub(crate) fn new(timescale: u32) -> Self {
        Self {
            timescale,
            next: None,
            skew: 0,
            held: None,
            durations: Durations::default(),
            gap_next: false,
            expect_hole: false,
            first_run: false,
            boundary: None,
            notices: Vec::new(),
        }
    }

    /// A recording begins. `after_missing`: numbers are missing before it, so a jump of any length is a hole.
    pub(crate) fn begin_recording(&mut self, after_missing: bool) {
        self.durations = Durations::default();
        self.expect_hole |= after_missing;
        self.first_run = true;
        self.boundary = None;
    }

    /// A run of samples whose first lies at `own` on the recordings' clock (`None`: it goes on). Must come before its
    /// samples: durations to come decide what counts as a stall.
    pub(crate) fn begin_run(&mut self, own: Option<i64>, samples: &[FragmentSample]) {
        for sample in samples {
            self.durations.add(sample.duration);
        }
        let Some(next) = self.next else {
            self.next = Some(own.unwrap_or(0));
            self.expect_hole = false;
            return;
        };
        let Some(own) = own else { return };
        let jump = own.saturating_sub(self.skew).saturating_sub(next);
        let hole_expected = std::mem::take(&mut self.expect_hole);
        if std::mem::take(&mut self.first_run) {
            self.boundary = Some(jump);
        }
        if jump.abs() <= ROUNDING {
            return;
        }
        if jump < 0 {
            self.skew = self.skew.saturating_add(jump);
            self.notices.push(Notice {
                kind: WarningKind::Jump,
                at: next,
                by: jump,
            });
            return;
        }
        if hole_expected {
            self.gap_next = true;
        } else if jump > self.stall_bound() {
            self.gap_next = true;
            self.notices.push(Notice {
                kind: WarningKind::Jump,
                at: next,
                by: jump,
            });
        } else {
            if let Some((held, _)) = &mut self.held {
                held.duration =
                    u32::try_from(jump.saturating_add(held.duration.into())).unwrap_or(u32::MAX);
            }
            self.notices.push(Notice {
                kind: WarningKind::Jump,
                at: next,
                by: jump,
            });
        }
        self.next = Some(next.saturating_add(jump));
    }

    /// The next sample of the run. Gives out the one before it, whose length is known now.
    pub(crate) fn push(&mut self, sample: &FragmentSample, place: Place) -> Option<Placed> {
        let dts = self.next.unwrap_or(0);
        self.next = Some(dts.saturating_add(sample.duration.into()));
        let released = self.release();
        let placed = Placed {
            dts,
            duration: sample.duration,
            size: sample.size,
            flags: sample.flags,
            composition_offset: sample.composition_offset,
            offset: sample.offset,
            recording: place.recording,
            index: place.index,
            gap_before: std::mem::take(&mut self.gap_next),
            stretch: place.stretch,
            entry: place.entry,
        };
        self.held = Some((placed, self.stall_bound()));
        released
    }

    /// Gives out the last sample.
    pub(crate) fn release(&mut self) -> Option<Placed> {
        let (mut placed, bound) = self.held.take()?;
        let by = i64::from(placed.duration) - bound;
        // A rest that is shorter than a pause may be would only be a hole in time: the sample lasts over it.
        if by > i64::from(self.timescale) {
            self.notices.push(Notice {
                kind: WarningKind::Stall,
                at: placed.dts,
                by,
            });
            placed.duration = u32::try_from(bound).unwrap_or(u32::MAX);
            self.gap_next = true;
        }
        Some(placed)
    }

    /// Where the next sample lies.
    pub(crate) fn position(&self) -> i64 {
        self.next.unwrap_or(0)
    }

    /// Where the next sample lies, and the skew.
    pub(crate) fn state(&self) -> (Option<i64>, i64) {
        (self.next, self.skew)
    }

    pub(crate) fn resume(&mut self, next: Option<i64>, skew: i64) {
        (self.next, self.skew) = (next, skew);
    }

    /// The sample that is held back.
    pub(crate) fn held(&self) -> Option<&Placed> {
        self.held.as_ref().map(|(placed, _)| placed)
    }

    /// The longest that a sample may last: rule 13.
    fn stall_bound(&self) -> i64 {
        i64::from(self.timescale).max(self.durations.median().saturating_mul(10))
    }
}

/// Where a sample comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub recording: u32,
    pub index: u64,
    pub stretch: u32,
    pub entry: u32,
}

/// Durations of a track in a recording, for their median. Bounded: past the limit a new value counts as its neighbour.
#[derive(Debug, Default)]
struct Durations {
    counts: std::collections::BTreeMap<u32, u64>,
    total: u64,
}

impl Durations {
    const DISTINCT: usize = 1024;

    fn add(&mut self, duration: u32) {
        let full = self.counts.len() >= Self::DISTINCT;
        let key = match self.counts.range(duration..).next() {
            Some((near, _)) if full || *near == duration => *near,
            None if full => self.counts.keys().next_back().copied().unwrap_or(duration),
            _ => duration,
        };
        *self.counts.entry(key).or_default() += 1;
        self.total += 1;
    }

    /// The lower median; 0 of nothing.
    fn median(&self) -> i64 {
        let middle = self.total.div_ceil(2);
        let mut seen = 0;
        for (duration, count) in &self.counts {
            seen += count;
            if seen >= middle {
                return i64::from(*duration);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(duration: u32) -> FragmentSample {
        FragmentSample {
            offset: 0,
            size: 1,
            duration,
            flags: 0,
            composition_offset: 0,
        }
    }

    fn run(clock: &mut Clock, own: i64, durations: &[u32]) -> Vec<(i64, u32, bool)> {
        let samples: Vec<_> = durations.iter().map(|d| sample(*d)).collect();
        clock.begin_run(Some(own), &samples);
        let place = Place {
            recording: 0,
            index: 0,
            stretch: 0,
            entry: 0,
        };
        let placed = samples.iter().filter_map(|s| clock.push(s, place));
        placed.map(|p| (p.dts, p.duration, p.gap_before)).collect()
    }

    fn rest(clock: &mut Clock) -> (i64, u32, bool) {
        clock
            .release()
            .map(|p| (p.dts, p.duration, p.gap_before))
            .unwrap()
    }

    #[test]
    fn rule_01_the_sum_of_durations_counts_and_two_ticks_are_rounding() {
        let mut clock = Clock::new(90_000);
        assert_eq!(
            run(&mut clock, -6000, &[3000, 3000]),
            [(-6000, 3000, false)]
        );
        assert_eq!(run(&mut clock, -2, &[3000]), [(-3000, 3000, false)]);
        assert_eq!(run(&mut clock, 2999, &[3000]), [(0, 3000, false)]);
        assert_eq!(rest(&mut clock), (3000, 3000, false));
        assert_eq!(clock.notices, []);
    }

    #[test]
    fn rule_01_a_short_jump_lengthens_the_sample_before_and_is_reported() {
        let mut clock = Clock::new(90_000);
        run(&mut clock, 0, &[3000, 3000]);
        assert_eq!(run(&mut clock, 9000, &[3000]), [(3000, 6000, false)]);
        assert_eq!(rest(&mut clock), (9000, 3000, false));
        assert_eq!(
            clock.notices,
            [Notice {
                kind: WarningKind::Jump,
                at: 6000,
                by: 3000
            }]
        );
    }

    #[test]
    fn rule_01_a_jump_back_is_reported_once_and_time_goes_on() {
        let mut clock = Clock::new(90_000);
        run(&mut clock, 0, &[3000, 3000]);
        run(&mut clock, 3000, &[3000]);
        run(&mut clock, 6000, &[3000]);
        assert_eq!(rest(&mut clock), (9000, 3000, false));
        assert_eq!(
            clock.notices,
            [Notice {
                kind: WarningKind::Jump,
                at: 6000,
                by: -3000
            }]
        );
    }

    #[test]
    fn rule_10_behind_a_missing_number_any_jump_is_a_hole() {
        let mut clock = Clock::new(90_000);
        run(&mut clock, 0, &[3000]);
        clock.begin_recording(true);
        assert_eq!(run(&mut clock, 3003, &[3000]), [(0, 3000, false)]);
        assert_eq!(rest(&mut clock), (3003, 3000, true));
    }

    #[test]
    fn rule_13_a_stall_is_cut_to_a_second_or_ten_medians_and_the_rest_is_a_gap() {
        let mut clock = Clock::new(90_000);
        run(&mut clock, 0, &[3000, 3000, 900_000, 3000]);
        assert_eq!(rest(&mut clock), (906_000, 3000, true));
        assert_eq!(
            clock.notices,
            [Notice {
                kind: WarningKind::Stall,
                at: 6000,
                by: 810_000
            }]
        );

        let mut clock = Clock::new(90_000);
        run(&mut clock, 0, &[180_000, 180_000, 1_700_000, 180_000]);
        assert_eq!(
            clock.notices,
            [],
            "one picture in two seconds: 19 s are no stall yet"
        );
    }

    #[test]
    fn rule_13_a_rest_of_up_to_a_second_stays_with_its_sample() {
        // A jump that is no gap lengthens the last sample past the bound: what was cut off parted two samples without a
        // DISCONTINUITY.
        let mut clock = Clock::new(90_000);
        run(&mut clock, 0, &[3000, 3000]);
        assert_eq!(run(&mut clock, 96_000, &[3000]), [(3000, 93_000, false)]);
        assert_eq!(rest(&mut clock), (96_000, 3000, false));
    }

    #[test]
    fn rule_13_an_inflated_last_sample_is_cut() {
        let mut clock = Clock::new(48_000);
        run(&mut clock, 0, &[1024, 1024, 1024, u32::MAX]);
        assert_eq!(rest(&mut clock), (3072, 48_000, false));
    }
}
