//! The command line of Yeoul as a library: each command takes parsed arguments and returns an exit code.

use std::io::{IsTerminal, Write};

pub mod bench;
pub mod inspect;
pub mod repack;
pub mod verify;
pub mod watch;

/// Says something on standard error; that nobody may listen is no reason to stop.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", printable(line));
}

/// Tells something on standard output while work goes on; that nobody may listen is no reason to stop.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stdout(), "{}", printable(line));
}

/// Says on standard error why a command failed.
pub fn say_error(error: &str) {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let label = if colour {
        "\x1b[1;31merror:\x1b[0m"
    } else {
        "error:"
    };
    let _ = writeln!(std::io::stderr(), "{label} {}", printable(error));
}

/// An error and its causes, each once: some errors say their cause themselves.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.contains(&cause) {
            if !said.is_empty() {
                said.push_str(": ");
            }
            said.push_str(&cause);
        }
    }
    said
}

/// The text with control characters escaped: a file's name may have newlines and terminal codes in it.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
