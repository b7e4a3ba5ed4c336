//! Exact time: ticks, and the one place where nanoseconds become ticks.

use std::cmp::Ordering;

/// Nanoseconds in a second.
pub const NANOS: i128 = 1_000_000_000;

/// Nanoseconds as ticks of a timescale, to the nearest (ties up). The only place where the one becomes the other.
pub fn ticks_from_ns(ns: i128, timescale: u32) -> i64 {
    scale(ns, i128::from(timescale), NANOS)
}

/// Ticks of a timescale as nanoseconds, to the nearest (ties up).
pub fn ns_from_ticks(ticks: i64, timescale: u32) -> i64 {
    scale(i128::from(ticks), NANOS, i128::from(timescale))
}

/// `value · times / by`, to the nearest (ties up); saturates at the ends of `i64`.
pub(crate) fn scale(value: i128, times: i128, by: i128) -> i64 {
    let Some(product) = value.checked_mul(2).and_then(|v| v.checked_mul(times)) else {
        return if value < 0 { i64::MIN } else { i64::MAX };
    };
    let nearest = product.saturating_add(by).div_euclid(by.saturating_mul(2));
    i64::try_from(nearest).unwrap_or(if nearest < 0 { i64::MIN } else { i64::MAX })
}

/// The greatest common divisor; of 0 and n it is n.
pub(crate) fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A moment or a length: ticks of a timescale. Compared exactly, in 128 bits.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// Ticks.
    pub ticks: i64,
    /// Ticks a second, not 0.
    pub timescale: u32,
}

impl Time {
    /// So many ticks of a timescale.
    pub const fn new(ticks: i64, timescale: u32) -> Self {
        Self { ticks, timescale }
    }

    /// The time from `earlier` to this one, in this one's timescale, rounded down.
    pub fn minus(self, earlier: Self) -> Self {
        Self::new(
            self.ticks.saturating_sub(earlier.ceil(self.timescale)),
            self.timescale,
        )
    }

    /// This time in another timescale, rounded down.
    pub fn floor(self, timescale: u32) -> i64 {
        self.times(timescale)
            .div_euclid(i128::from(self.timescale))
            .try_into()
            .unwrap_or(i64::MAX)
    }

    /// This time in another timescale, rounded up.
    pub fn ceil(self, timescale: u32) -> i64 {
        (-(-self.times(timescale)).div_euclid(i128::from(self.timescale)))
            .try_into()
            .unwrap_or(i64::MAX)
    }

    /// This time in another timescale, to the nearest.
    pub fn nearest(self, timescale: u32) -> i64 {
        scale(
            i128::from(self.ticks),
            i128::from(timescale),
            i128::from(self.timescale),
        )
    }

    /// Seconds, for messages only.
    #[expect(clippy::cast_precision_loss, reason = "only shown to people")]
    pub fn seconds(self) -> f64 {
        self.ticks as f64 / f64::from(self.timescale)
    }

    fn times(self, timescale: u32) -> i128 {
        i128::from(self.ticks) * i128::from(timescale)
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.times(other.timescale)
            .cmp(&other.times(self.timescale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_become_the_nearest_tick() {
        assert_eq!(ticks_from_ns(-66_666_666, 90_000), -6000);
        assert_eq!(ticks_from_ns(-66_666_666, 48_000), -3200);
        assert_eq!(ticks_from_ns(1_000_000_000, 44_100), 44_100);
        assert_eq!(ticks_from_ns(5_555, 90_000), 0);
        assert_eq!(ticks_from_ns(5_556, 90_000), 1);
        assert_eq!(ticks_from_ns(i128::MAX, 90_000), i64::MAX);
    }

    #[test]
    fn times_of_different_timescales_compare_exactly() {
        assert_eq!(Time::new(90_000, 90_000), Time::new(48_000, 48_000));
        assert!(Time::new(1, 90_000) < Time::new(1, 48_000));
        assert!(Time::new(i64::MAX, u32::MAX) > Time::new(i64::MIN, 1));
        assert_eq!(
            (Time::new(-1, 2).floor(1), Time::new(-1, 2).ceil(1)),
            (-1, 0)
        );
    }
}
