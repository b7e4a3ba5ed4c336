//! How values look.

use std::fmt::Write;

/// A language as packed in `mdhd` (three letters of 5 bits), `und` when it is no code.
pub(super) fn language(packed: u16) -> String {
    let letter = |shift: u16| ((packed >> shift) & 0x1F).to_be_bytes()[1] + 0x60;
    let letters = [letter(10), letter(5), letter(0)];
    if letters.iter().all(u8::is_ascii_lowercase) {
        letters.map(char::from).iter().collect()
    } else {
        "und".to_owned()
    }
}

/// A 16-byte id in the form of RFC 9562.
pub(super) fn uuid(id: &[u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (index, byte) in id.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Nanoseconds since 1970 as RFC 3339 in UTC, with all nine decimals.
pub(super) fn rfc3339(ns: i64) -> String {
    const DAY: i64 = 86_400;
    let (seconds, nanos) = (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// Year, month and day of a day since 1970 in the Gregorian calendar. Counts in eras of 400 years (146,097 days) that
/// begin on the first of March, so that a leap day comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Ticks as seconds with three decimals, rounded down.
pub(super) fn seconds(ticks: u64, timescale: u32) -> String {
    if timescale == 0 {
        return "-".to_owned();
    }
    let millis = u128::from(ticks) * 1000 / u128::from(timescale);
    format!("{}.{:03} s", millis / 1000, millis % 1000)
}

/// Nanoseconds as signed seconds, exact.
pub(super) fn seconds_from_ns(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Text from a file, safe for a terminal: control characters are escaped.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clock_is_shown_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(
            rfc3339(1_796_068_075_613_655_312),
            "2026-11-30T19:47:55.613655312Z"
        );
        assert_eq!(
            rfc3339(951_782_400_000_000_000),
            "2000-02-29T00:00:00.000000000Z"
        );
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(rfc3339(i64::MAX), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(rfc3339(i64::MIN), "1677-09-21T00:12:43.145224192Z");
    }

    #[test]
    fn languages_and_ids_have_their_usual_form() {
        assert_eq!(language(0x55C4), "und");
        assert_eq!(language(0x2DF2), "kor");
        assert_eq!(language(0), "und");
        let id = *b"\xa2\x20\x84\xc9\x2a\xc9\x42\x11\xb2\x6a\xea\xaf\x52\x16\x31\x2b";
        assert_eq!(uuid(&id), "a22084c9-2ac9-4211-b26a-eaaf5216312b");
    }

    #[test]
    fn times_keep_their_sign_and_range() {
        assert_eq!(seconds(181_500, 90_000), "2.016 s");
        assert_eq!(seconds(u64::MAX, 1), "18446744073709551615.000 s");
        assert_eq!(seconds_from_ns(-66_666_666), "-0.066666666 s");
        assert_eq!(seconds_from_ns(i64::MIN), "-9223372036.854775808 s");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(plain("녹화\u{1b}[31m\n"), "녹화\\u{1b}[31m\\n");
    }
}
