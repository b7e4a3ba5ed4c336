//! The recorder's output against real recordings of the same tracks (see `testdata/README.md`).

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use yeoul_testkit::fingerprint::{Fingerprint, Run, fingerprint, runs};
use yeoul_testkit::{Content, Kind, Memory, Recorder, SampleEntry, Scenario, Take, Track};

const AUDIO_ONLY: &[u8] = include_bytes!("../testdata/audio-only.mp4");
const VP9_OPUS: &[u8] = include_bytes!("../testdata/vp9-opus.mp4");
const RECONNECTS: &[u8] = include_bytes!("../testdata/reconnects-moofs.mp4");
const HEVC_OPUS: &[u8] = include_bytes!("../testdata/hevc-opus-moofs.mp4");

fn recorded(tracks: impl IntoIterator<Item = Track>) -> Vec<Vec<u8>> {
    let mut scenario = Scenario::new(11).take(Take::lasting(Duration::from_secs(20)));
    scenario.tracks = tracks.into_iter().collect();
    let (files, _) = Recorder::new(scenario, Memory::default())
        .unwrap()
        .record()
        .unwrap();
    files
        .into_files()
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect()
}

fn compare(real: &[u8], made: &[u8]) -> (Fingerprint, Fingerprint) {
    let (real, made) = (fingerprint(real).unwrap(), fingerprint(made).unwrap());
    assert_eq!(real.head, made.head);
    assert_eq!(real.parts, made.parts);
    assert!(real.payload_in_order && made.payload_in_order);
    for (track, flags) in &real.trun_flags {
        assert!(
            flags.is_subset(&made.trun_flags[track]),
            "track {track}: {flags:x?}"
        );
    }
    assert_eq!(made.sequence[..real.sequence.len()], real.sequence);
    let rounding: BTreeSet<i64> = (-1..=1).collect();
    assert!(
        real.drift.is_subset(&rounding) && made.drift.is_subset(&rounding),
        "{:?} {:?}",
        real.drift,
        made.drift
    );
    (real, made)
}

fn of_track(runs: Vec<Run>, track: u32) -> Vec<(u32, u32, i32)> {
    let runs = runs.into_iter().filter(|run| run.track == track);
    runs.flat_map(|run| run.samples)
        .map(|s| (s.duration, s.flags, s.cts))
        .collect()
}

#[test]
fn audio_only_has_the_real_structure_and_the_real_part_lengths() {
    let made = &recorded([Track::aac_mono_48k().starting_at(0)])[0];
    compare(AUDIO_ONLY, made);
    let lengths = |bytes| {
        runs(bytes)
            .unwrap()
            .iter()
            .map(|run| run.samples.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(lengths(AUDIO_ONLY), [47, 47, 47]);
    let frames: usize = lengths(made).iter().sum();
    assert_eq!(
        frames, 188,
        "a file of audio alone ends at the first frame past 4 s"
    );
}

#[test]
fn vp9_and_opus_have_the_real_structure() {
    compare(
        VP9_OPUS,
        &recorded([Track::vp9_30(), Track::opus_stereo()])[0],
    );
}

#[test]
fn h264_with_six_aac_has_the_real_structure_and_timing() {
    let tracks = std::iter::once(Track::h264_720p30()).chain((0..6).map(|_| Track::aac_mono_48k()));
    let made = &recorded(tracks)[0];
    compare(RECONNECTS, made);
    let real = of_track(runs(RECONNECTS).unwrap(), 1);
    assert!(real.len() > 100);
    assert_eq!(of_track(runs(made).unwrap(), 1)[..real.len()], real);
}

#[test]
fn h265_with_opus_has_the_real_structure_and_timing() {
    let made = &recorded([Track::h265_720p30(), Track::opus_stereo()])[0];
    compare(HEVC_OPUS, made);
    let real = of_track(runs(HEVC_OPUS).unwrap(), 1);
    assert!(real.len() > 100);
    assert_eq!(of_track(runs(made).unwrap(), 1)[..real.len()], real);
}

#[test]
fn both_roundings_show_in_tfdt() {
    let files = recorded([Track::h264_720p30(), Track::aac_mono_48k()]);
    let drift: BTreeSet<i64> = files
        .iter()
        .flat_map(|bytes| fingerprint(bytes).unwrap().drift)
        .collect();
    assert_eq!(drift, BTreeSet::from([-1, 0, 1]));
}

#[test]
fn the_fingerprint_tells_a_wrong_header_from_a_right_one() {
    let mut wrong = RECONNECTS.to_vec();
    let tkhd = wrong.windows(4).position(|w| w == b"tkhd").unwrap();
    wrong[tkhd + 7] = 7;
    assert_ne!(
        fingerprint(&wrong).unwrap().head,
        fingerprint(RECONNECTS).unwrap().head
    );
    assert!(fingerprint(&RECONNECTS[..RECONNECTS.len() - 1]).is_err());
}

/// Samples of one track of a real recording, payload included.
fn contents(recording: &[u8], track: u32) -> Vec<Content> {
    let mut contents = Vec::new();
    for run in runs(recording)
        .unwrap()
        .into_iter()
        .filter(|run| run.track == track)
    {
        let mut at = usize::try_from(run.data_at).unwrap();
        for sample in run.samples {
            let end = at + sample.size as usize;
            let payload = recording[at..end].to_vec();
            contents.push(Content {
                duration: sample.duration,
                cts: sample.cts,
                sync: sample.flags == 0,
                payload,
            });
            at = end;
        }
    }
    contents
}

#[test]
fn real_samples_come_back_as_they_went_in() {
    let (video, audio) = (contents(VP9_OPUS, 1), contents(VP9_OPUS, 2));
    let made = recorded([
        Track::from_samples(Kind::Video, 90_000, SampleEntry::vp9_640(), video.clone()),
        Track::from_samples(
            Kind::Audio,
            48_000,
            SampleEntry::opus_stereo(),
            audio.clone(),
        ),
    ]);
    compare(VP9_OPUS, &made[0]);
    assert_eq!(
        contents(&made[0], 1),
        video[..video.len() - 1],
        "all but the last, whose duration never comes"
    );
    assert_eq!(contents(&made[0], 2), audio[..audio.len() - 1]);
}
