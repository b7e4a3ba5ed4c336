//! On what was measured, and how quiet it was.
//!
//! ```
//! use yeoul_measure::environment::{NoiseLimits, Probe};
//!
//! let probe = Probe::start(&std::env::temp_dir())?;
//! // … what is measured …
//! let environment = probe.finish(NoiseLimits::default())?;
//! assert!(environment.machine.cores >= 1);
//! for noise in &environment.noise {
//!     println!("noisy: {noise}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::float;
use crate::usage::{UsageError, cpu_of_self_and_children};

mod filesystem;
mod machine;

pub use filesystem::filesystem_of;
pub use machine::Machine;

/// A run's surroundings: the machine, its load, and what else took the CPU meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// What must be the same for two results to be compared.
    pub machine: Machine,
    /// Memory that could be had at the start, bytes.
    pub memory_available: u64,
    /// The frequency governor of the first core, where the kernel has one.
    pub governor: Option<String>,
    /// Load averages over 1, 5 and 15 minutes at the start.
    pub load_before: [f64; 3],
    /// The same at the end. It holds the measured work itself, so it is shown and not judged.
    pub load_after: [f64; 3],
    /// How the CPU time of all cores was spent.
    pub cpu: CpuShares,
    /// Seconds since 1970 at the start.
    pub started_unix: u64,
    /// Wall time from start to end, milliseconds.
    pub elapsed_ms: u64,
    /// What was not quiet. Empty: no limit was passed.
    pub noise: Vec<Noise>,
}

/// Shares (0 to 1) of the CPU time of all cores between start and end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShares {
    /// Busy for this process and the children that it waited for.
    pub own: f64,
    /// Busy for anybody else, the kernel's own threads included.
    pub others: f64,
    /// Wanted, but the hypervisor gave it to somebody else.
    pub steal: f64,
    /// Neither.
    pub idle: f64,
}

/// From where on a run is called noisy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NoiseLimits {
    /// Load of the last minute before the start, a core. Default 0.5.
    pub load_per_core: f64,
    /// Share of CPU time stolen by the hypervisor. Default 0.01.
    pub steal: f64,
    /// Share of CPU time used by others. Default 0.05.
    pub others: f64,
}

impl Default for NoiseLimits {
    fn default() -> Self {
        Self {
            load_per_core: 0.5,
            steal: 0.01,
            others: 0.05,
        }
    }
}

/// A limit that was passed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Noise {
    /// The machine was busy before the start.
    Load {
        /// Load average of the minute before.
        load: f64,
        /// Limit a core × cores.
        limit: f64,
    },
    /// The hypervisor took CPU time.
    Steal {
        /// Share of all CPU time.
        share: f64,
        /// The limit.
        limit: f64,
    },
    /// Others used the CPU.
    Others {
        /// Share of all CPU time.
        share: f64,
        /// The limit.
        limit: f64,
    },
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load { load, limit } => {
                write!(f, "load before the start was {load:.2} (limit {limit:.2})")
            }
            Self::Steal { share, limit } => {
                write!(
                    f,
                    "steal was {:.1} % of the CPU time (limit {:.1} %)",
                    share * 100.0,
                    limit * 100.0
                )
            }
            Self::Others { share, limit } => {
                write!(
                    f,
                    "other processes used {:.1} % of the CPU time (limit {:.1} %)",
                    share * 100.0,
                    limit * 100.0
                )
            }
        }
    }
}

/// The state at the start; [`Probe::finish`] makes it an [`Environment`].
#[derive(Debug)]
pub struct Probe {
    machine: Machine,
    memory_available: u64,
    governor: Option<String>,
    load: [f64; 3],
    ticks: Ticks,
    own_ns: u64,
    started: SystemTime,
}

impl Probe {
    /// Reads `/proc`; `folder` is where outputs are written, for the filesystem's name.
    ///
    /// # Errors
    /// When `/proc` or the folder cannot be read.
    pub fn start(folder: &Path) -> Result<Self, UsageError> {
        let text = machine::read("/proc/meminfo")?;
        Ok(Self {
            machine: Machine::here(folder)?,
            memory_available: machine::kilobytes(&text, "MemAvailable").unwrap_or(0),
            governor: machine::read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .ok()
                .map(|name| name.trim().to_owned()),
            load: load()?,
            ticks: Ticks::now()?,
            own_ns: cpu_of_self_and_children()?,
            started: SystemTime::now(),
        })
    }

    /// Reads `/proc` again and judges by `limits`.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn finish(self, limits: NoiseLimits) -> Result<Environment, UsageError> {
        let own_ns = cpu_of_self_and_children()?.saturating_sub(self.own_ns);
        let cpu = Ticks::now()?
            .since(self.ticks)
            .shares(own_ns, rustix::param::clock_ticks_per_second());
        let elapsed = self.started.elapsed().unwrap_or_default();
        Ok(Environment {
            noise: judge(self.load[0], self.machine.cores, cpu, limits),
            machine: self.machine,
            memory_available: self.memory_available,
            governor: self.governor,
            load_before: self.load,
            load_after: load()?,
            cpu,
            started_unix: self
                .started
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// Which of `limits` were passed.
#[must_use]
pub fn judge(load_before: f64, cores: usize, cpu: CpuShares, limits: NoiseLimits) -> Vec<Noise> {
    let mut noise = Vec::new();
    let load_limit = limits.load_per_core * float::count(cores);
    if load_before > load_limit {
        noise.push(Noise::Load {
            load: load_before,
            limit: load_limit,
        });
    }
    if cpu.steal > limits.steal {
        noise.push(Noise::Steal {
            share: cpu.steal,
            limit: limits.steal,
        });
    }
    if cpu.others > limits.others {
        noise.push(Noise::Others {
            share: cpu.others,
            limit: limits.others,
        });
    }
    noise
}

fn load() -> Result<[f64; 3], UsageError> {
    let path = "/proc/loadavg";
    let text = machine::read(path)?;
    let mut fields = text.split_whitespace().map(str::parse);
    let mut next = |field| match fields.next() {
        Some(Ok(value)) => Ok(value),
        _ => Err(UsageError::Field {
            path: path.to_owned(),
            field,
        }),
    };
    Ok([next("1 minute")?, next("5 minutes")?, next("15 minutes")?])
}

/// The first line of `/proc/stat`, all cores, in clock ticks.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    busy: u64,
    idle: u64,
    steal: u64,
}

impl Ticks {
    fn now() -> Result<Self, UsageError> {
        let path = "/proc/stat";
        Self::parse(&machine::read(path)?).ok_or_else(|| UsageError::Field {
            path: path.to_owned(),
            field: "cpu",
        })
    }

    /// user nice system idle iowait irq softirq steal; guest time is in user and nice already.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let field: Vec<u64> = line
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = *field.first_chunk()?;
        Some(Self {
            busy: user + nice + system + irq + softirq,
            idle: idle + iowait,
            steal,
        })
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    fn shares(self, own_ns: u64, ticks_per_second: u64) -> CpuShares {
        let total = self.busy + self.idle + self.steal;
        let own_ticks = float::of(own_ns) / 1e9 * float::of(ticks_per_second);
        let own_ticks = own_ticks.min(float::of(self.busy));
        if total == 0 {
            return CpuShares::default();
        }
        CpuShares {
            own: own_ticks / float::of(total),
            others: (float::of(self.busy) - own_ticks) / float::of(total),
            steal: float::share(self.steal, total),
            idle: float::share(self.idle, total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_known_second() {
        let before = Ticks::parse("cpu  100 0 50 1000 5 0 0 1 0 0\ncpu0 …").unwrap();
        let after = Ticks::parse("cpu  160 0 70 1110 5 0 5 6 9 0\n").unwrap();
        let shares = after.since(before).shares(500_000_000, 100);
        assert_eq!(
            shares,
            CpuShares {
                own: 0.25,
                others: 0.175,
                steal: 0.025,
                idle: 0.55
            }
        );
    }

    #[test]
    fn each_limit_is_named_when_it_is_passed_and_not_when_it_is_met() {
        let limits = NoiseLimits::default();
        let at = CpuShares {
            own: 0.5,
            others: 0.05,
            steal: 0.01,
            idle: 0.44,
        };
        assert_eq!(judge(1.0, 2, at, limits), []);
        let over = CpuShares {
            others: 0.06,
            steal: 0.02,
            ..at
        };
        let said: Vec<String> = judge(1.5, 2, over, limits)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "load before the start was 1.50 (limit 1.00)",
                "steal was 2.0 % of the CPU time (limit 1.0 %)",
                "other processes used 6.0 % of the CPU time (limit 5.0 %)",
            ]
        );
    }

    #[test]
    fn a_line_that_is_too_short_is_refused() {
        assert!(Ticks::parse("cpu  1 2 3\n").is_none());
        assert!(Ticks::parse("intr 1\n").is_none());
    }
}
