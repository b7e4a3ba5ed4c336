//! `yeoul verify`: is what was packed what was recorded?
//!
//! A judge that shares no code with the packer: it reads boxes itself, resolves samples itself, and compares every
//! boundary between recordings with the recordings' own clock (mtxi DTS + `tfdt`). Only headers are read, but with
//! [`Options::deep`], which compares payload. Memory is that of one part and one segment at a time.
//!
//! What counts as wrong:
//!
//! | | limit |
//! |---|---|
//! | output time against the recordings' own clock, at each boundary and inside | 2 ticks ([`CLOCK_LIMIT_TICKS`]) |
//! | end of a sample against decode time of the next, in each track | 0 ticks, but at a DISCONTINUITY and where a track pauses for 1 s or more |
//! | sum of EXTINF against presentation time, of the playlist or of all that are cut together | 1 ms since the first segment; where there is no video a segment may begin a frame later |
//! | PROGRAM-DATE-TIME against anchor + own clock | 1 ms and 2 ticks |

mod boxes;
mod broadcast;
mod command;
mod compare;
mod fragment;
mod input;
mod manifest;
mod media;
mod movie;
mod payload;
mod playlist;
mod presentation;
mod recording;
mod recordings;
mod report;
mod segment;
mod source;
mod table;
mod timeline;
mod tracks;

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

pub use command::{Args, command};
pub(crate) use payload::digest as payload_digest;
pub use report::{Boundary, Finding, MAX_FINDINGS, Report};

/// How many ticks of a track its output may be off the recordings' own clock: recorders round ticks to nanoseconds and back.
pub const CLOCK_LIMIT_TICKS: u64 = 2;

/// What to compare with, and how far to go.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The folder where the recordings are now, when they are not where `yeoul.json` says.
    pub recordings: Option<PathBuf>,
    /// Do without the recordings: check the output alone.
    pub no_recordings: bool,
    /// Compare the payload of every sample too.
    pub deep: bool,
}

/// Why nothing could be checked. What is wrong with something that was checked is in the [`Report`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is nothing here that can be checked.
    #[error("{}: is neither a playlist, a recording, nor a folder of one or the other", .0.display())]
    Nothing(PathBuf),
}

/// The result of a check that could be made.
pub type Result<T> = std::result::Result<T, Error>;

/// Checks a folder that `yeoul repack` wrote (one with `yeoul.json`), against its recordings.
///
/// # Errors
/// `yeoul.json` cannot be read.
pub fn directory(dir: &Path, options: &Options) -> Result<Report> {
    let inside = manifest::Inside::read(dir)?;
    let mut report = Report::default();
    if inside.is_broadcast() || inside.broadcasts.is_empty() {
        report.absorb(broadcast::check(dir, options)?, "");
    }
    for name in &inside.broadcasts {
        let path = Path::new(name);
        let is_inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if is_inside && dir.join(path).join(manifest::FILE_NAME).is_file() {
            report.absorb(broadcast::check(&dir.join(path), options)?, name);
        } else {
            report.problem(
                name,
                "is named by yeoul.json as a broadcast, and is not there",
            );
        }
    }
    Ok(report.finished())
}

/// Checks an HLS playlist and what it names, without any manifest. A multivariant playlist is followed.
///
/// # Errors
/// The playlist cannot be read.
pub fn playlist(path: &Path) -> Result<Report> {
    let mut report = Report::default();
    let list = playlist::Playlist::parse(&broadcast::read_text(path, playlist::MAX_PLAYLIST)?);
    let label = |p: &Path| {
        p.strip_prefix(path.parent().unwrap_or(path))
            .unwrap_or(p)
            .display()
            .to_string()
    };
    let mut lists = Vec::new();
    for uri in &list.variants {
        let Some(file) = playlist::local_path(path, uri) else {
            report.problem(
                uri,
                "is not a file beside the playlist, it cannot be checked",
            );
            continue;
        };
        let Some(list) = broadcast::load_playlist(&file, uri, &mut report) else {
            continue;
        };
        if list.is_multivariant() {
            report.problem(uri, "is multivariant itself");
            continue;
        }
        lists.push((file, uri.clone(), list));
    }
    if !list.is_multivariant() {
        lists.push((path.to_owned(), label(path), list));
    }
    let mut inits = media::Inits::new();
    let mut timed = Vec::new();
    for (file, label, list) in lists {
        let shown = media::check(&file, &label, &list, None, &mut inits, &mut report).shown;
        timed.push(presentation::Timed { label, list, shown });
    }
    presentation::check(&timed, None, &mut report);
    report.distinct_inits = inits.len();
    Ok(report.finished())
}

/// Checks recordings by themselves: boxes, torn tails, time of every track, takes and their numbers.
#[must_use]
pub fn recordings(files: &[PathBuf]) -> Report {
    recordings::check(files)
}

/// Checks one initialization segment and media segments that follow each other, all in memory.
#[must_use]
pub fn stream(init: &[u8], segments: &[Vec<u8>]) -> Report {
    let mut report = Report {
        segments: segments.len(),
        distinct_inits: 1,
        ..Report::default()
    };
    let movie = match media::read_init(init) {
        Ok(movie) => movie,
        Err(fault) => {
            report.problem("init", fault.to_string());
            return report.finished();
        }
    };
    let mut tracks = tracks::Tracks::default();
    for (n, bytes) in segments.iter().enumerate() {
        let place = format!("segment {n}");
        let input = input::Input::Memory(bytes);
        let read = segment::read(&input, &movie, &place, &mut report);
        tracks.push(&read, &movie, &input, 0, &place, None, &mut report);
    }
    report.finished()
}

/// Checks whatever each path is: a folder with `yeoul.json`, a folder of such folders, a playlist, a recording, a folder of
/// recordings. Recordings are checked together.
///
/// # Errors
/// A path cannot be read, or there is nothing to check in it.
pub fn paths(paths: &[PathBuf], options: &Options) -> Result<Report> {
    let mut report = Report::default();
    let mut files = Vec::new();
    let several = paths.len() > 1;
    for path in paths {
        let prefix = if several {
            path.display().to_string()
        } else {
            String::new()
        };
        let is_folder = fs::metadata(path)
            .map_err(|source| Error::Read {
                path: path.clone(),
                source,
            })?
            .is_dir();
        if !is_folder {
            match path.extension() {
                Some(e) if e == "m3u8" => report.absorb(playlist(path)?, &prefix),
                _ => files.push(path.clone()),
            }
        } else if path.join(manifest::FILE_NAME).is_file() {
            report.absorb(directory(path, options)?, &prefix);
        } else {
            folder(path, options, &mut report, &mut files)?;
        }
    }
    if !files.is_empty() {
        report.absorb(recordings(&files), "");
    }
    Ok(report.finished())
}

/// Folders in folders that are followed.
const MAX_DEPTH: u32 = 32;

/// A folder without `yeoul.json`: what a watch wrote, or recordings, or folders of these.
fn folder(
    path: &Path,
    options: &Options,
    report: &mut Report,
    files: &mut Vec<PathBuf>,
) -> Result<()> {
    let before = (
        files.len(),
        report.segments,
        report.problems.len(),
        report.notes.len(),
    );
    let found = inside(path, path, options, report, files, 0)?;
    let after = (
        files.len(),
        report.segments,
        report.problems.len(),
        report.notes.len(),
    );
    if found == 0 && before == after {
        return Err(Error::Nothing(path.to_owned()));
    }
    Ok(())
}

/// Checks a folder and those in it; how many outputs there were.
fn inside(
    root: &Path,
    path: &Path,
    options: &Options,
    report: &mut Report,
    files: &mut Vec<PathBuf>,
    depth: u32,
) -> Result<usize> {
    let label = path
        .strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string();
    if path.join(manifest::FILE_NAME).is_file() {
        report.absorb(directory(path, options)?, &label);
        return Ok(1);
    }
    if depth > MAX_DEPTH {
        report.problem(
            &label,
            format!("folders are nested deeper than {MAX_DEPTH}: not followed"),
        );
        return Ok(0);
    }
    let read = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(read)? {
        entries.push(entry.map_err(read)?.path());
    }
    entries.sort();
    let index = path.join("index.m3u8");
    let is_output = index.is_file();
    if is_output {
        report.absorb(playlist(&index)?, &label);
    } else {
        let is_recording = |p: &&PathBuf| p.is_file() && p.extension().is_some_and(|e| e == "mp4");
        files.extend(entries.iter().filter(is_recording).cloned());
    }
    let mut found = usize::from(is_output);
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        let is_track = is_output && (name == "video" || name.starts_with("audio"));
        let is_link = entry.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        if entry.is_dir() && !is_link && !is_track && !name.starts_with('.') {
            found += inside(root, &entry, options, report, files, depth + 1)?;
        }
    }
    Ok(found)
}
