use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use yeoul_pack::{Output, OutputFile};
use yeoul_spans::Spans;
use yeoul_spans::sink::SinkError;
use yeoul_spans::sink::file::{FileOptions, write_new};

use crate::repack::is_recording;

const MAX_DEPTH: u32 = 32;

/// All folders below and with `root` in which a recording lies.
pub(super) fn folders_with_recordings(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    walk(root, 0, &mut out)?;
    Ok(out)
}

fn walk(folder: &Path, depth: u32, out: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if depth > MAX_DEPTH {
        let folder = folder.display();
        crate::say(&format!(
            "warning: {folder}: folders are nested deeper than {MAX_DEPTH}: left out"
        ));
        return Ok(());
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // A folder below may go at any time.
        Err(_) if depth > 0 => return Ok(()),
        Err(error) => {
            return Err(error).with_context(|| format!("{}: cannot be read", folder.display()));
        }
    };
    let mut has_recordings = false;
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(entry.path()),
            Ok(kind) if kind.is_file() => has_recordings |= is_recording(&entry.path()),
            _ => {}
        }
    }
    if has_recordings {
        out.push(folder.to_owned());
    }
    folders.sort();
    for folder in folders {
        walk(&folder, depth + 1, out)?;
    }
    Ok(())
}

/// Whether a watch takes recordings of a folder: no part of its path within the root is hidden, and none has a name that the
/// output of the folder above it needs for a track or a lane.
pub(super) fn takes(root: &Path, folder: &Path) -> bool {
    let mut above = root.to_owned();
    for part in relative_name(root, folder).components() {
        let name = part.as_os_str().as_encoded_bytes();
        let Component::Normal(_) = part else {
            return false;
        };
        let is_reserved = is_track_folder(name) || name.starts_with(b"lane-");
        if name.starts_with(b".") || (is_reserved && has_recordings(&above)) {
            return false;
        }
        above.push(part);
    }
    true
}

fn has_recordings(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| is_recording(&entry.path()))
}

/// A folder's path within the root; empty for the root itself.
pub(super) fn relative_name(root: &Path, folder: &Path) -> PathBuf {
    folder
        .strip_prefix(root)
        .unwrap_or(Path::new(""))
        .to_owned()
}

/// Writes files of a lane into its folder: each whole under its name, or not at all. One that is there already with the same
/// length was written before a restart; the same input gives the same bytes.
#[derive(Debug)]
pub(super) struct Files<'a> {
    pub(super) folder: &'a Path,
    pub(super) fsync: bool,
}

impl Output for Files<'_> {
    type Error = SinkError;

    fn file(&mut self, file: OutputFile) -> Result<(), SinkError> {
        let path = self.folder.join(&file.name);
        if path
            .metadata()
            .is_ok_and(|meta| meta.is_file() && meta.len() == file.body.len())
        {
            return Ok(());
        }
        self.replace(&file.name, &file.body)
    }
}

impl Files<'_> {
    /// Writes a file in the place of one that may be there.
    pub(super) fn replace(&self, name: &str, body: &Spans) -> Result<(), SinkError> {
        let path = self.folder.join(name);
        if let Some(parent) = path.parent().filter(|parent| *parent != self.folder) {
            // Whether it failed shows when the file is written.
            let _ = fs::create_dir(parent);
        }
        let options = FileOptions {
            fsync: self.fsync,
            replace: true,
        };
        write_new(path, body, &options).map(|_| ())
    }
}

/// Removes what a killed run was writing.
pub(super) fn remove_partial(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(b".yeoul-") && name.ends_with(b".partial") {
            let _ = fs::remove_file(entry.path());
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_track_folder(name) {
            remove_partial(&entry.path());
        }
    }
}

fn is_track_folder(name: &[u8]) -> bool {
    name == b"video" || name == b"audio" || name.starts_with(b"audio-")
}
