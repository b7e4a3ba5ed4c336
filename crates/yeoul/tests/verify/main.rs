//! `yeoul verify` sees what is wrong, each fault by its own test, and finds nothing wrong where nothing is.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its input should stop there"
)]

mod against;
mod hostile;
mod output;
mod recordings;
mod world;
mod writer;

use yeoul::verify::Report;

/// The report has a problem that contains all of `words`, and so is not ok.
#[track_caller]
fn finds(report: &Report, words: &[&str]) {
    let text = report.render();
    let found = report.problems.iter().any(|p| {
        words
            .iter()
            .all(|w| p.what.contains(w) || p.place.contains(w))
    });
    assert!(
        found && !report.is_ok(),
        "no problem with {words:?} in:\n{text}"
    );
}

#[track_caller]
fn clean(report: &Report) {
    assert!(report.is_ok(), "{}", report.render());
}
