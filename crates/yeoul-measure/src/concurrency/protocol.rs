//! What a worker prints: one JSON object a line, first one for each call, then one for all.
//!
//! ```text
//! {"call":0,"ns":11150000,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
//! {"call":1,"ns":10980000,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
//! {"calls":2,"elapsed_ns":22200000,"peak_rss":7118848}
//! ```
//!
//! - `call`: its number, from 0, each once, in any order. `ns`: its wall time. `sha256`: of its output.
//! - `calls`: how many there were. `elapsed_ns`: wall time from the start of the first to the end of the last.
//!   `peak_rss`: `VmHWM` of the worker after the last, bytes; may be left out.
//!
//! Everything is printed after the last call, so that printing is in nobody's time. The worker finds how many calls to
//! make, and how many at once, in the environment: `YEOUL_MEASURE_CALLS` and `YEOUL_MEASURE_LEVEL`.
//! [`super::work`] is a worker that does all this for a closure.

use serde::{Deserialize, Serialize};

/// The variable that says how many calls to make.
pub const CALLS: &str = "YEOUL_MEASURE_CALLS";

/// The variable that says how many at once.
pub const LEVEL: &str = "YEOUL_MEASURE_LEVEL";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// A call.
    Call {
        /// Its number, from 0.
        call: usize,
        /// Its wall time, nanoseconds.
        ns: u64,
        /// SHA-256 of its output, in lower-case hexadecimal.
        sha256: String,
    },
    /// The last line.
    All {
        /// How many calls there were.
        calls: usize,
        /// Wall time of all of them, nanoseconds.
        elapsed_ns: u64,
        /// Peak resident set, bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak_rss: Option<u64>,
    },
}

/// What a worker printed, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Wall time of each call, by its number.
    pub call_ns: Vec<u64>,
    /// Wall time of all.
    pub elapsed_ns: u64,
    /// Peak resident set, if it said so.
    pub peak_rss: Option<u64>,
}

/// Why what a worker printed does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A line is none of the protocol's.
    #[error("line {line} is none of the worker protocol ({reason}): {text}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
        /// Its beginning.
        text: String,
    },
    /// A call's number is out of range, or came twice.
    #[error("line {line}: call {call} is not expected: there are {calls} calls, from 0, each once")]
    UnexpectedCall {
        /// From 1.
        line: usize,
        /// The number.
        call: usize,
        /// How many were asked for.
        calls: usize,
    },
    /// Calls are missing, or the last line says another number.
    #[error("{found} of {calls} calls were reported")]
    Missing {
        /// How many came.
        found: usize,
        /// How many were asked for.
        calls: usize,
    },
    /// The last line is missing.
    #[error("the last line, with elapsed_ns, is missing: did the worker end early?")]
    NoEnd,
    /// All calls together took less time than one of them, or no time.
    #[error("elapsed_ns is {elapsed_ns}, but the longest call alone took {longest_ns} ns")]
    TooShort {
        /// What the last line says.
        elapsed_ns: u64,
        /// The longest call.
        longest_ns: u64,
    },
    /// An output is not the expected one.
    #[error(
        "{wrong} of {calls} outputs are not the expected one; the first is of call {call}: {found}, expected {expected}"
    )]
    WrongOutput {
        /// How many are wrong.
        wrong: usize,
        /// How many calls there were.
        calls: usize,
        /// The first wrong call.
        call: usize,
        /// Its sum.
        found: String,
        /// The right one.
        expected: String,
    },
    /// More was printed than the calls account for.
    #[error(
        "the worker printed {printed} bytes to standard output, far more than its calls need; only the protocol belongs there"
    )]
    TooMuch {
        /// Bytes.
        printed: u64,
    },
}

/// Reads what a worker printed after `calls` calls, each of whose outputs must have the sum `expected`.
///
/// # Errors
/// When it is not complete, or an output is wrong.
pub fn parse(text: &str, calls: usize, expected: &str) -> Result<Printed, ProtocolError> {
    let mut call_ns: Vec<Option<u64>> = vec![None; calls];
    let mut wrong: Option<(usize, String)> = None;
    let mut number_wrong = 0;
    let mut end = None;
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let bad = |reason: String| ProtocolError::Line {
            line,
            reason,
            text: text.chars().take(120).collect(),
        };
        if end.is_some() {
            return Err(bad("nothing may follow the last line".to_owned()));
        }
        match serde_json::from_str(text).map_err(|error| bad(error.to_string()))? {
            Line::Call { call, ns, sha256 } => {
                match call_ns.get_mut(call) {
                    Some(slot @ None) => *slot = Some(ns),
                    _ => return Err(ProtocolError::UnexpectedCall { line, call, calls }),
                }
                if sha256 != expected {
                    number_wrong += 1;
                    wrong.get_or_insert((call, sha256));
                }
            }
            Line::All {
                calls,
                elapsed_ns,
                peak_rss,
            } => end = Some((calls, elapsed_ns, peak_rss)),
        }
    }
    let (said, elapsed_ns, peak_rss) = end.ok_or(ProtocolError::NoEnd)?;
    let found: Vec<u64> = call_ns.into_iter().flatten().collect();
    if found.len() != calls || said != calls {
        return Err(ProtocolError::Missing {
            found: found.len().min(said),
            calls,
        });
    }
    if let Some((call, found)) = wrong {
        return Err(ProtocolError::WrongOutput {
            wrong: number_wrong,
            calls,
            call,
            found,
            expected: expected.to_owned(),
        });
    }
    let longest_ns = found.iter().copied().max().unwrap_or(0);
    if elapsed_ns < longest_ns || elapsed_ns == 0 {
        return Err(ProtocolError::TooShort {
            elapsed_ns,
            longest_ns,
        });
    }
    Ok(Printed {
        call_ns: found,
        elapsed_ns,
        peak_rss,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = "{\"calls\":2,\"elapsed_ns\":30}\n";

    fn call(call: usize, sha256: &str) -> String {
        format!(
            "{{\"call\":{call},\"ns\":{},\"sha256\":\"{sha256}\"}}\n",
            10 + call
        )
    }

    #[test]
    fn calls_in_any_order_are_put_by_number() {
        let text =
            call(1, "a") + &call(0, "a") + "{\"calls\":2,\"elapsed_ns\":30,\"peak_rss\":4096}\n";
        let printed = Printed {
            call_ns: vec![10, 11],
            elapsed_ns: 30,
            peak_rss: Some(4096),
        };
        assert_eq!(parse(&text, 2, "a"), Ok(printed));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |text: &str| parse(text, 2, "a").unwrap_err().to_string();
        assert!(said("hello\n").starts_with("line 1 is none of the worker protocol"));
        assert!(
            said(&(call(0, "a") + &call(0, "a"))).starts_with("line 2: call 0 is not expected")
        );
        assert!(said(&call(7, "a")).starts_with("line 1: call 7 is not expected"));
        assert_eq!(said(&(call(0, "a") + END)), "1 of 2 calls were reported");
        assert!(
            said(&(call(0, "a") + &call(1, "a")))
                .starts_with("the last line, with elapsed_ns, is missing")
        );
        let wrong = call(0, "a") + &call(1, "b") + END;
        assert_eq!(
            said(&wrong),
            "1 of 2 outputs are not the expected one; the first is of call 1: b, expected a"
        );
        let short = call(0, "a") + &call(1, "a") + "{\"calls\":2,\"elapsed_ns\":10}\n";
        assert_eq!(
            said(&short),
            "elapsed_ns is 10, but the longest call alone took 11 ns"
        );
        assert!(said(&(call(0, "a") + END + &call(1, "a"))).contains("nothing may follow"));
    }
}
