use std::fs::File;
use std::io::Read;

use super::{Io, UsageError};

pub(crate) fn read(path: &str) -> Result<String, UsageError> {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|source| UsageError::Read {
            path: path.to_owned(),
            source,
        })
}

/// By one call, so that what the reading adds to the reader's own counters is known: the length, and one call.
fn read_once(path: &str) -> std::io::Result<String> {
    let mut buffer = [0; 1024];
    let length = File::open(path)?.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// `/proc/PID/io` (`pid` may be `self`), and how many bytes the file had: what reading it adds to the reader's own
/// `rchar`.
///
/// # Errors
/// When there is no such process, it is another user's, or the kernel has no I/O accounting.
pub fn io_of(pid: &str) -> Result<(Io, u64), UsageError> {
    let path = format!("/proc/{pid}/io");
    let text = read_once(&path).map_err(|source| UsageError::Read {
        path: path.clone(),
        source,
    })?;
    parse_io(&text)
        .map(|io| (io, text.len() as u64))
        .map_err(|field| UsageError::Field { path, field })
}

fn parse_io(text: &str) -> Result<Io, &'static str> {
    let field = |name: &'static str| value(text, name).ok_or(name);
    Ok(Io {
        rchar: field("rchar")?,
        wchar: field("wchar")?,
        syscr: field("syscr")?,
        syscw: field("syscw")?,
        read_bytes: field("read_bytes")?,
        write_bytes: field("write_bytes")?,
        cancelled_write_bytes: field("cancelled_write_bytes")?,
    })
}

/// The first number after `name:` at the start of a line.
pub(crate) fn value(text: &str, name: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A `kB` field of `/proc/PID/status`, in bytes. `None` for a process without memory (a zombie).
pub(crate) fn status_bytes(pid: &str, name: &str) -> Option<u64> {
    let text = read(&format!("/proc/{pid}/status")).ok()?;
    value(&text, name)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_fields_are_found_by_whole_name() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let io = parse_io(text).unwrap();
        assert_eq!((io.write_bytes, io.cancelled_write_bytes), (6, 7));
        assert_eq!(parse_io("rchar: 1\nwchar: x\n"), Err("wchar"));
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let error = io_of("4294967295").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read /proc/4294967295/io: "),
            "{error}"
        );
    }
}
