//! The result of a comparison: every run, what follows from them, and on what they were made.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::compare::{Order, Outputs};
use crate::distribution::{Distribution, Summary};
use crate::environment::Environment;
use crate::equivalence::Verdict;
use crate::output::Input;
use crate::ratio::{Bootstrap, Interval, paired};
use crate::scope::Scope;
use crate::stage::StageTimes;
use crate::usage::Usage;

/// The version of the JSON form.
pub const FORMAT: u32 = 1;

/// The result of a comparison. As JSON it holds every row, so it can be loaded and merged later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// What was compared; begins with the scopes' difference when they are unequal.
    pub title: String,
    /// How the scopes differ, when sides of different scope were compared nevertheless.
    pub unequal_scope: Option<String>,
    /// What was worked on.
    pub inputs: Vec<Input>,
    /// How many bytes of them a run that reads them must read.
    pub read_floor: u64,
    /// Whether outputs were new files or overwritten ones.
    pub outputs: Outputs,
    /// How many runs of each side were asked for.
    pub runs: usize,
    /// How many runs before that were not recorded.
    pub warm_ups: usize,
    /// In which order the sides took turns.
    pub order: Order,
    /// Of the random order and the bootstrap.
    pub bootstrap: Bootstrap,
    /// The machine and how quiet it was. Of a merged report: of the first one.
    pub environment: Environment,
    /// Whether all made the same.
    pub equivalence: Verdict,
    /// The first one is the baseline.
    pub sides: Vec<SideReport>,
    /// Each other side over the baseline.
    pub ratios: Vec<Ratio>,
}

/// The rows of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// The side's name.
    pub name: String,
    /// What its times include.
    pub scope: Scope,
    /// How it came to its end.
    pub end: End,
    /// One a run, in order.
    pub rows: Vec<Row>,
    /// Of the rows' times, nanoseconds. `None` without a row.
    pub elapsed_ns: Option<Summary>,
    /// Runs whose outputs had other bytes than those of the side's first run.
    pub differing_runs: Vec<usize>,
}

/// How a side came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum End {
    /// All runs were done.
    Completed,
    /// A run failed; those before it are kept.
    Failed {
        /// Which one, from 1.
        run: usize,
        /// Whether it was a warm-up.
        warm_up: bool,
        /// What it said.
        error: String,
    },
    /// Another side was refused first, or this one was.
    Stopped {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed {
                run,
                warm_up: true,
                error,
            } => write!(f, "failed in warm-up {run}: {error}"),
            Self::Failed { run, error, .. } => write!(f, "failed in run {run}: {error}"),
            Self::Stopped { reason } => write!(f, "stopped: {reason}"),
        }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The side's name.
    pub side: String,
    /// From 1. Rows of different sides with the same number are a pair.
    pub run: usize,
    /// Whose turn it was within the round, from 0.
    pub position: usize,
    /// Wall time of what the scope includes, nanoseconds.
    pub elapsed_ns: u64,
    /// What was used meanwhile.
    pub usage: Usage,
    /// Where the time went.
    pub stages: StageTimes,
    /// How many files the output has.
    pub output_files: usize,
    /// Bytes of the output.
    pub output_bytes: u64,
    /// Of the output's names and bytes ([`crate::output::tree_sha256`]); `None` without output.
    pub output_sha256: Option<String>,
    /// What the equivalence check made of the output.
    pub digest: Option<String>,
}

/// One side over the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The side above.
    pub side: String,
    /// The side below.
    pub baseline: String,
    /// Time of the side over time of the baseline.
    pub interval: Interval,
}

impl SideReport {
    pub(crate) fn new(name: String, scope: Scope) -> Self {
        Self {
            name,
            scope,
            end: End::Completed,
            rows: Vec::new(),
            elapsed_ns: None,
            differing_runs: Vec::new(),
        }
    }

    pub(crate) fn elapsed(&self) -> Vec<u64> {
        self.rows.iter().map(|row| row.elapsed_ns).collect()
    }
}

impl Report {
    /// Computes again what follows from the rows: summaries, differing runs, ratios and the verdict of `check`.
    pub(crate) fn conclude(&mut self, check: Option<&str>) {
        for side in &mut self.sides {
            side.elapsed_ns = Distribution::new(side.elapsed())
                .ok()
                .map(|times| times.summary());
            let first = side.rows.first().and_then(|row| row.output_sha256.clone());
            side.differing_runs = side
                .rows
                .iter()
                .filter(|row| row.output_sha256 != first)
                .map(|row| row.run)
                .collect();
        }
        let digests = self.sides.iter().flat_map(|side| &side.rows);
        let digests = digests.filter_map(|row| Some((row.side.as_str(), row.digest.as_deref()?)));
        self.equivalence = check.map_or(Verdict::NotChecked, |check| Verdict::of(check, digests));
        self.ratios = match self.sides.split_first() {
            Some((baseline, others)) => others
                .iter()
                .filter_map(|side| ratio(side, baseline, self.bootstrap))
                .collect(),
            None => Vec::new(),
        };
    }

    /// The side of this name.
    #[must_use]
    pub fn side(&self, name: &str) -> Option<&SideReport> {
        self.sides.iter().find(|side| side.name == name)
    }
}

/// Over the runs that both did: a side that failed in run 37 has 36 pairs.
fn ratio(side: &SideReport, baseline: &SideReport, bootstrap: Bootstrap) -> Option<Ratio> {
    let pairs: Vec<(u64, u64)> = side
        .rows
        .iter()
        .filter_map(|row| {
            let other = baseline.rows.iter().find(|other| other.run == row.run)?;
            Some((row.elapsed_ns, other.elapsed_ns))
        })
        .collect();
    let (above, below): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
    let interval = paired(&above, &below, bootstrap)?;
    Some(Ratio {
        side: side.name.clone(),
        baseline: baseline.name.clone(),
        interval,
    })
}
