//! `yeoul.json`: what was read and what was made of it, for `verify` and for the next run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use yeoul_pack::{FORMAT_VERSION, Gaps, LaneReport, TakeReport, Warning};
use yeoul_spans::SpansBuilder;
use yeoul_spans::sink::file::{FileOptions, create};

use super::Args;
use super::staging::Staging;
use super::summary::Broadcast;
use super::writers::Files;

/// The manifest's name.
pub(super) const FILE_NAME: &str = "yeoul.json";

#[derive(Debug, Default, Serialize)]
struct Manifest {
    format: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gaps: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    playlists: Vec<String>,
    tracks: Vec<TrackJson>,
    takes: Vec<TakeJson>,
    warnings: Vec<WarningJson>,
    files: Vec<FileJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broadcasts: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct TrackJson {
    slot: usize,
    kind: &'static str,
    name: String,
    track_id: u32,
    playlist: String,
    codec: String,
    timescale: u32,
    language: String,
}

#[derive(Debug, Serialize)]
struct TakeJson {
    id: String,
    anchor_ns: Option<String>,
    recordings: Vec<RecordingJson>,
}

#[derive(Debug, Serialize)]
struct RecordingJson {
    path: String,
    number: u64,
    dts_ns: String,
    ntp_ns: Option<String>,
    size: u64,
    used: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    tracks: Vec<KeptJson>,
}

#[derive(Debug, Serialize)]
struct KeptJson {
    slot: usize,
    track_id: u32,
    samples: u64,
    kept: Vec<(u64, u64)>,
}

#[derive(Debug, Serialize)]
pub(super) struct WarningJson {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    message: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileJson {
    pub(super) name: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
}

/// Writes a broadcast's manifest into its staging folder.
pub(super) fn write(
    staging: &Staging,
    name: &str,
    args: &Args,
    report: &LaneReport,
    files: &Files,
) -> anyhow::Result<()> {
    if report.segments == 0 {
        return Ok(());
    }
    let place = staging.place(name);
    let near = |path: &str| {
        super::relative(Path::new(path), &place)
            .display()
            .to_string()
    };
    let manifest = Manifest {
        format: FORMAT_VERSION,
        layout: Some(args.layout.name()),
        gaps: Some(if args.gaps == Gaps::Keep {
            "keep"
        } else {
            "close"
        }),
        target: Some(format!("{}/{}", args.segment.ticks, args.segment.timescale)),
        playlists: report.playlists.clone(),
        tracks: tracks(report),
        takes: takes(report, args.digest, &near)?,
        warnings: report
            .warnings
            .iter()
            .map(|warning| warning_json(warning, &near))
            .collect(),
        files: file_list(files),
        broadcasts: Vec::new(),
    };
    save(&staging.folder(name), &manifest, args.fsync)
}

/// Where there are several broadcasts: a manifest at the root that names them, or one more line in the one that is there.
pub(super) fn write_index(
    staging: &Staging,
    broadcasts: &[Broadcast],
    fsync: bool,
) -> anyhow::Result<()> {
    let made = broadcasts
        .iter()
        .filter(|broadcast| broadcast.lane.segments > 0);
    let names: Vec<String> = made
        .map(|b| b.name.clone())
        .filter(|name| !name.is_empty())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let path = staging.folder("").join(FILE_NAME);
    if path.exists() {
        let text = fs::read(&path).with_context(|| path.display().to_string())?;
        let mut value: serde_json::Value = serde_json::from_slice(&text)?;
        value["broadcasts"] = names.into();
        fs::remove_file(&path)?;
        return save(&staging.folder(""), &value, fsync);
    }
    let index = Manifest {
        format: FORMAT_VERSION,
        broadcasts: names,
        ..Manifest::default()
    };
    save(&staging.folder(""), &index, fsync)
}

fn save(folder: &Path, value: &impl Serialize, fsync: bool) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    let mut body = SpansBuilder::new();
    body.inline(Bytes::from(text));
    create(
        folder.join(FILE_NAME),
        &body.build()?,
        &FileOptions {
            fsync,
            replace: false,
        },
    )?;
    Ok(())
}

/// Every file that manifests below `output` say yeoul wrote, the manifests included; `None` without a readable manifest.
pub(super) fn files_written(output: &Path) -> Option<BTreeSet<PathBuf>> {
    #[derive(Deserialize)]
    struct Written {
        #[serde(default)]
        files: Vec<FileJson>,
        #[serde(default)]
        broadcasts: Vec<String>,
    }
    let mut out = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    let mut first = true;
    while let Some(folder) = folders.pop() {
        let text = fs::read(output.join(&folder).join(FILE_NAME)).ok();
        let written = text.and_then(|text| serde_json::from_slice::<Written>(&text).ok());
        let Some(written) = written else {
            if first {
                return None;
            }
            continue;
        };
        out.insert(folder.join(FILE_NAME));
        out.extend(written.files.iter().map(|file| folder.join(&file.name)));
        if first {
            folders.extend(written.broadcasts.iter().map(PathBuf::from));
        }
        first = false;
    }
    Some(out)
}

pub(super) fn tracks(report: &LaneReport) -> Vec<TrackJson> {
    let json = |track: &yeoul_pack::TrackReport| TrackJson {
        slot: track.slot,
        kind: track.kind,
        name: if track.slot <= 1 {
            track.kind.to_owned()
        } else {
            format!("{}-{}", track.kind, track.slot)
        },
        track_id: track.track_id,
        playlist: track.playlist.clone(),
        codec: track.codec.clone(),
        timescale: track.timescale,
        language: track.language.clone(),
    };
    report.tracks.iter().map(json).collect()
}

fn takes(
    report: &LaneReport,
    digest: bool,
    near: &dyn Fn(&str) -> String,
) -> anyhow::Result<Vec<TakeJson>> {
    report
        .takes
        .iter()
        .map(|take| take_json(take, digest, near))
        .collect()
}

fn take_json(
    take: &TakeReport,
    digest: bool,
    near: &dyn Fn(&str) -> String,
) -> anyhow::Result<TakeJson> {
    let mut recordings = Vec::with_capacity(take.recordings.len());
    for recording in &take.recordings {
        let kept = |track: &yeoul_pack::TrackKept| KeptJson {
            slot: track.slot,
            track_id: track.track_id,
            samples: track.samples,
            kept: track.kept(),
        };
        recordings.push(RecordingJson {
            path: near(&recording.name),
            number: recording.number,
            dts_ns: recording.dts_ns.to_string(),
            ntp_ns: recording.ntp_ns.map(|ntp| ntp.to_string()),
            size: recording.size,
            used: recording.used,
            sha256: if digest {
                Some(file_digest(Path::new(&recording.name))?)
            } else {
                None
            },
            tracks: recording.tracks.iter().map(kept).collect(),
        });
    }
    let anchor_ns = take.anchor_ns.map(|anchor| anchor.to_string());
    Ok(TakeJson {
        id: take.id.to_string(),
        anchor_ns,
        recordings,
    })
}

fn file_digest(path: &Path) -> anyhow::Result<String> {
    let file = yeoul_spans::SealedFile::open(path)?;
    let source: std::sync::Arc<dyn yeoul_spans::Source> = std::sync::Arc::new(file);
    let mut body = SpansBuilder::new();
    body.range(&source, 0, source.len())?;
    Ok(yeoul_spans::sink::digest::sha256(&body.build()?)?.to_string())
}

pub(super) fn warning_json(warning: &Warning, near: &dyn Fn(&str) -> String) -> WarningJson {
    WarningJson {
        kind: warning.kind.name(),
        path: warning.path.as_deref().map(near),
        offset: warning.offset,
        message: warning.message.clone(),
    }
}

pub(super) fn file_list(files: &Files) -> Vec<FileJson> {
    let json = |(name, file): (&String, &super::writers::FileWritten)| FileJson {
        name: name.clone(),
        size: file.written.bytes,
        sha256: file.digest.map(|digest| digest.to_string()),
    };
    files.iter().map(json).collect()
}
