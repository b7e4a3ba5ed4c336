//! What a check found, for people and for programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;

use super::CLOCK_LIMIT_TICKS;

/// Findings kept of each kind; further ones are only counted, so that a hostile input cannot fill memory.
pub const MAX_FINDINGS: usize = 500;

/// What was checked and what was found wrong.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Takes named by the manifests, or found in the recordings.
    pub takes: usize,
    /// Recordings named by the manifests, or checked.
    pub recordings: usize,
    /// Media segments in the playlists, GAP entries left out.
    pub segments: usize,
    /// Initialization segments that differ in SHA-256, in the whole broadcast.
    pub distinct_inits: usize,
    /// Each boundary between two recordings of a take, once a slot.
    pub boundaries: Vec<Boundary>,
    /// Largest `clock_ticks` of all boundaries that are not at a hole, in ticks of the track.
    pub max_clock_ticks: u64,
    /// What is wrong.
    pub problems: Vec<Finding>,
    /// What is worth knowing and not wrong.
    pub notes: Vec<Finding>,
    /// Problems past [`MAX_FINDINGS`], which are counted and not kept.
    pub problems_left_out: usize,
    /// No problem was found.
    pub ok: bool,
}

/// Where two recordings of a take meet in one track of the output.
#[derive(Debug, Clone, Serialize)]
pub struct Boundary {
    /// Stream id of the take, in hex.
    pub take: String,
    /// File name of the earlier recording.
    pub from: String,
    /// File name of the later recording.
    pub to: String,
    /// Slot of the rendition (in a check of recordings: position of the track).
    pub slot: u32,
    /// Output time minus the recordings' own clock, in ticks, rounded away from zero; none when a recording is not at hand.
    pub clock_ticks: Option<i64>,
    /// Decode time of the later recording's first sample minus the end of the earlier one's last, in ticks.
    pub output_ticks: i64,
    /// Samples missing or too many since the boundary before.
    pub output_samples: u64,
    /// Time is missing here, and the output says so (a DISCONTINUITY, a `jump` warning, or a track that pauses).
    pub hole: bool,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// File (and line, byte, track or sample) that it is about.
    #[serde(rename = "where")]
    pub place: String,
    /// What it is.
    pub what: String,
}

impl Report {
    /// Whether nothing is wrong. Notes do not count.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty() && self.problems_left_out == 0
    }

    /// The report for people: aligned, short, the last line `ok` or `N problems`.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        let mut line = |head: &str, rest: &str| {
            let _ = writeln!(text, "{head:<10} {rest}");
        };
        if self.segments > 0 || self.distinct_inits > 0 {
            let mut parts = Vec::new();
            if self.recordings > 0 {
                parts.push(count(self.takes, "take"));
                parts.push(count(self.recordings, "recording"));
            }
            parts.push(count(self.segments, "segment"));
            parts.push(count(self.distinct_inits, "distinct init"));
            line("broadcast", &parts.join(" · "));
        } else if self.recordings > 0 {
            line(
                "recordings",
                &format!(
                    "{} · {}",
                    count(self.recordings, "file"),
                    count(self.takes, "take")
                ),
            );
        }
        if self.recordings > 0 {
            line("boundaries", &self.boundary_line());
        }
        for note in &self.notes {
            line("note", &format!("{}: {}", note.place, note.what));
        }
        for problem in &self.problems {
            line("problem", &format!("{}: {}", problem.place, problem.what));
        }
        if self.problems_left_out > 0 {
            line("problem", &format!("… and {} more", self.problems_left_out));
        }
        let total = self.problems.len() + self.problems_left_out;
        text.push_str(&if total == 0 {
            "ok".to_owned()
        } else {
            count(total, "problem")
        });
        text.push('\n');
        text
    }

    fn boundary_line(&self) -> String {
        let pairs = |hole: bool| {
            let chosen = self.boundaries.iter().filter(|b| b.hole == hole);
            chosen
                .map(|b| (&b.take, &b.from, &b.to))
                .collect::<BTreeSet<_>>()
        };
        let (inside, holes) = (pairs(false), pairs(true));
        let mut line = format!("{} inside takes", inside.union(&holes).count());
        if !holes.is_empty() {
            let _ = write!(line, " · {} at a hole", holes.len());
        }
        if inside.is_empty() {
            return line;
        }
        let whole = || self.boundaries.iter().filter(|b| !b.hole);
        if whole().any(|b| b.clock_ticks.is_some()) {
            let ticks = plural(self.max_clock_ticks, "tick");
            let _ = write!(line, " · clock within {ticks} (limit {CLOCK_LIMIT_TICKS})");
        }
        if self.segments > 0 {
            let ticks = whole()
                .map(|b| b.output_ticks.unsigned_abs())
                .max()
                .unwrap_or(0);
            let samples = whole().map(|b| b.output_samples).sum();
            let _ = write!(
                line,
                " · output {} / {}",
                plural(ticks, "tick"),
                plural(samples, "sample")
            );
        }
        line
    }

    pub(super) fn problem(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.ok = false;
        if self.problems.len() < MAX_FINDINGS {
            self.problems.push(Finding {
                place: place.into(),
                what: what.into(),
            });
        } else {
            self.problems_left_out += 1;
        }
    }

    pub(super) fn note(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.notes.len() < MAX_FINDINGS {
            self.notes.push(Finding {
                place: place.into(),
                what: what.into(),
            });
        }
    }

    pub(super) fn boundary(&mut self, boundary: Boundary) {
        if let (false, Some(ticks)) = (boundary.hole, boundary.clock_ticks) {
            self.max_clock_ticks = self.max_clock_ticks.max(ticks.unsigned_abs());
        }
        self.boundaries.push(boundary);
    }

    /// Takes in what another check found; `prefix` goes before its places.
    pub(super) fn absorb(&mut self, other: Self, prefix: &str) {
        self.takes += other.takes;
        self.recordings += other.recordings;
        self.segments += other.segments;
        self.distinct_inits += other.distinct_inits;
        for boundary in other.boundaries {
            self.boundary(boundary);
        }
        let named = |place: String| match prefix {
            "" => place,
            _ => format!("{prefix}/{place}"),
        };
        for Finding { place, what } in other.problems {
            self.problem(named(place), what);
        }
        for Finding { place, what } in other.notes {
            self.note(named(place), what);
        }
        self.problems_left_out += other.problems_left_out;
        self.ok = self.is_ok();
    }

    pub(super) fn finished(mut self) -> Self {
        self.ok = self.is_ok();
        self
    }
}

fn count(n: usize, what: &str) -> String {
    plural(u64::try_from(n).unwrap_or(u64::MAX), what)
}

fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
