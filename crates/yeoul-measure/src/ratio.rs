//! Ratios of two sides, with an interval that says how sure they are.
//!
//! Runs of one round lie close in time, so that what slows the machine slows both: their ratio does not see it. The
//! median of the ratios is what is reported; its interval is a percentile bootstrap (Efron 1979): rounds are drawn with
//! replacement, as many as there are, and the middle 95 % of the medians of such draws is the interval.
//!
//! ```
//! use yeoul_measure::ratio::{Bootstrap, paired};
//!
//! let baseline = [100, 110, 105, 98, 250, 101];
//! let slower: Vec<u64> = baseline.iter().map(|ns| ns * 2).collect();
//! let ratio = paired(&slower, &baseline, Bootstrap::default()).unwrap();
//! assert_eq!((ratio.low, ratio.median, ratio.high), (2.0, 2.0, 2.0));
//! ```

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::float;
use crate::rng::SplitMix64;

/// How an interval is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// How often the rounds are drawn anew. Default 2000.
    pub resamples: usize,
    /// Of the generator. The same seed and samples give the same interval.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            resamples: 2000,
            seed: 0x7965_6f75_6c21,
        }
    }
}

/// The share of the resampled medians that lies within an interval.
pub const CONFIDENCE: f64 = 0.95;

/// A side's time over the baseline's: above 1, the side is slower.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// How many pairs (or, unpaired, the smaller number of samples).
    pub pairs: usize,
    /// The median of the ratios (unpaired: the ratio of the medians). Of an even number the mean of the middle two.
    pub median: f64,
    /// The lower end, 2.5 % of the resampled medians are below.
    pub low: f64,
    /// The upper end, 2.5 % of the resampled medians are above.
    pub high: f64,
    /// The ratio of the two p50s: a check on the median of ratios, not seen by the interval.
    pub p50_ratio: f64,
}

impl Interval {
    /// Whether the two sides may be equally fast.
    #[must_use]
    pub fn contains_one(&self) -> bool {
        self.low <= 1.0 && 1.0 <= self.high
    }

    /// From end to end.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// The ratio `side[i] / baseline[i]`, as far as both go. `None` without a pair.
#[must_use]
pub fn paired(side: &[u64], baseline: &[u64], bootstrap: Bootstrap) -> Option<Interval> {
    let pairs = side.len().min(baseline.len());
    let (side, baseline) = (&side[..pairs], &baseline[..pairs]);
    let ratios: Vec<f64> = side
        .iter()
        .zip(baseline)
        .map(|(&side, &baseline)| over(side, baseline))
        .collect();
    let mut rng = SplitMix64::new(bootstrap.seed);
    let mut draw = vec![0.0; pairs];
    interval(
        bootstrap,
        pairs,
        p50_ratio(side, baseline)?,
        median(&mut ratios.clone())?,
        || {
            draw.fill_with(|| ratios[rng.below(pairs)]);
            median(&mut draw)
        },
    )
}

/// The ratio of the medians of two sides that were not run in the same rounds: each is drawn on its own. What changed
/// on the machine between the two is in it. `None` when one has no samples.
#[must_use]
pub fn unpaired(side: &[u64], baseline: &[u64], bootstrap: Bootstrap) -> Option<Interval> {
    let floats = |samples: &[u64]| {
        samples
            .iter()
            .map(|&ns| float::of(ns.max(1)))
            .collect::<Vec<f64>>()
    };
    let (one, two) = (floats(side), floats(baseline));
    let mut rng = SplitMix64::new(bootstrap.seed);
    let mut of_draw = |samples: &[f64]| {
        let mut draw: Vec<f64> = (0..samples.len())
            .map(|_| samples[rng.below(samples.len())])
            .collect();
        median(&mut draw)
    };
    let middle = median(&mut one.clone())? / median(&mut two.clone())?;
    interval(
        bootstrap,
        one.len().min(two.len()),
        p50_ratio(side, baseline)?,
        middle,
        || Some(of_draw(&one)? / of_draw(&two)?),
    )
}

fn interval(
    bootstrap: Bootstrap,
    pairs: usize,
    p50_ratio: f64,
    middle: f64,
    mut resampled: impl FnMut() -> Option<f64>,
) -> Option<Interval> {
    let mut medians: Vec<f64> = (0..bootstrap.resamples.max(1))
        .map_while(|_| resampled())
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let last = medians.len().checked_sub(1)?;
    // 2.5 % in from both ends: 50 of 2000.
    let edge = medians.len() / 40;
    Some(Interval {
        pairs,
        median: middle,
        low: medians[edge],
        high: medians[last - edge],
        p50_ratio,
    })
}

fn p50_ratio(side: &[u64], baseline: &[u64]) -> Option<f64> {
    let p50 = |samples: &[u64]| {
        Distribution::new(samples.to_vec())
            .ok()
            .map(|samples| samples.p50())
    };
    Some(over(p50(side)?, p50(baseline)?))
}

/// A time of 0 ns is below what a clock can tell: it counts as 1 ns.
fn over(side: u64, baseline: u64) -> f64 {
    float::of(side.max(1)) / float::of(baseline.max(1))
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    if values.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if even {
        below.iter().copied().max_by(f64::total_cmp)?
    } else {
        upper
    };
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut [5.0, 1.0, 3.0]), Some(3.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_no_pair_gives_none() {
        let side: Vec<u64> = (0..50).map(|i| 1000 + i * i % 97).collect();
        let baseline: Vec<u64> = (0..50).map(|i| 1000 + i * 7 % 31).collect();
        let seed = |seed| Bootstrap {
            seed,
            ..Bootstrap::default()
        };
        assert_eq!(
            paired(&side, &baseline, seed(1)),
            paired(&side, &baseline, seed(1))
        );
        assert_eq!(paired(&side, &[], seed(1)), None);
        assert_eq!(unpaired(&[], &baseline, seed(1)), None);
        let unpaired = unpaired(&side, &baseline, seed(1)).unwrap();
        assert!(unpaired.low < unpaired.median && unpaired.median < unpaired.high);
    }

    #[test]
    fn a_drift_that_both_sides_share_is_not_in_the_paired_ratio() {
        let baseline: Vec<u64> = (0..100).map(|i| 1000 + i * 100).collect();
        let ratio = paired(&baseline, &baseline, Bootstrap::default()).unwrap();
        assert_eq!((ratio.low, ratio.high), (1.0, 1.0));
        assert!(
            unpaired(&baseline, &baseline, Bootstrap::default())
                .unwrap()
                .width()
                > 0.1
        );
    }
}
