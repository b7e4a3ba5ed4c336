//! The one place where integers become floats, for shares and ratios that are shown to a few digits.

/// `value` as a float: exact below 2⁵³ (104 days in nanoseconds, 8 PiB), the nearest float above.
pub(crate) fn of(value: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let value = value as f64;
    value
}

/// A count as a float.
pub(crate) fn count(value: usize) -> f64 {
    of(value as u64)
}

/// `part / whole`, 0 where `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        of(part) / of(whole)
    }
}
