//! Recordings that lie, and recordings in shapes that MediaMTX never writes.

use yeoul_pack::{PackOptions, RecordingError, WarningKind};
use yeoul_testkit::{Event, SplitMix64};

use crate::reader;
use crate::world::*;
use crate::writer::{self, *};

fn one(bytes: Vec<u8>) -> Packed {
    pack(&[("one.mp4".to_owned(), bytes)])
}

fn two_parts() -> [Vec<Run>; 2] {
    let (v, a) = (samples(1, 30, 3000), samples(100, 40, 1024));
    let (v2, a2) = (samples(50, 30, 3000), samples(150, 40, 1024));
    [
        vec![run(VIDEO, 0, &v), run(AUDIO, 0, &a)],
        vec![run(VIDEO, 90_000, &v2), run(AUDIO, 40_960, &a2)],
    ]
}

fn meant(parts: &[Vec<Run>], track: Track) -> Vec<writer::Sample> {
    let runs = parts.iter().flatten().filter(|run| run.track == track.id);
    runs.flat_map(|run| run.samples.clone()).collect()
}

fn assert_holds(what: &str, packed: &Packed, track: Track, wanted: &[writer::Sample]) {
    let found = packed.samples(track.id);
    assert_eq!(found.len(), wanted.len(), "{what}: track {}", track.id);
    for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert_eq!(found.payload, wanted.payload, "{what}: sample {index}");
        assert_eq!(found.cts, wanted.cts, "{what}: sample {index}");
        assert_eq!(found.is_sync(), wanted.sync, "{what}: sample {index}");
    }
}

#[test]
fn every_way_to_say_where_samples_are_gives_the_same() {
    let mut wanted: Option<Vec<Vec<reader::Sample>>> = None;
    for shape in [
        Shape::Plain,
        Shape::ExplicitBase,
        Shape::Previous,
        Shape::SeveralRuns,
        Shape::FirstFlags,
    ] {
        let mut parts = two_parts();
        for run in parts.iter_mut().flatten() {
            run.shape = shape;
        }
        let packed = one(recording(&[VIDEO, AUDIO], None, &parts));
        let found = vec![packed.samples(1), packed.samples(2)];
        let found: Vec<Vec<reader::Sample>> = found
            .into_iter()
            .map(|samples| {
                samples
                    .into_iter()
                    .map(|s| reader::Sample {
                        flags: s.flags & 0x1_0000,
                        ..s
                    })
                    .collect()
            })
            .collect();
        assert_eq!((found[0].len(), found[1].len()), (60, 80), "{shape:?}");
        let wanted = wanted.get_or_insert_with(|| found.clone());
        assert!(found == *wanted, "{shape:?}");
    }
}

#[test]
fn negative_composition_offsets_pass() {
    let mut parts = two_parts();
    for (index, sample) in parts
        .iter_mut()
        .flat_map(|part| &mut part[0].samples)
        .enumerate()
    {
        sample.cts = [-3000, 0, 3000][index % 3];
    }
    let packed = one(recording(&[VIDEO, AUDIO], None, &parts));
    assert_holds("negative", &packed, VIDEO, &meant(&parts, VIDEO));
    assert_contiguous("video", &packed.samples(1));
}

#[test]
fn a_moov_behind_mdat_is_a_plain_mp4_and_in_front_of_parts_must_stand_in_front() {
    let (v, a) = (samples(1, 90, 3000), samples(100, 120, 1024));
    let packed = one(plain(&[
        (VIDEO, v.clone(), vec![]),
        (AUDIO, a.clone(), vec![]),
    ]));
    assert_holds("plain", &packed, VIDEO, &v);
    assert_holds("plain", &packed, AUDIO, &a);

    let parts = two_parts();
    let file = recording(&[VIDEO, AUDIO], None, &parts);
    let moov_at = ftyp().len();
    let moov = reader::boxes(&file)[1].2.len() + 8;
    let mut behind = [
        &file[..moov_at],
        &file[moov_at + moov..],
        &file[moov_at..moov_at + moov],
    ]
    .concat();
    let packed = one(behind.clone());
    assert!(packed.refused.is_empty());
    assert!(
        packed.files.is_empty() && packed.has(WarningKind::NoParts),
        "{:?}",
        packed.warnings
    );
    behind.truncate(behind.len() - moov);
    let packed = one(behind);
    assert!(matches!(
        packed.refused[..],
        [RecordingError::NoMovie { .. }]
    ));
}

#[test]
fn an_edit_list_of_a_plain_mp4_moves_its_track() {
    let mut v = samples(1, 60, 3000);
    for sample in &mut v {
        sample.cts = 6000;
    }
    let a = samples(100, 100, 1024);
    // Video: from media time 6000. Audio: a quarter of a second of nothing, then from 1024 on.
    let edits = (vec![(1200, 6000)], vec![(150, -1), (1200, 1024)]);
    let packed = one(plain(&[
        (VIDEO, v.clone(), edits.0),
        (AUDIO, a.clone(), edits.1),
    ]));
    assert_holds("edited", &packed, VIDEO, &v);
    assert_holds("edited", &packed, AUDIO, &a);
    let (seen, heard) = (packed.samples(1)[0].pts(), packed.samples(2)[0].pts());
    // Presented: video at 0, audio at 0.25 s less one frame.
    let apart = i128::from(heard) * 90_000 - i128::from(seen) * 48_000;
    assert_eq!(apart, (12_000 - 1024) * 90_000);
}

#[test]
fn defaults_that_nobody_gives_are_zero_and_harmless() {
    let parts = two_parts();
    for trex in [None, Some([3000, 7, 0x1_0000])] {
        let mut file = [ftyp(), moov(&[VIDEO, AUDIO], None, trex)].concat();
        for runs in &parts {
            file.extend(part(file.len(), runs));
        }
        let packed = one(file);
        assert_holds("trex", &packed, VIDEO, &meant(&parts, VIDEO));
    }
    // Runs without sizes, with nothing that says them.
    let tfhd = full(b"tfhd", 0, 0x2_0000, &words(&[1]));
    let tfdt = full(b"tfdt", 1, 0, &0_u64.to_be_bytes());
    let trun = full(b"trun", 0, 1, &words(&[1000, 100]));
    let traf = boxed(b"traf", &[tfhd, tfdt, trun].concat());
    let moof = boxed(b"moof", &[full(b"mfhd", 0, 0, &words(&[1])), traf].concat());
    let file = [
        ftyp(),
        moov(&[VIDEO], None, None),
        moof,
        boxed(b"mdat", &[7; 64]),
    ]
    .concat();
    let packed = one(file);
    assert!(packed.refused.is_empty());
    for sample in packed
        .files
        .get("index.m3u8")
        .map(|_| packed.samples(1))
        .unwrap_or_default()
    {
        assert!(sample.payload.is_empty());
    }
}

#[test]
fn without_tfdt_time_goes_on_from_the_part_before() {
    let mut parts = two_parts();
    for run in parts.iter_mut().flatten() {
        run.tfdt = None;
    }
    let packed = one(recording(&[VIDEO, AUDIO], None, &parts));
    for (track, id) in [(VIDEO, 1), (AUDIO, 2)] {
        assert_holds("no tfdt", &packed, track, &meant(&parts, track));
        assert_contiguous("no tfdt", &packed.samples(id));
    }
}

#[test]
fn a_tfdt_that_goes_back_is_reported_and_time_goes_on() {
    let mut parts = two_parts();
    parts[1][0].tfdt = Some(30_000);
    let packed = one(recording(&[VIDEO, AUDIO], None, &parts));
    assert_holds("back", &packed, VIDEO, &meant(&parts, VIDEO));
    assert_contiguous("back", &packed.samples(1));
    assert_eq!(packed.count(WarningKind::Jump), 1);
}

#[test]
fn a_tfdt_beyond_reason_costs_its_part_only() {
    for time in [u64::MAX, 1 << 63, (1 << 60) + 1, (90_000 << 32) + 1] {
        let mut parts = two_parts();
        parts[1][0].tfdt = Some(time);
        let packed = one(recording(&[VIDEO, AUDIO], None, &parts));
        assert_holds("huge", &packed, VIDEO, &meant(&parts[..1], VIDEO));
        assert_holds("huge", &packed, AUDIO, &meant(&parts, AUDIO));
        assert_eq!(packed.count(WarningKind::MalformedPart), 1);
    }
}

#[test]
fn times_as_large_as_are_accepted_neither_overflow_nor_panic() {
    for time in [48_000 << 32, 1 << 47, 1 << 40] {
        for first in [false, true] {
            let mut parts = two_parts();
            for run in &mut parts[1..].iter_mut().flatten() {
                run.tfdt = Some(time);
            }
            if first {
                parts.swap(0, 1);
            }
            for gaps in [yeoul_pack::Gaps::Keep, yeoul_pack::Gaps::Close] {
                let options = PackOptions { gaps, ..cmaf() };
                let file = recording(&[VIDEO, AUDIO], None, &parts);
                let packed = try_pack_inputs(inputs(&[("one.mp4".to_owned(), file)]), &options);
                assert_eq!(
                    packed.unwrap().samples(1).len(),
                    60,
                    "{time} {first} {gaps:?}"
                );
            }
        }
    }
}

#[test]
fn mtxi_at_the_ends_of_its_range_is_no_panic() {
    for dts_ns in [i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX] {
        for ntp_ns in [i64::MIN, 0, i64::MAX] {
            for numbers in [[0, 1], [0, u64::MAX], [u64::MAX - 1, u64::MAX]] {
                let files: Files = numbers
                    .iter()
                    .map(|number| {
                        let (stream, number) = (7, *number);
                        let mtxi = Mtxi {
                            stream,
                            number,
                            dts_ns,
                            ntp_ns,
                        };
                        (
                            format!("{number}.mp4"),
                            recording(&[VIDEO, AUDIO], Some(mtxi), &two_parts()),
                        )
                    })
                    .collect();
                for options in [cmaf(), PackOptions::default()] {
                    let _ = try_pack_inputs(inputs(&files), &options);
                }
            }
        }
    }
}

#[test]
fn ticks_of_any_length_are_no_panic() {
    for timescale in [1, 2, 1000, u32::MAX] {
        for duration in [0, 1, u32::MAX] {
            for dts_ns in [0, i64::MIN / 3, 4_000_000_000_000_000_000] {
                let (v, a) = (Track { timescale, ..VIDEO }, Track { timescale, ..AUDIO });
                let mut parts = two_parts();
                for run in parts.iter_mut().flatten() {
                    run.samples
                        .iter_mut()
                        .for_each(|s| (s.duration, s.sync) = (duration, true));
                    run.samples
                        .iter_mut()
                        .step_by(2)
                        .for_each(|s| s.cts = i32::MIN);
                }
                let files = named(vec![
                    recording(&[v, a], mtxi(0, dts_ns), &parts),
                    recording(&[a, v], mtxi(3, dts_ns.saturating_add(SECOND)), &parts),
                    recording(&[v, a], None, &parts),
                ]);
                for gaps in [yeoul_pack::Gaps::Keep, yeoul_pack::Gaps::Close] {
                    let _ = try_pack_inputs(inputs(&files), &PackOptions { gaps, ..cmaf() });
                }
            }
        }
    }
}

#[test]
fn counts_in_the_billions_and_boxes_that_lie_neither_panic_nor_hang() {
    let file = recording(&[VIDEO, AUDIO], None, &two_parts());
    let plain = plain(&[(VIDEO, samples(1, 60, 3000), vec![(10, 0)])]);
    let mut tried = 0;
    for bytes in [&file, &plain] {
        for at in 0..bytes.len() - 4 {
            let lies: &[u32] = if at < 1200 {
                &[0, 0x7fff_ffff, u32::MAX]
            } else {
                &[u32::MAX]
            };
            let step = if at < 1300 { 1 } else { 53 };
            if at % step != 0 {
                continue;
            }
            for lie in lies {
                let mut bytes = bytes.clone();
                bytes[at..at + 4].copy_from_slice(&lie.to_be_bytes());
                let _ = try_pack_inputs(
                    inputs(&[("lie.mp4".to_owned(), bytes)]),
                    &PackOptions::default(),
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 2500);
}

#[test]
fn noise_in_headers_never_panics() {
    let recorded = record(both(120).take(lasting(7).with(Event::Missing { file: 9 })));
    let mut rng = SplitMix64::new(121);
    for _ in 0..150 {
        let mut files = recorded.files.clone();
        for (_, bytes) in &mut files {
            let heads: Vec<(usize, usize)> = reader::boxes(bytes)
                .iter()
                .filter(|(kind, ..)| kind != b"mdat")
                .map(|(_, at, content)| (*at, content.len() + 8))
                .collect();
            for _ in 0..=rng.below(3) {
                let (at, len) = heads[rng.below(u32::try_from(heads.len()).unwrap()) as usize];
                let place = at + rng.below(u32::try_from(len).unwrap()) as usize;
                bytes[place] = rng.next_u64().to_be_bytes()[0];
            }
        }
        let _ = try_pack_inputs(inputs(&files), &cmaf());
    }
}

#[test]
fn samples_outside_the_file_are_left_out_and_said() {
    let mut parts = two_parts().to_vec();
    let mut file = recording(&[VIDEO, AUDIO], None, &parts);
    // The last part's mdat says what it has, but the first run's offset points behind the file.
    let offset = reader::boxes(&file)
        .iter()
        .rev()
        .find(|(kind, ..)| kind == b"moof")
        .unwrap()
        .1;
    let trun = (offset..file.len())
        .find(|at| &file[*at..*at + 4] == b"trun")
        .unwrap();
    file[trun + 12..trun + 16].copy_from_slice(&0x7000_0000_u32.to_be_bytes());
    let packed = one(file);
    assert_eq!(packed.count(WarningKind::OutsideFile), 1);
    assert_holds("audio", &packed, AUDIO, &meant(&parts, AUDIO));
    parts.truncate(1);
    assert_holds("video", &packed, VIDEO, &meant(&parts, VIDEO));
}

#[test]
fn what_is_no_recording_is_refused_by_name() {
    let file = recording(&[VIDEO], None, &[]);
    let packed = one(file.clone());
    assert!(packed.refused.is_empty() && packed.has(WarningKind::NoParts));
    for (bytes, kind) in [
        (Vec::new(), "empty"),
        (vec![0; 4096], "not an MP4"),
        (b"#!/bin/sh\necho no\n".to_vec(), "not an MP4"),
        (ftyp(), "no whole 'moov'"),
        ([ftyp(), boxed(b"moov", &[])].concat(), "mvhd"),
        (file[..file.len() - 1].to_vec(), "no whole 'moov'"),
        (
            [ftyp(), boxed(b"mdat", &[1; 100])].concat(),
            "no whole 'moov'",
        ),
    ] {
        let packed = one(bytes);
        let [refused] = &packed.refused[..] else {
            panic!("{kind}: {:?}", packed.warnings);
        };
        let message = refused.to_string();
        assert!(
            message.contains("one.mp4") && message.contains(kind),
            "{message}"
        );
    }
}

#[test]
fn video_without_any_sync_sample_is_left_out_and_said() {
    let mut parts = two_parts();
    for part in &mut parts {
        part[0].samples[0].sync = false;
    }
    let packed = one(recording(&[VIDEO, AUDIO], None, &parts));
    assert!(packed.has(WarningKind::NoSync), "{:?}", packed.warnings);
    let tracks = &packed.report.takes[0].recordings[0].tracks;
    assert_eq!(tracks[0].samples, 60);
    assert!(tracks[0].kept().is_empty());
    assert!(packed.segments().is_empty());
    assert!(
        tracks[1].kept().is_empty(),
        "what is not there is not called kept"
    );
}

fn mtxi(number: u64, dts_ns: i64) -> Option<Mtxi> {
    let ntp_ns = 1_796_068_075_000_000_000 + dts_ns;
    let stream = 7;
    Some(Mtxi {
        stream,
        number,
        dts_ns,
        ntp_ns,
    })
}

fn named(files: Vec<Vec<u8>>) -> Files {
    let names = (0..).map(|index| format!("{index}.mp4"));
    names.zip(files).collect()
}

#[test]
fn a_timescale_may_change_between_recordings() {
    let parts = two_parts();
    let mut slow = two_parts();
    let other = Track {
        timescale: 30_000,
        ..VIDEO
    };
    for (index, part) in slow.iter_mut().enumerate() {
        part[0].tfdt = Some(30_000 * index as u64);
        part[0].samples.iter_mut().for_each(|s| s.duration = 1000);
    }
    let files = named(vec![
        recording(&[VIDEO, AUDIO], mtxi(0, 0), &parts),
        recording(&[other, AUDIO], mtxi(1, 2 * SECOND), &slow),
        recording(&[VIDEO, AUDIO], mtxi(2, 4 * SECOND), &parts),
    ]);
    let packed = pack(&files);
    for track in [VIDEO, AUDIO] {
        let wanted = [
            meant(&parts, track),
            meant(&slow, track),
            meant(&parts, track),
        ]
        .concat();
        assert_holds("timescales", &packed, track, &wanted);
    }
    assert_eq!(packed.report.inits.len(), 2);
    let playlist = packed.playlist("index.m3u8");
    assert_eq!((playlist.maps(), playlist.discontinuities().len()), (3, 2));
    // Each in its own ticks: 2 s apart.
    let begins: Vec<i64> = packed
        .samples(1)
        .iter()
        .step_by(60)
        .map(|s| s.dts)
        .collect();
    assert_eq!(begins, [0, 60_000, 360_000]);
}

#[test]
fn track_ids_may_change_places_between_takes_and_between_recordings() {
    let parts = two_parts();
    let swapped = [Track { id: 2, ..VIDEO }, Track { id: 1, ..AUDIO }];
    let mut other = two_parts();
    for run in other.iter_mut().flatten() {
        run.track = 3 - run.track;
    }
    // Of another take: chosen anew.
    let mut take = mtxi(0, 0).unwrap();
    take.stream = 8;
    take.ntp_ns += 60 * SECOND;
    let files = named(vec![
        recording(&[VIDEO, AUDIO], mtxi(0, 0), &parts),
        recording(&swapped, Some(take), &other),
    ]);
    let packed = pack(&files);
    for track in [VIDEO, AUDIO] {
        assert_holds(
            "takes",
            &packed,
            track,
            &[meant(&parts, track), meant(&parts, track)].concat(),
        );
    }
    assert_eq!(packed.report.inits.len(), 1);
    // Within a take the rendition is frozen (rule 3): a hole in both, said.
    let files = named(vec![
        recording(&[VIDEO, AUDIO], mtxi(0, 0), &parts),
        recording(&swapped, mtxi(1, 2 * SECOND), &other),
    ]);
    let packed = pack(&files);
    assert_eq!(packed.count(WarningKind::TrackAbsent), 2);
    assert_holds("recordings", &packed, VIDEO, &meant(&parts, VIDEO));
}

#[test]
fn an_audio_only_take_between_takes_with_pictures() {
    let parts = two_parts();
    let sound: Vec<Vec<Run>> = parts.iter().map(|part| vec![part[1].clone()]).collect();
    let at = |stream: u8, seconds: i64| {
        let mtxi = mtxi(0, 0).unwrap();
        Some(Mtxi {
            stream,
            ntp_ns: mtxi.ntp_ns + seconds * SECOND,
            ..mtxi
        })
    };
    let files = named(vec![
        recording(&[VIDEO, AUDIO], at(1, 0), &parts),
        recording(&[AUDIO], at(2, 10), &sound),
        recording(&[VIDEO, AUDIO], at(3, 20), &parts),
    ]);
    for options in [cmaf(), PackOptions::default()] {
        let packed = pack_with(&files, &options);
        let v = [meant(&parts, VIDEO), meant(&parts, VIDEO)].concat();
        let a = [
            meant(&parts, AUDIO),
            meant(&parts, AUDIO),
            meant(&parts, AUDIO),
        ]
        .concat();
        assert_holds("takes", &packed, VIDEO, &v);
        assert_holds("takes", &packed, AUDIO, &a);
    }
    let packed = pack_with(&files, &cmaf());
    let (v, a) = (
        packed.playlist("video/index.m3u8"),
        packed.playlist("audio/index.m3u8"),
    );
    assert_eq!(v.discontinuities(), a.discontinuities());
    assert_eq!(v.micros(), a.micros());
    assert!(v.gap_micros() > a.gap_micros());
}

#[test]
fn of_two_video_tracks_the_first_with_samples_is_kept() {
    let second = Track { id: 3, ..VIDEO };
    let mut parts = two_parts();
    for part in &mut parts {
        let mut other = part[0].clone();
        other.track = 3;
        other.samples.iter_mut().for_each(|s| s.payload.push(255));
        part.insert(0, other);
    }
    let packed = one(recording(&[VIDEO, second, AUDIO], None, &parts));
    assert_holds("first", &packed, VIDEO, &meant(&parts, VIDEO));
    parts
        .iter_mut()
        .for_each(|part| part.retain(|run| run.track != 1));
    let packed = one(recording(&[VIDEO, second, AUDIO], None, &parts));
    assert_holds("second", &packed, VIDEO, &meant(&parts, second));
    let mut options = PackOptions::default();
    options.rendition.video = yeoul_pack::Selector::All;
    let packed = pack_with(
        &[(
            "one.mp4".to_owned(),
            recording(&[VIDEO, second], None, &parts),
        )],
        &options,
    );
    assert_eq!(
        packed.samples(1).len(),
        60,
        "a rendition has one video at most"
    );
}

#[test]
fn a_stall_that_inflates_the_last_sample_of_a_take_is_cut() {
    let mut parts = two_parts();
    parts[1][0].samples[29].duration = u32::MAX;
    let packed = one(recording(&[VIDEO, AUDIO], None, &parts));
    assert_holds("inflated", &packed, VIDEO, &meant(&parts, VIDEO));
    assert!(packed.has(WarningKind::Stall));
    assert!(packed.playlist("index.m3u8").micros() < 4_000_000);
}
