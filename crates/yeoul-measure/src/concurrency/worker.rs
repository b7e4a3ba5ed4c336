use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::protocol::{CALLS, LEVEL, Line};
use crate::side::BoxError;
use crate::stage::nanoseconds;
use crate::usage::status_bytes;

/// Why a worker could not work.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// A variable is missing or no number of at least 1.
    #[error("the environment variable {0} must be a number of at least 1; the harness sets it")]
    Variable(&'static str),
    /// A call failed.
    #[error("call {call}: {source}")]
    Call {
        /// Its number.
        call: usize,
        /// Why.
        source: BoxError,
    },
    /// The figures could not be printed.
    #[error("cannot print the figures: {0}")]
    Print(#[from] io::Error),
}

/// The number in an environment variable of the protocol.
fn number(variable: &'static str) -> Result<usize, WorkError> {
    let value = std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok());
    value
        .filter(|&number| number > 0)
        .ok_or(WorkError::Variable(variable))
}

/// What a worker's `main` calls: reads the environment, makes the calls on as many threads as are wanted at once, and
/// prints the figures. See [`super::protocol`].
///
/// `call` is timed. What it returns is kept until the last call has ended, then `sha256` makes the output's sum of it:
/// so a call that makes much should return a path, or the sum itself where hashing belongs to the work.
///
/// # Errors
/// When the environment does not say what to do, or a call fails. Nothing is printed then; `main` must end with failure.
pub fn work<T: Send>(
    call: impl Fn(usize) -> Result<T, BoxError> + Sync,
    sha256: impl Fn(T) -> Result<String, BoxError>,
) -> Result<(), WorkError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    work_to(number(LEVEL)?, number(CALLS)?, &call, sha256, &mut out)
}

fn work_to<T: Send>(
    level: usize,
    calls: usize,
    call: &(impl Fn(usize) -> Result<T, BoxError> + Sync),
    sha256: impl Fn(T) -> Result<String, BoxError>,
    out: &mut impl Write,
) -> Result<(), WorkError> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(calls));
    let start = Instant::now();
    let one_after_another = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= calls {
                return;
            }
            let from = Instant::now();
            let result = call(number);
            let ns = nanoseconds(from.elapsed());
            if result.is_err() {
                next.store(calls, Ordering::Relaxed);
            }
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((number, ns, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..level {
            scope.spawn(one_after_another);
        }
    });
    let elapsed_ns = nanoseconds(start.elapsed());
    let peak_rss = status_bytes("self", "VmHWM");
    let mut print = |line: &Line| {
        serde_json::to_writer(&mut *out, line).map_err(io::Error::from)?;
        out.write_all(b"\n")
    };
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (call, ns, result) in done {
        let sha256 = result
            .and_then(&sha256)
            .map_err(|source| WorkError::Call { call, source })?;
        print(&Line::Call { call, ns, sha256 })?;
    }
    print(&Line::All {
        calls,
        elapsed_ns,
        peak_rss,
    })?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::concurrency::protocol::parse;
    use std::sync::Barrier;

    #[test]
    fn as_many_calls_as_asked_are_in_flight_at_once_and_each_is_made_once() {
        // Eight threads in groups of four: a barrier of four opens only when four calls are in flight.
        let barrier = Barrier::new(4);
        let mut out = Vec::new();
        let call = |number: usize| {
            barrier.wait();
            Ok(number)
        };
        work_to(4, 8, &call, |_| Ok("sum".to_owned()), &mut out).unwrap();
        let printed = parse(std::str::from_utf8(&out).unwrap(), 8, "sum").unwrap();
        assert_eq!(printed.call_ns.len(), 8);
        assert!(printed.peak_rss.unwrap() > 0);
    }

    #[test]
    fn a_failing_call_ends_the_work_and_is_named() {
        let call = |number: usize| {
            if number == 2 {
                Err("broken".into())
            } else {
                Ok(())
            }
        };
        let error = work_to(1, 1000, &call, |()| Ok(String::new()), &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "call 2: broken");
    }

    #[test]
    fn without_the_harness_it_says_what_is_missing() {
        let error = work(|_| Ok(()), |()| Ok(String::new()))
            .unwrap_err()
            .to_string();
        assert!(error.contains("YEOUL_MEASURE_LEVEL"), "{error}");
    }
}
