use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Where recordings go. Files are numbered in the order in which they were created.
pub trait Sink {
    /// Begins a file and returns its number.
    ///
    /// # Errors
    /// When it cannot be made.
    fn create(&mut self, name: &str) -> Result<usize, Error>;

    /// Appends bytes to a file that was not closed.
    ///
    /// # Errors
    /// When they cannot be written.
    fn append(&mut self, file: usize, bytes: &[u8]) -> Result<(), Error>;

    /// Appends `count` zeros, as a hole where that is possible.
    ///
    /// # Errors
    /// When the file cannot grow.
    fn skip(&mut self, file: usize, count: u64) -> Result<(), Error>;

    /// Makes the file's length what was appended and skipped; called after each part.
    ///
    /// # Errors
    /// When the file cannot grow.
    fn settle(&mut self, file: usize) -> Result<(), Error>;

    /// Overwrites bytes that are there already.
    ///
    /// # Errors
    /// When they cannot be written.
    fn patch(&mut self, file: usize, offset: u64, bytes: &[u8]) -> Result<(), Error>;

    /// Closes a file.
    fn close(&mut self, file: usize);
}

/// Recordings in memory.
#[derive(Debug, Default, Clone)]
pub struct Memory {
    files: Vec<(String, Vec<u8>)>,
}

impl Memory {
    /// Names and bytes in order of creation.
    #[must_use]
    pub fn files(&self) -> &[(String, Vec<u8>)] {
        &self.files
    }

    /// Names and bytes in order of creation.
    #[must_use]
    pub fn into_files(self) -> Vec<(String, Vec<u8>)> {
        self.files
    }

    fn bytes(&mut self, file: usize) -> Result<&mut Vec<u8>, Error> {
        self.files
            .get_mut(file)
            .map(|(_, bytes)| bytes)
            .ok_or_else(|| not_open(file))
    }
}

impl Sink for Memory {
    fn create(&mut self, name: &str) -> Result<usize, Error> {
        self.files.push((name.to_owned(), Vec::new()));
        Ok(self.files.len() - 1)
    }

    fn append(&mut self, file: usize, bytes: &[u8]) -> Result<(), Error> {
        self.bytes(file)?.extend_from_slice(bytes);
        Ok(())
    }

    fn skip(&mut self, file: usize, count: u64) -> Result<(), Error> {
        let count = usize::try_from(count).map_err(|_| not_open(file))?;
        let bytes = self.bytes(file)?;
        bytes.resize(bytes.len() + count, 0);
        Ok(())
    }

    fn settle(&mut self, _file: usize) -> Result<(), Error> {
        Ok(())
    }

    fn patch(&mut self, file: usize, offset: u64, patch: &[u8]) -> Result<(), Error> {
        let place = usize::try_from(offset)
            .ok()
            .and_then(|start| Some(start..start.checked_add(patch.len())?));
        let target = self.bytes(file)?;
        let place = place
            .and_then(|range| target.get_mut(range))
            .ok_or_else(|| not_open(file))?;
        place.copy_from_slice(patch);
        Ok(())
    }

    fn close(&mut self, _file: usize) {}
}

/// Recordings in a folder, written part by part.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    files: Vec<Option<OpenFile>>,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    length: u64,
}

const BUFFER: usize = 1 << 18;

impl Folder {
    /// A sink into `path`, which is made if it is not there.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        std::fs::create_dir_all(&path).map_err(|source| Error::Io {
            path: path.clone(),
            source,
        })?;
        Ok(Self {
            path,
            files: Vec::new(),
        })
    }

    fn open(&mut self, file: usize) -> Result<&mut OpenFile, Error> {
        self.files
            .get_mut(file)
            .and_then(Option::as_mut)
            .ok_or_else(|| not_open(file))
    }
}

impl OpenFile {
    fn flush(&mut self) -> Result<(), Error> {
        let result = self.file.write_all(&self.buffer);
        self.buffer.clear();
        at(&self.path, result)
    }
}

impl Sink for Folder {
    fn create(&mut self, name: &str) -> Result<usize, Error> {
        let path = self.path.join(name);
        let file = at(
            &path,
            OpenOptions::new().write(true).create_new(true).open(&path),
        )?;
        self.files.push(Some(OpenFile {
            path,
            file,
            buffer: Vec::new(),
            length: 0,
        }));
        Ok(self.files.len() - 1)
    }

    fn append(&mut self, file: usize, bytes: &[u8]) -> Result<(), Error> {
        let open = self.open(file)?;
        open.length += bytes.len() as u64;
        open.buffer.extend_from_slice(bytes);
        if open.buffer.len() >= BUFFER {
            open.flush()
        } else {
            Ok(())
        }
    }

    fn skip(&mut self, file: usize, count: u64) -> Result<(), Error> {
        let open = self.open(file)?;
        open.flush()?;
        open.length += count;
        let result = open.file.seek(SeekFrom::Start(open.length));
        at(&open.path, result).map(drop)
    }

    fn settle(&mut self, file: usize) -> Result<(), Error> {
        let open = self.open(file)?;
        open.flush()?;
        at(&open.path, open.file.set_len(open.length))
    }

    fn patch(&mut self, file: usize, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let open = self.open(file)?;
        open.flush()?;
        let result = open
            .file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| open.file.write_all(bytes))
            .and_then(|()| open.file.seek(SeekFrom::Start(open.length)));
        at(&open.path, result).map(drop)
    }

    fn close(&mut self, file: usize) {
        if let Some(open) = self.files.get_mut(file) {
            *open = None;
        }
    }
}

fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, Error> {
    result.map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })
}

fn not_open(file: usize) -> Error {
    Error::Scenario(format!(
        "file number {file} is not open in this sink; use the number that `create` gave"
    ))
}
