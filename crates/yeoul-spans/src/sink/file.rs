//! A body as a file.
//!
//! [`write_new`] publishes: the file appears under its name whole or not at all. [`create`] writes in place, for a
//! caller that fills a staging folder and renames that. [`write_into`] writes into a file that the caller opened.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use self::system::{Real, System};
use super::{SinkError, display};
use crate::spans::Spans;

mod body;
mod system;
#[cfg(test)]
mod tests;

/// Makes the names of partial files differ within the process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Wait until the bytes are on the disk, and with [`write_new`] the name too.
    pub fsync: bool,
    /// Put the file in the place of one that has its name. Otherwise that is an error.
    pub replace: bool,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Length of the body.
    pub bytes: u64,
    /// Of these, the bytes that the kernel copied.
    pub by_kernel: u64,
    /// Of these, the bytes that went through this process: inline bytes, and ranges that the kernel would not copy.
    pub by_user: u64,
}

/// Writes the body to a new file at `path`: beside its place, in the same folder, as `.yeoul-….partial`, then renamed.
/// On an error nothing stays behind; a process that is killed may leave the `.partial` file.
///
/// # Errors
///
/// [`SinkError::Exists`] if something has the name (unless [`FileOptions::replace`]), [`SinkError::Create`],
/// [`SinkError::Source`], [`SinkError::NoSpace`], [`SinkError::Write`], [`SinkError::Publish`], and
/// [`SinkError::Sync`]: if that one names the folder, the file is whole and in its place, and may not survive a power
/// cut.
pub fn write_new(
    path: impl AsRef<Path>,
    spans: &Spans,
    options: &FileOptions,
) -> Result<Written, SinkError> {
    write_new_by(&Real, path.as_ref(), spans, options)
}

/// Writes the body to a new file at `path`, in place: it is visible while it is written, and removed on an error.
/// [`FileOptions::fsync`] syncs the file; the folder is the caller's ([`sync_folder`]).
///
/// # Errors
///
/// As [`write_new`], without [`SinkError::Publish`]. [`FileOptions::replace`] does not apply.
pub fn create(
    path: impl AsRef<Path>,
    spans: &Spans,
    options: &FileOptions,
) -> Result<Written, SinkError> {
    create_by(&Real, path.as_ref(), spans, options)
}

/// Writes the body into `file` from byte 0 on; errors call it `name`. The file is a regular one, open for writing and
/// not for append. It is not truncated, synced or closed.
///
/// # Errors
///
/// [`SinkError::Source`], [`SinkError::NoSpace`], [`SinkError::Write`]; how much of the file was written is then not
/// known.
pub fn write_into(file: impl AsFd, name: &str, spans: &Spans) -> Result<Written, SinkError> {
    body::write(&Real, file.as_fd(), name, spans)
}

/// Waits until the names in `folder` are on the disk.
///
/// # Errors
///
/// [`SinkError::Sync`]. A filesystem that cannot sync folders (`EINVAL`) is not an error.
pub fn sync_folder(folder: impl AsRef<Path>) -> Result<(), SinkError> {
    sync_folder_by(&Real, folder.as_ref())
}

fn write_new_by<S: System>(
    system: &S,
    path: &Path,
    spans: &Spans,
    options: &FileOptions,
) -> Result<Written, SinkError> {
    let Place { folder, is_taken } = prepare(path, options)?;
    let (file, mut partial) =
        create_partial(folder, &NUMBER).map_err(|error| SinkError::Create {
            to: display(path),
            error,
        })?;
    // Where a file is replaced, ext4 writes the new one out at the rename, but only blocks that it has not placed yet: in
    // reserved ones an old file could give way to an empty one at a power cut.
    if !is_taken {
        reserve(system, &file, spans);
    }
    let written = fill(system, &file, path, spans, options)?;
    drop(file);
    publish(system, &mut partial, path, options)?;
    if options.fsync {
        sync_folder_by(system, folder)?;
    }
    Ok(written)
}

fn create_by<S: System>(
    system: &S,
    path: &Path,
    spans: &Spans,
    options: &FileOptions,
) -> Result<Written, SinkError> {
    let file = create_new(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => SinkError::Exists { to: display(path) },
        _ => SinkError::Create {
            to: display(path),
            error,
        },
    })?;
    let mut unfinished = Unfinished::new(path.to_owned());
    reserve(system, &file, spans);
    let written = fill(system, &file, path, spans, options)?;
    unfinished.keep();
    Ok(written)
}

/// A body of fewer bytes is not worth another call.
const RESERVED_FROM: u64 = 32 * 1024;

/// Lets the filesystem find room for the whole body at once. On ext4 that makes copying a third faster: else it looks for
/// room at each of the many small steps of an unaligned copy. One that cannot is asked by the writes, and so is a full one.
fn reserve<S: System>(system: &S, file: &File, spans: &Spans) {
    if spans.len() >= RESERVED_FROM {
        let _ = system.reserve(file.as_fd(), spans.len());
    }
}

fn fill<S: System>(
    system: &S,
    file: &File,
    path: &Path,
    spans: &Spans,
    options: &FileOptions,
) -> Result<Written, SinkError> {
    let written = body::write(system, file.as_fd(), &display(path), spans)?;
    if options.fsync {
        system.sync(file.as_fd()).map_err(|errno| SinkError::Sync {
            to: display(path),
            error: errno.into(),
        })?;
    }
    Ok(written)
}

/// Where a file is to be.
struct Place<'a> {
    folder: &'a Path,
    /// Something has the name already.
    is_taken: bool,
}

/// Learns before the body is written that `path` cannot be had (it exists, its name is too long, its folder is not
/// there).
fn prepare<'a>(path: &'a Path, options: &FileOptions) -> Result<Place<'a>, SinkError> {
    let refuse = |error| {
        Err(SinkError::Create {
            to: display(path),
            error,
        })
    };
    let (Some(folder), Some(_)) = (path.parent(), path.file_name()) else {
        return refuse(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path does not end in a file name",
        ));
    };
    let is_taken = match path.symlink_metadata() {
        Ok(_) if !options.replace => return Err(SinkError::Exists { to: display(path) }),
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return refuse(error),
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    Ok(Place { folder, is_taken })
}

/// A new file in `folder` under a short name of its own, so that the length of the final name does not matter. `number`
/// is what this process has not used yet; a killed one of the same id may have left files that it used.
fn create_partial(folder: &Path, number: &AtomicU64) -> io::Result<(File, Unfinished)> {
    const TRIES: u32 = 1000;
    let mut tries = 1;
    loop {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(
            ".yeoul-{:x}-{number:x}.partial",
            std::process::id()
        ));
        match create_new(&path) {
            Ok(file) => return Ok((file, Unfinished::new(path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {
                tries += 1
            }
            Err(error) => return Err(error),
        }
    }
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Gives the finished file its name.
fn publish<S: System>(
    system: &S,
    partial: &mut Unfinished,
    path: &Path,
    options: &FileOptions,
) -> Result<(), SinkError> {
    let renamed = if options.replace {
        std::fs::rename(&partial.path, path)
    } else {
        match system.rename_new(&partial.path, path) {
            // NFS and some FUSE know no such rename; a hard link does not replace either. The first name then goes.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return std::fs::hard_link(&partial.path, path)
                    .map_err(|error| publish_error(path, error));
            }
            renamed => renamed.map_err(io::Error::from),
        }
    };
    renamed.map_err(|error| publish_error(path, error))?;
    partial.keep();
    Ok(())
}

fn publish_error(path: &Path, error: io::Error) -> SinkError {
    let to = display(path);
    match error.kind() {
        io::ErrorKind::AlreadyExists => SinkError::Exists { to },
        _ => SinkError::Publish { to, error },
    }
}

fn sync_folder_by<S: System>(system: &S, folder: &Path) -> Result<(), SinkError> {
    let failed = |error| SinkError::Sync {
        to: display(folder),
        error,
    };
    let open = File::open(folder).map_err(failed)?;
    match system.sync(open.as_fd()) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(failed(errno.into())),
    }
}

/// Removes the file at its path when dropped, unless it is kept.
struct Unfinished {
    path: PathBuf,
    keep: bool,
}

impl Unfinished {
    fn new(path: PathBuf) -> Self {
        Self { path, keep: false }
    }

    fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.keep {
            // Already on the way to an error that says more than this one could.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
