//! A small broadcast: two takes of two recordings each, and what a right packer makes of them. Tests then break it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use yeoul::verify::{self, Options, Report};

use crate::writer::{AUDIO, Mtxi, Run, Sample, Track, VIDEO, head, part, sidx, styp};

/// Seconds of a take, of a recording and of a segment.
const TAKE: u64 = 4;
const FILE: u64 = 2;

/// Where each take begins in the output, seconds: the second after a hole of one second.
const ORIGINS: [u64; 2] = [0, 5];

/// mtxi DTS of a take's first sample is this, and not a whole number of ticks; nanoseconds.
const FIRST_DTS: [i64; 2] = [-33_333_333, 7_000_000_123];

const ANCHORS: [i64; 2] = [1_796_068_075_613_655_000, 1_796_068_080_613_655_000];

/// The take's presentation begins here: the video's first composition offset, 1/30 s.
const START_NS: i64 = 33_333_333;

#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) mtxi: Mtxi,
    pub(crate) parts: Vec<Vec<Run>>,
    /// Kept ranges by slot; set apart so that a test can lie about them.
    pub(crate) kept: [Vec<(usize, usize)>; 2],
    /// In place of the bytes that `parts` make.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) absent: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) name: String,
    pub(crate) init: String,
    pub(crate) extinf: String,
    pub(crate) discontinuity: bool,
    pub(crate) gap: bool,
    pub(crate) date: Option<String>,
    pub(crate) runs: Vec<Run>,
    /// Done to the finished bytes.
    pub(crate) damage: Option<fn(&mut Vec<u8>)>,
    pub(crate) absent: bool,
}

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) takes: Vec<Vec<Recording>>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) inits: Vec<(String, Vec<u8>)>,
    pub(crate) target: u32,
    pub(crate) anchors: [Option<i64>; 2],
    pub(crate) warnings: Vec<Value>,
    pub(crate) options: Options,
}

/// The samples of a take: video with B-frames, 30 a second, a sync sample each second; audio of 1024 ticks.
pub(crate) fn samples(take: u8) -> [Vec<Sample>; 2] {
    let payload = |n: u64, salt: u64| -> Vec<u8> {
        let len = 20 + (n * 7 + salt) % 13;
        (0..len)
            .map(|k| u8::try_from((n * 31 + k * 7 + salt * 5 + u64::from(take)) % 251).unwrap())
            .collect()
    };
    let video = (0..TAKE * 30).map(|n| {
        let cts = match n % 30 {
            0 | 29 => 3000,
            k if k % 2 == 1 => 6000,
            _ => 0,
        };
        Sample {
            duration: 3000,
            cts,
            sync: n % 30 == 0,
            payload: payload(n, 1),
        }
    });
    let audio = (0..TAKE * 48_000 / 1024).map(|n| Sample {
        duration: 1024,
        cts: 0,
        sync: true,
        payload: payload(n, 2),
    });
    [video.collect(), audio.collect()]
}

/// Decode time of sample `n` since the take's first video sample; audio begins with the video's presentation.
fn ticks(slot: usize, n: usize) -> u64 {
    let n = u64::try_from(n).unwrap();
    if slot == 0 { n * 3000 } else { 1600 + n * 1024 }
}

/// The samples of a slot whose presentation lies in [from, to) seconds after the take's start.
fn between(slot: usize, all: &[Sample], from: u64, to: u64) -> std::ops::Range<usize> {
    let at = |seconds: u64| {
        let found = all.iter().enumerate().position(|(n, _)| match slot {
            0 => ticks(0, n) >= seconds * 90_000,
            _ => ticks(1, n) >= seconds * 48_000 + 1600,
        });
        found.unwrap_or(all.len())
    };
    at(from)..at(to)
}

const TRACKS: [Track; 2] = [VIDEO, AUDIO];

fn run(slot: usize, tfdt: u64, samples: &[Sample]) -> Run {
    Run {
        track: TRACKS[slot].id,
        tfdt,
        samples: samples.to_vec(),
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            dir: TempDir::new().unwrap(),
            takes: Vec::new(),
            segments: Vec::new(),
            inits: Vec::new(),
            target: 1,
            anchors: ANCHORS.map(Some),
            warnings: Vec::new(),
            options: Options::default(),
        };
        let init = world.add_init(&TRACKS);
        for take in 0..2_u8 {
            world.record(take);
            world.pack(take, &init);
        }
        world
    }

    pub(crate) fn add_init(&mut self, tracks: &[Track]) -> String {
        let bytes = head(tracks, None, [0; 3]);
        let digest = Sha256::digest(&bytes);
        let name = format!(
            "init-{:02x}{:02x}{:02x}{:02x}.mp4",
            digest[0], digest[1], digest[2], digest[3]
        );
        self.inits.push((name.clone(), bytes));
        name
    }

    /// Writes a take as the recorder does: `tfdt` since the file's start, by way of nanoseconds, rounded down.
    fn record(&mut self, take: u8) {
        let all = samples(take);
        let mut recordings = Vec::new();
        for number in 0..TAKE / FILE {
            // Another track began the second file 10 µs before, so that its times are no whole ticks.
            let early = if number > 0 { 10_000 } else { 0 };
            let base = i64::try_from(number * FILE * 1_000_000_000).unwrap() - early;
            let dts_ns = FIRST_DTS[usize::from(take)] + base;
            let mut parts = Vec::new();
            for second in number * FILE..(number + 1) * FILE {
                let slots = [0, 1].map(|slot| {
                    let range = between(slot, &all[slot], second, second + 1);
                    let scale = i64::from(TRACKS[slot].timescale);
                    let ns = i64::try_from(ticks(slot, range.start) * 1_000_000_000).unwrap()
                        / scale
                        - base;
                    run(
                        slot,
                        u64::try_from(ns * scale / 1_000_000_000).unwrap(),
                        &all[slot][range],
                    )
                });
                parts.push(slots.to_vec());
            }
            let kept = [0, 1].map(|slot| {
                vec![(
                    0,
                    parts.iter().map(|p: &Vec<Run>| p[slot].samples.len()).sum(),
                )]
            });
            // A recorder writes its tracks in any order.
            parts.iter_mut().step_by(2).for_each(|p| p.reverse());
            let ntp_ns = dts_ns + ANCHORS[usize::from(take)];
            recordings.push(Recording {
                name: format!("여울-{take}-{number}.mp4"),
                mtxi: Mtxi {
                    stream: [take + 0xa0; 16],
                    number,
                    dts_ns,
                    ntp_ns,
                },
                parts,
                kept,
                bytes: None,
                absent: false,
            });
        }
        self.takes.push(recordings);
    }

    fn pack(&mut self, take: u8, init: &str) {
        let all = samples(take);
        let index = usize::from(take);
        let entry = |name: String| Segment {
            name,
            init: init.to_owned(),
            extinf: "1.000000".to_owned(),
            discontinuity: false,
            gap: false,
            date: None,
            runs: Vec::new(),
            damage: None,
            absent: false,
        };
        if take > 0 {
            self.segments.push(Segment {
                gap: true,
                absent: true,
                discontinuity: true,
                ..entry("gap.m4s".to_owned())
            });
        }
        for second in 0..TAKE {
            let runs = [0, 1].map(|slot| {
                let range = between(slot, &all[slot], second, second + 1);
                let origin = ORIGINS[index] * u64::from(TRACKS[slot].timescale);
                run(slot, origin + ticks(slot, range.start), &all[slot][range])
            });
            let date = (second == 0).then(|| date(ANCHORS[index] + FIRST_DTS[index] + START_NS));
            self.segments.push(Segment {
                discontinuity: take > 0 && second == 0,
                date,
                runs: runs.to_vec(),
                ..entry(format!("take{take}-{second:06}.m4s"))
            });
        }
    }

    /// The first segment of the second take: after four segments and a gap.
    pub(crate) fn second_take(&mut self) -> &mut Segment {
        &mut self.segments[5]
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    pub(crate) fn verify(&self) -> Report {
        self.write();
        verify::directory(&self.out(), &self.options).unwrap()
    }

    pub(crate) fn write(&self) {
        let (out, rec) = (self.out(), self.dir.path().join("rec"));
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(&rec).unwrap();
        for recording in self.takes.iter().flatten().filter(|r| !r.absent) {
            fs::write(rec.join(&recording.name), recording.bytes()).unwrap();
        }
        for (name, bytes) in &self.inits {
            fs::write(out.join(name), bytes).unwrap();
        }
        for segment in self.segments.iter().filter(|s| !s.absent) {
            fs::write(out.join(&segment.name), segment.bytes()).unwrap();
        }
        fs::write(out.join("index.m3u8"), self.playlist()).unwrap();
        fs::write(out.join("yeoul.json"), self.manifest().to_string()).unwrap();
    }

    /// Writes the same broadcast in the layout with a folder and a playlist for each track.
    pub(crate) fn write_cmaf(&self) {
        self.write();
        let out = self.out();
        let mut manifest = self.manifest();
        manifest["layout"] = "cmaf".into();
        manifest["playlists"] = json!(["video/index.m3u8", "audio/index.m3u8"]);
        for (slot, name) in ["video", "audio"].into_iter().enumerate() {
            let folder = out.join(name);
            fs::create_dir_all(&folder).unwrap();
            manifest["tracks"][slot]["playlist"] = format!("{name}/index.m3u8").into();
            for (file, bytes) in &self.inits {
                fs::write(folder.join(file), bytes).unwrap();
            }
            for segment in self.segments.iter().filter(|s| !s.absent) {
                let mut own = segment.clone();
                own.runs.retain(|r| r.track == TRACKS[slot].id);
                fs::write(folder.join(&own.name), own.bytes()).unwrap();
                fs::remove_file(out.join(&own.name)).ok();
            }
            fs::write(folder.join("index.m3u8"), self.playlist()).unwrap();
        }
        fs::remove_file(out.join(&self.inits[0].0)).ok();
        let multivariant = "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",URI=\"audio/index.m3u8\"\n\
            #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nvideo/index.m3u8\n";
        fs::write(out.join("index.m3u8"), multivariant).unwrap();
        fs::write(out.join("yeoul.json"), manifest.to_string()).unwrap();
    }

    pub(crate) fn playlist(&self) -> String {
        let mut text = format!(
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{}\n#EXT-X-INDEPENDENT-SEGMENTS\n",
            self.target
        );
        let mut init = "";
        for segment in &self.segments {
            if segment.discontinuity {
                text += "#EXT-X-DISCONTINUITY\n";
            }
            if segment.init != init {
                init = &segment.init;
                text += &format!("#EXT-X-MAP:URI=\"{init}\"\n");
            }
            if let Some(date) = &segment.date {
                text += &format!("#EXT-X-PROGRAM-DATE-TIME:{date}\n");
            }
            if segment.gap {
                text += "#EXT-X-GAP\n";
            }
            text += &format!("#EXTINF:{},\n{}\n", segment.extinf, segment.name);
        }
        text + "#EXT-X-ENDLIST\n"
    }

    pub(crate) fn manifest(&self) -> Value {
        let slot = |slot: usize, kind: &str, codec: &str| {
            json!({"slot": slot, "kind": kind, "name": kind, "track_id": TRACKS[slot].id, "playlist": "index.m3u8",
                   "codec": codec, "timescale": TRACKS[slot].timescale})
        };
        let recording = |r: &Recording| {
            let tracks = [0, 1].map(|slot| {
                let count: usize = r.parts.iter().flatten().filter(|p| p.track == TRACKS[slot].id).map(|p| p.samples.len()).sum();
                json!({"slot": slot, "track_id": TRACKS[slot].id, "samples": count, "kept": r.kept[slot]})
            });
            json!({"path": format!("../rec/{}", r.name), "number": r.mtxi.number, "dts_ns": r.mtxi.dts_ns.to_string(),
                   "ntp_ns": r.mtxi.ntp_ns.to_string(), "size": r.bytes().len(), "used": r.bytes().len(), "tracks": tracks})
        };
        let takes = self.takes.iter().zip(self.anchors).map(|(recordings, anchor)| {
            let id: String = recordings[0].mtxi.stream.iter().map(|b| format!("{b:02x}")).collect();
            json!({"id": id, "anchor_ns": anchor.map(|a| a.to_string()), "recordings": recordings.iter().map(recording).collect::<Vec<_>>()})
        });
        json!({"format": 1, "layout": "muxed", "gaps": "keep", "target": "1/1", "playlists": ["index.m3u8"],
               "tracks": [slot(0, "video", "avc1.4d401f"), slot(1, "audio", "mp4a.40.2")],
               "takes": takes.collect::<Vec<_>>(), "warnings": self.warnings})
    }
}

impl Recording {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let made = || {
            let mut bytes = head(&[AUDIO, VIDEO], Some(self.mtxi), [0; 3]);
            self.parts.iter().for_each(|p| bytes.extend(part(p)));
            bytes
        };
        self.bytes.clone().unwrap_or_else(made)
    }
}

impl Segment {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let media = part(&self.runs);
        let mut bytes = styp();
        if let Some(run) = self.runs.first().filter(|r| !r.samples.is_empty()) {
            let mut dts = i64::try_from(run.tfdt).unwrap();
            let mut earliest = i64::MAX;
            for sample in &run.samples {
                earliest = earliest.min(dts + i64::from(sample.cts));
                dts += i64::from(sample.duration);
            }
            let track = TRACKS.iter().find(|t| t.id == run.track).unwrap();
            bytes.extend(sidx(track, u64::try_from(earliest).unwrap(), media.len()));
        }
        bytes.extend(media);
        if let Some(damage) = self.damage {
            damage(&mut bytes);
        }
        bytes
    }
}

/// Nanoseconds since 1970 as the playlist's date; all are in the last minutes of 2026-11-30.
pub(crate) fn date(ns: i64) -> String {
    let midnight = 1_795_996_800_000_000_000;
    let in_day = ns - midnight;
    let seconds = in_day / 1_000_000_000;
    let nanos = in_day % 1_000_000_000;
    format!(
        "2026-11-30T{:02}:{:02}:{:02}.{nanos:09}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}
