use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::fs::{
    AtFlags, CWD, FlockOperation, RenameFlags, StatxAttributes, StatxFlags, flock, renameat_with,
    statx,
};
use rustix::io::Errno;

use super::own::refuse_foreign;

/// A folder beside the output that becomes the output in one step. Dropped before that, it is gone.
#[derive(Debug)]
pub(super) struct Staging {
    output: PathBuf,
    folder: PathBuf,
    /// Its lock says that somebody is writing: what has none was left by a run that died.
    _lock: File,
    /// The output that is replaced, locked too.
    old: Option<File>,
    published: bool,
    /// Dropped last, when the folder is gone.
    parents: Parents,
}

impl Staging {
    /// Begins an output. Looks first whether it may be replaced.
    pub(super) fn new(output: &Path) -> anyhow::Result<Self> {
        let output = real_place(output)?;
        let (Some(parent), Some(name)) = (output.parent(), output.file_name()) else {
            bail!("{}: give the output folder a name", output.display());
        };
        let prefix = staging_prefix(name);
        recover(parent, &prefix, &output);
        may_replace(&output)?;
        let parents = Parents::make(parent)
            .with_context(|| format!("{}: cannot be made", parent.display()))?;
        let (folder, lock) = claim(parent, &prefix).with_context(|| {
            format!(
                "{}: a folder to write in cannot be made here",
                parent.display()
            )
        })?;
        Ok(Self {
            output,
            folder,
            _lock: lock,
            old: None,
            published: false,
            parents,
        })
    }

    /// A folder within it.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.folder.clone()
        } else {
            self.folder.join(name)
        }
    }

    /// Where a folder within it will be.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.output.clone()
        } else {
            self.output.join(name)
        }
    }

    /// Puts it in the output's place. Returns the old output where that could not be removed.
    pub(super) fn publish(mut self, fsync: bool) -> anyhow::Result<Option<PathBuf>> {
        /// Runs for the same output that may come in between.
        const TRIES: u32 = 16;
        let message = format!("{}: cannot be put in place", self.output.display());
        let context = || message.clone();
        if fsync {
            sync_folders(&self.folder).with_context(context)?;
        }
        let mut tries = 0;
        let old = loop {
            tries += 1;
            // Looked at again: what came meanwhile must not be lost.
            may_replace(&self.output)?;
            let done = if self.output.symlink_metadata().is_ok() {
                self.exchange()
            } else {
                rename_new(&self.folder, &self.output).map_err(anyhow::Error::from)
            };
            match done {
                Ok(()) => break self.folder.clone(),
                Err(error) if tries < TRIES && has_raced(&error) => {}
                Err(error) => return Err(error).with_context(context),
            }
        };
        self.published = true;
        self.parents.keep();
        if let (true, Some(parent)) = (fsync, self.output.parent()) {
            yeoul_spans::sink::file::sync_folder(parent)?;
        }
        Ok(match fs::remove_dir_all(&old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Some(old),
            _ => None,
        })
    }

    /// Changes places with the output that is there; `self.folder` then names that.
    fn exchange(&mut self) -> anyhow::Result<()> {
        let old = File::open(&self.output)?;
        fs::set_permissions(&self.folder, old.metadata()?.permissions())?;
        // So that no other run takes it for one that was left behind.
        let _ = flock(&old, FlockOperation::NonBlockingLockExclusive);
        self.old = Some(old);
        match renameat_with(CWD, &self.folder, CWD, &self.output, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS) => {
                let mut aside = self.folder.clone().into_os_string();
                aside.push(ASIDE);
                fs::rename(&self.output, &aside)?;
                fs::rename(&self.folder, &self.output).inspect_err(|_| {
                    let _ = fs::rename(&aside, &self.output);
                })?;
                self.folder = aside.into();
                return Ok(());
            }
            Err(error) => return Err(io::Error::from(error).into()),
        }
        // A file may have come between the look and the exchange: then everything goes back.
        let Err(foreign) = refuse_foreign(&self.folder, &self.output) else {
            return Ok(());
        };
        match renameat_with(CWD, &self.folder, CWD, &self.output, RenameFlags::EXCHANGE) {
            // Another run took the old output for one that was left behind, and removed it.
            Err(Errno::NOENT) => Ok(()),
            _ => Err(foreign),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The folders above the output that were made for it; removed again unless they are kept.
#[derive(Debug)]
struct Parents(Vec<PathBuf>);

impl Parents {
    fn make(folder: &Path) -> io::Result<Self> {
        let missing = folder
            .ancestors()
            .take_while(|folder| folder.symlink_metadata().is_err())
            .map(Path::to_owned);
        let made = Self(missing.collect());
        fs::create_dir_all(folder)?;
        Ok(made)
    }

    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The output's path without links above it, so that it stays right whatever becomes of those.
fn real_place(output: &Path) -> anyhow::Result<PathBuf> {
    let output = std::path::absolute(output).context("the output folder")?;
    let (Some(parent), Some(name)) = (output.parent(), output.file_name()) else {
        return Ok(output);
    };
    let parent = parent.canonicalize().unwrap_or(parent.to_owned());
    Ok(parent.join(name))
}

/// An output may be replaced when it is an empty folder, or one that yeoul wrote and that nobody has added to.
fn may_replace(output: &Path) -> anyhow::Result<()> {
    let meta = match output.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| output.display().to_string()),
    };
    ensure!(
        !meta.is_symlink(),
        "{}: is a link; give the folder itself",
        output.display()
    );
    ensure!(
        meta.is_dir(),
        "{}: is there and not a folder",
        output.display()
    );
    ensure!(
        !is_mount_point(output),
        "{}: is a mount point, which cannot be replaced in one step; give a folder in it, such as {}",
        output.display(),
        output.join("hls").display()
    );
    let is_current = std::env::current_dir().is_ok_and(|current| current.starts_with(output));
    ensure!(
        !is_current,
        "{}: the current folder is in it and would be replaced; run yeoul from elsewhere, or give a folder in it",
        output.display()
    );
    refuse_foreign(output, output)
}

fn is_mount_point(path: &Path) -> bool {
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())
        .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to),
        done => done.map_err(Into::into),
    }
}

/// Whether another run for the same output came or went in between.
fn has_raced(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(std::io::Error::kind);
    matches!(
        kind,
        Some(io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
    )
}

const PARTIAL: &str = ".partial";
/// Where the old output is for a moment on filesystems that cannot exchange names.
const ASIDE: &str = ".old";

/// `.yeoul-` and a digest of the output's name: short whatever the name is.
fn staging_prefix(name: &OsStr) -> OsString {
    let digest = yeoul_spans::sink::digest::Sha256::of(name.as_encoded_bytes()).to_string();
    format!(".yeoul-{}-", &digest[..12]).into()
}

/// Makes and locks a folder of its own. Process ids are not enough: those of two containers may be the same.
fn claim(parent: &Path, prefix: &OsStr) -> io::Result<(PathBuf, File)> {
    const TRIES: u32 = 1000;
    for number in 0..TRIES {
        let mut name = prefix.to_owned();
        name.push(format!("{}-{number}{PARTIAL}", std::process::id()));
        let folder = parent.join(name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        // Whoever cleans up may have been quicker than the lock.
        match File::open(&folder) {
            Ok(lock) if is_locked(&lock) && is_same(&lock, &folder) => return Ok((folder, lock)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Locks a folder; a filesystem without locks is taken as it is.
fn is_locked(folder: &File) -> bool {
    flock(folder, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

fn is_same(open: &File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    match (open.metadata(), path.symlink_metadata()) {
        (Ok(open), Ok(path)) => identity(open) == identity(path),
        _ => false,
    }
}

/// Removes what runs for the same output left when they were killed; an old output that was only set aside comes back.
fn recover(parent: &Path, prefix: &OsStr, output: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    let aside = format!("{PARTIAL}{ASIDE}");
    for entry in entries.flatten() {
        let name = entry.file_name();
        let bytes = name.as_encoded_bytes();
        let is_aside = bytes.ends_with(aside.as_bytes());
        let ours = bytes.starts_with(prefix.as_encoded_bytes())
            && (is_aside || bytes.ends_with(PARTIAL.as_bytes()));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(folder) = File::open(entry.path()) else {
            continue;
        };
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        if !(is_aside && rename_new(&entry.path(), output).is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn sync_folders(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    yeoul_spans::sink::file::sync_folder(folder)?;
    Ok(())
}
