use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::filesystem_of;
use crate::usage::UsageError;

/// What makes two results comparable: equal machines, or they are not merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// As `/proc/cpuinfo` names it.
    pub cpu: String,
    /// Cores that this process may use (affinity and cgroup quota).
    pub cores: usize,
    /// Kernel name, release and architecture.
    pub kernel: String,
    /// Memory, rounded to GiB: the kernel's own share differs a little from boot to boot.
    pub memory_gib: u64,
    /// Filesystem that the outputs are written to.
    pub filesystem: String,
}

impl Machine {
    /// This machine, with outputs below `folder`.
    ///
    /// # Errors
    /// When `/proc` or the folder cannot be read.
    pub fn here(folder: &Path) -> Result<Self, UsageError> {
        let memory =
            kilobytes(&read("/proc/meminfo")?, "MemTotal").ok_or_else(|| UsageError::Field {
                path: "/proc/meminfo".to_owned(),
                field: "MemTotal",
            })?;
        let uname = rustix::system::uname();
        let words =
            [uname.sysname(), uname.release(), uname.machine()].map(|word| word.to_string_lossy());
        Ok(Self {
            cpu: cpu_model(&read("/proc/cpuinfo")?),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: words.join(" "),
            memory_gib: (memory + (1 << 29)) >> 30,
            filesystem: filesystem_of(folder)?,
        })
    }

    /// In what way `other` is another machine: `None` if it is not.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        let pairs = [
            ("CPU", self.cpu.clone(), other.cpu.clone()),
            ("cores", self.cores.to_string(), other.cores.to_string()),
            ("kernel", self.kernel.clone(), other.kernel.clone()),
            (
                "memory",
                format!("{} GiB", self.memory_gib),
                format!("{} GiB", other.memory_gib),
            ),
            (
                "filesystem",
                self.filesystem.clone(),
                other.filesystem.clone(),
            ),
        ];
        let differing: Vec<String> = pairs
            .into_iter()
            .filter(|(_, here, there)| here != there)
            .map(|(what, here, there)| format!("{what}: {here} and {there}"))
            .collect();
        (!differing.is_empty()).then(|| differing.join("; "))
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpu,
            cores,
            kernel,
            memory_gib,
            filesystem,
        } = self;
        write!(
            f,
            "{cpu}, {cores} cores, {memory_gib} GiB, {kernel}, {filesystem}"
        )
    }
}

/// x86 has `model name`; ARM has numbers only, which are shown as they are.
fn cpu_model(text: &str) -> String {
    let field = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    field("model name")
        .or_else(|| field("Model"))
        .or_else(|| field("uarch"))
        .unwrap_or_else(|| match (field("CPU implementer"), field("CPU part")) {
            (Some(implementer), Some(part)) => format!("implementer {implementer} part {part}"),
            _ => "unknown".to_owned(),
        })
}

pub(super) fn read(path: &str) -> Result<String, UsageError> {
    std::fs::read_to_string(path).map_err(|source| UsageError::Read {
        path: path.to_owned(),
        source,
    })
}

/// A `kB` line of `/proc/meminfo`, in bytes.
pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    crate::usage::value(text, name)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_names_of_several_architectures() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"),
            "AMD EPYC"
        );
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(arm), "implementer 0x41 part 0xd0c");
        assert_eq!(cpu_model(""), "unknown");
    }

    #[test]
    fn a_difference_names_what_differs() {
        let here = Machine {
            cpu: "A".into(),
            cores: 2,
            kernel: "Linux 6.18 x86_64".into(),
            memory_gib: 24,
            filesystem: "ext4".into(),
        };
        let there = Machine {
            cores: 8,
            filesystem: "tmpfs".into(),
            ..here.clone()
        };
        assert_eq!(here.difference(&here), None);
        assert_eq!(
            here.difference(&there).unwrap(),
            "cores: 2 and 8; filesystem: ext4 and tmpfs"
        );
    }
}
