//! From a take's clock to broadcast time (rules 2, 4, 12 and 16).
//!
//! All tracks of a take move by one and the same time, so that audio and video keep their offset. It is a whole number of
//! steps that every track's timescale can express: 1/6000 s for 90 kHz and 48 kHz.

use yeoul_isobmff::movie::Handler;

use crate::segment::TrackInit;
use crate::time::{NANOS, Time, gcd, scale};

/// What becomes of the time between takes and of holes in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gaps {
    /// It stays: a gap on the timeline.
    #[default]
    Keep,
    /// It is closed up: what follows comes right behind.
    Close,
}

/// A take overlaps the one before by more than this: it ran beside it and goes to a lane of its own.
pub const MAX_OVERLAP: Time = Time::new(1, 1);

/// Steps a second below which the wall clock would be placed too coarsely; then only the master is placed exactly.
const COARSEST_GRID: u32 = 100;

/// How far a take is moved: added to its clock, it gives broadcast time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    steps: i64,
    per_second: u32,
}

impl Shift {
    pub(crate) fn from_steps((steps, per_second): (i64, u32)) -> Self {
        Self {
            steps,
            per_second: per_second.max(1),
        }
    }

    pub(crate) fn steps(self) -> (i64, u32) {
        (self.steps, self.per_second)
    }

    /// By so much later, rounded up to a whole step.
    pub(crate) fn later_by(self, time: Time) -> Self {
        Self {
            steps: self.steps.saturating_add(time.ceil(self.per_second)),
            ..self
        }
    }

    /// The shift in a track's ticks.
    pub fn ticks(self, timescale: u32) -> i64 {
        Time::new(self.steps, self.per_second).nearest(timescale)
    }

    /// A moment of the take as broadcast time.
    pub fn apply(self, time: Time) -> Time {
        Time::new(
            time.ticks.saturating_add(self.ticks(time.timescale)),
            time.timescale,
        )
    }
}

/// Where a take would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Here.
    At(Shift),
    /// Right behind the take before, although its wall clock says that it begins this much earlier (rule 12).
    ClockStep(Shift, Time),
    /// It ran beside the take before, by so much: into another lane (rule 11).
    Beside(Time),
}

/// Broadcast time: where takes begin and end.
#[derive(Debug)]
pub(crate) struct Timeline {
    gaps: Gaps,
    /// Wall clock of broadcast time 0, nanoseconds, once a take with a wall clock is placed.
    epoch_ns: Option<i128>,
    /// Wall clock at which the take before ended.
    wall_end_ns: Option<i128>,
    end: Option<Time>,
}

impl Timeline {
    pub(crate) fn new(gaps: Gaps) -> Self {
        Self {
            gaps,
            epoch_ns: None,
            wall_end_ns: None,
            end: None,
        }
    }

    /// Places a take by its start on its own clock (its recorder's, and that of the first kept sample) and by its wall clock,
    /// all in nanoseconds.
    pub(crate) fn place(
        &self,
        tracks: &[TrackInit],
        (start_ns, kept_ns): (i64, i64),
        anchor_ns: Option<i64>,
    ) -> Placement {
        let grid = grid(tracks);
        // Rounded down: nothing of the take may come before the end of the one before.
        let on_grid = |ns: i64| Time::new(-scale_up(-i128::from(ns), grid), grid);
        let start = on_grid(start_ns);
        let behind = |end: Time| Shift {
            steps: end.ceil(grid).saturating_sub(on_grid(kept_ns).ticks),
            per_second: grid,
        };
        let Some(end) = self.end else {
            // One step more than needed at the most: no track may begin before 0.
            let steps = scale_up(-i128::from(start_ns), grid);
            return Placement::At(Shift {
                steps,
                per_second: grid,
            });
        };
        let wall_start = anchor_ns.map(|anchor| i128::from(anchor) + i128::from(start_ns));
        let (Some(wall_start), Some(wall_end), Some(epoch)) =
            (wall_start, self.wall_end_ns, self.epoch_ns)
        else {
            return Placement::At(behind(end));
        };
        let overlap = Time::new(
            i64::try_from(wall_end - wall_start).unwrap_or(i64::MAX),
            1_000_000_000,
        );
        if overlap > MAX_OVERLAP {
            return Placement::Beside(overlap);
        }
        if self.gaps == Gaps::Close {
            return Placement::At(behind(end));
        }
        let anchor = wall_start - i128::from(start_ns);
        let shift = Shift {
            steps: scale(anchor - epoch, grid.into(), NANOS),
            per_second: grid,
        };
        let places_at = Time::new(start.ticks.saturating_add(shift.steps), grid);
        if places_at >= end {
            return Placement::At(shift);
        }
        let early = end.minus(places_at);
        // What two roundings make is no step of a clock.
        if early.ticks <= 2 {
            Placement::At(behind(end))
        } else {
            Placement::ClockStep(behind(end), early)
        }
    }

    /// A take was placed so.
    pub(crate) fn begin(&mut self, shift: Shift, anchor_ns: Option<i64>) {
        if let (None, Some(anchor)) = (self.epoch_ns, anchor_ns) {
            let shift_ns = scale(shift.steps.into(), NANOS, shift.per_second.into());
            self.epoch_ns = Some(i128::from(anchor) - i128::from(shift_ns));
        }
    }

    /// A hole inside a take is closed: what follows moves forward, but no track before its own end in decode time (`parted`
    /// is how far that is; reordered pictures are decoded early).
    pub(crate) fn close_hole(
        &self,
        shift: Shift,
        hole: (Time, Time),
        parted: Option<Time>,
    ) -> Shift {
        if self.gaps == Gaps::Keep {
            return shift;
        }
        let presented = hole.1.minus(hole.0);
        let length = parted.map_or(presented, |parted| parted.min(presented));
        let length = length.floor(shift.per_second).max(0);
        Shift {
            steps: shift.steps.saturating_sub(length),
            ..shift
        }
    }

    /// A take ended, at `end` on its own clock.
    pub(crate) fn end(&mut self, shift: Shift, end: Time, anchor_ns: Option<i64>) {
        self.end = Some(shift.apply(end));
        self.wall_end_ns = anchor_ns.map(|anchor| {
            i128::from(anchor)
                + i128::from(Time::new(end.ticks, end.timescale).nearest(1_000_000_000))
        });
    }
}

/// The finest step that all timescales can express.
fn grid(tracks: &[TrackInit]) -> u32 {
    let common = tracks
        .iter()
        .map(|track| track.timescale)
        .reduce(gcd)
        .unwrap_or(1);
    let master = tracks
        .iter()
        .find(|t| t.handler == Handler::Video)
        .or(tracks.first());
    if common >= COARSEST_GRID {
        common
    } else {
        master.map_or(1, |track| track.timescale)
    }
}

/// Nanoseconds as steps, rounded up.
fn scale_up(ns: i128, per_second: u32) -> i64 {
    let steps = -(-ns * i128::from(per_second)).div_euclid(NANOS);
    i64::try_from(steps).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use yeoul_isobmff::codec::SampleEntry;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn tracks() -> Vec<TrackInit> {
        let entry = Bytes::from_static(b"\0\0\0\x10test\0\0\0\0\0\0\0\x01");
        [(Handler::Video, 90_000), (Handler::Audio, 48_000)]
            .map(|(handler, timescale)| TrackInit {
                handler,
                timescale,
                language: 0,
                width: 0,
                height: 0,
                entry: SampleEntry::new(&entry, handler).unwrap(),
            })
            .to_vec()
    }

    fn after_one_take(gaps: Gaps) -> Timeline {
        let mut timeline = Timeline::new(gaps);
        let Placement::At(shift) =
            timeline.place(&tracks(), (-66_666_666, -66_666_666), Some(100 * SECOND))
        else {
            panic!("the first take has a place");
        };
        assert_eq!((shift.ticks(90_000), shift.ticks(48_000)), (6000, 3200));
        timeline.begin(shift, Some(100 * SECOND));
        timeline.end(shift, Time::new(900_000, 90_000), Some(100 * SECOND));
        timeline
    }

    #[test]
    fn rule_02_a_take_lies_where_its_wall_clock_says() {
        let timeline = after_one_take(Gaps::Keep);
        let Placement::At(shift) = timeline.place(&tracks(), (0, 0), Some(120 * SECOND)) else {
            panic!("no overlap");
        };
        assert_eq!(
            (shift.ticks(90_000), shift.ticks(48_000)),
            (1_806_000, 963_200)
        );
    }

    #[test]
    fn rule_04_all_tracks_of_a_take_move_by_the_same_time() {
        let timeline = after_one_take(Gaps::Keep);
        for wall in [
            120 * SECOND + 1,
            120 * SECOND + 77_777_777,
            120 * SECOND + 999_999_999,
        ] {
            let Placement::At(shift) = timeline.place(&tracks(), (0, 0), Some(wall)) else {
                panic!()
            };
            let (video, audio) = (shift.ticks(90_000), shift.ticks(48_000));
            assert_eq!(Time::new(video, 90_000), Time::new(audio, 48_000));
        }
    }

    #[test]
    fn rule_11_more_than_a_second_of_overlap_is_another_lane() {
        let timeline = after_one_take(Gaps::Keep);
        let placement = timeline.place(&tracks(), (0, 0), Some(108 * SECOND));
        assert_eq!(placement, Placement::Beside(Time::new(2, 1)));
    }

    #[test]
    fn rule_12_a_clock_step_places_the_take_at_the_end_and_says_so() {
        let timeline = after_one_take(Gaps::Keep);
        let Placement::ClockStep(shift, early) =
            timeline.place(&tracks(), (0, 0), Some(109 * SECOND))
        else {
            panic!("half a second early");
        };
        assert_eq!(
            shift.apply(Time::new(0, 90_000)),
            Time::new(906_000, 90_000)
        );
        assert_eq!(early, Time::new(1, 1));
    }

    #[test]
    fn closing_up_leaves_nothing_between_takes_and_shortens_holes() {
        let timeline = after_one_take(Gaps::Close);
        let Placement::At(shift) = timeline.place(&tracks(), (0, 0), Some(1000 * SECOND)) else {
            panic!()
        };
        assert_eq!(
            shift.apply(Time::new(0, 90_000)),
            Time::new(906_000, 90_000)
        );
        let hole = (Time::new(90_000, 90_000), Time::new(270_000, 90_000));
        let closed = timeline.close_hole(shift, hole, None);
        assert_eq!(shift.ticks(90_000) - closed.ticks(90_000), 180_000);
        let closed = timeline.close_hole(shift, hole, Some(Time::new(174_000, 90_000)));
        assert_eq!(shift.ticks(90_000) - closed.ticks(90_000), 174_000);
    }
}
