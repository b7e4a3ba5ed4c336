//! What follows from the reports of all inputs together.

use std::fmt::Write as _;

use serde_json::{Value, json};
use yeoul_measure::ratio::{Bootstrap, Interval, paired};
use yeoul_measure::{Distribution, Report, Row, Scope, SideReport};

use super::format::{cell, ratio, time};
use super::sides::Way;

/// The reports of one way of finding outputs: one an input.
pub(super) struct Section {
    /// `fresh` or `overwritten`.
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    pub(super) reports: Vec<Report>,
}

/// A question, and the pairs (above, below) whose ratios answer it.
struct Question {
    title: &'static str,
    pairs: &'static [(Way, Way)],
}

const QUESTIONS: [Question; 5] = [
    Question {
        title: "What the program gives: a process a recording on both sides",
        pairs: &[(Way::Ffmpeg, Way::Process)],
    },
    Question {
        title: "What residency gives: the start of a process is left out of one side",
        pairs: &[(Way::Process, Way::Resident), (Way::Ffmpeg, Way::Resident)],
    },
    Question {
        title: "What not copying through memory gives",
        pairs: &[(Way::Memory, Way::Resident)],
    },
    Question {
        title: "What is left: over copying the same files without any work",
        pairs: &[
            (Way::Resident, Way::KernelCopy),
            (Way::Resident, Way::ReadWrite),
            (Way::Resident, Way::WholeCopy),
        ],
    },
    Question {
        title: "What not writing gives: the output described, no payload read or written",
        pairs: &[(Way::Resident, Way::Virtual), (Way::Ffmpeg, Way::Virtual)],
    },
];

impl Section {
    fn side(&self, name: &str) -> Option<(Scope, Vec<&Row>)> {
        let sides: Vec<&SideReport> = self
            .reports
            .iter()
            .filter_map(|report| report.side(name))
            .collect();
        let scope = sides.first()?.scope;
        Some((scope, sides.iter().flat_map(|side| &side.rows).collect()))
    }

    /// Over the runs that both sides did on the same input in the same round.
    fn interval(&self, above: &str, below: &str, bootstrap: Bootstrap) -> Option<Interval> {
        let (mut over, mut under) = (Vec::new(), Vec::new());
        for report in &self.reports {
            let (above, below) = (report.side(above)?, report.side(below)?);
            for row in &above.rows {
                if let Some(other) = below.rows.iter().find(|other| other.run == row.run) {
                    over.push(row.elapsed_ns);
                    under.push(other.elapsed_ns);
                }
            }
        }
        paired(&over, &under, bootstrap)
    }

    pub(super) fn markdown(&self, bootstrap: Bootstrap) -> String {
        let mut text = format!("## {}\n\n", self.heading);
        for report in &self.reports {
            let _ = writeln!(text, "- {}", report.equivalence.sentence());
        }
        text.push_str("\n| side | its time includes | calls | p50 | p95 | p99 | max | CPU, mean | files | output bytes |\n");
        text.push_str("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        for way in Way::ALL {
            text.push_str(&self.line(way.name()).unwrap_or_default());
        }
        text.push('\n');
        for question in &QUESTIONS {
            text.push_str(&self.question(question, bootstrap));
        }
        text
    }

    fn line(&self, name: &str) -> Option<String> {
        let (scope, rows) = self.side(name)?;
        let times = Distribution::new(rows.iter().map(|row| row.elapsed_ns).collect()).ok()?;
        let cpu: u64 = rows
            .iter()
            .map(|row| row.usage.user_ns + row.usage.system_ns)
            .sum();
        let last = rows.last()?;
        Some(format!(
            "| {name} | {scope} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            times.n(),
            time(times.p50()),
            time(times.p95()),
            time(times.p99()),
            time(times.max()),
            time(cpu / u64::try_from(rows.len()).unwrap_or(1)),
            last.output_files,
            rows.iter().map(|row| row.output_bytes).max().unwrap_or(0),
        ))
    }

    fn question(&self, question: &Question, bootstrap: Bootstrap) -> String {
        let mut lines = String::new();
        let mut unequal = Vec::new();
        for (above, below) in question.pairs {
            let (above, below) = (above.name(), below.name());
            let (Some(one), Some(two)) = (self.side(above), self.side(below)) else {
                continue;
            };
            let Some(found) = self.interval(above, below, bootstrap) else {
                continue;
            };
            let difference = one.0.difference(above, two.0, below);
            let scopes = difference.as_deref().unwrap_or("equal");
            let _ = writeln!(
                lines,
                "| {above} / {below} | {} | {} to {} | {} | {} | {} |",
                ratio(found.median),
                ratio(found.low),
                ratio(found.high),
                ratio(found.p50_ratio),
                found.pairs,
                cell(scopes)
            );
            unequal.extend(difference.filter(|difference| !unequal.contains(difference)));
        }
        if lines.is_empty() {
            return String::new();
        }
        let prefix = match unequal.is_empty() {
            true => String::new(),
            false => format!("UNEQUAL SCOPE ({}): ", unequal.join("; ")),
        };
        format!(
            "### {prefix}{}\n\n| time over time | median of ratios | 95 % interval | ratio of p50 | pairs | scopes |\n\
             |---|--:|--:|--:|--:|---|\n{lines}\n",
            question.title
        )
    }

    pub(super) fn json(&self, bootstrap: Bootstrap) -> Value {
        let pairs = QUESTIONS.iter().flat_map(|question| {
            question.pairs.iter().filter_map(move |(above, below)| {
                let (above, below) = (above.name(), below.name());
                let found = self.interval(above, below, bootstrap)?;
                let (one, two) = (self.side(above)?, self.side(below)?);
                Some(json!({
                    "question": question.title,
                    "side": above,
                    "baseline": below,
                    "unequal_scope": one.0.difference(above, two.0, below),
                    "interval": found,
                }))
            })
        });
        json!({
            "outputs": self.name,
            "ratios": pairs.collect::<Vec<_>>(),
            "reports": self.reports,
        })
    }
}
