use std::time::{Duration, Instant, SystemTime};

use nix::sys::resource::{UsageWho, getrusage};

use super::procfs::status_bytes;
use super::{AllocationCounter, Bound, Io, PeakRss, Usage, UsageError, io_of};
use crate::stage::nanoseconds;

/// A stretch of this process's life: opened right before what is measured, closed right after. What it sees is the
/// whole process: nothing else may run in it meanwhile.
#[derive(Debug)]
pub struct Window {
    own: Rusage,
    children_faults: u64,
    mark_reset: bool,
    io: Io,
    io_len: u64,
    began: SystemTime,
    start: Instant,
}

/// What a [`Window`] saw.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Wall time from the end of [`Window::open`] to the start of [`Window::close`].
    pub elapsed: Duration,
    /// When the clock was started.
    pub start: Instant,
    /// The wall clock at the start, for comparison with file times.
    pub began: SystemTime,
    /// What was used. Children that were reaped meanwhile are in `io`, and added to CPU, switches and faults.
    pub usage: Usage,
}

impl Window {
    /// Reads the counters, then starts the clock.
    ///
    /// # Errors
    /// When `/proc/self/io` or `getrusage` cannot be read.
    pub fn open() -> Result<Self, UsageError> {
        let mark_reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        let children = Rusage::of(UsageWho::RUSAGE_CHILDREN)?;
        let own = Rusage::of(UsageWho::RUSAGE_SELF)?.plus(children);
        // Last, so that no other file of /proc is read within the window.
        let (io, io_len) = io_of("self")?;
        let began = SystemTime::now();
        Ok(Self {
            own,
            children_faults: children.faults(),
            mark_reset,
            io,
            io_len,
            began,
            start: Instant::now(),
        })
    }

    /// When the clock was started.
    #[must_use]
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Stops the clock, then reads the counters.
    ///
    /// # Errors
    /// When `/proc/self/io` or `getrusage` cannot be read.
    pub fn close(self) -> Result<Measured, UsageError> {
        let elapsed = self.start.elapsed();
        let mut io = io_of("self")?.0.since(self.io);
        let children = Rusage::of(UsageWho::RUSAGE_CHILDREN)?;
        let own = Rusage::of(UsageWho::RUSAGE_SELF)?
            .plus(children)
            .since(self.own);
        // The opening read of /proc/self/io itself is in the difference.
        io.rchar = io.rchar.saturating_sub(self.io_len);
        io.syscr = io.syscr.saturating_sub(1);
        let bound = if self.mark_reset {
            Bound::Exact
        } else {
            Bound::AtMost
        };
        let usage = Usage {
            peak_rss: status_bytes("self", "VmHWM").map(|bytes| PeakRss { bytes, bound }),
            io,
            children_reaped: children.faults() > self.children_faults,
            ..own.usage()
        };
        Ok(Measured {
            elapsed,
            start: self.start,
            began: self.began,
            usage,
        })
    }
}

/// Runs `work` and says how many bytes it allocated by `counter`.
pub fn allocated_by<T>(counter: &dyn AllocationCounter, work: impl FnOnce() -> T) -> (T, u64) {
    let before = counter.allocated();
    let value = work();
    (value, counter.allocated().saturating_sub(before))
}

/// CPU time that this process and its reaped children ever used, nanoseconds.
pub(crate) fn cpu_of_self_and_children() -> Result<u64, UsageError> {
    Ok(Rusage::of(UsageWho::RUSAGE_SELF)?
        .plus(Rusage::of(UsageWho::RUSAGE_CHILDREN)?)
        .usage()
        .cpu_ns())
}

/// The fields of `struct rusage` that Linux fills.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rusage {
    user_ns: u64,
    system_ns: u64,
    voluntary: u64,
    involuntary: u64,
    minor: u64,
    major: u64,
}

impl Rusage {
    pub(super) fn of(who: UsageWho) -> Result<Self, UsageError> {
        let raw = getrusage(who).map_err(|errno| UsageError::Call {
            call: "getrusage",
            source: errno.into(),
        })?;
        let unsigned = |value: i64| u64::try_from(value).unwrap_or(0);
        let time = |value: nix::sys::time::TimeVal| {
            nanoseconds(
                Duration::new(unsigned(value.tv_sec()), 0)
                    + Duration::from_micros(unsigned(value.tv_usec())),
            )
        };
        Ok(Self {
            user_ns: time(raw.user_time()),
            system_ns: time(raw.system_time()),
            voluntary: unsigned(raw.voluntary_context_switches()),
            involuntary: unsigned(raw.involuntary_context_switches()),
            minor: unsigned(raw.minor_page_faults()),
            major: unsigned(raw.major_page_faults()),
        })
    }

    fn faults(self) -> u64 {
        self.minor + self.major
    }

    fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    pub(super) fn since(self, earlier: Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    fn each(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            user_ns: f(self.user_ns, other.user_ns),
            system_ns: f(self.system_ns, other.system_ns),
            voluntary: f(self.voluntary, other.voluntary),
            involuntary: f(self.involuntary, other.involuntary),
            minor: f(self.minor, other.minor),
            major: f(self.major, other.major),
        }
    }

    pub(super) fn usage(self) -> Usage {
        Usage {
            user_ns: self.user_ns,
            system_ns: self.system_ns,
            voluntary_switches: self.voluntary,
            involuntary_switches: self.involuntary,
            minor_faults: self.minor,
            major_faults: self.major,
            ..Usage::default()
        }
    }
}
