use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::knee::{Knee, Point, knee};
use super::{Case, Concurrency};
use crate::distribution::{Distribution, Summary};
use crate::environment::Environment;
use crate::float;
use crate::record::one_line;
use crate::record::units::{cell, size, time};
use crate::report::FORMAT;
use crate::usage::PeakRss;

/// What a concurrency measurement found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConcurrencyReport {
    /// [`FORMAT`].
    pub format: u32,
    /// What was measured.
    pub title: String,
    /// Independent processes a case and level.
    pub processes: usize,
    /// Calls a process.
    pub calls: usize,
    /// How many cores a worker had at most; `None` for all.
    pub cores: Option<usize>,
    /// The machine and how quiet it was.
    pub environment: Environment,
    /// One a process that ended well, in order of running. Every output of it had the expected SHA-256.
    pub runs: Vec<ProcessRun>,
    /// One a process that did not.
    pub failures: Vec<Failure>,
    /// One a case and level with at least one run.
    pub levels: Vec<LevelSummary>,
    /// For each case, the level up to which more at once is worth it. None for a case with failures.
    pub knees: Vec<(String, Knee)>,
}

/// The figures of one worker process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessRun {
    /// The case's name.
    pub case: String,
    /// Calls at once.
    pub level: usize,
    /// From 1.
    pub process: usize,
    /// Wall time of all calls, nanoseconds; without the start of the process.
    pub elapsed_ns: u64,
    /// Of the calls' times, nanoseconds.
    pub calls: Option<Summary>,
    /// Peak resident set of the process.
    pub peak_rss: PeakRss,
    /// Each call's time by its number, nanoseconds.
    pub call_ns: Vec<u64>,
}

impl ProcessRun {
    /// Calls a second.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        float::count(self.call_ns.len()) * 1e9 / float::of(self.elapsed_ns.max(1))
    }
}

/// A worker process whose figures do not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The case's name.
    pub case: String,
    /// Calls at once.
    pub level: usize,
    /// From 1.
    pub process: usize,
    /// What happened.
    pub error: String,
}

/// All processes of a case and level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelSummary {
    /// The case's name.
    pub case: String,
    /// How many processes these figures are of.
    pub processes: usize,
    /// Throughput, median of the runs' p95 and of their peak RSS.
    pub point: Point,
    /// p99 of all calls of all processes together, nanoseconds.
    pub p99_of_all_ns: u64,
    /// The highest peak RSS of a process, bytes.
    pub peak_rss_max: u64,
}

impl ConcurrencyReport {
    pub(super) fn new(
        asked: &Concurrency,
        environment: Environment,
        runs: Vec<ProcessRun>,
        failures: Vec<Failure>,
    ) -> Self {
        let mut levels = asked.levels.clone();
        levels.sort_unstable();
        levels.dedup();
        let of_case = |case: &Case| {
            levels
                .iter()
                .filter_map(|&level| summary(&case.name, level, &runs))
                .collect()
        };
        let cases: Vec<(String, Vec<LevelSummary>)> = asked
            .cases
            .iter()
            .map(|case| (case.name.clone(), of_case(case)))
            .collect();
        let knees = cases
            .iter()
            .filter(|(case, _)| !failures.iter().any(|failure| failure.case == *case));
        let knees = knees
            .filter_map(|(case, levels)| {
                let points: Vec<Point> = levels.iter().map(|level| level.point).collect();
                Some((case.clone(), knee(&points)?))
            })
            .collect();
        Self {
            format: FORMAT,
            title: asked.title.clone(),
            processes: asked.processes,
            calls: asked.calls,
            cores: asked.cores,
            environment,
            levels: cases.into_iter().flat_map(|(_, levels)| levels).collect(),
            knees,
            runs,
            failures,
        }
    }

    /// Everything, as JSON.
    ///
    /// # Errors
    /// When a number cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// One row a process: `case,level,process,calls,elapsed_ns,throughput,p50_ns,p95_ns,p99_ns,max_ns,peak_rss,peak_rss_bound`.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = format!("# {}\r\n", one_line(&self.title));
        text.push_str("case,level,process,calls,elapsed_ns,throughput,p50_ns,p95_ns,p99_ns,max_ns,peak_rss,peak_rss_bound\r\n");
        for run in &self.runs {
            let Some(calls) = run.calls else { continue };
            let _ = write!(
                text,
                "{},{},{},{},{},{:.3},{},{},{},{},{},{}\r\n",
                crate::record::quoted(&run.case),
                run.level,
                run.process,
                calls.n,
                run.elapsed_ns,
                run.throughput(),
                calls.p50,
                calls.p95,
                calls.p99,
                calls.max,
                run.peak_rss.bytes,
                run.peak_rss.bound,
            );
        }
        text
    }

    /// A summary to read.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "# {}\n\n- Machine: {}\n",
            one_line(&self.title),
            self.environment.machine
        );
        for noise in &self.environment.noise {
            let _ = writeln!(text, "- **NOISY:** {noise}");
        }
        let cores = self
            .cores
            .map_or_else(|| "all".to_owned(), |cores| format!("at most {cores}"));
        let _ = writeln!(
            text,
            "- {} independent processes a level, {} calls each, {cores} cores; {} calls in all, every output's SHA-256 \
             as expected",
            self.processes,
            self.calls,
            self.runs.iter().map(|run| run.call_ns.len()).sum::<usize>()
        );
        for Failure {
            case,
            level,
            process,
            error,
        } in &self.failures
        {
            let _ = writeln!(
                text,
                "- **FAILED:** {case}, {level} at once, process {process}: {error}"
            );
        }
        text.push_str(
            "\n| input | at once | throughput (median), calls/s | median of the runs' p95 | p99 of all calls | \
             peak RSS, median | peak RSS, max |\n|---|---:|---:|---:|---:|---:|---:|\n",
        );
        for LevelSummary {
            case,
            point,
            p99_of_all_ns,
            peak_rss_max,
            ..
        } in &self.levels
        {
            let _ = writeln!(
                text,
                "| {} | {} | {:.1} | {} | {} | {} | {} |",
                cell(case),
                point.level,
                point.throughput,
                time(point.median_of_p95_ns),
                time(*p99_of_all_ns),
                size(point.peak_rss_median),
                size(*peak_rss_max)
            );
        }
        text.push('\n');
        for (case, knee) in &self.knees {
            let _ = writeln!(text, "- {case}: {}", knee.sentence);
        }
        text
    }
}

fn summary(case: &str, level: usize, runs: &[ProcessRun]) -> Option<LevelSummary> {
    let runs: Vec<&ProcessRun> = runs
        .iter()
        .filter(|run| run.case == case && run.level == level)
        .collect();
    let median = |of: &dyn Fn(&ProcessRun) -> Option<u64>| {
        Distribution::new(runs.iter().filter_map(|run| of(run)).collect())
            .ok()
            .map(|values| values.p50())
    };
    let mut throughputs: Vec<f64> = runs.iter().map(|run| run.throughput()).collect();
    throughputs.sort_unstable_by(f64::total_cmp);
    let all = Distribution::new(
        runs.iter()
            .flat_map(|run| run.call_ns.iter().copied())
            .collect(),
    )
    .ok()?;
    let point = Point {
        level,
        // By nearest rank, as all percentiles here.
        throughput: *throughputs.get(throughputs.len().div_ceil(2) - 1)?,
        median_of_p95_ns: median(&|run| run.calls.map(|calls| calls.p95))?,
        peak_rss_median: median(&|run| Some(run.peak_rss.bytes))?,
    };
    Some(LevelSummary {
        case: case.to_owned(),
        processes: runs.len(),
        point,
        p99_of_all_ns: all.p99(),
        peak_rss_max: runs.iter().map(|run| run.peak_rss.bytes).max()?,
    })
}
