//! Ticks, nanoseconds and file names, with MediaMTX's rounding.

const NS: i128 = 1_000_000_000;

/// Ticks to nanoseconds, rounded toward zero as Go's integer division does.
pub(crate) fn ticks_to_ns(ticks: i64, timescale: u32) -> i64 {
    scale(ticks, NS, i128::from(timescale))
}

/// Nanoseconds to ticks, rounded toward zero: after [`ticks_to_ns`] most values come back 1 tick low.
pub(crate) fn ns_to_ticks(ns: i64, timescale: u32) -> i64 {
    scale(ns, i128::from(timescale), NS)
}

fn scale(value: i64, multiplier: i128, divisor: i128) -> i64 {
    i64::try_from(i128::from(value) * multiplier / divisor.max(1)).unwrap_or(i64::MAX)
}

/// Nanoseconds of a duration, saturating at 292 years.
pub(crate) fn ns(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// MediaMTX's default name, `%Y-%m-%d_%H-%M-%S-%f.mp4`, of a wall-clock time in UTC (nanoseconds since 1970).
#[must_use]
pub fn file_name(ntp_ns: i64) -> String {
    let micros = ntp_ns.div_euclid(1000);
    let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}_{hour:02}-{minute:02}-{second:02}-{micros:06}.mp4")
}

/// Proleptic Gregorian date of a day counted from 1970-01-01, by eras of 400 years that start on 1 March.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_real_recordings() {
        assert_eq!(
            file_name(1_796_068_081_043_343_353),
            "2026-11-30_19-48-01-043343.mp4"
        );
        assert_eq!(
            file_name(951_782_399_999_999_999),
            "2000-02-28_23-59-59-999999.mp4"
        );
        assert_eq!(
            file_name(951_782_400_000_000_000),
            "2000-02-29_00-00-00-000000.mp4"
        );
        assert_eq!(file_name(0), "1970-01-01_00-00-00-000000.mp4");
    }

    #[test]
    fn two_roundings_lose_a_tick_and_negatives_go_toward_zero() {
        assert_eq!(ticks_to_ns(-6000, 90_000), -66_666_666);
        assert_eq!(ns_to_ticks(ticks_to_ns(93_000, 90_000), 90_000), 92_999);
        assert_eq!(ns_to_ticks(ticks_to_ns(90_000, 90_000), 90_000), 90_000);
    }
}
