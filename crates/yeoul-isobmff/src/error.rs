use crate::FourCc;

/// What is wrong in a box: which box, where it begins, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("box '{kind}' at offset {offset}: {fault}")]
pub struct BoxError {
    /// Type of the box that is at fault.
    pub kind: FourCc,
    /// Where it begins, in bytes from the start of the file (or of the bytes that were walked).
    pub offset: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// The ways in which a box can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The box claims more bytes than its container, or a field lies beyond the box's end.
    #[error("needs {needed} bytes, {have} are there")]
    Truncated {
        /// Bytes claimed or wanted.
        needed: u64,
        /// Bytes present.
        have: u64,
    },
    /// The size field is smaller than the header that holds it.
    #[error("its size {0} is smaller than its own header")]
    SizeTooSmall(u64),
    /// A named limit was passed.
    #[error("{what} is {value}, over the limit of {limit}")]
    Limit {
        /// What was counted.
        what: &'static str,
        /// The claimed value.
        value: u64,
        /// The limit that is in force.
        limit: u64,
    },
    /// A required child box is absent.
    #[error("has no '{0}'")]
    Missing(FourCc),
    /// A field has a value that the format does not allow.
    #[error("{0}")]
    Value(&'static str),
    /// A sum of claimed sizes or times does not fit into 64 bits.
    #[error("{0} overflows 64 bits")]
    Overflow(&'static str),
}

impl BoxError {
    pub(crate) fn new(kind: FourCc, offset: u64, fault: Fault) -> Self {
        Self {
            kind,
            offset,
            fault,
        }
    }
}
