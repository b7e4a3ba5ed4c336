//! Where a recording's bytes come from: opened when they are needed, closed when they are not, always the same ones.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use yeoul_spans::{GrowingFile, Identity, Memory, SealedFile, Source, SourceError};

/// A recording that can be opened again and again and must be the same each time.
pub trait Input: fmt::Debug + Send + Sync {
    /// Name for messages; the path of a file.
    fn name(&self) -> &str;

    /// Opens it. `growing`: its recorder may still append to it.
    ///
    /// # Errors
    /// It cannot be opened, or it is no longer what it was when it was opened first.
    fn open(&self, growing: bool) -> Result<Arc<dyn Source>, SourceError>;
}

/// A file, remembered by its identity from the first time it is opened.
#[derive(Debug)]
pub struct FileInput {
    path: PathBuf,
    name: String,
    identity: OnceLock<Identity>,
}

impl FileInput {
    /// The file at a path. Nothing is opened yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            name: path.display().to_string(),
            path,
            identity: OnceLock::new(),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Input for FileInput {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, growing: bool) -> Result<Arc<dyn Source>, SourceError> {
        let Some(identity) = self.identity.get() else {
            let file = SealedFile::open(&self.path)?;
            let _ = self.identity.set(file.identity());
            return Ok(Arc::new(file));
        };
        if growing {
            Ok(Arc::new(GrowingFile::open_as(&self.path, identity)?))
        } else {
            Ok(Arc::new(SealedFile::open_as(&self.path, identity)?))
        }
    }
}

/// Bytes in memory.
#[derive(Debug, Clone)]
pub struct MemoryInput {
    name: String,
    source: Arc<Memory>,
}

impl MemoryInput {
    /// Bytes under a name.
    pub fn new(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        let name = name.into();
        Self {
            source: Arc::new(Memory::new(name.clone(), bytes)),
            name,
        }
    }
}

impl Input for MemoryInput {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, _: bool) -> Result<Arc<dyn Source>, SourceError> {
        Ok(Arc::clone(&self.source) as Arc<dyn Source>)
    }
}
