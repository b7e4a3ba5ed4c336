use std::time::Duration;

/// Nanoseconds for people.
pub(super) fn time(ns: u64) -> String {
    let seconds = Duration::from_nanos(ns).as_secs_f64();
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} µs", seconds * 1e6),
        1_000_000..1_000_000_000 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.3} s"),
    }
}

/// A ratio with three digits or so.
pub(super) fn ratio(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.3}"),
        ..100.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

/// Text in a cell of a Markdown table.
pub(super) fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}
