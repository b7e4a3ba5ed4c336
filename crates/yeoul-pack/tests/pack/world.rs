//! Recordings from the testkit's recorder, packed into memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use yeoul_pack::{
    Catalogue, FileKind, Input, LaneReport, Layout, MemoryInput, Output, OutputFile, PackError,
    PackOptions, RecordingError, Warning, WarningKind, pack_lane,
};
use yeoul_spans::sink::memory::to_vec;
use yeoul_testkit::{Memory, Presence, Recorder, SampleTruth, Scenario, Sizes, Take, Track, Truth};

use crate::reader::{self, Playlist, Sample};

pub(crate) type Files = Vec<(String, Vec<u8>)>;

pub(crate) const SECOND: i64 = 1_000_000_000;

/// What a recorder wrote, and what it meant.
pub(crate) struct Recorded {
    pub(crate) files: Files,
    pub(crate) truth: Truth,
}

pub(crate) fn record(scenario: Scenario) -> Recorded {
    let recorder = Recorder::new(scenario, Memory::default()).unwrap();
    let (files, truth) = recorder.record().unwrap();
    Recorded {
        files: files.into_files(),
        truth,
    }
}

/// A sample of the truth with its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Meant {
    pub(crate) truth: SampleTruth,
    /// Its index among the track's samples in its file.
    pub(crate) index: u64,
    pub(crate) payload: Vec<u8>,
}

impl Recorded {
    /// The samples of a take's track (index in the scenario) that are in files that can be read.
    pub(crate) fn meant(&self, take: usize, track: usize) -> Vec<Meant> {
        let take = &self.truth.takes[take];
        let bytes: BTreeMap<&str, &[u8]> = self
            .files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect();
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        let mut out = Vec::new();
        for sample in &take.tracks[track].samples {
            let file = &take.files[sample.file as usize];
            let index = counts.entry(sample.file).or_default();
            if file.presence == Presence::Whole {
                let start = usize::try_from(sample.offset).unwrap();
                let payload = bytes[file.name.as_str()][start..][..sample.size as usize].to_vec();
                out.push(Meant {
                    truth: *sample,
                    index: *index,
                    payload,
                });
            }
            *index += 1;
        }
        out
    }

    /// All but one file, by its number in a take.
    pub(crate) fn without(&self, take: usize, numbers: std::ops::Range<usize>) -> Files {
        let gone = &self.truth.takes[take].files[numbers];
        let kept = self.files.iter();
        let kept = kept.filter(|(name, _)| gone.iter().all(|file| file.name != *name));
        kept.cloned().collect()
    }
}

/// H.264 and AAC as MediaMTX records them, but small.
pub(crate) fn video() -> Track {
    Track::h264_720p30().sizes(Sizes {
        sync: 300,
        anchor: 90,
        leaf: 40,
    })
}

pub(crate) fn audio() -> Track {
    let size = 24;
    Track::aac_mono_48k().sizes(Sizes {
        sync: size,
        anchor: size,
        leaf: size,
    })
}

/// Video and audio without takes.
pub(crate) fn both(seed: u64) -> Scenario {
    Scenario::new(seed).track(video()).track(audio())
}

pub(crate) fn lasting(seconds: u64) -> Take {
    Take::lasting(Duration::from_secs(seconds))
}

/// Everything that came out.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Names in the order in which they were given out.
    pub(crate) order: Vec<String>,
    /// The init of each segment.
    pub(crate) inits: BTreeMap<String, String>,
    pub(crate) report: LaneReport,
    pub(crate) refused: Vec<RecordingError>,
    /// The catalogue's and the lane's.
    pub(crate) warnings: Vec<Warning>,
}

#[derive(Default)]
struct Collect {
    files: BTreeMap<String, Vec<u8>>,
    order: Vec<String>,
    inits: BTreeMap<String, String>,
}

impl Output for Collect {
    type Error = Infallible;

    fn file(&mut self, file: OutputFile) -> Result<(), Infallible> {
        let bytes = to_vec(&file.body, 1 << 30).unwrap();
        if let FileKind::Segment { init } = file.kind {
            assert!(
                self.files.contains_key(&init),
                "{init} comes before {}",
                file.name
            );
            self.inits.insert(file.name.clone(), init);
        }
        self.order.push(file.name.clone());
        let before = self.files.insert(file.name.clone(), bytes);
        assert!(before.is_none(), "{} was given out twice", file.name);
        Ok(())
    }
}

pub(crate) fn inputs(files: &[(String, Vec<u8>)]) -> Vec<Arc<dyn Input>> {
    files
        .iter()
        .map(|(name, bytes)| {
            Arc::new(MemoryInput::new(name.clone(), bytes.clone())) as Arc<dyn Input>
        })
        .collect()
}

pub(crate) fn try_pack_inputs(
    inputs: Vec<Arc<dyn Input>>,
    options: &PackOptions,
) -> Result<Packed, PackError<Infallible>> {
    try_pack_takes(Catalogue::read(inputs, &options.limits)?, options)
}

pub(crate) fn try_pack_takes(
    catalogue: Catalogue,
    options: &PackOptions,
) -> Result<Packed, PackError<Infallible>> {
    let mut collect = Collect::default();
    let report = pack_lane(catalogue.takes, options, &mut collect)?;
    let mut warnings = catalogue.warnings;
    warnings.extend(report.warnings.iter().cloned());
    Ok(Packed {
        files: collect.files,
        order: collect.order,
        inits: collect.inits,
        report,
        refused: catalogue.refused,
        warnings,
    })
}

pub(crate) fn pack_with(files: &[(String, Vec<u8>)], options: &PackOptions) -> Packed {
    try_pack_inputs(inputs(files), options).unwrap()
}

pub(crate) fn pack(files: &[(String, Vec<u8>)]) -> Packed {
    pack_with(files, &PackOptions::default())
}

pub(crate) fn cmaf() -> PackOptions {
    PackOptions {
        layout: Layout::Cmaf,
        ..PackOptions::default()
    }
}

/// A sample of the output, and in which entry of its playlist it came.
#[derive(Debug, Clone)]
pub(crate) struct Played {
    pub(crate) entry: usize,
    pub(crate) sample: Sample,
}

impl Packed {
    pub(crate) fn playlist(&self, name: &str) -> Playlist {
        reader::playlist(std::str::from_utf8(&self.files[name]).unwrap())
    }

    /// The media playlist that has a track, and its folder.
    fn playlist_of(&self, track_id: u32) -> (String, Playlist) {
        let cmaf = self.files.keys().any(|name| name.contains('/'));
        let folder = match (cmaf, track_id) {
            (false, _) => String::new(),
            (true, 1) => "video/".to_owned(),
            (true, 2) => "audio/".to_owned(),
            (true, id) => format!("audio-{}/", id - 1),
        };
        let playlist = self.playlist(&format!("{folder}index.m3u8"));
        (folder, playlist)
    }

    /// A track as a player meets it: entry by entry of its playlist.
    pub(crate) fn played(&self, track_id: u32) -> Vec<Played> {
        let (folder, playlist) = self.playlist_of(track_id);
        let mut out = Vec::new();
        for (entry, line) in playlist.entries.iter().enumerate() {
            if line.gap {
                continue;
            }
            let name = format!("{folder}{}", line.uri);
            assert_eq!(
                self.inits[&name],
                format!("{folder}{}", line.map),
                "init of {name}"
            );
            for fragment in reader::fragments(&self.files[&name]) {
                for traf in fragment.into_iter().filter(|traf| traf.track == track_id) {
                    out.extend(
                        traf.samples
                            .into_iter()
                            .map(|sample| Played { entry, sample }),
                    );
                }
            }
        }
        out
    }

    pub(crate) fn samples(&self, track_id: u32) -> Vec<Sample> {
        self.played(track_id)
            .into_iter()
            .map(|played| played.sample)
            .collect()
    }

    /// Segments in order, as named in the video's or the only playlist.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.order
            .iter()
            .filter(|name| self.inits.contains_key(*name))
            .cloned()
            .collect()
    }

    pub(crate) fn has(&self, kind: WarningKind) -> bool {
        self.count(kind) > 0
    }

    pub(crate) fn count(&self, kind: WarningKind) -> usize {
        self.warnings
            .iter()
            .filter(|warning| warning.kind == kind)
            .count()
    }
}

/// Asserts that a track of the output is these samples: payloads, offsets, sync, and one constant from the truth's decode
/// times to the output's, which is returned. Behind a hole in the truth the recordings' clock counts anew: two ticks.
pub(crate) fn assert_same(what: &str, meant: &[Meant], samples: &[Sample]) -> i64 {
    assert_eq!(meant.len(), samples.len(), "{what}: number of samples");
    let Some(first) = meant.first() else { return 0 };
    let moved = samples[0].dts - first.truth.dts;
    let mut by = moved;
    let mut end = first.truth.dts;
    for (index, (meant, sample)) in meant.iter().zip(samples).enumerate() {
        let at = format!("{what}: sample {index}");
        assert!(meant.payload == sample.payload, "{at}: payload");
        if meant.truth.dts != end {
            assert!(
                (sample.dts - meant.truth.dts - moved).abs() <= 2,
                "{at}: hole"
            );
            by = sample.dts - meant.truth.dts;
        }
        end = meant.truth.dts + i64::from(meant.truth.duration);
        assert_eq!(sample.dts - meant.truth.dts, by, "{at}: decode time");
        assert_eq!(sample.cts, meant.truth.cts, "{at}: composition offset");
        assert_eq!(sample.is_sync(), meant.truth.sync, "{at}: sync");
    }
    moved
}

/// Asserts that each sample begins where the one before ends.
pub(crate) fn assert_contiguous(what: &str, samples: &[Sample]) {
    for (index, pair) in samples.windows(2).enumerate() {
        assert_eq!(
            pair[0].end(),
            pair[1].dts,
            "{what}: end of sample {index} and start of the next"
        );
    }
}
