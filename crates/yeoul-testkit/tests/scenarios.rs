//! Each thing that can go wrong in a scenario, and the truth beside it.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use proptest::prelude::*;
use yeoul_testkit::fingerprint::{Run, runs};
use yeoul_testkit::{
    End, Event, Folder, Memory, Payload, Presence, Recorder, SampleEntry, Scenario, Take, Track,
    Truth, presets, shuffle, tear,
};

type Files = Vec<(String, Vec<u8>)>;

fn record(scenario: Scenario) -> (Files, Truth) {
    let (files, truth) = Recorder::new(scenario, Memory::default())
        .unwrap()
        .record()
        .unwrap();
    (files.into_files(), truth)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn two_tracks(take: Take) -> Scenario {
    Scenario::new(5)
        .track(Track::h264_720p30())
        .track(Track::aac_mono_48k())
        .take(take)
}

/// (stream id, number, DTS, NTP) as they stand in the file.
fn mtxi(bytes: &[u8]) -> ([u8; 16], u64, i64, i64) {
    let at = bytes.windows(4).position(|w| w == b"mtxi").unwrap() + 8;
    let eight = |from: usize| <[u8; 8]>::try_from(&bytes[from..from + 8]).unwrap();
    let id = bytes[at..at + 16].try_into().unwrap();
    (
        id,
        u64::from_be_bytes(eight(at + 16)),
        i64::from_be_bytes(eight(at + 24)),
        i64::from_be_bytes(eight(at + 32)),
    )
}

fn mvhd_duration(bytes: &[u8]) -> u32 {
    let at = bytes.windows(4).position(|w| w == b"mvhd").unwrap() + 20;
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn named<'a>(files: &'a Files, name: &str) -> &'a [u8] {
    &files
        .iter()
        .find(|(n, _)| n == name)
        .unwrap_or_else(|| panic!("{name} is not there"))
        .1
}

/// Reads every file back and holds it against the truth, sample by sample.
fn check(files: &Files, truth: &Truth) {
    for take in &truth.takes {
        for (index, file) in take.files.iter().enumerate() {
            if file.presence != Presence::Whole {
                continue;
            }
            let bytes = named(files, &file.name);
            assert_eq!(
                mtxi(bytes),
                (take.stream_id, file.number, file.dts_ns, file.ntp_ns)
            );
            assert_eq!(mvhd_duration(bytes), file.duration_ms);
            assert_eq!(bytes.len() as u64, file.size);
            let found = runs(bytes).unwrap();
            for track in &take.tracks {
                let expected: Vec<_> = track
                    .samples
                    .iter()
                    .filter(|s| s.file as usize == index)
                    .collect();
                let mut expected = expected.into_iter();
                for run in found.iter().filter(|run| run.track == track.id) {
                    same_run(run, &mut expected, track.timescale, file.dts_ns);
                }
                assert_eq!(
                    expected.next(),
                    None,
                    "track {} has fewer samples in {}",
                    track.id,
                    file.name
                );
            }
        }
        for track in &take.tracks {
            assert_eq!(track.count, track.samples.len() as u64);
            assert_eq!(track.start, track.samples.first().map(|s| s.dts));
            let ends = track.samples.iter().map(|s| s.dts + i64::from(s.duration));
            let holes = ends
                .zip(&track.samples[1.min(track.samples.len())..])
                .filter(|(end, next)| *end != next.dts);
            assert!(holes.count() as u64 <= track.dropped, "track {}", track.id);
        }
    }
}

fn same_run<'a>(
    run: &Run,
    expected: &mut impl Iterator<Item = &'a yeoul_testkit::SampleTruth>,
    timescale: u32,
    file_dts_ns: i64,
) {
    let (mut at, mut first) = (run.data_at, true);
    for sample in &run.samples {
        let truth = expected.next().expect("more samples than the truth has");
        if std::mem::take(&mut first) {
            let origin = i128::from(file_dts_ns) * i128::from(timescale);
            let exact = i128::from(truth.dts) * 1_000_000_000 - origin;
            let off = exact - i128::from(run.base_time) * 1_000_000_000;
            assert!(off.abs() < 2_000_000_000, "tfdt is {off} / 10⁹ ticks off");
        }
        assert_eq!(
            (truth.duration, truth.size, truth.cts),
            (sample.duration, sample.size, sample.cts)
        );
        assert_eq!(truth.sync, sample.flags == 0);
        assert_eq!(truth.offset, at);
        at += u64::from(sample.size);
    }
}

#[test]
fn broadcast_is_150_files_in_three_takes() {
    let (files, truth) = record(presets::broadcast150(1));
    assert_eq!(files.len(), 150);
    assert_eq!(
        truth
            .takes
            .iter()
            .map(|take| take.files.len())
            .collect::<Vec<_>>(),
        [60, 60, 30]
    );
    assert!(files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() < 60_000_000);
    check(&files, &truth);
    let mut names: Vec<_> = files.iter().map(|(name, _)| name).collect();
    names.dedup();
    assert!(names.is_sorted() && names.len() == 150);
}

#[test]
fn later_files_start_with_audio_and_their_clock_is_behind() {
    let (_, truth) = record(two_tracks(Take::lasting(seconds(20))));
    let [first, rest @ ..] = truth.takes[0].files.as_slice() else {
        panic!("no files")
    };
    assert_eq!(first.dts_ns, 0);
    for file in rest {
        let shift = (first.ntp_ns - first.dts_ns) - (file.ntp_ns - file.dts_ns);
        assert!((380_000_000..600_200_000).contains(&shift), "{shift}");
    }
    let video = &truth.takes[0].tracks[0].samples;
    let late = video.iter().find(|s| s.file == 1).unwrap().dts * 100_000 / 9 - rest[0].dts_ns;
    assert!((1_000_000..300_000_000).contains(&late), "{late}");
}

#[test]
fn missing_empty_and_duplicate_files() {
    let take = Take::lasting(seconds(24))
        .with(Event::Missing { file: 1 })
        .with(Event::Empty { file: 2 })
        .with(Event::Duplicate { file: 3, parts: 2 });
    let (files, truth) = record(two_tracks(take));
    check(&files, &truth);
    let plan = &truth.takes[0].files;
    assert_eq!(plan[1].presence, Presence::Missing);
    assert!(files.iter().all(|(name, _)| *name != plan[1].name));
    assert_eq!(named(&files, &plan[2].name), b"");
    let (whole, copy) = (
        named(&files, &plan[3].name),
        named(&files, plan[3].duplicate.as_ref().unwrap()),
    );
    assert_eq!(mtxi(whole), mtxi(copy));
    assert!(whole.starts_with(copy) && copy.len() < whole.len());
    assert_eq!(runs(copy).unwrap().len(), 4, "two parts of two tracks");
}

#[test]
fn a_stall_is_one_long_sample() {
    let stall = Event::Stall {
        track: 0,
        at: seconds(7),
        length: Duration::from_millis(2500),
    };
    let (files, truth) = record(two_tracks(Take::lasting(seconds(20)).with(stall)));
    check(&files, &truth);
    let long = truth.takes[0].tracks[0]
        .samples
        .iter()
        .filter(|s| s.duration > 200_000)
        .count();
    assert_eq!(long, 1);
    assert!(
        truth.takes[0].tracks[1]
            .samples
            .iter()
            .all(|s| s.duration == 1024)
    );
}

#[test]
fn a_killed_take_keeps_whole_parts_and_no_duration() {
    let (files, truth) = record(two_tracks(Take::lasting(seconds(9)).killed()));
    check(&files, &truth);
    assert_ne!(truth.takes[0].files[0].duration_ms, 0);
    assert_eq!(truth.takes[0].files.last().unwrap().duration_ms, 0);
}

#[test]
fn late_and_vanishing_tracks_have_no_traf() {
    let take = Take::lasting(seconds(20))
        .with(Event::Join {
            track: 1,
            at: seconds(9),
        })
        .with(Event::Leave {
            track: 2,
            at: seconds(8),
        });
    let (files, truth) = record(two_tracks(take).track(Track::opus_stereo()));
    check(&files, &truth);
    let tracks_of = |file: usize| {
        let mut ids: Vec<_> = runs(&files[file].1)
            .unwrap()
            .iter()
            .map(|run| run.track)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    assert_eq!(tracks_of(0), [1, 3]);
    assert_eq!(tracks_of(files.len() - 1), [1, 2]);
}

#[test]
fn parameters_change_in_band_first_and_in_the_header_with_the_next_file() {
    let change = Event::Parameters {
        track: 0,
        at: seconds(7),
        entry: 1,
    };
    let (files, truth) = record(two_tracks(Take::lasting(seconds(20)).with(change)));
    check(&files, &truth);
    let small = SampleEntry::h264_480p30();
    let has = |file: usize, bytes: &[u8]| files[file].1.windows(bytes.len()).any(|w| w == bytes);
    let video = &truth.takes[0].tracks[0].samples;
    let changed = video.iter().find(|s| s.entry == 1).unwrap();
    assert!(changed.sync && changed.file == 1);
    let at = usize::try_from(changed.offset).unwrap() + 4;
    assert!(files[1].1[at..].starts_with(&small.parameter_sets[0]));
    assert!(!has(1, &small.bytes) && has(2, &small.bytes));
}

#[test]
fn parameters_change_exactly_between_files() {
    let change = Event::ParametersAtFile {
        track: 0,
        file: 2,
        entry: 1,
    };
    let (files, truth) = record(two_tracks(Take::lasting(seconds(20)).with(change)));
    check(&files, &truth);
    for sample in &truth.takes[0].tracks[0].samples {
        assert_eq!(sample.entry, u16::from(sample.file >= 2));
    }
    assert!(
        files[2]
            .1
            .windows(154)
            .all(|w| w != SampleEntry::h264_720p30().bytes)
    );
}

#[test]
fn takes_overlap_and_clocks_step() {
    let step = Event::ClockStep {
        at: seconds(8),
        by_ns: -60_000_000_000,
    };
    let scenario = two_tracks(Take::lasting(seconds(12)).with(step)).take(
        Take::lasting(seconds(6))
            .after(-2_000_000_000)
            .starting_at(6_040_000_000),
    );
    let (files, truth) = record(scenario);
    check(&files, &truth);
    let [first, second] = truth.takes.as_slice() else {
        panic!("two takes")
    };
    assert_ne!(first.stream_id, second.stream_id);
    assert_eq!(second.files[0].dts_ns, 6_040_000_000);
    assert_eq!(
        second.files[0].ntp_ns - first.files[0].ntp_ns,
        10_000_000_000
    );
    assert!(first.files[2].ntp_ns < first.files[1].ntp_ns - 50_000_000_000);
}

#[test]
fn h265_begins_before_zero_as_mediamtx_writes_it() {
    let scenario = Scenario::new(1)
        .track(Track::h265_720p30())
        .track(Track::opus_stereo());
    let (files, truth) = record(scenario.take(Take::lasting(seconds(10))));
    check(&files, &truth);
    assert_eq!(truth.takes[0].files[0].dts_ns, -66_666_666);
}

#[test]
fn a_file_grows_part_by_part_and_is_closed_with_its_last() {
    let mut recorder =
        Recorder::new(two_tracks(Take::lasting(seconds(9))), Memory::default()).unwrap();
    let mut closed = 0;
    while let Some(part) = recorder.next_part().unwrap() {
        let (_, bytes) = &recorder.sink().files()[part.file];
        assert_eq!(bytes.len() as u64, part.offset + part.size);
        assert_eq!(mvhd_duration(bytes) != 0, part.closed);
        closed += usize::from(part.closed);
    }
    assert_eq!(closed, 2);
}

#[test]
fn a_take_can_be_ended_by_hand() {
    let scenario = two_tracks(Take::lasting(seconds(60))).take(Take::lasting(seconds(6)));
    let mut recorder = Recorder::new(scenario, Memory::default()).unwrap();
    recorder.next_part().unwrap().unwrap();
    recorder.end_take(End::Killed).unwrap();
    assert_eq!(recorder.next_part().unwrap().unwrap().take, 1);
    let (files, truth) = recorder.record().unwrap();
    check(&files.into_files(), &truth);
    assert_eq!(truth.takes[0].files[0].parts, 1);
}

/// Found by `files_say_what_the_truth_says`: while a track was stalled its pending sample was the oldest of several short
/// files, which then had the same name and overwrote each other.
#[test]
fn a_stalled_track_that_is_the_oldest_of_several_files_gives_them_names_of_their_own() {
    let mut scenario = Scenario::new(3_142_294_109_843_520_686)
        .track(Track::aac_mono_48k())
        .track(Track::opus_stereo());
    scenario.segment_duration = Duration::from_millis(500);
    let stall = Event::Stall {
        track: 0,
        at: Duration::from_millis(11),
        length: Duration::from_millis(683),
    };
    let (files, truth) = record(scenario.take(Take::lasting(seconds(7)).with(stall)));
    check(&files, &truth);
    let names: std::collections::BTreeSet<_> = files.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), files.len());
}

#[test]
fn the_language_is_packed() {
    let mut scenario = two_tracks(Take::lasting(seconds(3)));
    scenario.tracks[1].language = *b"kor";
    let bytes = &record(scenario).0[0].1;
    let packed = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, w)| *w == b"mdhd")
        .map(|(at, _)| [bytes[at + 24], bytes[at + 25]]);
    assert_eq!(packed.collect::<Vec<_>>(), [[0x55, 0xc4], [0x2d, 0xf2]]);
}

#[test]
fn a_folder_gets_what_memory_gets_and_holes_read_as_zeros() {
    for payload in [Payload::Noise, Payload::Sparse] {
        let mut scenario = presets::broadcast_small(3);
        scenario.payload = payload;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("방송 녹화");
        Recorder::new(scenario.clone(), Folder::new(&path).unwrap())
            .unwrap()
            .record()
            .unwrap();
        let (files, truth) = record(scenario);
        check(&files, &truth);
        for (name, bytes) in &files {
            assert!(std::fs::read(path.join(name)).unwrap() == *bytes, "{name}");
        }
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), files.len());
    }
}

#[test]
fn shuffled_trafs_name_the_same_samples() {
    let (files, _) = record(presets::broadcast_small(1));
    let (mut orders, mut changed) = (Vec::new(), 0);
    for (_, bytes) in &files {
        let mut shuffled = Vec::new();
        shuffle::shuffle_trafs(bytes.as_slice(), &mut shuffled, 9).unwrap();
        let (mut before, mut after) = (runs(bytes).unwrap(), runs(&shuffled).unwrap());
        orders.push(after.iter().map(|run| run.track).collect::<Vec<_>>());
        changed += usize::from(before != after);
        before.sort_by_key(|run| run.data_at);
        after.sort_by_key(|run| run.data_at);
        assert_eq!(before, after);
        assert_eq!(bytes.len(), shuffled.len());
    }
    assert_eq!(changed, files.len());
}

#[test]
fn shuffle_refuses_a_moof_that_does_not_add_up_and_copies_a_torn_tail() {
    let bytes = &record(two_tracks(Take::lasting(seconds(4)))).0[0].1;
    let moof = bytes.windows(4).position(|w| w == b"moof").unwrap() - 4;
    let mut wrong = bytes.clone();
    wrong[moof + 8 + 16 + 3] ^= 1;
    let error = shuffle::shuffle_trafs(wrong.as_slice(), std::io::sink(), 1).unwrap_err();
    assert!(error.to_string().contains("moof"), "{error}");
    let torn = tear::truncate(bytes, moof + 40);
    let mut copy = Vec::new();
    assert_eq!(shuffle::shuffle_trafs(torn, &mut copy, 1).unwrap(), 0);
    assert_eq!(copy, torn);
    let zeroed = tear::zero_tail(bytes, moof);
    assert_eq!(zeroed.len(), bytes.len());
    assert!(zeroed.starts_with(&bytes[..moof]) && zeroed[moof..].iter().all(|&b| b == 0));
}

#[test]
fn what_is_not_there_is_refused() {
    let refused = |scenario| Recorder::new(scenario, Memory::default()).is_err();
    assert!(refused(Scenario::new(1)));
    let event = Event::Stall {
        track: 2,
        at: seconds(1),
        length: seconds(1),
    };
    assert!(refused(two_tracks(Take::lasting(seconds(4)).with(event))));
    let event = Event::Parameters {
        track: 1,
        at: seconds(1),
        entry: 1,
    };
    assert!(refused(two_tracks(Take::lasting(seconds(4)).with(event))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the scenario, what stands in the files is the truth.
    #[test]
    fn files_say_what_the_truth_says(
        seed: u64,
        millis in 500u64..15_000,
        part_ms in 100u64..2000,
        segment_ms in 500u64..6000,
        audio in 0usize..4,
        video in 0usize..4,
        first_dts in -1_000_000_000i64..20_000_000_000,
        (stall_at, stall_length) in (0u64..10_000, 1u64..6000),
        (join, leave) in (0u64..8000, 4000u64..20_000),
        killed: bool,
    ) {
        let mut scenario = Scenario::new(seed);
        scenario.part_duration = Duration::from_millis(part_ms);
        scenario.segment_duration = Duration::from_millis(segment_ms);
        scenario.tracks.extend(vec![None, Some(Track::h264_720p30()), Some(Track::h265_720p30()), Some(Track::vp9_30())].swap_remove(video));
        scenario.tracks.extend((0..audio).map(|_| Track::aac_mono_48k()));
        scenario.tracks.push(Track::opus_stereo());
        let last = scenario.tracks.len() - 1;
        let ms = Duration::from_millis;
        let mut take = Take::lasting(ms(millis)).starting_at(first_dts)
            .with(Event::Stall { track: 0, at: ms(stall_at), length: ms(stall_length) })
            .with(Event::Join { track: last, at: ms(join) })
            .with(Event::Leave { track: last, at: ms(leave) });
        if killed {
            take = take.killed();
        }
        let scenario = scenario.take(take.clone()).take(take);
        let (files, truth) = record(scenario.clone());
        check(&files, &truth);
        prop_assert!(record(scenario) == (files, truth));
    }
}
