use std::fs;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::MARK;

/// How often the processes are listed anew: a process that forks while it is being killed appears in a later round.
const ROUNDS: usize = 10;

/// How long a killed process may take to go.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// A mark that no other run on this machine has.
pub(super) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // A process number comes back, together with its start time it does not.
    let started = after_name(&stat)
        .split(' ')
        .nth(19)
        .unwrap_or("0")
        .to_owned();
    format!(
        "{}-{started}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// A run's child and all that it started.
#[derive(Debug)]
pub(super) struct Family {
    leader: u32,
    mark: String,
}

impl Family {
    pub(super) fn new(leader: u32, mark: String) -> Self {
        Self { leader, mark }
    }

    /// Kills the child's process group. Only while the child is not waited for: its number is its own until then.
    pub(super) fn kill_group(&self) {
        if let Some(group) = i32::try_from(self.leader).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Kills what is left of the family but the leader, and says what that was.
    pub(super) fn kill_survivors(&self) -> Vec<String> {
        let mut found = Vec::new();
        for _ in 0..ROUNDS {
            let survivors = self.survivors();
            if survivors.is_empty() {
                break;
            }
            for (name, pidfd) in survivors {
                let _ = pidfd_send_signal(&pidfd, Signal::KILL);
                await_end(&pidfd);
                found.push(name);
            }
        }
        found
    }

    fn survivors(&self) -> Vec<(String, OwnedFd)> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|&pid: &u32| pid != self.leader && pid != std::process::id())
            .filter_map(|pid| {
                // The pidfd first: should the number be another process's by now, it does not match.
                let pidfd = pidfd_open(
                    Pid::from_raw(i32::try_from(pid).ok()?)?,
                    PidfdFlags::empty(),
                )
                .ok()?;
                self.has(pid).map(|name| (name, pidfd))
            })
            .collect()
    }

    /// The process's name and number, if it is alive and of this family.
    fn has(&self, pid: u32) -> Option<String> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = after_name(&stat).split(' ');
        let (state, _parent, group) = (fields.next()?, fields.next()?, fields.next()?);
        if matches!(state, "Z" | "X") {
            return None;
        }
        let marked = || {
            let wanted = format!("{MARK}={}", self.mark);
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == wanted.as_bytes())
        };
        if group.parse() != Ok(self.leader) && !marked() {
            return None;
        }
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        Some(format!("{} {pid}", name.trim()))
    }
}

/// `/proc/PID/stat` from the third field on: the second, the name, may hold spaces and brackets.
fn after_name(stat: &str) -> &str {
    stat.rsplit_once(") ").map_or("", |(_, rest)| rest)
}

fn await_end(pidfd: &OwnedFd) {
    let deadline = Instant::now() + KILLED_WITHIN;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) if !left.is_zero() => {}
            _ => return,
        }
    }
}
