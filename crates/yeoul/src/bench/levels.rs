//! How many calls at once are worth it: every level in several independent processes of this program.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::json;
use yeoul_measure::concurrency::{Case, Concurrency, ConcurrencyReport};

use super::call::{self, ToDigest};
use super::common::{Common, own_command, print};

/// How calls at once are measured.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct AtOnce {
    /// With --levels: independent processes for each input and level
    #[arg(long, value_name = "N", default_value_t = 5, requires = "levels")]
    processes: usize,
    /// With --levels: calls a process
    #[arg(long, value_name = "N", default_value_t = 800, requires = "levels")]
    calls: usize,
    /// With --levels: whether a call writes its files
    #[arg(long, value_name = "DISK", default_value = "out", requires = "levels")]
    disk: Disk,
    /// With --levels: at most so many cores for a process [default: all]
    #[arg(long, value_name = "N", requires = "levels")]
    cores: Option<usize>,
}

/// Whether the disk is in scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Disk {
    /// A call packs a recording, writes the files, reads them back for their SHA-256, and removes them
    In,
    /// A call packs a recording and puts every byte of its files through SHA-256
    Out,
}

impl Disk {
    fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::In => {
                "disk in scope: a call packs a recording, writes its files, reads them back for their SHA-256 and removes them"
            }
            Self::Out => {
                "disk out of scope: a call packs a recording and puts every byte of its files through SHA-256"
            }
        }
    }
}

pub(super) fn run(common: &Common, levels: &[usize], args: &AtOnce) -> anyhow::Result<ExitCode> {
    let inputs = common.inputs()?;
    let folder = common.report()?;
    let work = common.work()?;
    let yeoul = std::env::current_exe().context("this program's own path")?;
    let mut cases = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let mut digest = ToDigest::default();
        call::pack(call::file(&input.path), &mut digest)
            .map_err(|error| anyhow::anyhow!("{}: {error}", common.inputs[index].display()))?;
        cases.push(Case {
            name: case_name(&common.inputs, index),
            expected_sha256: digest.finish(),
        });
    }
    let concurrency = Concurrency {
        levels: levels.to_vec(),
        processes: args.processes,
        calls: args.calls,
        cores: args.cores,
        seed: common.seed,
        ..Concurrency::new(format!("repack at once, {}", args.disk.sentence()), cases)
    };
    let total = inputs.len() * levels.len() * args.processes;
    let mut done = 0;
    let report = concurrency.run(
        &mut |task| {
            let index =
                (0..inputs.len()).find(|&index| case_name(&common.inputs, index) == task.case);
            let mut command = Command::new(&yeoul);
            command.args(["bench", "worker", "--disk", args.disk.name()]);
            command.arg("--folder").arg(work.path());
            command.arg(index.map_or_else(PathBuf::new, |index| inputs[index].path.clone()));
            command
        },
        &mut |run| {
            done += 1;
            let speed = run.throughput();
            common.tell(&format!(
                "{done} of {total}: {}, {} at once: {speed:.0} calls/s",
                run.case, run.level
            ));
        },
    )?;
    let text = markdown(&report, &inputs);
    let json = json!({ "command": own_command(), "inputs": inputs, "report": report });
    let json = serde_json::to_string(&json)?;
    folder.write("levels.md", &text)?;
    folder.write("levels.json", &json)?;
    folder.write("levels.csv", &report.to_csv())?;
    print(if common.json { &json } else { &text })?;
    if report.failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    bail!(
        "{} of {total} processes failed; the first: {}",
        report.failures.len(),
        report.failures[0].error
    );
}

fn markdown(report: &ConcurrencyReport, inputs: &[yeoul_measure::Input]) -> String {
    let mut text = report.to_markdown();
    text.push_str(&format!("\n- Again: `{}`\n", own_command()));
    for input in inputs {
        text.push_str(&format!(
            "- `{}`, {} bytes, SHA-256 {}\n",
            input.path.display(),
            input.bytes,
            input.sha256
        ));
    }
    let checked: usize = report.runs.iter().map(|run| run.call_ns.len()).sum();
    text.push_str(&format!(
        "- The SHA-256 of every output of {checked} calls is the expected one. The level is that of threads in one process.\n"
    ));
    text
}

/// The name of the input's folder and its own; told apart by a number when two are the same.
fn case_name(inputs: &[PathBuf], index: usize) -> String {
    let name = |path: &PathBuf| {
        let mut parts: Vec<_> = path.iter().rev().take(2).collect();
        parts.reverse();
        parts.iter().collect::<PathBuf>().display().to_string()
    };
    let own = name(&inputs[index]);
    if inputs.iter().filter(|path| name(path) == own).count() > 1 {
        return format!("{own} ({})", index + 1);
    }
    own
}
