use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};
use yeoul_pack::{LaneReport, TakeReport};

use super::Args;
use super::manifest;
use super::writers::{Digests, Files};

/// One folder of the output.
pub(super) struct Broadcast {
    pub(super) name: String,
    pub(super) lane: LaneReport,
    pub(super) files: Files,
    /// Empty unless asked for.
    pub(super) digests: Digests,
}

/// What a run did.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) broadcasts: Vec<Broadcast>,
    pub(super) catalogued: Duration,
    pub(super) packed: Duration,
    pub(super) elapsed: Duration,
    by_kernel: u64,
    by_user: u64,
}

impl Outcome {
    pub(super) fn segments(&self) -> usize {
        let lanes = self.broadcasts.iter().map(|broadcast| &broadcast.lane);
        lanes.map(|lane| lane.segments).sum()
    }

    pub(super) fn add(&mut self, files: &Files) {
        self.by_kernel += files
            .values()
            .map(|file| file.written.by_kernel)
            .sum::<u64>();
        self.by_user += files.values().map(|file| file.written.by_user).sum::<u64>();
    }

    pub(super) fn print(&self, args: &Args) -> std::io::Result<()> {
        if args.json {
            let text =
                serde_json::to_string_pretty(&self.json(args)).map_err(std::io::Error::other)?;
            return writeln!(std::io::stdout(), "{text}");
        }
        self.print_warnings();
        if args.quiet {
            return Ok(());
        }
        let mut text = String::new();
        for broadcast in &self.broadcasts {
            self.describe(args, broadcast, &mut text);
        }
        text.push_str(&format!(
            "{:<11}{} by the kernel, {} by us, in {:.3} s\n",
            "copied",
            size(self.by_kernel),
            size(self.by_user),
            self.elapsed.as_secs_f64()
        ));
        std::io::stdout().write_all(text.as_bytes())
    }

    pub(super) fn print_warnings(&self) {
        for broadcast in &self.broadcasts {
            for warning in &broadcast.lane.warnings {
                crate::say(&format!("warning: {warning}"));
            }
        }
    }

    fn describe(&self, args: &Args, broadcast: &Broadcast, text: &mut String) {
        let lane = &broadcast.lane;
        let folder = args.output.join(&broadcast.name);
        let recordings: usize = lane.takes.iter().map(|take| take.recordings.len()).sum();
        let bytes: u64 = lane
            .takes
            .iter()
            .flat_map(|take| &take.recordings)
            .map(|r| r.size)
            .sum();
        if lane.segments == 0 {
            text.push_str(&format!(
                "{:<11}{}: nothing could be kept\n",
                "output",
                folder.display()
            ));
            return;
        }
        let mut line = |label: &str, what: String| text.push_str(&format!("{label:<11}{what}\n"));
        line("output", folder.join("index.m3u8").display().to_string());
        line(
            "",
            format!(
                "{} of {}, {:.3} s, {}",
                count(lane.segments, "segment"),
                count(lane.inits.len(), "init"),
                lane.duration.map_or(0.0, yeoul_pack::Time::seconds),
                size(lane.bytes)
            ),
        );
        line(
            "input",
            format!(
                "{} in {}, {}",
                count(recordings, "recording"),
                count(lane.takes.len(), "take"),
                size(bytes)
            ),
        );
        for track in &lane.tracks {
            line(
                track.kind,
                format!(
                    "{} at {} Hz, {}",
                    track.codec, track.timescale, track.language
                ),
            );
        }
        let boundaries = lane.takes.iter().map(boundary_count).sum::<usize>();
        if boundaries > 0 {
            let all = lane.takes.iter().flat_map(|take| &take.boundaries);
            let most = all
                .map(|boundary| boundary.clock_ticks.abs())
                .max()
                .unwrap_or(0);
            line(
                "boundaries",
                format!(
                    "{boundaries} inside takes; the recordings' clock within {}",
                    count_i64(most, "tick")
                ),
            );
        }
    }

    fn json(&self, args: &Args) -> Value {
        let broadcasts: Vec<Value> = self
            .broadcasts
            .iter()
            .map(|b| broadcast_json(args, b))
            .collect();
        json!({
            "output": args.output.display().to_string(),
            "broadcasts": broadcasts,
            "bytes": { "by_kernel": self.by_kernel, "by_user": self.by_user },
            "seconds": {
                "catalogue": self.catalogued.as_secs_f64(),
                "pack": self.packed.saturating_sub(self.catalogued).as_secs_f64(),
                "publish": self.elapsed.saturating_sub(self.packed).as_secs_f64(),
                "total": self.elapsed.as_secs_f64(),
            },
        })
    }
}

fn broadcast_json(args: &Args, broadcast: &Broadcast) -> Value {
    let lane = &broadcast.lane;
    let folder = args.output.join(&broadcast.name);
    let as_it_is = |path: &str| path.to_owned();
    let warnings: Vec<_> = lane
        .warnings
        .iter()
        .map(|w| manifest::warning_json(w, &as_it_is))
        .collect();
    let is_there = lane.segments > 0;
    let place = |name| is_there.then(|| folder.join(name).display().to_string());
    let mut json = json!({
        "name": broadcast.name,
        "playlist": place("index.m3u8"),
        "manifest": place(manifest::FILE_NAME),
        "tracks": manifest::tracks(lane),
        "takes": lane.takes.iter().map(|take| take_json(take, &broadcast.digests)).collect::<Vec<_>>(),
        "inits": lane.inits,
        "segments": lane.segments,
        "seconds": lane.duration.map(yeoul_pack::Time::seconds),
        "bytes": lane.bytes,
        "warnings": warnings,
    });
    if args.digest {
        json["files"] = json!(manifest::file_list(&broadcast.files));
    }
    json
}

fn take_json(take: &TakeReport, digests: &Digests) -> Value {
    let recordings = take.recordings.iter().map(|recording| {
        let mut json = json!({
            "path": recording.name,
            "number": recording.number,
            "size": recording.size,
            "used": recording.used,
            "parts": recording.parts,
            "tracks": recording.tracks.iter().map(|track| json!({
                "slot": track.slot,
                "track_id": track.track_id,
                "samples": track.samples,
                "kept": track.kept(),
            })).collect::<Vec<_>>(),
        });
        if let Some(digest) = digests.get(&recording.name) {
            json["sha256"] = digest.to_string().into();
        }
        json
    });
    let boundaries = take.boundaries.iter().map(|boundary| {
        json!({
            "recording": boundary.recording,
            "slot": boundary.slot,
            "clock_ticks": boundary.clock_ticks,
            "timescale": boundary.timescale,
        })
    });
    json!({
        "id": take.id.to_string(),
        "anchor_ns": take.anchor_ns.map(|anchor| anchor.to_string()),
        "start": take.start.seconds(),
        "end": take.end.seconds(),
        "recordings": recordings.collect::<Vec<_>>(),
        "boundaries": boundaries.collect::<Vec<_>>(),
    })
}

fn boundary_count(take: &TakeReport) -> usize {
    take.recordings.len().saturating_sub(1)
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn count_i64(n: i64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Bytes for people.
#[expect(clippy::cast_precision_loss, reason = "only shown to people")]
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
