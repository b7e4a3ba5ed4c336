//! Sample tables of an ordinary MP4, borrowed: nothing is allocated a sample, and no count is believed before the bytes
//! that it claims are seen.

mod edits;
mod entries;
mod error;
mod iter;
mod parse;
mod sizes;

pub use edits::{Edit, edits};
pub use error::TableError;
pub use iter::{Samples, TableSample};
pub use parse::{Disagreement, SampleTable};

/// The most samples that a track may have, by default: six days of 30 frames a second.
pub const MAX_SAMPLES: u64 = 16 * 1024 * 1024;

/// The most edits that a track may have, by default.
pub const MAX_EDITS: u32 = 64 * 1024;

/// What a table may hold before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Samples a track; [`MAX_SAMPLES`] by default.
    pub samples: u64,
    /// Edits a track; [`MAX_EDITS`] by default.
    pub edits: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            samples: MAX_SAMPLES,
            edits: MAX_EDITS,
        }
    }
}
