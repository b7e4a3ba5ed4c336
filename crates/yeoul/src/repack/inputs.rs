use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use glob::MatchOptions;
use yeoul_pack::{FileInput, Input, Warning, WarningKind};

use super::manifest::FILE_NAME;
use super::own::files_written;

/// Folders in folders that are followed.
const MAX_DEPTH: u32 = 32;

/// The recordings of one broadcast.
#[derive(Debug)]
pub(super) struct Group {
    /// Where its output goes within the output folder; empty: right there.
    pub(super) name: String,
    pub(super) files: Vec<Arc<FileInput>>,
    /// Files whose names the manifest could not hold.
    nameless: Vec<PathBuf>,
}

impl Group {
    /// What is left out before anything is opened.
    pub(super) fn refused(&self) -> impl Iterator<Item = Warning> {
        self.nameless.iter().map(|path| {
            let message = "left out: its path is not UTF-8; rename it";
            Warning::of(WarningKind::Refused, &path.display().to_string(), message)
        })
    }

    /// Its files that have at most `limit` bytes, and a warning for each other one.
    pub(super) fn within(&self, limit: Option<u64>) -> (Vec<Arc<FileInput>>, Vec<Warning>) {
        let (mut files, mut warnings) = (Vec::with_capacity(self.files.len()), Vec::new());
        for file in &self.files {
            let size = file.path().metadata().map_or(0, |meta| meta.len());
            match limit.filter(|limit| size > *limit) {
                Some(limit) => {
                    let message = format!(
                        "left out: has {size} bytes, over the limit of {limit} (--max-input)"
                    );
                    warnings.push(Warning::of(WarningKind::Refused, file.name(), message));
                }
                None => files.push(Arc::clone(file)),
            }
        }
        (files, warnings)
    }

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
                    "{}: {}",
                    input.display(),
                    if input.join(FILE_NAME).exists() {
                        "yeoul wrote this folder (it has a yeoul.json); give the recordings"
                    } else {
                        "no recordings in this folder (*.mp4, *.m4v, *.mov, *.m4a)"
                    }
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
    refuse_reserved(&names)?;
    let mut seen = BTreeSet::new();
    let group = |(name, paths): (String, Vec<PathBuf>)| {
        let fresh = paths
            .into_iter()
            .filter(|path| seen.insert(path.canonicalize().unwrap_or(path.clone())));
        let (named, nameless): (Vec<_>, Vec<_>) = fresh.partition(|path| path.to_str().is_some());
        let files = named.into_iter().map(FileInput::new).map(Arc::new);
        Group {
            name,
            files: files.collect(),
            nameless,
        }
    };
    Ok(folders
        .into_iter()
        .map(group)
        .filter(|group| !group.files.is_empty() || !group.nameless.is_empty())
        .collect())
}

/// Within a broadcast's folder some names are its own.
fn refuse_reserved(names: &BTreeSet<String>) -> anyhow::Result<()> {
    let is_reserved = |first: &str| {
        let numbered = |prefix| {
            let rest = first.strip_prefix(prefix);
            rest.is_some_and(|n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        matches!(first, "video" | "audio") || numbered("audio-") || numbered("lane-")
    };
    for name in names {
        let mut above = vec![("", name.as_str())];
        above.extend(
            name.match_indices('/')
                .map(|(at, _)| (&name[..at], &name[at + 1..])),
        );
        for (outer, inner) in above {
            let first = inner.split('/').next().unwrap_or(inner);
            ensure!(
                outer == name || !names.contains(outer) || !is_reserved(first),
                "'{name}': in the output of a broadcast this name is for a track or a lane; repack this folder by itself"
            );
        }
    }
    Ok(())
}

/// Refuses an output folder that an input is in: it would be replaced, and the input with it.
pub(super) fn refuse_inside(groups: &[Group], output: &Path) -> anyhow::Result<()> {
    let Ok(output) = output.canonicalize() else {
        return Ok(());
    };
    for file in groups.iter().flat_map(|group| &group.files) {
        let is_inside = file
            .path()
            .canonicalize()
            .is_ok_and(|path| path.starts_with(&output));
        ensure!(
            !is_inside,
            "{}: is in the output folder {}, which is replaced as a whole; give another folder",
            file.path().display(),
            output.display()
        );
    }
    Ok(())
}

/// A path that is not there may be a pattern.
fn pattern(input: &Path, error: std::io::Error) -> anyhow::Result<Vec<PathBuf>> {
    let text = input.to_str().filter(|text| text.contains(['*', '?', '[']));
    let Some(text) = text else {
        return Err(error).with_context(|| format!("{}: cannot be read", input.display()));
    };
    let options = MatchOptions {
        require_literal_leading_dot: true,
        ..MatchOptions::new()
    };
    let found =
        glob::glob_with(text, options).with_context(|| format!("'{text}' is not a pattern"))?;
    let mut outputs = Outputs::default();
    let mut paths = Vec::new();
    for path in found {
        let path = path.with_context(|| format!("'{text}'"))?;
        if path.is_file() && !outputs.have(&path) {
            paths.push(path);
        }
    }
    ensure!(
        !paths.is_empty(),
        "'{text}': no file fits this pattern (what yeoul wrote does not count)"
    );
    paths.sort();
    Ok(paths)
}

/// Outputs of yeoul that patterns led into, by their folders.
#[derive(Default)]
struct Outputs(BTreeMap<PathBuf, Option<BTreeSet<PathBuf>>>);

impl Outputs {
    /// Whether yeoul wrote this file.
    fn have(&mut self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|folder| {
            let written = self
                .0
                .entry(folder.to_owned())
                .or_insert_with(|| files_written(folder));
            let inside = path.strip_prefix(folder);
            written
                .as_ref()
                .zip(inside.ok())
                .is_some_and(|(written, inside)| written.contains(inside))
        })
    }
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

/// Whether a file is taken for a recording, by its name.
pub(crate) fn is_recording(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(OsStr::to_str)
        .map(str::to_ascii_lowercase);
    matches!(extension.as_deref(), Some("mp4" | "m4v" | "mov" | "m4a"))
}
