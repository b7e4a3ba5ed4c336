//! What is compared: a [`Side`] does one run at a time and says what it took.

use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, SystemTime};

use crate::command::Captured;
use crate::output::{FileError, Input};
use crate::scope::Scope;
use crate::stage::StageTimes;
use crate::usage::{Usage, UsageError};

/// Any error of a side's own code.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One of the things that are compared. [`crate::CommandSide`] and [`crate::ClosureSide`] are ready-made; a side of
/// another kind measures with [`crate::usage::Window`] or [`crate::usage::reap`].
pub trait Side {
    /// How it is named in every output; different from the other sides' names.
    fn name(&self) -> &str;

    /// What the time of a run includes. Held against what the run shows ([`crate::evidence::check`]).
    fn scope(&self) -> Scope;

    /// Does one run and measures it.
    ///
    /// # Errors
    /// When the run failed: its row is not kept, and the side does no further run.
    fn run(&mut self, run: &RunContext<'_>) -> Result<RunRecord, SideError>;
}

/// What a run is given.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    /// 1 for the first timed run; counted on its own for warm-ups.
    pub run: usize,
    /// Whether the run only warms up: done in the same way, not recorded.
    pub warm_up: bool,
    /// What to work on.
    pub inputs: &'a [Input],
    /// Where outputs go: an absolute path. An empty folder, or, with [`crate::Outputs::Overwritten`], what the side's
    /// run before left there.
    pub output: &'a Path,
    /// Where a side whose run leaves no files may put, after its time, what the equivalence check shall see instead.
    pub check: &'a Path,
}

/// What a run took.
#[derive(Debug, Clone)]
pub struct RunRecord {
    /// Wall time of all that the scope includes.
    pub elapsed: Duration,
    /// The wall clock when that began.
    pub began: SystemTime,
    /// What was used meanwhile.
    pub usage: Usage,
    /// Where the time went, as far as the side knows.
    pub stages: StageTimes,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The side's own code said so.
    #[error("{0}")]
    Work(BoxError),
    /// The command could not be started.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// What was to be started.
        program: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The command ended, but not well.
    #[error("{status}{}", said(.output))]
    Exit {
        /// How it ended.
        status: ExitStatus,
        /// What it printed.
        output: Box<Captured>,
    },
    /// The command did not end in time. It and its process group were killed.
    #[error("killed after {} ms without an end; allow more time or find what it waits for{}", .limit.as_millis(), said(.output))]
    Timeout {
        /// The limit.
        limit: Duration,
        /// What it printed until then.
        output: Box<Captured>,
    },
    /// The command ended, but processes that it started went on: work outside of the measured time.
    #[error(
        "ended and left {} of its processes running ({}); they were killed; a run is over when all it started is{}",
        .processes.len(), .processes.join(", "), said(.output)
    )]
    LeftRunning {
        /// Name and number of each.
        processes: Vec<String>,
        /// What it printed.
        output: Box<Captured>,
    },
    /// Usage could not be measured.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// A system call of the harness failed.
    #[error("{call}: {source}")]
    Call {
        /// Which one.
        call: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the run could not be handled.
    #[error(transparent)]
    File(#[from] FileError),
}

fn said(output: &Captured) -> String {
    match output.text().trim() {
        "" => String::new(),
        text => format!("; it printed:\n{text}"),
    }
}
