//! `yeoul.json`: what was read and what was made of it, for `verify` and for the next run.

use std::fs;
use std::path::Path;

use anyhow::Context;
use bytes::Bytes;
use serde::Serialize;
use yeoul_pack::{FORMAT_VERSION, Gaps, LaneReport, TakeReport, Warning};
use yeoul_spans::SpansBuilder;
use yeoul_spans::sink::digest::Sha256;
use yeoul_spans::sink::file::{FileOptions, create};

use super::Args;
use super::relative::Near;
use super::staging::Staging;
use super::summary::Broadcast;
use super::writers::{Digests, FileWritten, Files};

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

#[derive(Debug, Serialize)]
pub(super) struct FileJson {
    name: String,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// Writes a broadcast's manifest into its staging folder.
pub(super) fn write(staging: &Staging, args: &Args, broadcast: &Broadcast) -> anyhow::Result<()> {
    let (name, report) = (&*broadcast.name, &broadcast.lane);
    if report.segments == 0 {
        return Ok(());
    }
    let near = Near::new(&staging.place(name));
    let near = |path: &str| near.name(path);
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
        takes: takes(broadcast, &near),
        warnings: report
            .warnings
            .iter()
            .map(|warning| warning_json(warning, &near))
            .collect(),
        files: file_list(&broadcast.files),
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

fn takes(broadcast: &Broadcast, near: &dyn Fn(&str) -> String) -> Vec<TakeJson> {
    let takes = broadcast.lane.takes.iter();
    takes
        .map(|take| take_json(take, &broadcast.digests, near))
        .collect()
}

fn take_json(take: &TakeReport, digests: &Digests, near: &dyn Fn(&str) -> String) -> TakeJson {
    let kept = |track: &yeoul_pack::TrackKept| KeptJson {
        slot: track.slot,
        track_id: track.track_id,
        samples: track.samples,
        kept: track.kept(),
    };
    let recording = |recording: &yeoul_pack::RecordingReport| RecordingJson {
        path: near(&recording.name),
        number: recording.number,
        dts_ns: recording.dts_ns.to_string(),
        ntp_ns: recording.ntp_ns.map(|ntp| ntp.to_string()),
        size: recording.size,
        used: recording.used,
        sha256: digests.get(&recording.name).map(Sha256::to_string),
        tracks: recording.tracks.iter().map(kept).collect(),
    };
    TakeJson {
        id: take.id.to_string(),
        anchor_ns: take.anchor_ns.map(|anchor| anchor.to_string()),
        recordings: take.recordings.iter().map(recording).collect(),
    }
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
    let json = |(name, file): (&String, &FileWritten)| FileJson {
        name: name.clone(),
        size: file.written.bytes,
        sha256: file.digest.map(|digest| digest.to_string()),
    };
    files.iter().map(json).collect()
}
