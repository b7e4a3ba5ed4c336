//! Any two commands, by the same engine.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use serde_json::json;
use yeoul_measure::equivalence::{Bytes, Equivalence, Named};
use yeoul_measure::{CommandSide, Comparison, Input, Outputs, Report, RunContext, Scope, Side};

use super::common::{Common, compare, complaints, ended, own_command, print};
use super::folder::ReportFolder;
use super::series;

const EXAMPLES: &str = "\
Examples:
  Two programs that do the same, from start to written files:
      yeoul bench compare --a 'cp {input} {output}/x' --b 'cat {input} > {output}/x' rec.mp4

  One that writes and one that does not: refused, as a faster one that leaves work out would be no faster
      yeoul bench compare --a 'cp {input} {output}/x' --b 'cat {input} > /dev/null' rec.mp4

  The same on purpose: the title of every output then says what is unequal
      yeoul bench compare --a 'cp {input} {output}/x' --b 'cat {input} > /dev/null' --scope-b start,read,work --unequal-scope rec.mp4

  Whether the measuring itself is to be trusted: forty comparisons of a command with itself, twenty with 5 % added
      yeoul bench compare --a 'cp {input} {output}/x' --aa 40 rec.mp4
      yeoul bench compare --a 'cp {input} {output}/x' --planted 5% rec.mp4

Commands are run by sh. {input} is the path of the input, {output} that of a folder which the command finds empty (with
--overwrite: as its run before left it); both are put in as quoted words.

Exit status: 0 measured, 1 a side failed or was refused, or outputs differ, 2 wrong usage.";

/// Compare two commands over a scope that is checked, or a command with itself
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) common: Common,
    /// The command that the other is compared with
    #[arg(long, value_name = "COMMAND")]
    pub(super) a: String,
    /// The other command
    #[arg(long, value_name = "COMMAND", required_unless_present_any = ["aa", "planted"])]
    b: Option<String>,
    /// What the time of both includes: parts of start, read, work, write, fsync
    #[arg(long, value_name = "SCOPE", default_value = "start,read,work,write")]
    pub(super) scope: Scope,
    /// What the time of B includes, if not the same
    #[arg(long, value_name = "SCOPE", requires = "b")]
    scope_b: Option<Scope>,
    /// Compare nevertheless; the title of every output says what is unequal
    #[arg(long)]
    unequal_scope: bool,
    /// Timed runs of each side, for each input
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(super) runs: usize,
    /// Runs of each side before those
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(super) warm_ups: usize,
    /// How outputs are compared
    #[arg(long, value_name = "CHECK", default_value = "bytes")]
    check: Check,
    /// Outputs replace those of the run before, instead of being new
    #[arg(long)]
    overwrite: bool,
    /// How many bytes of an input a command that reads it must read, when it does not need all of them
    #[arg(long, value_name = "BYTES")]
    read_floor: Option<u64>,
    /// Seconds after which a run is killed and its side has failed
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Compare A with itself, so many times
    #[arg(long, value_name = "N", conflicts_with_all = ["b", "planted"])]
    pub(super) aa: Option<usize>,
    /// Compare A with itself and so much added work, such as 5%
    #[arg(long, value_name = "PERCENT", conflicts_with = "b", value_parser = series::percent)]
    pub(super) planted: Option<f64>,
    /// How often, with --planted
    #[arg(long, value_name = "N", default_value_t = 20, requires = "planted")]
    pub(super) times: usize,
}

/// How outputs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    /// The same names and bytes
    Bytes,
    /// The same payload in each track of HLS or MP4, whatever the files are called
    Packets,
    /// Not at all; the report says so
    None,
}

pub(super) fn command(args: &Args) -> anyhow::Result<ExitCode> {
    ensure!(
        args.runs > 0,
        "0 runs show nothing; ask for at least 1 (--runs)"
    );
    let inputs = args.common.inputs()?;
    let folder = args.common.report()?;
    match &args.b {
        Some(b) => pair(args, b, &inputs, &folder),
        None => series::run(args, &inputs, &folder),
    }
}

/// A side that is a shell command.
pub(super) fn side<'a>(args: &'a Args, name: &str, line: &'a str, scope: Scope) -> CommandSide<'a> {
    // As words of their own, so that a path with spaces or quotes in it stays one word.
    let script = line
        .replace("{input}", "\"$1\"")
        .replace("{output}", "\"$2\"");
    CommandSide::new(name, scope, move |run: &RunContext<'_>| {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&script).arg("sh");
        command.arg(&run.inputs[0].path).arg(run.output);
        command
    })
    .timeout(Duration::from_secs(args.timeout))
}

impl Args {
    pub(super) fn comparison(
        &self,
        title: String,
        input: &Input,
        work: &Path,
    ) -> Comparison<'static> {
        Comparison {
            runs: self.runs,
            warm_ups: self.warm_ups,
            outputs: if self.overwrite {
                Outputs::Overwritten
            } else {
                Outputs::Fresh
            },
            read_floor: self.read_floor,
            unequal_scope: self.unequal_scope,
            bootstrap: self.common.bootstrap(),
            ..Comparison::new(title, vec![input.clone()], work.join("runs"))
        }
    }

    fn equivalence(&self, work: &Path) -> Option<Box<dyn Equivalence>> {
        let scratch = work.join("stream.mp4");
        match self.check {
            Check::None => None,
            Check::Bytes => Some(Box::new(Bytes)),
            Check::Packets => Some(Box::new(Named::new(
                "packet payload (SHA-256 a track)",
                move |made: &Path| Ok(crate::verify::payload_digest(made, &scratch)?),
            ))),
        }
    }
}

fn pair(args: &Args, b: &str, inputs: &[Input], folder: &ReportFolder) -> anyhow::Result<ExitCode> {
    let work = args.common.work()?;
    let equivalence = args.equivalence(work.path());
    let (mut reports, mut wrong) = (Vec::new(), Vec::new());
    for (index, input) in inputs.iter().enumerate() {
        let shown = shown(&args.common.inputs[index]);
        args.common
            .tell(&format!("{} of {}: {shown}", index + 1, inputs.len()));
        let comparison = Comparison {
            equivalence: equivalence.as_deref(),
            ..args.comparison(
                format!("A `{}` and B `{b}` on {shown}", args.a),
                input,
                work.path(),
            )
        };
        let mut sides: Vec<Box<dyn Side + '_>> = vec![
            Box::new(side(args, "A", &args.a, args.scope)),
            Box::new(side(args, "B", b, args.scope_b.unwrap_or(args.scope))),
        ];
        let name = format!("compare-{}", index + 1);
        let report = match compare(&comparison, &mut sides, folder, &name)? {
            Ok(report) => report,
            Err(stopped) => {
                wrong.push(format!("{shown}: {}", stopped.error));
                match stopped.report {
                    Some(report) => *report,
                    None => continue,
                }
            }
        };
        folder.write(&format!("{name}.json"), &report.to_json()?)?;
        folder.write(&format!("{name}.md"), &report.to_markdown())?;
        wrong.extend(
            complaints(&report)
                .into_iter()
                .map(|what| format!("{shown}: {what}")),
        );
        reports.push(report);
    }
    tell(args, &reports)?;
    Ok(ended(&wrong))
}

fn tell(args: &Args, reports: &[Report]) -> anyhow::Result<()> {
    if args.common.json {
        let json = json!({ "command": own_command(), "reports": reports });
        return print(&serde_json::to_string_pretty(&json)?).context("standard output");
    }
    let mut text: String = reports
        .iter()
        .map(|report| report.to_markdown() + "\n")
        .collect();
    if !reports.is_empty() {
        text.push_str(&format!("- Again: `{}`\n", own_command()));
        print(&text)?;
    }
    Ok(())
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
