//! A regular file, opened for reading at offsets.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::{Identity, SourceError};

/// An open regular file and its path for errors.
#[derive(Debug)]
pub(super) struct RegularFile {
    pub(super) name: String,
    pub(super) file: File,
}

impl RegularFile {
    /// Opens `path`, which must lead to a regular file; symbolic links are followed.
    pub(super) fn open(path: &Path) -> Result<(Self, Identity), SourceError> {
        let name = path.display().to_string();
        // Opening a FIFO or a device has effects of its own, so look first.
        match std::fs::metadata(path) {
            Ok(found) => require_regular(&name, found.file_type())?,
            Err(error) => return Err(SourceError::Open { name, error }),
        }
        Self::open_unseen(path, name)
    }

    /// Opens `path`, which may be anything by now, and looks at what was really opened.
    fn open_unseen(path: &Path, name: String) -> Result<(Self, Identity), SourceError> {
        let file = match OpenOptions::new()
            .read(true)
            .custom_flags(open_flags())
            .open(path)
        {
            Ok(file) => file,
            Err(error) => return Err(SourceError::Open { name, error }),
        };
        let opened = Self { name, file };
        let metadata = opened.metadata()?;
        require_regular(&opened.name, metadata.file_type())?;
        Ok((opened, identity(&metadata)))
    }

    /// What the open file is now, whatever its path leads to.
    pub(super) fn identity(&self) -> Result<Identity, SourceError> {
        self.metadata().map(|metadata| identity(&metadata))
    }

    pub(super) fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<(), SourceError> {
        self.file.read_exact_at(buf, offset).map_err(|error| {
            let (name, len) = (self.name.clone(), buf.len() as u64);
            match error.kind() {
                io::ErrorKind::UnexpectedEof => SourceError::Truncated { name, offset, len },
                _ => SourceError::Read {
                    name,
                    offset,
                    len,
                    error,
                },
            }
        })
    }

    fn metadata(&self) -> Result<Metadata, SourceError> {
        self.file.metadata().map_err(|error| SourceError::Stat {
            name: self.name.clone(),
            error,
        })
    }
}

/// `O_NONBLOCK`: a FIFO that took the file's place after the first look must not hang the open.
fn open_flags() -> i32 {
    (OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY)
        .bits()
        .cast_signed()
}

fn identity(metadata: &Metadata) -> Identity {
    Identity {
        dev: metadata.dev(),
        ino: metadata.ino(),
        size: metadata.len(),
        mtime_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
    }
}

fn require_regular(name: &str, found: FileType) -> Result<(), SourceError> {
    let kind = if found.is_file() {
        return Ok(());
    } else if found.is_dir() {
        "directory"
    } else if found.is_fifo() {
        "FIFO"
    } else if found.is_socket() {
        "socket"
    } else {
        "device"
    };
    Err(SourceError::NotRegular {
        name: name.to_owned(),
        kind,
    })
}

/// Refuses a file that is another file than `was`: a path that leads elsewhere.
pub(super) fn require_same_inode(
    name: &str,
    was: &Identity,
    now: &Identity,
) -> Result<(), SourceError> {
    require_equal(name, "device", was.dev, now.dev)?;
    require_equal(name, "inode", was.ino, now.ino)
}

/// Refuses a value that differs, naming it.
pub(super) fn require_equal<T: Into<i128>>(
    name: &str,
    field: &'static str,
    was: T,
    now: T,
) -> Result<(), SourceError> {
    let (was, now) = (was.into(), now.into());
    if was == now {
        Ok(())
    } else {
        Err(SourceError::Changed {
            name: name.to_owned(),
            field,
            was,
            now,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Without `O_NONBLOCK` this waits for a writer for ever.
    #[test]
    fn a_fifo_that_took_the_place_of_a_file_is_not_waited_on() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo.mp4");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let error = RegularFile::open_unseen(&path, "fifo.mp4".to_owned()).unwrap_err();
        assert!(
            matches!(error, SourceError::NotRegular { kind: "FIFO", .. }),
            "{error}"
        );
    }
}
