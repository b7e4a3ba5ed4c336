//! A side that is a program: started anew for each run.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::output::failed;
use crate::scope::Scope;
use crate::side::{RunContext, RunRecord, Side, SideError};
use crate::stage::{StageTimes, nanoseconds};
use crate::usage::{reap, status_bytes};

mod capture;
mod family;
mod watch;

pub use capture::Captured;
use family::Family;
use watch::{Ended, Streams};

/// How a run's process and all that it starts are told from others.
pub(crate) const MARK: &str = "YEOUL_MEASURE_RUN";

/// A side whose run is a child process. Its time goes from before the start of the process to its end, as the kernel
/// tells by a pidfd; nothing polls a clock. Its scope always includes `start`.
///
/// The child is the leader of a process group of its own. A child that does not end in time is killed with its group.
/// One that ends and leaves processes running has failed, and they are killed too: they are found by their group, and
/// by the variable `YEOUL_MEASURE_RUN` in their environment when they left it.
///
/// ```
/// use std::process::Command;
/// use yeoul_measure::{CommandSide, RunContext};
///
/// let side = CommandSide::new("cp", "start,read,work,write".parse()?, |run: &RunContext<'_>| {
///     let mut command = Command::new("cp");
///     command.arg(&run.inputs[0].path).arg(run.output.join("copy"));
///     command
/// });
/// # drop(side);
/// # Ok::<(), yeoul_measure::UnknownScope>(())
/// ```
pub struct CommandSide<'a> {
    name: String,
    scope: Scope,
    command: Box<dyn FnMut(&RunContext<'_>) -> Command + 'a>,
    timeout: Duration,
    capture: usize,
    stdout_file: Option<OsString>,
}

impl<'a> CommandSide<'a> {
    /// How long a run may take by default.
    pub const TIMEOUT: Duration = Duration::from_secs(60);
    /// How many bytes of each of standard output and standard error are kept by default: the first and the last half.
    pub const CAPTURE: usize = 64 << 10;

    /// A side that runs what `command` makes of a run's context. Its standard streams are set here.
    pub fn new(
        name: impl Into<String>,
        scope: Scope,
        command: impl FnMut(&RunContext<'_>) -> Command + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            scope,
            command: Box::new(command),
            timeout: Self::TIMEOUT,
            capture: Self::CAPTURE,
            stdout_file: None,
        }
    }

    /// How long a run may take.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How many bytes to keep of each stream.
    #[must_use]
    pub fn capture(mut self, bytes: usize) -> Self {
        self.capture = bytes;
        self
    }

    /// Sends standard output to the file `name` of the output folder, for programs that print their output.
    #[must_use]
    pub fn stdout_file(mut self, name: impl Into<OsString>) -> Self {
        self.stdout_file = Some(name.into());
        self
    }
}

impl Side for CommandSide<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn run(&mut self, run: &RunContext<'_>) -> Result<RunRecord, SideError> {
        let mut command = (self.command)(run);
        let stdout = match &self.stdout_file {
            Some(name) => {
                let path = run.output.join(name);
                Stdio::from(File::create(&path).map_err(failed("create", &path))?)
            }
            None => Stdio::piped(),
        };
        command.stdout(stdout);
        let finished = run_to_end(&mut command, self.timeout, self.capture)?;
        let Finished {
            elapsed,
            began,
            reaped,
            output,
            left,
        } = finished;
        if !reaped.status.success() {
            return Err(SideError::Exit {
                status: reaped.status,
                output,
            });
        }
        if !left.is_empty() {
            return Err(SideError::LeftRunning {
                processes: left,
                output,
            });
        }
        let total_ns = nanoseconds(elapsed);
        let stages = StageTimes {
            total_ns,
            rest_ns: total_ns,
            stages: Vec::new(),
        };
        Ok(RunRecord {
            elapsed,
            began,
            usage: reaped.usage,
            stages,
        })
    }
}

/// A child process that was run to its end.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) elapsed: Duration,
    pub(crate) began: SystemTime,
    pub(crate) reaped: crate::usage::Reaped,
    pub(crate) output: Box<Captured>,
    /// Name and number of each process that outlived it (and was killed).
    pub(crate) left: Vec<String>,
}

/// Runs `command` to its end, or kills it and its group at the limit. Standard output must be set by the caller;
/// standard input is empty, standard error is captured.
pub(crate) fn run_to_end(
    command: &mut Command,
    limit: Duration,
    capture: usize,
) -> Result<Finished, SideError> {
    let mark = family::new_mark();
    command
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0);
    let own_peak = status_bytes("self", "VmHWM").unwrap_or(u64::MAX);
    let began = SystemTime::now();
    let start = Instant::now();
    let mut child = command.spawn().map_err(|source| SideError::Spawn {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    let family = Family::new(child.id(), mark);
    let watched = watch(&mut child, start, limit, capture);
    // Whatever went wrong, no child is left behind.
    let (ended, mut streams) = match watched {
        Ok(watched) => watched,
        Err(error) => {
            family.kill_group();
            let _ = child.wait();
            return Err(error);
        }
    };
    let timed_out = matches!(ended, Ended::Deadline);
    if timed_out {
        family.kill_group();
        streams.until_exit()?;
    }
    let elapsed = start.elapsed();
    let elapsed = if let Ended::Exited(at) = ended {
        at.saturating_duration_since(start)
    } else {
        elapsed
    };
    let left = family.kill_survivors();
    let reaped = reap(&mut child, own_peak)?;
    let output = Box::new(streams.finish());
    if timed_out {
        return Err(SideError::Timeout { limit, output });
    }
    Ok(Finished {
        elapsed,
        began,
        reaped,
        output,
        left,
    })
}

fn watch(
    child: &mut Child,
    start: Instant,
    limit: Duration,
    capture: usize,
) -> Result<(Ended, Streams), SideError> {
    let pidfd = pidfd_of(child)?;
    let mut streams = Streams::new(pidfd, child, capture)?;
    let ended = streams.until(start + limit)?;
    Ok((ended, streams))
}

fn pidfd_of(child: &Child) -> Result<OwnedFd, SideError> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(SideError::Call {
        call: "pidfd_open",
        source: std::io::ErrorKind::InvalidInput.into(),
    })?;
    pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| SideError::Call {
        call: "pidfd_open",
        source: errno.into(),
    })
}
