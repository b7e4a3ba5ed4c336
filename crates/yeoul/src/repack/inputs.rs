use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use yeoul_pack::FileInput;

use super::manifest::FILE_NAME;

/// Folders in folders that are followed.
const MAX_DEPTH: u32 = 32;

/// The recordings of one broadcast.
#[derive(Debug)]
pub(super) struct Group {
    /// Where its output goes within the output folder; empty: right there.
    pub(super) name: String,
    pub(super) files: Vec<Arc<FileInput>>,
}

impl Group {
    /// Bytes of its files, as far as they can be told.
    pub(super) fn bytes(&self) -> u64 {
        self.files
            .iter()
            .filter_map(|file| file.path().metadata().ok())
            .map(|meta| meta.len())
            .sum()
    }
}

/// Sorts what was named on the command line into broadcasts: each folder with recordings is one; files and patterns
/// together are one.
pub(super) fn groups(inputs: &[PathBuf]) -> anyhow::Result<Vec<Group>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders: Vec<(String, Vec<PathBuf>)> = Vec::new();
    let several = inputs.len() > 1;
    for input in inputs {
        match input.metadata() {
            Ok(meta) if meta.is_dir() => {
                let name = if several {
                    folder_name(input)?
                } else {
                    String::new()
                };
                let before = folders.len();
                walk(input, &name, 0, &mut folders)?;
                ensure!(
                    folders.len() > before,
                    "{}: no recordings in this folder (*.mp4, *.m4v, *.mov, *.m4a)",
                    input.display()
                );
            }
            Ok(_) => files.push(input.clone()),
            Err(error) => files.extend(pattern(input, error)?),
        }
    }
    if !files.is_empty() {
        folders.insert(0, (String::new(), files));
    }
    if let [(name, _)] = &mut folders[..] {
        name.clear();
    }
    let mut names = BTreeSet::new();
    for (name, _) in &folders {
        ensure!(
            names.insert(name.clone()),
            "two inputs would both go to '{}' in the output: repack them one by one",
            if name.is_empty() { "." } else { name }
        );
    }
    let mut seen = BTreeSet::new();
    let group = |(name, paths): (String, Vec<PathBuf>)| {
        let fresh = paths
            .into_iter()
            .filter(|path| seen.insert(path.canonicalize().unwrap_or(path.clone())));
        Group {
            name,
            files: fresh.map(|path| Arc::new(FileInput::new(path))).collect(),
        }
    };
    Ok(folders
        .into_iter()
        .map(group)
        .filter(|group| !group.files.is_empty())
        .collect())
}

/// A path that is not there may be a pattern.
fn pattern(input: &Path, error: std::io::Error) -> anyhow::Result<Vec<PathBuf>> {
    let text = input.to_str().filter(|text| text.contains(['*', '?', '[']));
    let Some(text) = text else {
        return Err(error).with_context(|| format!("{}: cannot be read", input.display()));
    };
    let found = glob::glob(text).with_context(|| format!("'{text}' is not a pattern"))?;
    let mut paths = Vec::new();
    for path in found {
        let path = path.with_context(|| format!("'{text}'"))?;
        if path.is_file() {
            paths.push(path);
        }
    }
    ensure!(!paths.is_empty(), "'{text}': no file fits this pattern");
    paths.sort();
    Ok(paths)
}

fn folder_name(path: &Path) -> anyhow::Result<String> {
    let real = path
        .canonicalize()
        .with_context(|| format!("{}: cannot be read", path.display()))?;
    match real.file_name().and_then(OsStr::to_str) {
        Some(name) => Ok(name.to_owned()),
        None => bail!("{}: give a folder with a name in UTF-8", path.display()),
    }
}

/// Collects folders with recordings. What yeoul wrote is not input; links to folders are not followed.
fn walk(
    folder: &Path,
    name: &str,
    depth: u32,
    out: &mut Vec<(String, Vec<PathBuf>)>,
) -> anyhow::Result<()> {
    let context = || format!("{}: cannot be read", folder.display());
    if folder.join(FILE_NAME).exists() {
        return Ok(());
    }
    ensure!(
        depth <= MAX_DEPTH,
        "{}: folders are nested deeper than {MAX_DEPTH}",
        folder.display()
    );
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .and_then(Iterator::collect)
        .with_context(context)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    let mut folders = Vec::new();
    for entry in entries {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let kind = entry.file_type().with_context(context)?;
        if kind.is_dir() && !hidden {
            folders.push(entry);
        } else if !kind.is_dir() && !hidden && is_recording(&entry.path()) {
            files.push(entry.path());
        }
    }
    if !files.is_empty() {
        out.push((name.to_owned(), files));
    }
    for entry in folders {
        let Some(own) = entry.file_name().to_str().map(str::to_owned) else {
            bail!("{}: the folder's name is not UTF-8", entry.path().display());
        };
        let name = if name.is_empty() {
            own
        } else {
            format!("{name}/{own}")
        };
        walk(&entry.path(), &name, depth + 1, out)?;
    }
    Ok(())
}

fn is_recording(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(OsStr::to_str)
        .map(str::to_ascii_lowercase);
    matches!(extension.as_deref(), Some("mp4" | "m4v" | "mov" | "m4a"))
}
