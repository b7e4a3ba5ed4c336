//! A folder that `yeoul repack` wrote: its manifest, its playlists, and the recordings behind them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::compare::SlotCheck;
use super::input::Input;
use super::manifest::{FILE_NAME, MAX_MANIFEST, Manifest, Recorded, Take};
use super::media::{self, Inits};
use super::playlist::{MAX_PLAYLIST, Playlist, local_path};
use super::presentation::{self, Timed};
use super::recording::Recording;
use super::report::Report;
use super::source::Line;
use super::tracks::Against;
use super::{Error, Options};

/// Checks a folder with `yeoul.json`: see [`super::directory`].
pub(super) fn check(dir: &Path, options: &Options) -> Result<Report, Error> {
    let mut report = Report::default();
    let text = read_text(&dir.join(FILE_NAME), MAX_MANIFEST)?;
    let manifest: Manifest = match serde_json::from_str(&text) {
        Ok(manifest) => manifest,
        Err(e) => {
            report.problem(FILE_NAME, format!("cannot be understood: {e}"));
            return Ok(report.finished());
        }
    };
    if manifest.format != 1 {
        report.problem(
            FILE_NAME,
            format!(
                "has format {}, this version reads format 1",
                manifest.format
            ),
        );
        return Ok(report.finished());
    }
    report.takes = manifest.takes.len();
    report.recordings = manifest.takes.iter().map(|t| t.recordings.len()).sum();
    let places = heads(&manifest, dir, options, &mut report);
    let slots = slots(&manifest, &places, options, &mut report);
    let mut against = Against {
        manifest: &manifest,
        slots,
    };

    let mut inits = Inits::new();
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    let (mut runs, mut timed) = (Vec::new(), Vec::new());
    for name in &manifest.playlists {
        let path = dir.join(name);
        files.insert(path.clone());
        let Some(list) = load_playlist(&path, name, &mut report) else {
            continue;
        };
        if list.is_multivariant() {
            report.problem(
                name,
                "is multivariant, yeoul.json should name media playlists",
            );
            continue;
        }
        let seen = media::check(
            &path,
            name,
            &list,
            Some(&mut against),
            &mut inits,
            &mut report,
        );
        runs.push(seen.discontinuities);
        files.extend(seen.files);
        timed.push(Timed {
            label: name.clone(),
            list,
            shown: seen.shown,
        });
    }
    if runs.windows(2).any(|w| w[0] != w[1]) {
        report.problem(
            "playlists",
            format!("have different numbers of DISCONTINUITY: {runs:?}"),
        );
    }
    presentation::check(&timed, Some(&manifest), &mut report);
    for slot in &mut against.slots {
        slot.finish(&mut report);
    }
    report.distinct_inits = inits.len();
    multivariant(&manifest, dir, &mut files, &mut report);
    leftovers(dir, &files, &mut report);
    Ok(report.finished())
}

pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, Error> {
    let io = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let input = Input::open(path).map_err(io)?;
    let bytes = input.take(0, input.len(), limit, "a text file");
    let bytes = bytes.map_err(|fault| io(std::io::Error::other(fault)))?;
    String::from_utf8(bytes).map_err(|e| io(std::io::Error::other(e)))
}

pub(super) fn load_playlist(path: &Path, label: &str, report: &mut Report) -> Option<Playlist> {
    match read_text(path, MAX_PLAYLIST) {
        Ok(text) => Some(Playlist::parse(&text)),
        Err(e) => {
            report.problem(label, e.to_string());
            None
        }
    }
}

/// Opens each recording once and compares its head with the manifest. Gives where each can be read.
fn heads(
    manifest: &Manifest,
    dir: &Path,
    options: &Options,
    report: &mut Report,
) -> Vec<Vec<Option<PathBuf>>> {
    if options.no_recordings {
        report.note("recordings", "not compared, as --no-recordings asks");
        return manifest
            .takes
            .iter()
            .map(|t| vec![None; t.recordings.len()])
            .collect();
    }
    let mut missing = Vec::new();
    let mut places = Vec::new();
    for take in &manifest.takes {
        let mut row = Vec::new();
        for recorded in &take.recordings {
            let place = recorded.place(dir, options.recordings.as_deref());
            if place.is_file() {
                head(take, recorded, &place, report);
                row.push(Some(place));
            } else {
                missing.push(place);
                row.push(None);
            }
        }
        if let Some(anchor) = take.anchor_ns {
            let fits = |r: &Recorded| {
                r.ntp_ns
                    .zip(r.dts_ns)
                    .is_some_and(|(ntp, dts)| ntp - dts == anchor)
            };
            if !take.recordings.iter().any(fits) {
                // Not wrong: `--offset` moves it, and it stays when recordings go.
                report.note(
                    FILE_NAME,
                    format!(
                        "take {}: the anchor is NTP - DTS of none of its recordings",
                        take.id
                    ),
                );
            }
        }
        places.push(row);
    }
    if let Some(first) = missing.first() {
        let what = format!(
            "recordings not found: {} of {}, the first {}; pass --recordings DIR or --no-recordings",
            missing.len(),
            report.recordings,
            first.display()
        );
        report.problem("recordings", what);
    }
    places
}

fn head(take: &Take, recorded: &Recorded, place: &Path, report: &mut Report) {
    let name = recorded.name();
    let recording = match Recording::open(place) {
        Ok(recording) => recording,
        Err(_) if recorded.tracks.is_empty() => return,
        Err(fault) => return report.problem(name, fault.to_string()),
    };
    let len = i128::from(recording.input.len());
    match recorded.size {
        Some(size) if len < size => report.problem(
            &name,
            format!("has {len} bytes, it had {size} when it was packed"),
        ),
        Some(size) if len > size => report.note(
            &name,
            format!("has {len} bytes, it had {size} when it was packed"),
        ),
        _ => {}
    }
    let Some(mtxi) = recording.movie.mtxi else {
        return;
    };
    if mtxi.stream_hex() != take.id {
        report.problem(
            &name,
            format!(
                "is of stream {}, yeoul.json has it in take {}",
                mtxi.stream_hex(),
                take.id
            ),
        );
    }
    let fields = [
        ("number", recorded.number, i128::from(mtxi.number)),
        ("dts_ns", recorded.dts_ns, i128::from(mtxi.dts_ns)),
        ("ntp_ns", recorded.ntp_ns, i128::from(mtxi.ntp_ns)),
    ];
    for (field, said, is) in fields {
        if said.is_some_and(|s| s != is) {
            report.problem(
                &name,
                format!(
                    "mtxi has {field} {is}, yeoul.json says {}",
                    said.unwrap_or_default()
                ),
            );
        }
    }
}

fn slots<'m>(
    manifest: &'m Manifest,
    places: &[Vec<Option<PathBuf>>],
    options: &Options,
    report: &mut Report,
) -> Vec<SlotCheck<'m>> {
    let mut slots = Vec::new();
    for slot in &manifest.tracks {
        if !manifest.playlists.contains(&slot.playlist) {
            report.problem(
                FILE_NAME,
                format!(
                    "{} is in {:?}, which is not among the playlists",
                    slot.name, slot.playlist
                ),
            );
        }
        let mut lines = Vec::new();
        for (take, row) in places.iter().enumerate() {
            for (recorded, place) in manifest.takes[take].recordings.iter().zip(row) {
                let Some(track) = recorded.tracks.iter().find(|t| t.slot == slot.slot) else {
                    continue;
                };
                if !ascends(&track.kept, track.samples) {
                    let what = format!(
                        "{}: kept ranges {:?} do not ascend within {}",
                        slot.name, track.kept, track.samples
                    );
                    report.problem(recorded.name(), what);
                }
                lines.push(Line {
                    take,
                    path: recorded.path.clone(),
                    name: recorded.name(),
                    place: place.clone(),
                    track: track.clone(),
                });
            }
        }
        slots.push(SlotCheck::new(
            manifest,
            slot.slot,
            slot.name.clone(),
            lines,
            options.deep,
        ));
    }
    slots
}

fn ascends(kept: &[(u64, u64)], samples: u64) -> bool {
    let mut at = 0;
    kept.iter().all(|(from, to)| {
        let fits = *from >= at && to > from && *to <= samples;
        at = *to;
        fits
    })
}

/// The multivariant playlist of the cmaf layout names the media playlists of the manifest and no others.
fn multivariant(
    manifest: &Manifest,
    dir: &Path,
    files: &mut BTreeSet<PathBuf>,
    report: &mut Report,
) {
    const NAME: &str = "index.m3u8";
    if manifest.layout != "cmaf" || manifest.playlists.iter().any(|p| p == NAME) {
        return;
    }
    let path = dir.join(NAME);
    let Some(list) = load_playlist(&path, NAME, report) else {
        return;
    };
    for (line, what) in &list.faults {
        report.problem(format!("{NAME}:{line}"), what);
    }
    let named: BTreeSet<_> = list
        .variants
        .iter()
        .filter_map(|uri| local_path(&path, uri))
        .collect();
    let meant: BTreeSet<_> = manifest.playlists.iter().map(|p| dir.join(p)).collect();
    if named != meant {
        report.problem(
            NAME,
            format!(
                "names {:?}, yeoul.json has {:?}",
                list.variants, manifest.playlists
            ),
        );
    }
    files.insert(path);
}

/// Notes media files in the folder that no playlist names.
fn leftovers(dir: &Path, files: &BTreeSet<PathBuf>, report: &mut Report) {
    let parents: BTreeSet<&Path> = files
        .iter()
        .filter_map(|f| f.parent())
        .chain([dir])
        .collect();
    for parent in parents {
        let Ok(entries) = fs::read_dir(parent) else {
            continue;
        };
        let media = |p: &PathBuf| {
            p.extension()
                .is_some_and(|e| e == "m4s" || e == "mp4" || e == "m3u8")
        };
        let mut found: Vec<_> = entries
            .filter_map(|e| e.ok().map(|e| e.path()))
            .filter(media)
            .collect();
        found.sort();
        for file in found.iter().filter(|f| !files.contains(*f)) {
            let name = file.strip_prefix(dir).unwrap_or(file);
            report.note(
                name.display().to_string(),
                "is in the folder and in no playlist",
            );
        }
    }
}
