//! The output by itself: playlists, segments, initialization segments.

use std::fs;

use yeoul::verify::{self, Options};

use crate::world::{World, date};
use crate::writer::{AUDIO, Track, VIDEO, boxed, full, words};
use crate::{clean, finds};

fn position(bytes: &[u8], kind: &[u8; 4]) -> usize {
    bytes.windows(4).position(|w| w == kind).unwrap() - 4
}

#[test]
fn time_that_overlaps() {
    let mut world = World::new();
    world.segments[3].runs[0].tfdt -= 1;
    let report = world.verify();
    finds(
        &report,
        &["take0-000003.m4s", "decode time goes back by 1 ticks"],
    );
}

#[test]
fn a_wrong_extinf() {
    let mut world = World::new();
    world.segments[1].extinf = "0.998900".to_owned();
    let report = world.verify();
    finds(
        &report,
        &[
            "take0-000002.m4s",
            "EXTINF up to here make 1.998900 s, it is presented at 2.000000 s",
        ],
    );
    world.segments[1].extinf = "0.999100".to_owned();
    clean(&world.verify());
}

#[test]
fn a_wrong_last_extinf() {
    let mut world = World::new();
    world.segments[8].extinf = "0.900000".to_owned();
    finds(
        &world.verify(),
        &["take1-000003.m4s", "EXTINF is 0.900000 s"],
    );
}

#[test]
fn a_gap_that_is_too_short() {
    let mut world = World::new();
    world.segments[4].extinf = "0.500000".to_owned();
    finds(
        &world.verify(),
        &["take1-000000.m4s", "EXTINF up to here make 4.500000 s"],
    );
}

#[test]
fn extinf_that_is_no_number() {
    let mut world = World::new();
    world.segments[1].extinf = "NaN".to_owned();
    finds(&world.verify(), &["index.m3u8:", "is not a duration"]);
}

#[test]
fn a_target_duration_below_the_longest() {
    let mut world = World::new();
    world.target = 0;
    finds(&world.verify(), &["index.m3u8", "TARGETDURATION is 0"]);
}

#[test]
fn a_segment_that_is_not_there() {
    let mut world = World::new();
    world.segments[2].absent = true;
    finds(&world.verify(), &["take0-000002.m4s", "cannot be read"]);
}

#[test]
fn a_segment_that_the_playlist_leaves_out() {
    let mut world = World::new();
    world.segments.remove(6);
    let report = world.verify();
    finds(&report, &["take1-000002.m4s", "EXTINF up to here"]);
    finds(
        &report,
        &[
            "take1-000002.m4s",
            "samples of 여울-1-0.mp4 from sample 30 on are missing",
        ],
    );
}

#[test]
fn a_second_init_needs_a_discontinuity() {
    let mut world = World::new();
    let text = Track {
        id: 3,
        timescale: 1000,
        handler: *b"text",
    };
    let other = world.add_init(&[VIDEO, AUDIO, text]);
    world.segments[2].init.clone_from(&other);
    let report = world.verify();
    assert_eq!(report.distinct_inits, 2);
    finds(
        &report,
        &["take0-000002.m4s", "EXT-X-MAP without a DISCONTINUITY"],
    );
}

#[test]
fn an_init_that_is_not_what_its_name_says() {
    let mut world = World::new();
    world.inits[0].1.extend(boxed(b"free", b"more"));
    finds(&world.verify(), &["init-", "SHA-256"]);
}

#[test]
fn an_init_that_is_cut() {
    let mut world = World::new();
    world.inits[0].1.pop();
    finds(&world.verify(), &["init-", "moov", "past the end"]);
}

#[test]
fn a_take_that_begins_without_a_discontinuity() {
    let mut world = World::new();
    world.second_take().discontinuity = false;
    world.segments[4].discontinuity = false;
    let report = world.verify();
    finds(
        &report,
        &[
            "take1-000000.m4s",
            "video: a new take begins without a DISCONTINUITY",
        ],
    );
}

#[test]
fn a_truncated_segment() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| b.truncate(b.len() - 1));
    let report = world.verify();
    finds(&report, &["take0-000001.m4s"]);
    assert!(
        report
            .problems
            .iter()
            .any(|p| p.what.contains("truncated") || p.what.contains("sidx describes"))
    );
}

#[test]
fn bytes_after_the_last_box() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| b.extend(boxed(b"free", &[])));
    finds(&world.verify(), &["take0-000001.m4s"]);
    world.segments[1].damage = Some(|b| {
        let at = position(b, b"sidx");
        b.drain(at..at + 52);
        b.extend([0; 5]);
    });
    finds(&world.verify(), &["take0-000001.m4s", "5 bytes are left"]);
}

#[test]
fn a_trun_that_claims_billions() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| {
        let at = position(b, b"trun");
        b[at + 12..at + 16].copy_from_slice(&0xf000_0000_u32.to_be_bytes());
    });
    finds(
        &world.verify(),
        &[
            "take0-000001.m4s",
            "trun claims 4026531840 samples",
            "1048576",
        ],
    );
}

#[test]
fn a_trun_that_claims_one_more() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| {
        let at = position(b, b"trun");
        b[at + 15] += 1;
    });
    finds(
        &world.verify(),
        &["take0-000001.m4s", "trun claims 31 samples of 16 bytes"],
    );
}

#[test]
fn sample_sizes_that_do_not_fill_the_mdat() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| {
        let at = position(b, b"trun");
        b[at + 27] -= 1;
    });
    finds(
        &world.verify(),
        &[
            "take0-000001.m4s",
            "1 bytes of the mdat belong to no sample",
        ],
    );
}

#[test]
fn samples_that_overlap_in_bytes() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| {
        let at = position(b, b"trun");
        b[at + 27] += 1;
    });
    finds(&world.verify(), &["take0-000001.m4s", "samples overlap"]);
}

#[test]
fn a_traf_of_an_unknown_track() {
    let mut world = World::new();
    world.segments[1].runs[1].track = 7;
    finds(
        &world.verify(),
        &[
            "take0-000001.m4s",
            "track 7: is not in the initialization segment",
        ],
    );
}

#[test]
fn tfdt_after_trun() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| {
        let (tfdt, trun) = (position(b, b"tfdt"), position(b, b"trun"));
        let size =
            usize::try_from(u32::from_be_bytes(b[trun..trun + 4].try_into().unwrap())).unwrap();
        b[tfdt..trun + size].rotate_left(trun - tfdt);
    });
    finds(
        &world.verify(),
        &["take0-000001.m4s", "track 1: tfdt comes after trun"],
    );
}

#[test]
fn a_sidx_that_begins_elsewhere() {
    let mut world = World::new();
    world.segments[1].damage = Some(|b| {
        let at = position(b, b"sidx");
        b[at + 27] ^= 1;
    });
    finds(
        &world.verify(),
        &["take0-000001.m4s", "sidx says it begins at"],
    );
}

#[test]
fn a_segment_that_does_not_begin_with_a_sync_sample() {
    let mut world = World::new();
    world.segments[1].runs[0].samples[0].sync = false;
    finds(
        &world.verify(),
        &["take0-000001.m4s", "INDEPENDENT-SEGMENTS promises"],
    );
}

#[test]
fn a_date_that_is_two_milliseconds_off() {
    let mut world = World::new();
    let anchor = world.anchors[1].unwrap();
    world.second_take().date = Some(date(anchor + 7_000_000_123 + 33_333_333 + 2_000_000));
    finds(
        &world.verify(),
        &["take1-000000.m4s", "PROGRAM-DATE-TIME is 0.002000 s after"],
    );
}

#[test]
fn a_date_that_is_missing_after_a_discontinuity() {
    let mut world = World::new();
    world.second_take().date = None;
    finds(
        &world.verify(),
        &["take1-000000.m4s", "has no PROGRAM-DATE-TIME"],
    );
}

#[test]
fn an_anchor_that_no_recording_gives_is_noted() {
    let mut world = World::new();
    world.anchors[1] = world.anchors[1].map(|a| a + 5);
    let report = world.verify();
    clean(&report);
    assert!(report.notes.iter().any(|n| n.what.contains("anchor")));
}

#[test]
fn a_track_that_pauses_for_a_second_is_noted() {
    let mut world = World::new();
    let gone = world.segments[2].runs.remove(1).samples.len();
    world.takes[0][1].kept[1][0].0 = gone;
    world
        .warnings
        .push(serde_json::json!({"kind": "audio", "path": "여울-0-1.mp4", "message": "left out"}));
    let report = world.verify();
    clean(&report);
    assert!(
        report
            .notes
            .iter()
            .any(|n| n.place.contains("take0-000003") && n.what.contains("without samples"))
    );
}

#[test]
fn no_endlist() {
    let world = World::new();
    world.write();
    let path = world.out().join("index.m3u8");
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("#EXT-X-ENDLIST\n", "");
    fs::write(&path, text).unwrap();
    finds(
        &verify::directory(&world.out(), &Options::default()).unwrap(),
        &["ENDLIST"],
    );
}

#[test]
fn a_manifest_that_is_no_manifest() {
    let world = World::new();
    world.write();
    for (text, word) in [
        ("{}", "cannot be understood"),
        ("[[[[", "cannot be understood"),
        ("", "cannot be understood"),
    ] {
        fs::write(world.out().join("yeoul.json"), text).unwrap();
        finds(
            &verify::directory(&world.out(), &Options::default()).unwrap(),
            &["yeoul.json", word],
        );
    }
    let mut newer = world.manifest();
    newer["format"] = 2.into();
    fs::write(world.out().join("yeoul.json"), newer.to_string()).unwrap();
    finds(
        &verify::directory(&world.out(), &Options::default()).unwrap(),
        &["yeoul.json", "format 2"],
    );
}

#[test]
fn a_file_in_no_playlist_is_noted() {
    let world = World::new();
    world.write();
    fs::write(world.out().join("stray.m4s"), b"").unwrap();
    let report = verify::directory(&world.out(), &Options::default()).unwrap();
    clean(&report);
    assert_eq!(report.notes[0].place, "stray.m4s");
}

#[test]
fn a_playlist_is_checked_without_its_manifest() {
    let mut world = World::new();
    world.write();
    let path = world.out().join("index.m3u8");
    let report = verify::playlist(&path).unwrap();
    clean(&report);
    assert_eq!((report.segments, report.recordings), (8, 0));
    world.segments[3].runs[1].tfdt += 1;
    world.write();
    finds(
        &verify::playlist(&path).unwrap(),
        &["take0-000003.m4s", "track 2: 1 ticks"],
    );
}

#[test]
fn a_playlist_a_track_is_checked_through_the_multivariant_one() {
    let world = World::new();
    world.write_cmaf();
    let report = verify::directory(&world.out(), &Options::default()).unwrap();
    clean(&report);
    assert_eq!(
        (report.segments, report.boundaries.len(), report.notes.len()),
        (16, 4, 0),
        "{}",
        report.render()
    );
    let index = world.out().join("index.m3u8");
    let report = verify::playlist(&index).unwrap();
    clean(&report);
    assert_eq!((report.segments, report.distinct_inits), (16, 1));

    let audio = world.out().join("audio/index.m3u8");
    let text = fs::read_to_string(&audio).unwrap();
    fs::write(&audio, text.replacen("#EXT-X-DISCONTINUITY\n", "", 1)).unwrap();
    finds(
        &verify::directory(&world.out(), &Options::default()).unwrap(),
        &["different numbers of DISCONTINUITY"],
    );
    fs::write(&audio, &text).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    let last = lines.len() - 3;
    lines.drain(last..last + 2);
    fs::write(&audio, lines.join("\n")).unwrap();
    finds(
        &verify::directory(&world.out(), &Options::default()).unwrap(),
        &["are not cut alike"],
    );
    fs::write(&audio, &text).unwrap();
    let text = fs::read_to_string(&index).unwrap();
    fs::write(&index, text.replace("audio/", "sound/")).unwrap();
    finds(
        &verify::directory(&world.out(), &Options::default()).unwrap(),
        &["index.m3u8", "sound/index.m3u8"],
    );
    finds(
        &verify::playlist(&index).unwrap(),
        &["sound/index.m3u8", "cannot be read"],
    );
}

/// Renditions that are cut together tell the time of the earliest track, also where their own begins later.
#[test]
fn playlists_that_are_cut_together_tell_a_common_time() {
    let mut world = World::new();
    let audio = &mut world.segments[0].runs[1];
    audio.samples.remove(0);
    audio.tfdt += 1024;
    world.takes[0][0].kept[1][0].0 = 1;
    world.warnings.push(
        serde_json::json!({"kind": "no_sync", "path": "여울-0-0.mp4", "message": "left out"}),
    );
    world.write_cmaf();
    clean(&verify::directory(&world.out(), &Options::default()).unwrap());
    let anchor = world.anchors[0].unwrap();
    world.segments[0].date = Some(date(anchor - 33_333_333 + 33_333_333 + 10_000_000));
    world.segments[5].extinf = "1.002000".to_owned();
    world.write_cmaf();
    let report = verify::directory(&world.out(), &Options::default()).unwrap();
    for playlist in ["audio/", "video/"] {
        finds(
            &report,
            &[
                "take0-000000.m4s",
                playlist,
                "PROGRAM-DATE-TIME is 0.010000 s",
            ],
        );
        finds(
            &report,
            &[
                "take1-000001.m4s",
                playlist,
                "EXTINF up to here make 6.002000 s",
            ],
        );
    }
}

/// Durations, sizes and flags come from `trun`, else `tfhd`, else `trex`.
#[test]
fn defaults_are_resolved_from_trun_to_tfhd_to_trex() {
    let init = crate::writer::head(&[VIDEO], None, [3000, 10, 0x1_0000]);
    let part =
        |tfdt: u64, tfhd_flags: u32, tfhd: &[u32], trun_flags: u32, trun: &[u32], data: usize| {
            let tfhd = full(
                b"tfhd",
                0,
                0x2_0000 | tfhd_flags,
                &words(&[&[1][..], tfhd].concat()),
            );
            let tfdt = full(b"tfdt", 1, 0, &tfdt.to_be_bytes());
            let build = |at: u32| {
                let trun = full(
                    b"trun",
                    0,
                    trun_flags | 1,
                    &words(&[&[trun[0], at][..], &trun[1..]].concat()),
                );
                boxed(
                    b"moof",
                    &boxed(b"traf", &[&tfhd[..], &tfdt, &trun].concat()),
                )
            };
            let size = u32::try_from(build(0).len()).unwrap();
            [build(size + 8), boxed(b"mdat", &vec![1; data])].concat()
        };
    let segments = [
        part(0, 0, &[], 0, &[4], 40),
        part(12_000, 0x18, &[1500, 7], 0, &[4], 28),
        part(18_000, 0x18, &[1500, 7], 0x300, &[2, 100, 3, 200, 4], 7),
        part(18_300, 0, &[], 4, &[1, 0], 10),
    ];
    let report = verify::stream(&init, &segments);
    clean(&report);
    let report = verify::stream(
        &init,
        &[segments[0].clone(), part(11_999, 0, &[], 0, &[1], 10)],
    );
    finds(&report, &["segment 1", "goes back by 1 ticks"]);
}
