use crate::write::FourCc;

/// Why sample tables cannot be used. Offsets count from the start of the content that was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A box that every `stbl` has is not there.
    #[error("stbl has no {name} box")]
    Missing {
        /// The box; for sizes and offsets the commoner of two.
        name: FourCc,
    },
    /// A box is there twice.
    #[error("stbl has a second {name} box at {offset}")]
    Duplicate {
        /// The box.
        name: FourCc,
        /// Where the second begins.
        offset: usize,
    },
    /// A box claims more bytes than there are.
    #[error("box {name} at {offset} needs {need} bytes and there are {have}")]
    Truncated {
        /// The box.
        name: FourCc,
        /// Where it begins.
        offset: usize,
        /// Bytes that it claims.
        need: u64,
        /// Bytes from there to the end.
        have: u64,
    },
    /// A version or field width that the standard does not have.
    #[error("box {name} at {offset}: {field} is {value}, which is unknown")]
    Unknown {
        /// The box.
        name: FourCc,
        /// Where it begins.
        offset: usize,
        /// Which field.
        field: &'static str,
        /// What it says.
        value: u32,
    },
    /// Entries that must ascend do not.
    #[error("box {name}: entry {entry} is {value}, which does not follow {previous}")]
    Order {
        /// The box.
        name: FourCc,
        /// Index of the entry, from 0.
        entry: usize,
        /// The entry before it; 0 before the first.
        previous: u32,
        /// What it says.
        value: u32,
    },
    /// More samples or edits than the limit.
    #[error(
        "box {name} describes {count} entries, over the limit of {limit}: raise the limit if that is meant"
    )]
    TooMany {
        /// `stsz` for samples, `elst` for edits.
        name: FourCc,
        /// How many.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A sample lies past the end of the file.
    #[error(
        "sample {sample} lies at {offset} with {size} bytes, past the end of the file at {file_len}"
    )]
    OutsideFile {
        /// Index of the sample, from 0.
        sample: u64,
        /// Where it begins in the file; the highest number where that overflowed.
        offset: u64,
        /// Its bytes.
        size: u32,
        /// Length of the file.
        file_len: u64,
    },
    /// Decode times exceed 64 bits.
    #[error("the decode time of sample {sample} exceeds 64 bits")]
    DecodeTime {
        /// Index of the sample, from 0.
        sample: u64,
    },
    /// An edit begins before its media.
    #[error("box elst: edit {edit} has media time {media_time}; -1 or more was expected")]
    MediaTime {
        /// Index of the edit, from 0.
        edit: u32,
        /// What it says.
        media_time: i64,
    },
}
