//! What a run left behind, held against what its side declared.

use std::time::{Duration, SystemTime};

use crate::output::OutputFile;
use crate::scope::Scope;
use crate::usage::Usage;

/// What is known of one run, from counters and files that the side does not write itself.
#[derive(Debug, Clone)]
pub struct Evidence<'a> {
    /// Counters of the timed part.
    pub usage: Usage,
    /// The wall clock when the timed part began.
    pub began: SystemTime,
    /// What lies in the output folder afterwards.
    pub outputs: &'a [OutputFile],
    /// Whether every output must be a new file: the folder was empty when the run began.
    pub fresh: bool,
    /// How many bytes of the inputs a run that reads them must have read.
    pub read_floor: u64,
    /// Whether the filesystem counts dirtied pages ([`crate::usage::counts_dirtied`]).
    pub counts_dirtied: bool,
    /// How much the side's last warm-up read, if it had one.
    pub warm_up_read: Option<u64>,
}

/// Why a run is not what its side declared it to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Declares `start`, started nothing.
    #[error("declares start, but no process was started and waited for within its time")]
    NothingStarted,
    /// Started a process without declaring it.
    #[error("starts a process within its time and does not declare start; add it to the scope")]
    UndeclaredStart,
    /// Declares `read`, read too little.
    #[error(
        "declares read, but read {read} bytes within its time where at least {floor} are needed{}; a read through a \
         mapping is not counted",
        warmed(*.read, *.floor, *.warm_up)
    )]
    NotRead {
        /// `rchar` of the timed part.
        read: u64,
        /// What was expected at least.
        floor: u64,
        /// `rchar` of the last warm-up.
        warm_up: Option<u64>,
    },
    /// Read the inputs without declaring it.
    #[error(
        "reads {read} bytes within its time, which covers the inputs, and does not declare read; add it to the scope"
    )]
    UndeclaredRead {
        /// `rchar` of the timed part.
        read: u64,
    },
    /// Declares `write`, left nothing.
    #[error("declares write, but left no output bytes in its output folder")]
    NoOutput,
    /// The outputs are there, but this run did not write them.
    #[error(
        "declares write and left {output} bytes of output, but wrote only {written} bytes within its time: the rest was \
         written before the clock started, linked or renamed into place"
    )]
    WroteTooLittle {
        /// Bytes of output.
        output: u64,
        /// Bytes written in the timed part.
        written: u64,
    },
    /// Bytes were passed to the kernel, but not that many pages became dirty.
    #[error(
        "declares write and left {output} bytes of output, but only {dirtied} bytes of file pages became dirty within \
         its time: the output shares blocks with another file (a reflink), or the bytes went elsewhere"
    )]
    SharedBlocks {
        /// Bytes of output.
        output: u64,
        /// Bytes of pages dirtied in the timed part.
        dirtied: u64,
    },
    /// The output is another name of another file.
    #[error(
        "declares write, but its output {path} is a hard link ({links} names): no bytes of it were written"
    )]
    HardLink {
        /// Relative to the output folder.
        path: String,
        /// How many names the file has.
        links: u64,
    },
    /// The output only points to another file.
    #[error(
        "declares write, but its output {path} is a symbolic link: no bytes of it were written"
    )]
    SymbolicLink {
        /// Relative to the output folder.
        path: String,
    },
    /// The output is from before the run.
    #[error("declares write, but its output {path} is {} ms older than the run: it was written before the clock started", .by.as_millis())]
    OlderThanRun {
        /// Relative to the output folder.
        path: String,
        /// How much older.
        by: Duration,
    },
    /// Wrote without declaring it.
    #[error(
        "left {output} bytes of output and dirtied {dirtied} bytes of file pages within its time, and does not declare \
         write; add it to the scope"
    )]
    UndeclaredWrite {
        /// Bytes of output.
        output: u64,
        /// Bytes of pages dirtied in the timed part.
        dirtied: u64,
    },
    /// Declares `fsync`, never waited.
    #[error(
        "declares fsync, but never waited for anything within its time (0 voluntary context switches)"
    )]
    NeverWaited,
}

fn warmed(read: u64, floor: u64, warm_up: Option<u64>) -> String {
    match warm_up {
        Some(bytes) if bytes >= floor && bytes > read => {
            format!(
                " (its warm-up read {bytes}: it keeps the inputs in memory from one run to the next)"
            )
        }
        _ => String::new(),
    }
}

/// Reading and dirtying less than this is what starting a program costs, and shows nothing about the inputs.
const START_ALLOWANCE: u64 = 1 << 20;

/// File times come from the kernel's coarse clock: up to one tick (10 ms at 100 Hz) behind.
const CLOCK_SLACK: Duration = Duration::from_millis(20);

/// Holds `evidence` against `scope`.
///
/// What passes is not proven: counters tell how many bytes were moved, not which. Together with an
/// [`crate::Equivalence`] check a lie must read as many bytes, dirty as many pages in new files, and still give the
/// right output: there is little left to gain from it.
///
/// # Errors
/// The first contradiction.
pub fn check(scope: Scope, evidence: &Evidence<'_>) -> Result<(), Refusal> {
    check_start(scope, evidence)?;
    check_read(scope, evidence)?;
    check_write(scope, evidence)?;
    if scope.fsync && evidence.counts_dirtied && evidence.usage.voluntary_switches == 0 {
        return Err(Refusal::NeverWaited);
    }
    Ok(())
}

fn check_start(scope: Scope, evidence: &Evidence<'_>) -> Result<(), Refusal> {
    match (scope.start, evidence.usage.children_reaped) {
        (true, false) => Err(Refusal::NothingStarted),
        (false, true) => Err(Refusal::UndeclaredStart),
        _ => Ok(()),
    }
}

fn check_read(scope: Scope, evidence: &Evidence<'_>) -> Result<(), Refusal> {
    let (read, floor) = (evidence.usage.io.rchar, evidence.read_floor);
    if scope.read && read < floor.max(1) {
        return Err(Refusal::NotRead {
            read,
            floor: floor.max(1),
            warm_up: evidence.warm_up_read,
        });
    }
    let covered = if scope.start {
        floor.max(START_ALLOWANCE) + START_ALLOWANCE
    } else {
        floor
    };
    if !scope.read && floor > 0 && read >= covered {
        return Err(Refusal::UndeclaredRead { read });
    }
    Ok(())
}

fn check_write(scope: Scope, evidence: &Evidence<'_>) -> Result<(), Refusal> {
    let output: u64 = evidence.outputs.iter().map(|file| file.bytes).sum();
    let (written, dirtied) = (evidence.usage.io.written(), evidence.usage.io.write_bytes);
    if !scope.write {
        return if output > 0 || dirtied >= START_ALLOWANCE {
            Err(Refusal::UndeclaredWrite { output, dirtied })
        } else {
            Ok(())
        };
    }
    for file in evidence.outputs {
        check_file(file, evidence)?;
    }
    if output == 0 {
        return Err(Refusal::NoOutput);
    }
    if written < output {
        return Err(Refusal::WroteTooLittle { output, written });
    }
    // Overwriting pages that are still dirty does not count again, so only new files must show it.
    if evidence.fresh && evidence.counts_dirtied && dirtied < output {
        return Err(Refusal::SharedBlocks { output, dirtied });
    }
    Ok(())
}

fn check_file(file: &OutputFile, evidence: &Evidence<'_>) -> Result<(), Refusal> {
    let path = || file.path.clone();
    if file.symbolic_link {
        return Err(Refusal::SymbolicLink { path: path() });
    }
    if file.links > 1 {
        return Err(Refusal::HardLink {
            path: path(),
            links: file.links,
        });
    }
    let time = if evidence.fresh {
        file.created
    } else {
        file.modified
    };
    match time.and_then(|time| evidence.began.duration_since(time).ok()) {
        Some(by) if by > CLOCK_SLACK => Err(Refusal::OlderThanRun { path: path(), by }),
        _ => Ok(()),
    }
}
