//! Exact distributions: every sample is kept, and every percentile is a sample that was really seen.
//!
//! ```
//! use yeoul_measure::Distribution;
//!
//! let calls = Distribution::new((1..=200).rev().collect())?;
//! assert_eq!((calls.min(), calls.p50(), calls.p95(), calls.p99(), calls.max()), (1, 100, 190, 198, 200));
//! assert_eq!(calls.mean(), 100.5);
//! # Ok::<(), yeoul_measure::EmptyDistribution>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::float;

/// There are no samples: a distribution of nothing has no percentiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a distribution of 0 samples has no percentiles; take at least one run")]
pub struct EmptyDistribution;

/// Samples in ascending order. The unit is the caller's; this crate uses nanoseconds and bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    sorted: Vec<u64>,
}

impl Distribution {
    /// Sorts `samples`.
    ///
    /// # Errors
    /// [`EmptyDistribution`] when there are none.
    pub fn new(mut samples: Vec<u64>) -> Result<Self, EmptyDistribution> {
        if samples.is_empty() {
            return Err(EmptyDistribution);
        }
        samples.sort_unstable();
        Ok(Self { sorted: samples })
    }

    /// The percentile by **nearest rank**: the smallest sample such that at least `percent` % of all samples are not
    /// above it, so the ⌈N · percent / 100⌉-th in order. No interpolation: p50 of two samples is the lower one.
    /// `percent` above 100 is the largest sample, 0 the smallest.
    #[must_use]
    pub fn percentile(&self, percent: u32) -> u64 {
        let n = self.sorted.len() as u128;
        let rank = (n * u128::from(percent)).div_ceil(100).clamp(1, n);
        self.sorted[usize::try_from(rank - 1).unwrap_or(0)]
    }

    /// How many samples there are: at least 1.
    #[must_use]
    pub fn n(&self) -> usize {
        self.sorted.len()
    }

    /// The smallest sample.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.sorted[0]
    }

    /// The median by nearest rank.
    #[must_use]
    pub fn p50(&self) -> u64 {
        self.percentile(50)
    }

    /// The 95th percentile by nearest rank.
    #[must_use]
    pub fn p95(&self) -> u64 {
        self.percentile(95)
    }

    /// The 99th percentile by nearest rank: below 100 samples this is the largest one.
    #[must_use]
    pub fn p99(&self) -> u64 {
        self.percentile(99)
    }

    /// The largest sample.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// The arithmetic mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let whole: u128 = self.sorted.iter().map(|&sample| u128::from(sample)).sum();
        let n = self.sorted.len() as u128;
        let (quotient, rest) = (whole / n, whole % n);
        float::of(u64::try_from(quotient).unwrap_or(u64::MAX))
            + float::of(u64::try_from(rest).unwrap_or(0)) / float::count(self.sorted.len())
    }

    /// The figures that a report shows.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            n: self.n(),
            min: self.min(),
            mean: self.mean(),
            p50: self.p50(),
            p95: self.p95(),
            p99: self.p99(),
            max: self.max(),
        }
    }
}

/// The figures of a [`Distribution`], in the samples' unit. Percentiles are by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many samples.
    pub n: usize,
    /// The smallest.
    pub min: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_refused() {
        assert_eq!(Distribution::new(Vec::new()), Err(EmptyDistribution));
    }

    #[test]
    fn one_sample_is_every_percentile() {
        let one = Distribution::new(vec![42]).unwrap();
        assert_eq!([0, 1, 50, 99, 100, 200].map(|p| one.percentile(p)), [42; 6]);
    }

    #[test]
    fn nearest_rank_of_the_textbook_example() {
        let five = Distribution::new(vec![50, 15, 40, 20, 35]).unwrap();
        assert_eq!(
            [5, 30, 40, 50, 100].map(|p| five.percentile(p)),
            [15, 20, 20, 35, 50]
        );
    }

    #[test]
    fn mean_of_huge_samples_does_not_overflow() {
        assert!(Distribution::new(vec![u64::MAX; 3]).unwrap().mean() > 1.8e19);
    }

    proptest! {
        #[test]
        fn percentile_is_the_least_sample_that_covers(samples in prop::collection::vec(any::<u64>(), 1..300), p in 1u32..=100) {
            let d = Distribution::new(samples.clone()).unwrap();
            let value = d.percentile(p);
            let covered = |limit: u64| samples.iter().filter(|&&s| s <= limit).count() * 100;
            prop_assert!(covered(value) >= samples.len() * p as usize);
            if let Some(below) = samples.iter().filter(|&&s| s < value).max() {
                prop_assert!(covered(*below) < samples.len() * p as usize);
            }
        }
    }
}
