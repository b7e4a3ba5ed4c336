use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::float;
use crate::record::units::{size, time};

/// What a level must gain over the one below to be worth it: a tenth of its throughput.
pub const MIN_GAIN: f64 = 0.10;

/// What was measured at one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Calls at once.
    pub level: usize,
    /// Median of the runs' throughput, calls a second.
    pub throughput: f64,
    /// Median of the runs' p95, nanoseconds.
    pub median_of_p95_ns: u64,
    /// Median of the runs' peak RSS, bytes.
    pub peak_rss_median: u64,
}

/// The level up to which more at once is worth it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Calls at once.
    pub level: usize,
    /// Whether a higher level was measured: if not, the knee may lie higher.
    pub seen: bool,
    /// In one sentence, with what the next level gains and costs.
    pub sentence: String,
}

/// Finds the knee by the **ten-percent rule**. A level is worth it over the next lower one that was measured when
///
/// 1. its throughput is at least 10 % higher ([`MIN_GAIN`]), and
/// 2. its p95 (the median of the runs') has grown by no more than the level itself: from 2 to 4 at once, no more than
///    doubled. Beyond that, calls wait for more than each other.
///
/// The knee is the last level of the unbroken row of such levels, from the lowest on. A level that gains again above one
/// that does not is not looked at: between them lies a stretch that costs and gives nothing.
///
/// `None` without a point.
#[must_use]
pub fn knee(points: &[Point]) -> Option<Knee> {
    let mut points = points.to_vec();
    points.sort_by_key(|point| point.level);
    let (mut at, mut next) = (points.first()?, None);
    for point in &points[1..] {
        if !worth_it(at, point) {
            next = Some(point);
            break;
        }
        at = point;
    }
    Some(Knee {
        level: at.level,
        seen: next.is_some(),
        sentence: sentence(at, next),
    })
}

fn worth_it(lower: &Point, upper: &Point) -> bool {
    let gains = upper.throughput >= lower.throughput * (1.0 + MIN_GAIN);
    let lower_p95 = u128::from(lower.median_of_p95_ns) * upper.level as u128;
    let upper_p95 = u128::from(upper.median_of_p95_ns) * lower.level as u128;
    gains && upper_p95.cmp(&lower_p95) != Ordering::Greater
}

fn sentence(at: &Point, next: Option<&Point>) -> String {
    let Some(next) = next else {
        return format!(
            "No knee was reached: {} at once, the most that was measured, is still worth it ({:.1} calls/s, median of \
             the runs' p95 {}, peak RSS {}).",
            at.level,
            at.throughput,
            time(at.median_of_p95_ns),
            size(at.peak_rss_median)
        );
    };
    let gain = (next.throughput / at.throughput - 1.0) * 100.0;
    let p95 = float::of(next.median_of_p95_ns) / float::of(at.median_of_p95_ns.max(1));
    format!(
        "The knee is {} at once: from {} to {} at once throughput goes from {:.1} to {:.1} calls/s ({gain:+.1} %), while \
         the median of the runs' p95 goes from {} to {} ({p95:.2}×) and peak RSS from {} to {}.",
        at.level,
        at.level,
        next.level,
        at.throughput,
        next.throughput,
        time(at.median_of_p95_ns),
        time(next.median_of_p95_ns),
        size(at.peak_rss_median),
        size(next.peak_rss_median)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(level: usize, throughput: f64, p95_us: u64, mib: u64) -> Point {
        Point {
            level,
            throughput,
            median_of_p95_ns: p95_us * 1000,
            peak_rss_median: mib << 20,
        }
    }

    #[test]
    fn the_flat_step_from_four_to_eight_is_the_knee() {
        let points = [
            point(8, 294.0, 45_210, 303),
            point(1, 110.0, 9_500, 60),
            point(2, 205.0, 10_100, 100),
            point(4, 293.0, 11_150, 172),
        ];
        let knee = knee(&points).unwrap();
        assert_eq!((knee.level, knee.seen), (4, true));
        assert_eq!(
            knee.sentence,
            "The knee is 4 at once: from 4 to 8 at once throughput goes from 293.0 to 294.0 calls/s (+0.3 %), while the \
             median of the runs' p95 goes from 11.15 ms to 45.21 ms (4.05×) and peak RSS from 172.0 MiB to 303.0 MiB."
        );
    }

    #[test]
    fn a_gain_that_is_paid_with_more_than_proportional_waiting_is_none() {
        assert_eq!(
            knee(&[point(1, 100.0, 10, 1), point(2, 112.0, 21, 1)])
                .unwrap()
                .level,
            1
        );
        assert_eq!(
            knee(&[point(1, 100.0, 10, 1), point(2, 112.0, 20, 1)])
                .unwrap()
                .level,
            2
        );
    }

    #[test]
    fn exactly_ten_percent_counts_and_less_does_not() {
        assert_eq!(
            knee(&[point(1, 1000.0, 10, 1), point(2, 1101.0, 10, 1)])
                .unwrap()
                .level,
            2
        );
        assert_eq!(
            knee(&[point(1, 1000.0, 10, 1), point(2, 1099.0, 10, 1)])
                .unwrap()
                .level,
            1
        );
    }

    #[test]
    fn a_later_gain_does_not_bridge_a_flat_step_and_one_level_has_no_knee_seen() {
        assert_eq!(
            knee(&[
                point(1, 100.0, 10, 1),
                point(2, 100.0, 10, 1),
                point(4, 300.0, 10, 1)
            ])
            .unwrap()
            .level,
            1
        );
        assert!(!knee(&[point(1, 100.0, 10, 1)]).unwrap().seen);
        assert_eq!(knee(&[]), None);
    }
}
