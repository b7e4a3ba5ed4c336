//! Bytes in memory as a source.

use bytes::Bytes;

use super::{Source, SourceError, within};

/// Bytes in memory under a name.
#[derive(Clone)]
pub struct Memory {
    name: String,
    bytes: Bytes,
}

impl Memory {
    /// A source of `bytes` which errors call `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self {
            name: name.into(),
            bytes: bytes.into(),
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memory({:?}, {} bytes)", self.name, self.bytes.len())
    }
}

impl Source for Memory {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<(), SourceError> {
        within(&self.name, offset, buf.len(), self.len())?;
        let found = usize::try_from(offset)
            .ok()
            .and_then(|start| self.bytes.get(start..)?.get(..buf.len()));
        if let Some(found) = found {
            buf.copy_from_slice(found);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), SourceError> {
        Ok(())
    }
}
