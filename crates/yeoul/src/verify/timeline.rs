//! Decode time of one output track: it only goes on, and presentation times come once.

use std::collections::{HashSet, VecDeque};

use super::fragment::Sample;
/// Nanoseconds of a second, and so nanoticks of a tick.
pub(super) const SECOND: i128 = 1_000_000_000;

/// Presentation times remembered: more than any codec reorders.
const PTS_WINDOW: usize = 512;

/// How a sample follows the one before it in its track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The first sample, or exactly at the end of the one before.
    Joined,
    /// That many ticks after the end of the one before.
    Gap(i128),
    /// That many ticks before the end of the one before.
    Overlap(i128),
}

#[derive(Debug)]
pub(super) struct Cursor {
    pub(super) timescale: u32,
    /// End of the last sample, ticks.
    pub(super) end: Option<i128>,
    recent: VecDeque<i128>,
    seen: HashSet<i128>,
}

impl Cursor {
    pub(super) fn new(timescale: u32) -> Self {
        Self {
            timescale,
            end: None,
            recent: VecDeque::new(),
            seen: HashSet::new(),
        }
    }

    /// Goes to another timescale; the end is rounded down, so that a gap is never hidden by more than a tick.
    pub(super) fn rescale(&mut self, timescale: u32) {
        if timescale != self.timescale {
            let scale =
                |t: i128| (t * i128::from(timescale)).div_euclid(i128::from(self.timescale));
            self.end = self.end.map(scale);
            self.timescale = timescale;
            self.recent.clear();
            self.seen.clear();
        }
    }

    pub(super) fn step(&self, sample: &Sample) -> Step {
        match self.end.map(|end| sample.dts - end) {
            None | Some(0) => Step::Joined,
            Some(late) if late > 0 => Step::Gap(late),
            Some(early) => Step::Overlap(-early),
        }
    }

    /// Takes the sample in. False when its presentation time was there before.
    pub(super) fn push(&mut self, sample: &Sample) -> bool {
        self.end = Some(sample.end());
        if self.recent.len() == PTS_WINDOW
            && let Some(old) = self.recent.pop_front()
        {
            self.seen.remove(&old);
        }
        let fresh = self.seen.insert(sample.pts());
        if fresh {
            self.recent.push_back(sample.pts());
        }
        fresh
    }
}

/// Ticks as nanoseconds, rounded down.
pub(super) fn ns(ticks: i128, timescale: u32) -> i128 {
    (ticks * SECOND).div_euclid(i128::from(timescale))
}

/// Nanoticks as ticks, rounded away from zero.
pub(super) fn ticks_up(nanoticks: i128) -> i64 {
    let whole = (nanoticks.unsigned_abs()).div_ceil(SECOND.unsigned_abs());
    let ticks = i64::try_from(whole).unwrap_or(i64::MAX);
    if nanoticks < 0 { -ticks } else { ticks }
}

pub(super) fn saturated(ticks: i128) -> i64 {
    i64::try_from(ticks).unwrap_or(if ticks < 0 { i64::MIN } else { i64::MAX })
}

/// Nanoseconds as seconds for people.
pub(super) fn seconds(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!(
        "{sign}{}.{:06}",
        ns / 1_000_000_000,
        ns % 1_000_000_000 / 1_000
    )
}
