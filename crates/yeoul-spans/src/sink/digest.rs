//! The digest of a body: the one sink that must read every byte.

use std::fmt;

use sha2::Digest as _;

use super::{SinkError, read};
use crate::spans::Spans;

const BUFFER: usize = 64 * 1024;

/// A SHA-256 sum (FIPS 180-4). Displays as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

impl Sha256 {
    /// The sum of `bytes`.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

/// The SHA-256 sum of the whole body. Needs 64 KiB, whatever the length.
///
/// # Errors
///
/// [`SinkError::Source`] if a source fails or changed.
pub fn sha256(spans: &Spans) -> Result<Sha256, SinkError> {
    let mut sum = sha2::Sha256::new();
    read(spans, &mut vec![0; BUFFER], |piece| {
        sum.update(piece);
        Ok(())
    })?;
    Ok(Sha256(sum.finalize().into()))
}
