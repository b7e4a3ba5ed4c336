use std::{fmt, io};

use yeoul_isobmff::{BoxError, FourCc};
use yeoul_spans::SourceError;

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The box at fault; `None`: the file as a whole.
    pub(super) kind: Option<FourCc>,
    /// Where it begins.
    pub(super) offset: u64,
    /// What was expected and what is there.
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(kind: FourCc, offset: u64, message: impl fmt::Display) -> Self {
        Self {
            kind: Some(kind),
            offset,
            message: message.to_string(),
        }
    }

    /// A fault of the whole file, seen at `offset`.
    pub(super) fn of_file(offset: u64, message: &str) -> Self {
        Self {
            kind: None,
            offset,
            message: message.to_owned(),
        }
    }
}

impl From<BoxError> for Fault {
    fn from(error: BoxError) -> Self {
        Self::new(error.kind, error.offset, error.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            offset,
            message,
        } = self;
        match kind {
            Some(kind) => write!(f, "box '{kind}' at offset {offset}: {message}"),
            None => write!(f, "the file, at offset {offset}: {message}"),
        }
    }
}

/// What ends a walk early.
#[derive(Debug)]
pub(super) enum Stop {
    Fault(Fault),
    Source(SourceError),
    Write(io::Error),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<BoxError> for Stop {
    fn from(error: BoxError) -> Self {
        Self::Fault(error.into())
    }
}

impl From<SourceError> for Stop {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}
