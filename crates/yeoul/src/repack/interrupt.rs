//! Signals end a run in order: what was staged goes, the output stays as it was, then the process dies of the signal.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

/// Whether a signal asked the run to end.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
}

/// A signal asked the run to end.
#[derive(Debug, thiserror::Error)]
#[error("ended by a signal")]
pub struct Interrupted;

impl Interrupt {
    /// Watches for SIGINT, SIGTERM and SIGHUP, where whoever started the process did not have them ignored (`nohup`). A
    /// second one ends it at once. A write past the limit of file sizes (SIGXFSZ) becomes an error of that write.
    pub fn watch() -> io::Result<Self> {
        let interrupt = Self::default();
        let ignored = ignored();
        let pending = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or(0);
            if ignored & (1 << (number - 1)) == 0 {
                flag::register_conditional_default(signal, Arc::clone(&pending))?;
                flag::register(signal, Arc::clone(&pending))?;
                flag::register_usize(signal, Arc::clone(&interrupt.signal), number)?;
            }
        }
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        Ok(interrupt)
    }

    /// Gives a stream that becomes readable when a signal comes, for whoever waits for events.
    ///
    /// # Errors
    /// No stream can be made.
    pub fn stream(&self) -> io::Result<UnixStream> {
        let (reader, writer) = UnixStream::pair()?;
        let ignored = ignored();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or(0);
            if ignored & (1 << (number - 1)) == 0 {
                low_level::pipe::register(signal, writer.try_clone()?)?;
            }
        }
        Ok(reader)
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// A signal came.
    pub fn check(&self) -> Result<(), Interrupted> {
        match self.signal.load(Ordering::Acquire) {
            0 => Ok(()),
            _ => Err(Interrupted),
        }
    }

    /// Dies of the signal that came, as if nobody had watched for it; returns if none came.
    pub fn die(&self) {
        let signal = i32::try_from(self.signal.load(Ordering::Acquire)).unwrap_or(0);
        if signal != 0 {
            let _ = low_level::emulate_default_handler(signal);
        }
    }
}

/// The signals that this process was started to ignore, one a bit; none where `/proc` does not say.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
