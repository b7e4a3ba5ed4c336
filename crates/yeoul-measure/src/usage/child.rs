use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError};

use nix::sys::resource::UsageWho;
use wait4::Wait4;

use super::window::Rusage;
use super::{Bound, PeakRss, Usage, UsageError, io_of};

/// A child that has ended and was waited for.
#[derive(Debug, Clone, Copy)]
pub struct Reaped {
    /// How it ended.
    pub status: ExitStatus,
    /// What it and all the descendants that were waited for used.
    pub usage: Usage,
}

/// Waits for `child` and says what it used. Its end should have been seen before (a pidfd that is readable): a child
/// that still runs is waited for, but its I/O is then read too early.
///
/// `own_peak` is this process's `VmHWM` when the child was spawned: a child's `ru_maxrss` is exact only above it.
///
/// Faults and switches are the difference of `RUSAGE_CHILDREN` around the wait. Within this function only one wait
/// happens at a time; a program that waits for other children elsewhere at that very moment adds theirs.
///
/// # Errors
/// When the child cannot be waited for, or `/proc` cannot be read.
pub fn reap(child: &mut Child, own_peak: u64) -> Result<Reaped, UsageError> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Before the wait: a zombie still has its counters, and its descendants' are added to them.
    let io = io_of(&child.id().to_string()).map(|(io, _)| io);
    let before = Rusage::of(UsageWho::RUSAGE_CHILDREN)?;
    let ended = child.wait4().map_err(|source| UsageError::Call {
        call: "wait4",
        source,
    })?;
    let used = Rusage::of(UsageWho::RUSAGE_CHILDREN)?.since(before);
    let peak = ended.rusage.maxrss;
    let bound = if peak > own_peak {
        Bound::Exact
    } else {
        Bound::AtMost
    };
    let usage = Usage {
        peak_rss: Some(PeakRss { bytes: peak, bound }),
        io: io?,
        children_reaped: true,
        ..used.usage()
    };
    Ok(Reaped {
        status: ended.status,
        usage,
    })
}
