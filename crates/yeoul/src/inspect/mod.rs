//! `yeoul inspect`: what is in a recording, an MP4, an init or a segment.
//!
//! A file is walked once, box by box. Header boxes are read whole within [`Limits`]; of every other box (`mdat` above
//! all) no more than its header is read. A report is written while the walk goes on, so memory is that of one header
//! box, and a broken file shows everything up to its first fault.
//!
//! ```
//! use yeoul::inspect::{Options, Verdict, inspect};
//! use yeoul_spans::Memory;
//!
//! let file = Memory::new("init.mp4", &b"\0\0\0\x14ftypisom\0\0\0\0isom\0\0\0\x10moof"[..]);
//! let mut report = Vec::new();
//! let verdict = inspect(&file, &Options::default(), &mut report)?;
//! assert_eq!(verdict, Verdict::Faulty);
//! let report = String::from_utf8(report)?;
//! assert!(report.contains("fault: box 'moof' at offset 20: needs 16 bytes, 8 are there"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod describe;
mod fault;
mod fields;
mod json;
mod report;
mod samples;
mod scan;
mod show;
mod text;
mod tracks;
mod tree;

use std::io::{self, Write};

use yeoul_isobmff::Limits;
use yeoul_spans::{Source, SourceError};

pub use command::{Args, command};

use fault::Stop;
use json::Json;
use report::Report;
use scan::Scan;
use text::Text;

/// What to show.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Leave out the box tree and the summary.
    pub tracks_only: bool,
    /// List every sample.
    pub samples: bool,
    /// How many levels of boxes to show; `None`: all.
    pub depth: Option<u32>,
    /// One JSON document instead of text.
    pub json: bool,
    /// What is read at most.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tracks_only: false,
            samples: false,
            depth: None,
            json: false,
            limits: Limits::DEFAULT,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every box and every sample is whole.
    Whole,
    /// The report ends with a fault.
    Faulty,
}

/// Why there is no whole report. What is wrong *in* a file is in the report, see [`Verdict`].
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The file is being rewritten: a header that was whole no longer is.
    #[error("{name}: changed while it was read ({fault}); inspect it again")]
    Changed {
        /// The source's name.
        name: String,
        /// What is wrong now.
        fault: String,
    },
    /// The report cannot be written.
    #[error("the report cannot be written: {0}")]
    Write(#[source] io::Error),
}

/// Writes a report of `source` to `out`, which is best buffered.
///
/// # Errors
/// `source` cannot be read or `out` cannot be written; a malformed file is no error but a [`Verdict`].
pub fn inspect(
    source: &dyn Source,
    options: &Options,
    out: &mut dyn Write,
) -> Result<Verdict, InspectError> {
    let done = if options.json {
        run(source, options, &mut Json::new(out, !options.tracks_only))
    } else {
        run(source, options, &mut Text::new(out))
    };
    done.map_err(|stop| match stop {
        Stop::Source(error) => InspectError::Source(error),
        Stop::Write(error) => InspectError::Write(error),
        // The walk keeps its fault for the end of the report; one that only a second look at the headers sees is new.
        Stop::Fault(fault) => InspectError::Changed {
            name: source.name().to_owned(),
            fault: fault.to_string(),
        },
    })
}

fn run(source: &dyn Source, options: &Options, report: &mut dyn Report) -> Result<Verdict, Stop> {
    report.begin(source.name(), source.len())?;
    let scan = Scan::run(source, options, report)?;
    report.tracks(&scan.rows())?;
    if options.samples {
        samples::list(source, &scan, &options.limits, report)?;
    }
    if !options.tracks_only {
        report.summary(&scan.summary())?;
    }
    report.end(scan.fault.as_ref())?;
    Ok(if scan.fault.is_some() {
        Verdict::Faulty
    } else {
        Verdict::Whole
    })
}
