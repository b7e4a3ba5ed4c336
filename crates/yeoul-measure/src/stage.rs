//! Stage clocks: where a run's time went, and how much of it nobody accounts for.
//!
//! ```
//! use std::time::{Duration, Instant};
//! use yeoul_measure::{StageClock, stage::mean_per_stage};
//!
//! let start = Instant::now();
//! let mut clock = StageClock::start_at(start);
//! clock.enter_at("read", start + Duration::from_millis(1));
//! clock.enter_at("write", start + Duration::from_millis(4));
//! clock.leave_at(start + Duration::from_millis(9));
//! let times = clock.finish_at(start + Duration::from_millis(10));
//! assert_eq!(times.stages[0].ns, 3_000_000);
//! assert_eq!(times.stages[1].ns, 5_000_000);
//! assert_eq!(times.rest_ns, 2_000_000);
//! assert_eq!(mean_per_stage(&[times])[1].name, "write");
//! ```

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// A clock that is in at most one named stage at a time. Entering a stage leaves the one before; a stage may be
/// entered often and its times add up. One `Instant` (about 25 ns) an edge, no allocation for a stage seen before.
#[derive(Debug, Clone)]
pub struct StageClock {
    start: Instant,
    current: Option<(usize, Instant)>,
    stages: Vec<(Cow<'static, str>, Duration, u64)>,
}

impl StageClock {
    /// Starts the total now.
    #[must_use]
    pub fn start() -> Self {
        Self::start_at(Instant::now())
    }

    /// Starts the total at `start`.
    #[must_use]
    pub fn start_at(start: Instant) -> Self {
        Self {
            start,
            current: None,
            stages: Vec::new(),
        }
    }

    /// Enters the stage `name` now.
    pub fn enter(&mut self, name: impl Into<Cow<'static, str>>) {
        self.enter_at(name, Instant::now());
    }

    /// Enters the stage `name` at `at`.
    pub fn enter_at(&mut self, name: impl Into<Cow<'static, str>>, at: Instant) {
        self.leave_at(at);
        let name = name.into();
        let index = match self.stages.iter().position(|(known, ..)| *known == name) {
            Some(index) => index,
            None => {
                self.stages.push((name, Duration::ZERO, 0));
                self.stages.len() - 1
            }
        };
        self.stages[index].2 += 1;
        self.current = Some((index, at));
    }

    /// Leaves the current stage now: what follows is unattributed until the next one.
    pub fn leave(&mut self) {
        self.leave_at(Instant::now());
    }

    /// Leaves the current stage at `at`.
    pub fn leave_at(&mut self, at: Instant) {
        if let Some((index, since)) = self.current.take() {
            self.stages[index].1 += at.saturating_duration_since(since);
        }
    }

    /// Ends the total now.
    #[must_use]
    pub fn finish(self) -> StageTimes {
        self.finish_at(Instant::now())
    }

    /// Ends the total at `at`.
    #[must_use]
    pub fn finish_at(mut self, at: Instant) -> StageTimes {
        self.leave_at(at);
        let total_ns = nanoseconds(at.saturating_duration_since(self.start));
        let stages: Vec<StageTime> = self
            .stages
            .into_iter()
            .map(|(name, time, entered)| StageTime {
                name: name.into_owned(),
                ns: nanoseconds(time),
                entered,
            })
            .collect();
        let attributed = stages.iter().map(|stage| stage.ns).sum();
        StageTimes {
            total_ns,
            rest_ns: total_ns.saturating_sub(attributed),
            stages,
        }
    }
}

/// What a [`StageClock`] saw in one run. The stages and the rest add up to the total.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTimes {
    /// From start to finish, nanoseconds.
    pub total_ns: u64,
    /// The part of the total that lies in no stage, nanoseconds.
    pub rest_ns: u64,
    /// In order of first entry.
    pub stages: Vec<StageTime>,
}

/// The time of one stage in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTime {
    /// As it was entered.
    pub name: String,
    /// Summed over all entries, nanoseconds.
    pub ns: u64,
    /// How often it was entered.
    pub entered: u64,
}

/// The mean of each stage over `runs`, by name, in order of first appearance. A run without the stage counts as 0.
#[must_use]
pub fn mean_per_stage(runs: &[StageTimes]) -> Vec<StageTime> {
    let mut sums: Vec<StageTime> = Vec::new();
    for stage in runs.iter().flat_map(|run| &run.stages) {
        match sums.iter_mut().find(|sum| sum.name == stage.name) {
            Some(sum) => {
                sum.ns += stage.ns;
                sum.entered += stage.entered;
            }
            None => sums.push(stage.clone()),
        }
    }
    let n = runs.len().max(1) as u64;
    for sum in &mut sums {
        sum.ns /= n;
    }
    sums
}

/// A duration in whole nanoseconds, at most 584 years.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_stage_entered_twice_adds_up_and_a_clock_that_steps_back_counts_nothing() {
        let start = Instant::now();
        let mut clock = StageClock::start_at(start);
        clock.enter_at("a", start);
        clock.enter_at("b", start + ms(2));
        clock.enter_at("a", start + ms(1));
        let times = clock.finish_at(start + ms(4));
        assert_eq!(
            times.stages,
            [
                StageTime {
                    name: "a".into(),
                    ns: 5_000_000,
                    entered: 2
                },
                StageTime {
                    name: "b".into(),
                    ns: 0,
                    entered: 1
                },
            ]
        );
        assert_eq!(times.rest_ns, 0);
    }

    #[test]
    fn without_stages_all_is_rest() {
        let start = Instant::now();
        let times = StageClock::start_at(start).finish_at(start + ms(7));
        assert_eq!(
            (times.total_ns, times.rest_ns, times.stages.len()),
            (7_000_000, 7_000_000, 0)
        );
        assert_eq!(mean_per_stage(&[]), []);
    }
}
