use std::fmt::Write as _;

use super::one_line;
use super::units::{cell, size, time, time_f};
use crate::compare::{Order, Outputs};
use crate::distribution::Distribution;
use crate::report::{End, Ratio, Report, Row, SideReport};
use crate::stage::{StageTimes, mean_per_stage};
use crate::usage::Bound;

pub(super) fn of(report: &Report) -> String {
    let mut text = format!("# {}\n\n", one_line(&report.title));
    if let Some(difference) = &report.unequal_scope {
        let _ = writeln!(
            text,
            "**The sides do not measure the same: {difference}. Their ratio is no speed-up.**\n"
        );
    }
    text.push_str(&conditions(report));
    text.push_str(&times(report));
    text.push_str(&ratios(report));
    text.push_str(&usage(report));
    text.push_str(&stages(report));
    text
}

fn conditions(report: &Report) -> String {
    let mut text = format!("- Machine: {}\n", report.environment.machine);
    let cpu = report.environment.cpu;
    let _ = writeln!(
        text,
        "- Load before {:.2}, after {:.2}; CPU: own {:.0} %, others {:.1} %, steal {:.1} %{}",
        report.environment.load_before[0],
        report.environment.load_after[0],
        cpu.own * 100.0,
        cpu.others * 100.0,
        cpu.steal * 100.0,
        report
            .environment
            .governor
            .as_ref()
            .map_or_else(String::new, |name| format!("; governor {name}")),
    );
    for noise in &report.environment.noise {
        let _ = writeln!(text, "- **NOISY:** {noise}");
    }
    let order = match report.order {
        Order::Interleaved => "interleaved",
        Order::Random => "random within each round",
    };
    let outputs = match report.outputs {
        Outputs::Fresh => "new files",
        Outputs::Overwritten => "overwritten files",
    };
    let _ = writeln!(
        text,
        "- {} runs a side after {} warm-ups, {order} (seed {:#x}); outputs: {outputs}",
        report.runs, report.warm_ups, report.bootstrap.seed
    );
    for input in &report.inputs {
        let sum: String = input.sha256.chars().take(16).collect();
        let _ = writeln!(
            text,
            "- Input: `{}`, {} bytes, SHA-256 {sum}…",
            input.path.display(),
            input.bytes
        );
    }
    let _ = writeln!(text, "- {}", report.equivalence.sentence());
    for side in &report.sides {
        if !side.differing_runs.is_empty() {
            let runs: Vec<String> = side
                .differing_runs
                .iter()
                .take(10)
                .map(ToString::to_string)
                .collect();
            let more = if side.differing_runs.len() > runs.len() {
                ", …"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "- **{} does not always make the same bytes:** {} of {} runs differ from its first (run {}{more})",
                side.name,
                side.differing_runs.len(),
                side.rows.len(),
                runs.join(", ")
            );
        }
        if side.end != End::Completed {
            let _ = writeln!(
                text,
                "- **{}: {} of {} runs.** It {}",
                side.name,
                side.rows.len(),
                report.runs,
                side.end
            );
        }
    }
    text.push('\n');
    text
}

fn times(report: &Report) -> String {
    let mut text = String::from(
        "Wall time of what the scope includes; percentiles by nearest rank.\n\n\
         | side | scope | N | min | p50 | p95 | p99 | max | mean |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for side in &report.sides {
        let name = cell(&side.name);
        let _ = match &side.elapsed_ns {
            Some(s) => {
                let mean = time_f(s.mean);
                let [min, p50, p95, p99, max] = [s.min, s.p50, s.p95, s.p99, s.max].map(time);
                writeln!(
                    text,
                    "| {name} | {} | {} | {min} | {p50} | {p95} | {p99} | {max} | {mean} |",
                    side.scope, s.n
                )
            }
            None => writeln!(
                text,
                "| {name} | {} | 0 | – | – | – | – | – | – |",
                side.scope
            ),
        };
    }
    text.push('\n');
    text
}

fn ratios(report: &Report) -> String {
    let mut text = String::new();
    for Ratio {
        side,
        baseline,
        interval: i,
    } in &report.ratios
    {
        let verdict = if i.contains_one() {
            "no difference is shown".to_owned()
        } else if i.median < 1.0 {
            format!("{:.2}× as fast", 1.0 / i.median)
        } else {
            format!("{:.2}× as slow", i.median)
        };
        let _ = writeln!(
            text,
            "- {side} ÷ {baseline}: **{:.4}** (95 % interval {:.4} to {:.4}, {} pairs, bootstrap of the median ratio); \
             ratio of p50s {:.4}: {verdict}",
            i.median, i.low, i.high, i.pairs, i.p50_ratio
        );
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn usage(report: &Report) -> String {
    let mut text = String::from(
        "Medians a run, but peak RSS: the highest of all.\n\n\
         | side | CPU user | CPU system | peak RSS | read | written | dirtied | copied by kernel | allocated | switches | faults |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for side in &report.sides {
        let median = |of: fn(&Row) -> Option<u64>, show: fn(u64) -> String| {
            let values = side.rows.iter().filter_map(of).collect();
            Distribution::new(values).map_or_else(|_| "–".to_owned(), |values| show(values.p50()))
        };
        let fields = [
            median(|row| Some(row.usage.user_ns), time),
            median(|row| Some(row.usage.system_ns), time),
            peak(side),
            median(|row| Some(row.usage.io.rchar), size),
            median(|row| Some(row.usage.io.wchar), size),
            median(|row| Some(row.usage.io.write_bytes), size),
            median(|row| row.usage.kernel_copied, size),
            median(|row| row.usage.allocated, size),
            median(
                |row| Some(row.usage.voluntary_switches + row.usage.involuntary_switches),
                |n| n.to_string(),
            ),
            median(
                |row| Some(row.usage.minor_faults + row.usage.major_faults),
                |n| n.to_string(),
            ),
        ];
        let _ = writeln!(text, "| {} | {} |", cell(&side.name), fields.join(" | "));
    }
    text
}

fn peak(side: &SideReport) -> String {
    let highest = side
        .rows
        .iter()
        .filter_map(|row| row.usage.peak_rss)
        .max_by_key(|peak| peak.bytes);
    match highest {
        None => "–".to_owned(),
        Some(peak) if peak.bound == Bound::Exact => size(peak.bytes),
        Some(peak) => format!("≤ {}", size(peak.bytes)),
    }
}

fn stages(report: &Report) -> String {
    let mut text = String::new();
    for side in &report.sides {
        let runs: Vec<StageTimes> = side.rows.iter().map(|row| row.stages.clone()).collect();
        let means = mean_per_stage(&runs);
        if means.is_empty() {
            continue;
        }
        let rest = runs.iter().map(|run| run.rest_ns).sum::<u64>() / runs.len().max(1) as u64;
        let mut parts: Vec<String> = means
            .iter()
            .map(|stage| format!("{} {}", stage.name, time(stage.ns)))
            .collect();
        parts.push(format!("unattributed {}", time(rest)));
        let _ = writeln!(text, "- {}: mean a stage: {}", side.name, parts.join(", "));
    }
    if text.is_empty() {
        text
    } else {
        format!("\n{text}")
    }
}
