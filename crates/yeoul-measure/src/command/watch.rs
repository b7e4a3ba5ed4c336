use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::capture::{Captured, Stream};
use crate::side::SideError;

/// How the wait for a child came to its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ended {
    /// The child ended, noticed at this moment. It is not waited for yet.
    Exited(Instant),
    /// The deadline came first.
    Deadline,
}

/// A child's end and its output streams, waited for together.
#[derive(Debug)]
pub(super) struct Streams {
    pidfd: OwnedFd,
    open: Vec<(File, Which)>,
    output: Captured,
}

#[derive(Debug, Clone, Copy)]
enum Which {
    Stdout,
    Stderr,
}

impl Streams {
    pub(super) fn new(pidfd: OwnedFd, child: &mut Child, limit: usize) -> Result<Self, SideError> {
        let stdout = child
            .stdout
            .take()
            .map(|pipe| (OwnedFd::from(pipe), Which::Stdout));
        let stderr = child
            .stderr
            .take()
            .map(|pipe| (OwnedFd::from(pipe), Which::Stderr));
        let mut open = Vec::new();
        for (pipe, which) in stdout.into_iter().chain(stderr) {
            // Once the child is gone, the rest is taken without waiting for whoever else holds the pipe.
            let flags = fcntl_getfl(&pipe).map_err(call("fcntl"))?;
            fcntl_setfl(&pipe, flags | OFlags::NONBLOCK).map_err(call("fcntl"))?;
            open.push((File::from(pipe), which));
        }
        let output = Captured {
            stdout: Stream::new(limit),
            stderr: Stream::new(limit),
        };
        Ok(Self {
            pidfd,
            open,
            output,
        })
    }

    /// Reads output until the child ends or the deadline comes.
    pub(super) fn until(&mut self, deadline: Instant) -> Result<Ended, SideError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Ended::Deadline);
            }
            let timeout = Timespec::try_from(left).ok();
            if let Some(at) = self.step(timeout.as_ref())? {
                return Ok(Ended::Exited(at));
            }
        }
    }

    /// Reads output until the child ends.
    pub(super) fn until_exit(&mut self) -> Result<(), SideError> {
        while self.step(None)?.is_none() {}
        Ok(())
    }

    fn step(&mut self, timeout: Option<&Timespec>) -> Result<Option<Instant>, SideError> {
        let mut fds = vec![PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        fds.extend(
            self.open
                .iter()
                .map(|(pipe, _)| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)),
        );
        match poll(&mut fds, timeout) {
            Err(Errno::INTR) => return Ok(None),
            ready => ready.map_err(call("poll"))?,
        };
        let now = Instant::now();
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready[0] {
            return Ok(Some(now));
        }
        for index in (0..self.open.len()).rev() {
            if ready[index + 1] && !self.take(index, 1) {
                self.open.remove(index);
            }
        }
        Ok(None)
    }

    /// Reads up to `times` buffers of a stream. False at its end.
    fn take(&mut self, index: usize, times: usize) -> bool {
        let mut buffer = vec![0; 64 << 10];
        let (pipe, which) = &mut self.open[index];
        let stream = match which {
            Which::Stdout => &mut self.output.stdout,
            Which::Stderr => &mut self.output.stderr,
        };
        for _ in 0..times {
            match pipe.read(&mut buffer) {
                Ok(0) => return false,
                Ok(length) => stream.push(&buffer[..length]),
                Err(error) => return matches!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
        }
        true
    }

    /// What the dead child left in its pipes: at most what a pipe can hold (1 MiB), however many still write to it.
    pub(super) fn finish(mut self) -> Captured {
        for index in 0..self.open.len() {
            self.take(index, 16);
        }
        self.output
    }
}

fn call(call: &'static str) -> impl FnOnce(Errno) -> SideError {
    move |errno| SideError::Call {
        call,
        source: errno.into(),
    }
}
