//! Many at once: levels × independent processes × calls, and the level from which on more at once gains nothing.
//!
//! For each case and level a worker program is started `processes` times, one after another. Each of them does `calls`
//! calls with `level` of them at once, in its one process, and prints what each took by a small [`protocol`]. The
//! levels and cases of one round are shuffled, so that a slow minute of the machine does not fall on one level.
//!
//! ```no_run
//! use std::process::Command;
//! use yeoul_measure::concurrency::{Case, Concurrency};
//!
//! let case = Case { name: "six-audio".into(), expected_sha256: "9f86d08…".into() };
//! let report = Concurrency { calls: 800, processes: 5, ..Concurrency::new("repack, disk out of scope", vec![case]) }
//!     .run(&mut |task| {
//!         let mut command = Command::new("yeoul-worker");
//!         command.arg("--case").arg(&task.case);
//!         command
//!     }, &mut |_| {})?;
//! println!("{}", report.to_markdown());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::command::run_to_end;
use crate::distribution::Distribution;
use crate::environment::{NoiseLimits, Probe};
use crate::rng::SplitMix64;
use crate::side::SideError;
use crate::usage::{Bound, PeakRss, UsageError};

mod knee;
pub mod protocol;
mod report;
mod worker;

pub use knee::{Knee, MIN_GAIN, Point, knee};
pub use report::{ConcurrencyReport, Failure, LevelSummary, ProcessRun};
pub use worker::{WorkError, work};

use protocol::{CALLS, LEVEL, Printed, ProtocolError, parse};

/// What is called: an input and what must come of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// How it is named in the report; given to the worker's command.
    pub name: String,
    /// SHA-256 that every call's output must have, in lower-case hexadecimal.
    pub expected_sha256: String,
}

/// What one worker process is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// [`Case::name`].
    pub case: String,
    /// Calls at once.
    pub level: usize,
    /// Calls in all.
    pub calls: usize,
    /// Which of the independent processes this is, from 1.
    pub process: usize,
}

/// The protocol's figures. Fields may be set directly.
#[derive(Debug, Clone)]
pub struct Concurrency {
    /// What is measured, and whether the disk is in scope.
    pub title: String,
    /// The inputs.
    pub cases: Vec<Case>,
    /// Calls at once. Default 1, 2, 4, 8.
    pub levels: Vec<usize>,
    /// Independent processes a case and level. Default 5.
    pub processes: usize,
    /// Calls a process. Default 800.
    pub calls: usize,
    /// At most this many cores for a worker, by affinity. Default: all.
    pub cores: Option<usize>,
    /// How long a worker may take. Default 10 minutes.
    pub timeout: Duration,
    /// Of the order.
    pub seed: u64,
    /// From where on the machine counts as noisy.
    pub noise_limits: NoiseLimits,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum ConcurrencyError {
    /// A number is 0 or a list is empty.
    #[error("{0} must be at least 1: nothing would be measured")]
    Nothing(&'static str),
    /// The worker's cores could not be limited.
    #[error("cannot limit the worker to {cores} cores: {source}")]
    Cores {
        /// How many were wanted.
        cores: usize,
        /// Why not.
        source: std::io::Error,
    },
    /// The machine could not be read.
    #[error(transparent)]
    Usage(#[from] UsageError),
}

impl Concurrency {
    /// The defaults.
    pub fn new(title: impl Into<String>, cases: Vec<Case>) -> Self {
        Self {
            title: title.into(),
            cases,
            levels: vec![1, 2, 4, 8],
            processes: 5,
            calls: 800,
            cores: None,
            timeout: Duration::from_secs(600),
            seed: 1,
            noise_limits: NoiseLimits::default(),
        }
    }

    /// Runs every process and sums up. `command` makes the worker's command; level and calls are given to it in the
    /// environment too ([`protocol`]). Each process's figures go to `observe` as soon as they are there. A process that
    /// fails is named in the report; the others go on.
    ///
    /// # Errors
    /// When a number is 0, or the machine cannot be read.
    pub fn run(
        &self,
        command: &mut dyn FnMut(&Task) -> Command,
        observe: &mut dyn FnMut(&ProcessRun),
    ) -> Result<ConcurrencyReport, ConcurrencyError> {
        self.admit()?;
        let _cores = self.cores.map(Cores::limit).transpose()?;
        let probe = Probe::start(&std::env::temp_dir())?;
        let (mut runs, mut failures) = (Vec::new(), Vec::new());
        for (case, task) in self.tasks() {
            let mut command = command(&task);
            match one(&task, case, &mut command, self.timeout) {
                Ok(run) => {
                    observe(&run);
                    runs.push(run);
                }
                Err(error) => failures.push(Failure {
                    case: task.case,
                    level: task.level,
                    process: task.process,
                    error: error.to_string(),
                }),
            }
        }
        Ok(ConcurrencyReport::new(
            self,
            probe.finish(self.noise_limits)?,
            runs,
            failures,
        ))
    }

    fn admit(&self) -> Result<(), ConcurrencyError> {
        let numbers = [
            ("the number of inputs", self.cases.len()),
            ("the number of levels", self.levels.len()),
            ("a level", self.levels.iter().copied().min().unwrap_or(0)),
            ("the number of processes", self.processes),
            ("the number of calls", self.calls),
            ("the number of cores", self.cores.unwrap_or(1)),
        ];
        match numbers.into_iter().find(|&(_, number)| number == 0) {
            Some((what, _)) => Err(ConcurrencyError::Nothing(what)),
            None => Ok(()),
        }
    }

    /// Rounds of one process each of every case and level, each round in an order of its own.
    fn tasks(&self) -> Vec<(&Case, Task)> {
        let mut rng = SplitMix64::new(self.seed);
        let mut tasks = Vec::new();
        for process in 1..=self.processes {
            let mut round: Vec<(&Case, Task)> = self
                .cases
                .iter()
                .flat_map(|case| self.levels.iter().map(move |&level| (case, level)))
                .map(|(case, level)| {
                    (
                        case,
                        Task {
                            case: case.name.clone(),
                            level,
                            calls: self.calls,
                            process,
                        },
                    )
                })
                .collect();
            rng.shuffle(&mut round);
            tasks.append(&mut round);
        }
        tasks
    }
}

/// Why a worker's figures do not count.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Side(#[from] SideError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

/// A line of the protocol is about 110 bytes.
const LINE: usize = 256;

fn one(
    task: &Task,
    case: &Case,
    command: &mut Command,
    limit: Duration,
) -> Result<ProcessRun, RunError> {
    command
        .env(LEVEL, task.level.to_string())
        .env(CALLS, task.calls.to_string())
        .stdout(Stdio::piped());
    // The first half of what is captured is its beginning, and must hold all of it.
    let capture = task.calls.saturating_add(16).saturating_mul(2 * LINE);
    let finished = run_to_end(command, limit, capture)?;
    let (status, output) = (finished.reaped.status, finished.output);
    if !status.success() {
        return Err(SideError::Exit { status, output }.into());
    }
    if !finished.left.is_empty() {
        return Err(SideError::LeftRunning {
            processes: finished.left,
            output,
        }
        .into());
    }
    if output.stdout.cut() > 0 {
        return Err(ProtocolError::TooMuch {
            printed: output.stdout.total,
        }
        .into());
    }
    let printed = parse(&output.stdout.text(), task.calls, &case.expected_sha256)?;
    Ok(summed(task, printed, finished.reaped.usage.peak_rss))
}

fn summed(task: &Task, printed: Printed, seen: Option<PeakRss>) -> ProcessRun {
    // The kernel's figure is at least the true one; the worker's own is exact, but its word.
    let peak_rss = match (seen, printed.peak_rss) {
        (Some(seen), Some(own)) if seen.bound == Bound::AtMost => PeakRss {
            bytes: own.min(seen.bytes),
            bound: Bound::Exact,
        },
        (Some(seen), _) => seen,
        (None, own) => PeakRss {
            bytes: own.unwrap_or(0),
            bound: Bound::AtMost,
        },
    };
    let calls = Distribution::new(printed.call_ns.clone())
        .map(|calls| calls.summary())
        .ok();
    ProcessRun {
        case: task.case.clone(),
        level: task.level,
        process: task.process,
        elapsed_ns: printed.elapsed_ns,
        calls,
        call_ns: printed.call_ns,
        peak_rss,
    }
}

/// This thread's affinity, narrowed; what it spawns inherits it. Widened again when dropped.
struct Cores {
    before: CpuSet,
}

impl Cores {
    fn limit(cores: usize) -> Result<Self, ConcurrencyError> {
        let failed = |errno: rustix::io::Errno| ConcurrencyError::Cores {
            cores,
            source: errno.into(),
        };
        let before = sched_getaffinity(None).map_err(failed)?;
        let mut narrowed = CpuSet::new();
        let allowed = (0..CpuSet::MAX_CPU)
            .filter(|&cpu| before.is_set(cpu))
            .take(cores);
        allowed.for_each(|cpu| narrowed.set(cpu));
        sched_setaffinity(None, &narrowed).map_err(failed)?;
        Ok(Self { before })
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}
