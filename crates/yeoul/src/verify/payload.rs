//! What a folder of media holds, whatever it is called and however it is cut: the payload of its tracks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use super::boxes::name;
use super::playlist::Playlist;
use super::recording::{Recording, TrackSamples};

/// So large a sample is not read.
const MAX_SAMPLE: u64 = 64 << 20;

/// Samples and their digest, by kind of track and number within the kind.
type Tracks = BTreeMap<([u8; 4], usize), (u64, Sha256)>;

/// For each track, separated by `; `: its kind, its number within the kind, how many samples it has, and the SHA-256 of
/// the sizes and bytes of all of them in decode order. Media playlists are read in their order; without one, every MP4 file is a stream of its own. `scratch` is a
/// file to put streams together in; it is removed.
pub(crate) fn digest(folder: &Path, scratch: &Path) -> io::Result<String> {
    let files = files(folder)?;
    let mut tracks = Tracks::new();
    let lists = files.iter().filter(|file| has_extension(file, "m3u8"));
    let mut listed = false;
    for list in lists {
        listed |= stream(list, scratch, &mut tracks)?;
    }
    if !listed {
        for file in files.iter().filter(|file| has_extension(file, "mp4")) {
            let base = counts(&tracks);
            add(file, &base, &mut tracks)?;
        }
    }
    let mut text = String::new();
    for ((kind, number), (samples, sum)) in tracks {
        if !text.is_empty() {
            text.push_str("; ");
        }
        let kind = name(kind);
        let _ = write!(text, "{kind} {} {samples} ", number + 1);
        let sum = sum.finalize();
        for byte in sum {
            let _ = write!(text, "{byte:02x}");
        }
    }
    if text.is_empty() {
        return Err(io::Error::other(
            "there is no media playlist and no MP4 file with samples",
        ));
    }
    Ok(text)
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a media playlist. Gives whether it has segments: a multivariant playlist has none.
fn stream(list: &Path, scratch: &Path, tracks: &mut Tracks) -> io::Result<bool> {
    let entries = Playlist::parse(&fs::read_to_string(list)?).entries;
    let folder = list.parent().unwrap_or(Path::new("."));
    let base = counts(tracks);
    let mut entries = entries.into_iter().filter(|entry| !entry.gap).peekable();
    let found = entries.peek().is_some();
    while let Some(first) = entries.next() {
        let mut whole = File::create(scratch)?;
        let mut append = |uri: &str| io::copy(&mut File::open(folder.join(uri))?, &mut whole);
        first.map.as_deref().map(&mut append).transpose()?;
        append(&first.uri)?;
        while let Some(entry) = entries.next_if(|entry| entry.map == first.map) {
            append(&entry.uri)?;
        }
        add(scratch, &base, tracks)?;
    }
    if found {
        fs::remove_file(scratch)?;
    }
    Ok(found)
}

/// How many tracks of each kind there are.
fn counts(tracks: &Tracks) -> BTreeMap<[u8; 4], usize> {
    let mut counts = BTreeMap::new();
    for (kind, _) in tracks.keys() {
        *counts.entry(*kind).or_insert(0) += 1;
    }
    counts
}

/// Adds the samples of a file; its tracks are numbered after `base`.
fn add(file: &Path, base: &BTreeMap<[u8; 4], usize>, tracks: &mut Tracks) -> io::Result<()> {
    let wrong = |what: String| io::Error::other(format!("{}: {what}", file.display()));
    let recording = Rc::new(Recording::open(file).map_err(|fault| wrong(fault.to_string()))?);
    let mut numbers = base.clone();
    for track in &recording.movie.tracks {
        let number = numbers.entry(track.handler).or_insert(0);
        let key = (track.handler, *number);
        *number += 1;
        let mut samples = TrackSamples::new(Rc::clone(&recording), track.id);
        for sample in samples.by_ref() {
            let (count, sum) = tracks.entry(key).or_insert((0, Sha256::new()));
            let taken =
                recording
                    .input
                    .take(sample.offset, sample.size.into(), MAX_SAMPLE, "a sample");
            sum.update(sample.size.to_be_bytes());
            sum.update(taken.map_err(|fault| wrong(fault.to_string()))?);
            *count += 1;
        }
        if let Some(fault) = samples.torn {
            return Err(wrong(fault.to_string()));
        }
    }
    Ok(())
}
