//! Whether the measuring is to be trusted: comparisons of which the answer is known.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::json;
use yeoul_measure::ratio::Interval;
use yeoul_measure::{Input, Report, RunContext, RunRecord, Scope, Side, SideError};

use super::common::{compare, complaints, own_command, print};
use super::compare::{Args, shown, side};
use super::folder::ReportFolder;
use super::format::{ratio, time};

/// `5%` or `5`: more than 0, at most 1000.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    number
        .ok()
        .filter(|percent| *percent > 0.0 && *percent <= 1000.0)
        .ok_or_else(|| "use a percentage such as 5% (at most 1000%)".to_owned())
}

/// A side with busy work added to the end of each run.
struct Planted<S> {
    side: S,
    name: &'static str,
    added: Duration,
}

impl<S: Side> Side for Planted<S> {
    fn name(&self) -> &str {
        self.name
    }

    fn scope(&self) -> Scope {
        self.side.scope()
    }

    fn run(&mut self, run: &RunContext<'_>) -> Result<RunRecord, SideError> {
        let mut record = self.side.run(run)?;
        let start = Instant::now();
        while start.elapsed() < self.added {
            std::hint::spin_loop();
        }
        record.elapsed += start.elapsed();
        Ok(record)
    }
}

pub(super) fn run(
    args: &Args,
    inputs: &[Input],
    folder: &ReportFolder,
) -> anyhow::Result<ExitCode> {
    let times = args.aa.unwrap_or(args.times);
    ensure!(times > 0, "0 comparisons show nothing; ask for at least 1");
    let work = args.common.work()?;
    let mut intervals = Vec::new();
    let mut noise = 0;
    let mut machine = String::new();
    let added = match args.planted {
        Some(percent) => baseline(args, &inputs[0], folder, work.path())?.mul_f64(percent / 100.0),
        None => Duration::ZERO,
    };
    for number in 1..=times {
        let input = &inputs[(number - 1) % inputs.len()];
        let title = format!("{}, comparison {number} of {times}", title(args));
        let mut comparison = args.comparison(title, input, work.path());
        // Each comparison in an order of its own.
        comparison.bootstrap.seed = args.common.seed.wrapping_add(u64::try_from(number)?);
        let mut sides: Vec<Box<dyn Side + '_>> = vec![
            Box::new(side(args, "A", &args.a, args.scope)),
            Box::new(Planted {
                side: side(args, "A", &args.a, args.scope),
                name: "A again",
                added,
            }),
        ];
        let report = whole(compare(
            &comparison,
            &mut sides,
            folder,
            &format!("series-{number:02}"),
        )?)?;
        let found = report.ratios.first().context("no pair of runs")?.interval;
        args.common.tell(&format!(
            "{number} of {times}: {} ({} to {})",
            ratio(found.median),
            ratio(found.low),
            ratio(found.high)
        ));
        noise += usize::from(!report.environment.noise.is_empty());
        machine = report.environment.machine.to_string();
        intervals.push(found);
    }
    tell(
        args,
        inputs,
        folder,
        &Series {
            intervals,
            noise,
            machine,
            added,
        },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The median time of A alone.
fn baseline(
    args: &Args,
    input: &Input,
    folder: &ReportFolder,
    work: &std::path::Path,
) -> anyhow::Result<Duration> {
    let comparison = args.comparison(format!("{}, A alone", title(args)), input, work);
    let mut sides: Vec<Box<dyn Side + '_>> = vec![Box::new(side(args, "A", &args.a, args.scope))];
    let report = whole(compare(&comparison, &mut sides, folder, "alone")?)?;
    let times = report.sides.first().and_then(|side| side.elapsed_ns);
    Ok(Duration::from_nanos(times.context("no run of A")?.p50))
}

fn whole(done: Result<Report, super::common::Stopped>) -> anyhow::Result<Report> {
    let report = done.map_err(|stopped| stopped.error)?;
    let wrong = complaints(&report);
    if wrong.is_empty() {
        return Ok(report);
    }
    bail!("{}", wrong.join("\n"));
}

fn title(args: &Args) -> String {
    match args.planted {
        Some(percent) => format!("`{}` with itself and {percent} % added", args.a),
        None => format!("`{}` with itself", args.a),
    }
}

struct Series {
    intervals: Vec<Interval>,
    /// Comparisons during which the machine was noisy.
    noise: usize,
    machine: String,
    added: Duration,
}

impl Series {
    fn median_width(&self) -> f64 {
        let mut widths: Vec<f64> = self.intervals.iter().map(Interval::width).collect();
        widths.sort_by(f64::total_cmp);
        widths[widths.len() / 2]
    }

    fn sentence(&self, args: &Args) -> String {
        let all = self.intervals.len();
        let width = self.median_width();
        match args.planted {
            Some(percent) => {
                let found = self
                    .intervals
                    .iter()
                    .filter(|interval| interval.low > 1.0)
                    .count();
                format!(
                    "The {percent} % that were added ({}) are found in {found} of {all} comparisons (interval above 1.0); median width {width:.4}.",
                    time(u64::try_from(self.added.as_nanos()).unwrap_or(u64::MAX))
                )
            }
            None => {
                let holding = self
                    .intervals
                    .iter()
                    .filter(|interval| interval.contains_one())
                    .count();
                format!("{holding} of {all} intervals contain 1.0; median width {width:.4}.")
            }
        }
    }
}

fn tell(
    args: &Args,
    inputs: &[Input],
    folder: &ReportFolder,
    series: &Series,
) -> anyhow::Result<()> {
    let mut csv = format!(
        "# {}\r\ncomparison,pairs,median,low,high,width,contains_one\r\n",
        title(args)
    );
    for (number, found) in (1..).zip(&series.intervals) {
        let _ = write!(
            csv,
            "{number},{},{:.6},{:.6},{:.6},{:.6},{}\r\n",
            found.pairs,
            found.median,
            found.low,
            found.high,
            found.width(),
            found.contains_one()
        );
    }
    let sentence = series.sentence(args);
    let mut text = format!("# {}\n\n{sentence}\n\n", title(args));
    let _ = writeln!(text, "- Machine: {}", series.machine);
    if series.noise > 0 {
        let all = series.intervals.len();
        let _ = writeln!(text, "- **NOISY** in {} of {all} comparisons", series.noise);
    }
    let _ = writeln!(
        text,
        "- {} runs of each side in a comparison, after {} warm-ups",
        args.runs, args.warm_ups
    );
    for (input, path) in inputs.iter().zip(&args.common.inputs) {
        let _ = writeln!(
            text,
            "- `{}`, {} bytes, SHA-256 {}",
            shown(path),
            input.bytes,
            input.sha256
        );
    }
    let _ = writeln!(text, "- Again: `{}`\n", own_command());
    text.push_str("| comparison | median of ratios | 95 % interval | width |\n|--:|--:|--:|--:|\n");
    for (number, found) in (1..).zip(&series.intervals) {
        let _ = writeln!(
            text,
            "| {number} | {:.4} | {:.4} to {:.4} | {:.4} |",
            found.median,
            found.low,
            found.high,
            found.width()
        );
    }
    let json = json!({
        "title": title(args),
        "sentence": sentence,
        "command": own_command(),
        "machine": series.machine,
        "noisy_comparisons": series.noise,
        "inputs": inputs,
        "intervals": series.intervals,
    });
    let json = serde_json::to_string_pretty(&json)?;
    folder.write("series.csv", &csv)?;
    folder.write("series.md", &text)?;
    folder.write("series.json", &json)?;
    print(if args.common.json { &json } else { &text })?;
    Ok(())
}
