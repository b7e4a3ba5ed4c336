use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use super::manifest;

/// A folder beside the output that becomes the output in one step. Dropped before that, it is gone.
#[derive(Debug)]
pub(super) struct Staging {
    output: PathBuf,
    folder: PathBuf,
    /// Its lock says that somebody is writing: what has none was left by a run that died.
    _lock: File,
    published: bool,
}

impl Staging {
    /// Begins an output. Looks first whether it may be replaced.
    pub(super) fn new(output: &Path) -> anyhow::Result<Self> {
        let output = std::path::absolute(output).context("the output folder")?;
        may_replace(&output)?;
        let (Some(parent), Some(name)) = (output.parent(), output.file_name()) else {
            bail!("{}: give the output folder a name", output.display());
        };
        fs::create_dir_all(parent)
            .with_context(|| format!("{}: cannot be made", parent.display()))?;
        let prefix = staging_prefix(name);
        remove_abandoned(parent, &prefix);
        let mut own = prefix;
        own.push(format!("{}.partial", std::process::id()));
        let folder = parent.join(own);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("{}: cannot be removed", folder.display()))?;
        }
        fs::create_dir(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        let lock = File::open(&folder).with_context(|| format!("{}", folder.display()))?;
        let _ = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            output,
            folder,
            _lock: lock,
            published: false,
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

    /// Puts it in the output's place.
    pub(super) fn publish(mut self, fsync: bool) -> anyhow::Result<()> {
        let message = format!("{}: cannot be put in place", self.output.display());
        let context = || message.clone();
        if fsync {
            sync_folders(&self.folder).with_context(context)?;
        }
        // Looked at again: what came meanwhile must not be lost.
        may_replace(&self.output)?;
        if !self.output.exists() {
            match renameat_with(CWD, &self.folder, CWD, &self.output, RenameFlags::NOREPLACE) {
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                    fs::rename(&self.folder, &self.output).with_context(context)?;
                }
                done => done.with_context(context)?,
            }
            self.published = true;
        } else {
            self.exchange().with_context(context)?;
        }
        if let (true, Some(parent)) = (fsync, self.output.parent()) {
            yeoul_spans::sink::file::sync_folder(parent)?;
        }
        Ok(())
    }

    /// Changes places with the output that is there, and removes that.
    fn exchange(&mut self) -> std::io::Result<()> {
        match renameat_with(CWD, &self.folder, CWD, &self.output, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                let mut aside = self.folder.clone().into_os_string();
                aside.push(".old");
                fs::rename(&self.output, &aside)?;
                fs::rename(&self.folder, &self.output)?;
                self.folder = aside.into();
            }
            Err(error) => return Err(error.into()),
        }
        self.published = true;
        fs::remove_dir_all(&self.folder)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// An output may be replaced when it is an empty folder, or one that yeoul wrote and that nobody has added to.
fn may_replace(output: &Path) -> anyhow::Result<()> {
    let Ok(meta) = output.symlink_metadata() else {
        return Ok(());
    };
    let meta = if meta.is_symlink() {
        bail!("{}: is a link; give the folder itself", output.display())
    } else {
        meta
    };
    ensure!(
        meta.is_dir(),
        "{}: is there and not a folder",
        output.display()
    );
    let is_empty = fs::read_dir(output)
        .with_context(|| format!("{}: cannot be read", output.display()))?
        .next()
        .is_none();
    if is_empty {
        return Ok(());
    }
    let Some(own) = manifest::files_written(output) else {
        bail!(
            "{}: is not empty and yeoul did not write it; give another folder, or remove it first",
            output.display()
        );
    };
    let mut foreign = Vec::new();
    collect_foreign(output, Path::new(""), &own, &mut foreign);
    if let Some(first) = foreign.first() {
        bail!(
            "{}: has {} files that yeoul did not write, such as {}; move them, or give another folder",
            output.display(),
            foreign.len(),
            first.display()
        );
    }
    Ok(())
}

fn collect_foreign(
    root: &Path,
    inside: &Path,
    own: &std::collections::BTreeSet<PathBuf>,
    foreign: &mut Vec<PathBuf>,
) {
    let Ok(entries) = fs::read_dir(root.join(inside)) else {
        foreign.push(inside.to_owned());
        return;
    };
    for entry in entries.flatten() {
        let path = inside.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_foreign(root, &path, own, foreign);
        } else if !own.contains(&path) {
            foreign.push(path);
        }
    }
}

/// `.yeoul-` and a digest of the output's name: short whatever the name is.
fn staging_prefix(name: &std::ffi::OsStr) -> OsString {
    let digest = yeoul_spans::sink::digest::Sha256::of(name.as_encoded_bytes()).to_string();
    format!(".yeoul-{}-", &digest[..12]).into()
}

/// Removes what runs for the same output left when they were killed.
fn remove_abandoned(parent: &Path, prefix: &OsString) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let bytes = name.as_encoded_bytes();
        let ours = bytes.starts_with(prefix.as_encoded_bytes())
            && (bytes.ends_with(b".partial") || bytes.ends_with(b".partial.old"));
        if !ours {
            continue;
        }
        let Ok(folder) = File::open(entry.path()) else {
            continue;
        };
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn sync_folders(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    yeoul_spans::sink::file::sync_folder(folder)?;
    Ok(())
}
