//! What is read: headers, and at most 4 KiB of each video sync sample.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use yeoul_pack::{Catalogue, Input, Output, OutputFile, PackOptions, pack_lane};
use yeoul_spans::{Memory, Source, SourceError};
use yeoul_testkit::{Cadence, Codec, SampleEntry, Scenario, Sizes, Track};

use crate::reader::boxes;
use crate::world::*;

/// Counts the bytes that are read of `mdat`s, and of everything else.
#[derive(Debug)]
struct Counting {
    memory: Memory,
    /// Where `mdat` contents lie.
    payload: Vec<(u64, u64)>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    payload: AtomicU64,
    headers: AtomicU64,
    largest: AtomicU64,
}

impl Source for Counting {
    fn name(&self) -> &str {
        self.memory.name()
    }

    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<(), SourceError> {
        let end = offset + buf.len() as u64;
        let within = self
            .payload
            .iter()
            .map(|(from, to)| end.min(*to).saturating_sub(offset.max(*from)));
        let payload: u64 = within.sum();
        self.counts.payload.fetch_add(payload, Ordering::Relaxed);
        self.counts.largest.fetch_max(payload, Ordering::Relaxed);
        let rest = buf.len() as u64 - payload;
        self.counts.headers.fetch_add(rest, Ordering::Relaxed);
        self.memory.read_exact_at(buf, offset)
    }

    fn check(&self) -> Result<(), SourceError> {
        Ok(())
    }
}

#[derive(Debug)]
struct CountingInput {
    name: String,
    source: Arc<Counting>,
}

impl Input for CountingInput {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, _: bool) -> Result<Arc<dyn Source>, SourceError> {
        Ok(Arc::clone(&self.source) as Arc<dyn Source>)
    }
}

/// Takes files and reads none.
struct Nowhere;

impl Output for Nowhere {
    type Error = std::convert::Infallible;

    fn file(&mut self, _: OutputFile) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// What packing reads: payload, headers, the largest read of payload; and what headers there are.
fn reads(files: &Files) -> (Arc<Counts>, u64) {
    let counts = Arc::new(Counts::default());
    let mut headers = 0;
    let inputs: Vec<Arc<dyn Input>> = files
        .iter()
        .map(|(name, bytes)| {
            let payload: Vec<(u64, u64)> = boxes(bytes)
                .iter()
                .filter(|(kind, ..)| kind == b"mdat")
                .map(|(_, at, content)| {
                    let from = *at as u64 + 8;
                    (from, from + content.len() as u64)
                })
                .collect();
            headers += bytes.len() as u64 - payload.iter().map(|(a, b)| b - a).sum::<u64>();
            let source = Counting {
                memory: Memory::new(name.clone(), bytes.clone()),
                payload,
                counts: Arc::clone(&counts),
            };
            Arc::new(CountingInput {
                name: name.clone(),
                source: Arc::new(source),
            }) as Arc<dyn Input>
        })
        .collect();
    let options = PackOptions::default();
    let catalogue = Catalogue::read(inputs, &options.limits).unwrap();
    pack_lane(catalogue.takes, &options, &mut Nowhere).unwrap();
    (counts, headers)
}

fn sync_samples(recorded: &Recorded, track: usize) -> u64 {
    let takes = recorded.truth.takes.iter();
    let samples = takes.flat_map(|take| &take.tracks[track].samples);
    samples.filter(|sample| sample.sync).count() as u64
}

#[test]
fn payload_is_read_at_video_sync_samples_only_and_no_more_than_4_kib_of_each() {
    for (video, most) in [
        (Track::h264_720p30(), 512),
        (Track::h265_720p30(), 512),
        // The slice stands behind 3 KiB of parameter sets: the whole 4 KiB are needed.
        (with_large_sets(3000), 4096 + 512),
        // Behind 9 KiB it cannot be seen and is not looked for.
        (with_large_sets(9000), 4096 + 512),
    ] {
        let scenario = Scenario::new(100).track(video).track(audio());
        let recorded = record(scenario.take(lasting(21)));
        let (counts, headers) = reads(&recorded.files);
        let payload = counts.payload.load(Ordering::Relaxed);
        let syncs = sync_samples(&recorded, 0);
        assert!(syncs > 8 && payload > 0);
        assert!(
            payload <= syncs * most,
            "{payload} bytes at {syncs} sync samples"
        );
        assert!(counts.largest.load(Ordering::Relaxed) <= 4096);
        // Each header once, and once more the first recording's until its tracks are known to have samples.
        let read = counts.headers.load(Ordering::Relaxed);
        assert!(read <= headers * 5 / 4, "{read} of {headers} header bytes");
    }
}

fn with_large_sets(bytes: usize) -> Track {
    let mut entry = SampleEntry::h264_720p30();
    // An SEI message in front, as long as wanted.
    let mut sei = vec![0x06, 0x05];
    sei.resize(bytes, 0xab);
    entry.parameter_sets.push(sei);
    let cadence = Cadence {
        codec: Codec::H264,
        durations: vec![3000],
        gop: 60,
        mini_gop: vec![1],
        open_gop: false,
        delay: 0,
        opening: Vec::new(),
        sizes: Sizes {
            sync: 20_000,
            anchor: 2000,
            leaf: 2000,
        },
    };
    Track::video(cadence, vec![entry])
}

#[test]
fn no_payload_of_audio_or_of_codecs_without_nal_units_is_read() {
    for scenario in [
        Scenario::new(101)
            .track(Track::vp9_30())
            .track(Track::opus_stereo()),
        Scenario::new(102).track(audio()),
    ] {
        let recorded = record(scenario.take(lasting(9)));
        let (counts, _) = reads(&recorded.files);
        assert_eq!(counts.payload.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_long_recording_costs_its_headers() {
    let mut scenario = yeoul_testkit::presets::long_file(103, 60, 20 << 20);
    scenario.payload = yeoul_testkit::Payload::Sparse;
    scenario.part_duration = Duration::from_secs(1);
    let recorded = record(scenario);
    let size: u64 = recorded
        .files
        .iter()
        .map(|(_, bytes)| bytes.len() as u64)
        .sum();
    let (counts, _) = reads(&recorded.files);
    let read = counts.payload.load(Ordering::Relaxed) + counts.headers.load(Ordering::Relaxed);
    assert!(read * 50 <= size, "{read} of {size} bytes: over 2 %");
}
