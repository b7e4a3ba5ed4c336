//! What is kept of a comparison: a CSV row a run, JSON with everything, Markdown to read.
//!
//! The title stands first in each of them: as the first comment line of the CSV, the field `title` of the JSON and the
//! heading of the Markdown. When scopes are unequal it begins with `UNEQUAL SCOPE`.

use std::io::{self, Write};

use crate::report::{Report, Row};

mod markdown;
pub(crate) mod units;

/// The columns of [`Csv`]. Times are nanoseconds, sizes bytes; an empty field is "not known", never 0.
///
/// | column | meaning |
/// |---|---|
/// | `side`, `run`, `position` | name; number from 1 (rows of the same run are a pair); turn within the round from 0 |
/// | `elapsed_ns` | wall time of what the scope includes |
/// | `user_ns`, `system_ns` | CPU time, to 1 µs |
/// | `peak_rss`, `peak_rss_bound` | highest resident set, and `exact` or `at_most` ([`crate::usage::PeakRss`]) |
/// | `rchar` … `cancelled_write_bytes` | as in `/proc/PID/io` ([`crate::usage::Io`]) |
/// | `kernel_copied` | copied by the kernel alone, as the side says |
/// | `voluntary_switches`, `involuntary_switches` | context switches |
/// | `minor_faults`, `major_faults` | page faults |
/// | `allocated` | by the caller's counter |
/// | `output_files`, `output_bytes`, `output_sha256` | of the output folder |
/// | `digest` | by the equivalence check |
/// | `rest_ns`, `stages` | time in no stage; `name=ns` of each stage, separated by `;` |
pub const COLUMNS: [&str; 27] = [
    "side",
    "run",
    "position",
    "elapsed_ns",
    "user_ns",
    "system_ns",
    "peak_rss",
    "peak_rss_bound",
    "rchar",
    "wchar",
    "syscr",
    "syscw",
    "read_bytes",
    "write_bytes",
    "cancelled_write_bytes",
    "kernel_copied",
    "voluntary_switches",
    "involuntary_switches",
    "minor_faults",
    "major_faults",
    "allocated",
    "output_files",
    "output_bytes",
    "output_sha256",
    "digest",
    "rest_ns",
    "stages",
];

/// Writes rows as they come, so that those of a run that is cut short are kept. RFC 4180, after one
/// line that begins with `#` and holds the title.
///
/// ```
/// let mut csv = yeoul_measure::record::Csv::begin(Vec::new(), "cp and cat")?;
/// // comparison.run(&mut sides, &mut |row| csv.row(row)…)
/// let text = String::from_utf8(csv.finish()?)?;
/// assert!(text.starts_with("# cp and cat\r\nside,run,position,elapsed_ns,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Csv<W: Write> {
    to: W,
}

impl<W: Write> Csv<W> {
    /// Writes the title and the column names. The title is [`Report::title`], or before there is a report
    /// [`crate::Comparison::full_title`].
    ///
    /// # Errors
    /// Of the writer.
    pub fn begin(mut to: W, title: &str) -> io::Result<Self> {
        write!(to, "# {}\r\n", one_line(title))?;
        write!(to, "{}\r\n", COLUMNS.join(","))?;
        Ok(Self { to })
    }

    /// Writes one row and flushes it.
    ///
    /// # Errors
    /// Of the writer.
    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        let fields = fields(row);
        let quoted: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        write!(self.to, "{}\r\n", quoted.join(","))?;
        self.to.flush()
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// Of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

fn fields(row: &Row) -> Vec<String> {
    let known = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let usage = &row.usage;
    let io = &usage.io;
    let bound = usage
        .peak_rss
        .map_or_else(String::new, |peak| peak.bound.to_string());
    let stages: Vec<String> = row
        .stages
        .stages
        .iter()
        .map(|stage| format!("{}={}", stage.name, stage.ns))
        .collect();
    vec![
        row.side.clone(),
        row.run.to_string(),
        row.position.to_string(),
        row.elapsed_ns.to_string(),
        usage.user_ns.to_string(),
        usage.system_ns.to_string(),
        known(usage.peak_rss.map(|peak| peak.bytes)),
        bound,
        io.rchar.to_string(),
        io.wchar.to_string(),
        io.syscr.to_string(),
        io.syscw.to_string(),
        io.read_bytes.to_string(),
        io.write_bytes.to_string(),
        io.cancelled_write_bytes.to_string(),
        known(usage.kernel_copied),
        usage.voluntary_switches.to_string(),
        usage.involuntary_switches.to_string(),
        usage.minor_faults.to_string(),
        usage.major_faults.to_string(),
        known(usage.allocated),
        row.output_files.to_string(),
        row.output_bytes.to_string(),
        row.output_sha256.clone().unwrap_or_default(),
        row.digest.clone().unwrap_or_default(),
        row.stages.rest_ns.to_string(),
        stages.join(";"),
    ]
}

pub(crate) fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n', '#']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_owned()
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Report {
    /// All rows as CSV, with the title.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut bytes = Vec::new();
        if let Ok(mut csv) = Csv::begin(&mut bytes, &self.title) {
            let mut rows: Vec<&Row> = self.sides.iter().flat_map(|side| &side.rows).collect();
            rows.sort_by_key(|row| (row.run, row.position));
            // Writing to memory does not fail.
            rows.into_iter().for_each(|row| drop(csv.row(row)));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Everything, as JSON: what [`Report::from_json`] reads.
    ///
    /// # Errors
    /// When a number cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// A summary to read.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        markdown::of(self)
    }
}
