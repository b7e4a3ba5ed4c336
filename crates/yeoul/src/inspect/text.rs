//! The report for people.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::fault::Fault;
use super::fields::Value;
use super::report::{Node, Report, Row, Sample, Summary};
use super::show;

pub(super) struct Text<'w> {
    out: &'w mut dyn Write,
    tree: bool,
    line: String,
}

impl<'w> Text<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            tree: false,
            line: String::new(),
        }
    }
}

impl Report for Text<'_> {
    fn begin(&mut self, name: &str, size: u64) -> io::Result<()> {
        writeln!(self.out, "{}: {size} bytes", show::plain(name))
    }

    fn open(&mut self, node: &Node, depth: u32) -> io::Result<()> {
        if !self.tree {
            self.tree = true;
            writeln!(self.out, "\n{:>12} {:>12}  box", "offset", "size")?;
        }
        let indent = usize::try_from(depth.saturating_sub(1)).unwrap_or(0) * 2;
        self.line.clear();
        for (name, value) in &node.fields {
            // Writing to a string cannot fail.
            let _ = write!(self.line, " {name}=");
            push_value(&mut self.line, value);
        }
        writeln!(
            self.out,
            "{:>12} {:>12}  {:indent$}{}{}",
            node.offset, node.size, "", node.kind, self.line
        )
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn tracks(&mut self, rows: &[Row]) -> io::Result<()> {
        if rows.is_empty() {
            return writeln!(self.out, "\nno tracks");
        }
        let head = [
            "track",
            "kind",
            "codec",
            "timescale",
            "language",
            "format",
            "samples",
            "start",
            "duration",
            "",
            "bytes",
            "sync",
        ];
        let mut lines = vec![head.map(str::to_owned)];
        lines.extend(rows.iter().map(cells));
        let mut widths = [0; 12];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        writeln!(self.out)?;
        for line in &lines {
            self.line.clear();
            for (index, (cell, width)) in line.iter().zip(widths).enumerate() {
                let words = matches!(index, 1 | 2 | 4 | 5);
                let _ = if words {
                    write!(self.line, "{cell:<width$}  ")
                } else {
                    write!(self.line, "{cell:>width$}  ")
                };
            }
            writeln!(self.out, "{}", self.line.trim_end())?;
        }
        Ok(())
    }

    fn begin_samples(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn begin_track(&mut self, row: &Row) -> io::Result<()> {
        writeln!(
            self.out,
            "\nsamples of track {} ({})",
            row.id,
            show::plain(&row.kind)
        )?;
        writeln!(
            self.out,
            "{:>14} {:>14} {:>9} {:>9} {:>4} {:>12}",
            "dts", "pts", "duration", "size", "sync", "offset"
        )
    }

    fn sample(&mut self, s: &Sample) -> io::Result<()> {
        writeln!(
            self.out,
            "{:>14} {:>14} {:>9} {:>9} {:>4} {:>12}",
            s.dts,
            s.pts,
            s.duration,
            s.size,
            if s.sync { "*" } else { "-" },
            s.offset
        )
    }

    fn end_track(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end_samples(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn summary(&mut self, summary: &Summary<'_>) -> io::Result<()> {
        write!(self.out, "\n{}", summary.kind.name())?;
        if summary.parts > 0 || summary.closed.is_some() {
            write!(self.out, ", {}", counted(summary.parts, "part"))?;
        }
        match (summary.closed, summary.movie) {
            (Some(false), _) => write!(
                self.out,
                ", not closed (mvhd has no duration: still being written, or its recorder died)"
            )?,
            (closed, Some((timescale, duration))) if duration > 0 => {
                let closed = if closed.is_some() { ", closed" } else { "" };
                write!(self.out, "{closed}, {}", show::seconds(duration, timescale))?;
            }
            _ => {}
        }
        writeln!(self.out)?;
        if let Some(mtxi) = summary.mtxi {
            writeln!(
                self.out,
                "mtxi: stream {}, number {}, DTS {}, NTP {}",
                show::uuid(&mtxi.stream_id),
                mtxi.segment_number,
                show::seconds_from_ns(mtxi.dts_ns),
                show::rfc3339(mtxi.ntp_ns)
            )?;
        }
        if let Some(torn) = summary.torn {
            let rest = if summary.parts > 0 {
                "; `yeoul repack` keeps every whole sample before that"
            } else {
                ""
            };
            writeln!(self.out, "torn: in the box at offset {torn}{rest}")?;
        }
        if summary.missing_samples > 0 {
            let missing = summary.missing_samples;
            let are = if missing == 1 { "is" } else { "are" };
            writeln!(
                self.out,
                "{} {are} not wholly in the file and not counted",
                counted(missing, "sample")
            )?;
        }
        for note in summary.notes {
            writeln!(self.out, "note: {note}")?;
        }
        Ok(())
    }

    fn end(&mut self, fault: Option<&Fault>) -> io::Result<()> {
        match fault {
            Some(fault) => writeln!(self.out, "\nfault: {fault}"),
            None => Ok(()),
        }
    }
}

/// A number of things, as people say it.
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn push_value(line: &mut String, value: &Value) {
    let _ = match value {
        Value::Number(number) => write!(line, "{number}"),
        Value::Signed(number) | Value::Nanos(number) => write!(line, "{number}"),
        Value::Hex(number) => write!(line, "0x{number:x}"),
        Value::Text(text) if text.contains(' ') => write!(line, "\"{}\"", show::plain(text)),
        Value::Text(text) => write!(line, "{}", show::plain(text)),
        Value::List(items) => write!(line, "{}", items.join(",")),
    };
}

fn cells(row: &Row) -> [String; 12] {
    let dash = || "-".to_owned();
    let format = match (row.picture, row.sound) {
        (Some((width, height)), _) => format!("{width}x{height}"),
        (None, Some((channels, rate))) => format!("{channels} ch {rate} Hz"),
        (None, None) => dash(),
    };
    let totals = &row.totals;
    let seconds = row
        .timescale
        .map_or_else(dash, |t| show::seconds(totals.duration, t));
    [
        row.id.to_string(),
        row.kind.clone(),
        row.codec.clone().unwrap_or_else(dash),
        row.timescale.map_or_else(dash, |t| t.to_string()),
        row.language.clone().unwrap_or_else(dash),
        format,
        totals.samples.to_string(),
        totals.start.map_or_else(dash, |start| start.to_string()),
        totals.duration.to_string(),
        seconds,
        totals.bytes.to_string(),
        totals.sync.to_string(),
    ]
}
