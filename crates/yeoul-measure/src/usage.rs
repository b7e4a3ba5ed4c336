//! What a run used: of this process ([`Window`]) or of a child and everything it waited for ([`reap`]).
//!
//! | field | own process | child tree |
//! |---|---|---|
//! | CPU | `getrusage`, all threads, exact to 1 µs; split into user and system by the kernel | the same, child and all descendants that were waited for |
//! | peak RSS | `VmHWM`, reset at the window's start (`/proc/self/clear_refs`); the whole process's, so other threads count | `ru_maxrss`: the largest *single* process of the tree, see [`PeakRss`] |
//! | I/O | `/proc/self/io`, all threads and reaped children; less what reading it costs | `/proc/PID/io` of the dead, unreaped child: exact, with all descendants that were waited for |
//! | switches, faults | `getrusage`, exact | `getrusage`, exact |
//! | allocated bytes | [`AllocationCounter`], if the caller has one | not known |
//!
//! **Not counted:** descendants that nobody waited for (a parent that ignores `SIGCHLD`, or a process that outlives the
//! child; the latter is found and is an error, see [`crate::CommandSide`]), and work that the kernel does later
//! (write-back).
//!
//! **What the I/O counters see** (tried on Linux 6.18, ext4; `tests/usage.rs` tries it again):
//!
//! | call | counted in |
//! |---|---|
//! | `read`, `pread`, `readv` | `rchar`, `syscr` |
//! | `write`, `pwrite`, `writev` | `wchar`, `syscw`; pages of files in `write_bytes` as they become dirty |
//! | `copy_file_range`, `sendfile` | both `rchar` **and** `wchar`, `syscr` and `syscw`, as if read and written; so these counters cannot tell a copy in the kernel from one through memory |
//! | `splice`, a write through a mapping | not in `rchar` or `wchar`; file pages in `write_bytes` |
//! | a read through a mapping | nothing, but `read_bytes` if the disk had to be asked |
//! | `link`, `rename`, `FICLONE` | nothing |
//!
//! `write_bytes` is counted when a page becomes dirty, not when it is written back: a page that already is dirty does
//! not count again, and `tmpfs`, whose pages are never written back, does not count at all ([`counts_dirtied`] tries).
//!
//! ```
//! use yeoul_measure::usage::Window;
//!
//! let window = Window::open()?;
//! let text = std::fs::read("/proc/self/status")?;
//! let measured = window.close()?;
//! assert_eq!(measured.usage.io.rchar, text.len() as u64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

mod child;
mod procfs;
mod window;

pub use child::{Reaped, reap};
pub use procfs::io_of;
pub(crate) use procfs::{status_bytes, value};
pub(crate) use window::cpu_of_self_and_children;
pub use window::{Measured, Window, allocated_by};

/// A file of `/proc` could not be read or does not look as proc(5) says.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// It could not be read.
    #[error("cannot read {path}: {source}; usage is measured on Linux, with /proc mounted")]
    Read {
        /// Which file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// It could be read, but a field is missing or is no number.
    #[error("{path}: no number for \"{field}\"; this kernel's format is not known here")]
    Field {
        /// Which file.
        path: String,
        /// Which field.
        field: &'static str,
    },
    /// A system call failed.
    #[error("{call}: {source}")]
    Call {
        /// Which one.
        call: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// The counters of `/proc/PID/io`, or the difference of two readings. Bytes, and numbers of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Io {
    /// Bytes that reading calls returned, from the page cache too, and from pipes and sockets.
    pub rchar: u64,
    /// Bytes that writing calls took.
    pub wchar: u64,
    /// Reading calls.
    pub syscr: u64,
    /// Writing calls.
    pub syscw: u64,
    /// Bytes that a disk was asked for.
    pub read_bytes: u64,
    /// Bytes of pages that became dirty, whole pages.
    pub write_bytes: u64,
    /// Bytes of dirty pages that were dropped before they were written back (a deleted or truncated file).
    pub cancelled_write_bytes: u64,
}

impl Io {
    /// What was added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            rchar: self.rchar.saturating_sub(earlier.rchar),
            wchar: self.wchar.saturating_sub(earlier.wchar),
            syscr: self.syscr.saturating_sub(earlier.syscr),
            syscw: self.syscw.saturating_sub(earlier.syscw),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
            cancelled_write_bytes: self
                .cancelled_write_bytes
                .saturating_sub(earlier.cancelled_write_bytes),
        }
    }

    /// Bytes written by any way that is counted: calls, or pages dirtied through a mapping or by `splice`.
    #[must_use]
    pub fn written(self) -> u64 {
        self.wchar.max(self.write_bytes)
    }
}

/// The highest resident set that was seen, and how far that can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakRss {
    /// Bytes. For a tree of processes: of the largest single one, not the sum.
    pub bytes: u64,
    /// Whether the peak is the run's own.
    pub bound: Bound,
}

/// How a figure relates to the true one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It is the true one (the kernel's own counters may lag by some pages a CPU).
    Exact,
    /// The true one is this or less. For a child: `ru_maxrss` also covers the moment between fork and exec, when the
    /// child was a copy of this process, and this process is the larger of the two. For this process: the kernel
    /// does not let the high-water mark be reset, so it is that of the whole life.
    AtMost,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::AtMost => "at_most",
        })
    }
}

/// What one run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time in user mode, nanoseconds, to 1 µs.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds, to 1 µs.
    pub system_ns: u64,
    /// Peak resident set; `None` where not measured.
    pub peak_rss: Option<PeakRss>,
    /// Bytes and calls.
    pub io: Io,
    /// Bytes copied between files by the kernel alone, as the side itself says ([`crate::Meter::kernel_copied`]): no
    /// counter of the kernel tells.
    pub kernel_copied: Option<u64>,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because its time was up.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Bytes allocated, freed or not: only with an [`AllocationCounter`].
    pub allocated: Option<u64>,
    /// Whether a child process was waited for: its page faults arrived.
    pub children_reaped: bool,
}

impl Usage {
    /// User and system time, nanoseconds.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// Tells how many bytes this process has allocated so far.
///
/// Counting every allocation needs a `#[global_allocator]`, which is `unsafe` to write and is the program's choice, not
/// a library's. So this crate has none: a program that installs one (`stats_alloc`, `cap`, jemalloc's
/// `thread.allocatedp`, …) gives its total here, and [`allocated_by`] and [`crate::ClosureSide::allocations`] take the
/// difference. Without one, `allocated` stays unknown and is shown as such, never as 0.
pub trait AllocationCounter: Send + Sync {
    /// Bytes allocated since the program began; never decreases.
    fn allocated(&self) -> u64;
}

/// Whether the filesystem of `folder` counts dirtied pages in `write_bytes`: found by writing 256 KiB there.
///
/// # Errors
/// When the folder cannot be written or `/proc/self/io` cannot be read.
pub fn counts_dirtied(folder: &Path) -> Result<bool, UsageError> {
    const BYTES: usize = 256 << 10;
    let path = folder.join(format!(".yeoul-measure-{}", std::process::id()));
    let before = io_of("self")?.0;
    let written = std::fs::write(&path, vec![b'.'; BYTES]);
    let after = io_of("self")?.0;
    let _ = std::fs::remove_file(&path);
    written.map_err(|source| UsageError::Read {
        path: path.display().to_string(),
        source,
    })?;
    Ok(after.since(before).write_bytes >= BYTES as u64)
}
