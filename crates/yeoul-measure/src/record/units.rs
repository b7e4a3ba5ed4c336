use crate::float;

/// Nanoseconds with four digits or so: `812 ns`, `1.72 ms`, `18.70 s`.
pub(crate) fn time(ns: u64) -> String {
    time_f(float::of(ns))
}

/// The same of a mean.
pub(crate) fn time_f(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.2} µs", ns / 1e3),
        ..1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.3} s", ns / 1e9),
    }
}

/// Bytes in binary units: `512 B`, `1.5 KiB`, `303.0 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = float::of(bytes) / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Text in a Markdown table cell.
pub(crate) fn cell(text: &str) -> String {
    super::one_line(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_with_their_units() {
        assert_eq!(
            [999, 1_720, 1_720_000, 18_700_000_000].map(time),
            ["999 ns", "1.72 µs", "1.72 ms", "18.700 s"]
        );
        assert_eq!(
            [512, 1536, 303 << 20, 1 << 52].map(size),
            ["512 B", "1.5 KiB", "303.0 MiB", "4096.0 TiB"]
        );
    }
}
