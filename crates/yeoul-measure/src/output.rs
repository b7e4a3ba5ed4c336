//! Inputs and outputs as the harness sees them: names, sizes, times and SHA-256 sums.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A file or folder could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", .path.display())]
pub struct FileError {
    /// What was tried.
    pub action: &'static str,
    /// With which file.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

pub(crate) fn failed<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> FileError + 'a {
    move |source| FileError {
        action,
        path: path.to_owned(),
        source,
    }
}

/// What a comparison works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// As it was given.
    pub path: PathBuf,
    /// Bytes of the file, or of all files in the folder.
    pub bytes: u64,
    /// Of the file's content; of a folder as [`tree_sha256`].
    pub sha256: String,
}

impl Input {
    /// Reads and hashes `path`, a file or a folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: impl Into<PathBuf>) -> Result<Self, FileError> {
        let path = path.into();
        let metadata = fs::metadata(&path).map_err(failed("read", &path))?;
        if metadata.is_dir() {
            let bytes = files_in(&path)?.iter().map(|file| file.bytes).sum();
            return Ok(Self {
                bytes,
                sha256: tree_sha256(&path)?,
                path,
            });
        }
        Ok(Self {
            bytes: metadata.len(),
            sha256: file_sha256(&path)?,
            path,
        })
    }
}

/// A file in an output folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Relative to the folder, `/` between names.
    pub path: String,
    /// Its size; 0 for a symbolic link.
    pub bytes: u64,
    /// When it was created, where the filesystem knows.
    pub created: Option<SystemTime>,
    /// When its content last changed.
    pub modified: Option<SystemTime>,
    /// How many names it has.
    pub links: u64,
    /// Whether it is a symbolic link; never followed.
    pub symbolic_link: bool,
}

/// All files below `folder`, ordered by path. A folder that is not there has none.
///
/// # Errors
/// When it cannot be read.
pub fn files_in(folder: &Path) -> Result<Vec<OutputFile>, FileError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        let entries = match fs::read_dir(&current) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && current == folder => break,
            entries => entries.map_err(failed("read", &current))?,
        };
        for entry in entries {
            let path = entry.map_err(failed("read", &current))?.path();
            let metadata = fs::symlink_metadata(&path).map_err(failed("read", &path))?;
            if metadata.is_dir() {
                folders.push(path);
                continue;
            }
            let symbolic_link = metadata.is_symlink();
            files.push(OutputFile {
                path: path
                    .strip_prefix(folder)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .into_owned(),
                bytes: if symbolic_link { 0 } else { metadata.len() },
                created: metadata.created().ok(),
                modified: metadata.modified().ok(),
                links: metadata.nlink(),
                symbolic_link,
            });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// SHA-256 of a folder: of one line `SHA256  PATH\n` a file, in order of path, as `sha256sum` prints it. The same for
/// the same names with the same bytes, wherever the folder is.
///
/// # Errors
/// When something in it cannot be read.
pub fn tree_sha256(folder: &Path) -> Result<String, FileError> {
    let mut lines = Sha256::new();
    for file in files_in(folder)? {
        let sum = file_sha256(&folder.join(&file.path))?;
        lines.update(format!("{sum}  {}\n", file.path));
    }
    Ok(hexadecimal(&lines.finalize()))
}

/// SHA-256 of a file's content, in lower-case hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub fn file_sha256(path: &Path) -> Result<String, FileError> {
    let mut file = File::open(path).map_err(failed("read", path))?;
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(&sum.finalize())),
            Ok(length) => sum.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed("read", path)(error)),
        }
    }
}

/// SHA-256 of `bytes`, in lower-case hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Makes `folder` an empty one, whatever was there.
pub(crate) fn empty(folder: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("empty", folder)(error))
        }
        _ => fs::create_dir_all(folder).map_err(failed("make", folder)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_sum_is_that_of_sha256sum_lines_and_does_not_know_its_place() {
        let one = tempfile::tempdir().unwrap();
        let two = tempfile::tempdir().unwrap();
        for folder in [&one, &two] {
            fs::create_dir(folder.path().join("b")).unwrap();
            fs::write(folder.path().join("b/녹화.m4s"), "x").unwrap();
            fs::write(folder.path().join("a"), "").unwrap();
        }
        let lines = format!("{}  a\n{}  b/녹화.m4s\n", sha256(b""), sha256(b"x"));
        assert_eq!(tree_sha256(one.path()).unwrap(), sha256(lines.as_bytes()));
        assert_eq!(
            tree_sha256(one.path()).unwrap(),
            tree_sha256(two.path()).unwrap()
        );
    }

    #[test]
    fn the_empty_sum_is_the_known_one() {
        assert_eq!(
            sha256(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn a_missing_input_is_named() {
        let error = Input::of("/없는/녹화.mp4").unwrap_err().to_string();
        assert!(error.starts_with("cannot read /없는/녹화.mp4: "), "{error}");
    }
}
