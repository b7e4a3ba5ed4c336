//! Input that lies: an answer each time, never a panic, a hang or an allocation by a claimed count.

use std::fs;

use proptest::prelude::*;
use yeoul::verify::{self, MAX_FINDINGS};

use crate::world::World;
use crate::writer::{Run, Track, VIDEO, boxed, full, head, part, words};
use crate::{clean, finds};

fn small() -> (Vec<u8>, Vec<Vec<u8>>) {
    let world = World::new();
    let segments = world.segments[..2].iter().map(|s| {
        let mut short = s.clone();
        short
            .runs
            .iter_mut()
            .for_each(|r: &mut Run| r.samples.truncate(3));
        short.bytes()
    });
    (world.inits[0].1.clone(), segments.collect())
}

#[test]
fn a_stream_cut_after_every_byte_is_never_ok() {
    let (init, segments) = small();
    for end in 0..init.len() {
        assert!(
            !verify::stream(&init[..end], &segments).is_ok(),
            "init cut at {end}"
        );
    }
    for end in 0..segments[0].len() {
        assert!(
            !verify::stream(&init, &[segments[0][..end].to_vec()]).is_ok(),
            "segment cut at {end}"
        );
    }
    clean(&verify::stream(&init, &segments[..1]));
}

#[test]
fn a_recording_cut_after_every_byte_gets_an_answer() {
    let mut world = World::new();
    let recording = &mut world.takes[0][0];
    recording
        .parts
        .iter_mut()
        .flatten()
        .for_each(|r| r.samples.truncate(4));
    let bytes = recording.bytes();
    let path = world.dir.path().join("cut.mp4");
    let two_parts_end = bytes.len();
    let one_part_end = two_parts_end - part(&recording.parts[1]).len();
    for end in 0..bytes.len() {
        fs::write(&path, &bytes[..end]).unwrap();
        let report = verify::recordings(std::slice::from_ref(&path));
        assert_eq!(
            report.is_ok(),
            end == one_part_end,
            "cut at {end}: {}",
            report.render()
        );
    }
}

/// No per-sample fields, a default size, and a count that only the file's own length can deny.
#[test]
fn a_count_without_fields_is_held_against_the_bytes() {
    let init = head(&[VIDEO], None, [1, 0, 0]);
    let segment = |count: u32, size: u32| {
        let tfhd = full(b"tfhd", 0, 0x2_0010, &words(&[1, size]));
        let tfdt = full(b"tfdt", 1, 0, &0_u64.to_be_bytes());
        let trun = full(b"trun", 0, 1, &words(&[count, 84]));
        let moof = boxed(b"moof", &boxed(b"traf", &[tfhd, tfdt, trun].concat()));
        assert_eq!(moof.len(), 76);
        [moof, boxed(b"mdat", &[7; 10])].concat()
    };
    clean(&verify::stream(&init, &[segment(10, 1)]));
    finds(
        &verify::stream(&init, &[segment(1_048_576, 1)]),
        &["lie outside the mdat"],
    );
    finds(
        &verify::stream(&init, &[segment(1_048_577, 1)]),
        &["claims 1048577 samples", "1048576"],
    );
    finds(
        &verify::stream(&init, &[segment(u32::MAX, u32::MAX)]),
        &["claims 4294967295 samples"],
    );
    finds(
        &verify::stream(&init, &[segment(1000, 0)]),
        &["no sample size is given"],
    );
}

#[test]
fn floods_of_boxes_are_refused() {
    let free = boxed(b"free", &[]);
    let flood = free.repeat(70_000);
    let (init, segments) = small();
    finds(
        &verify::stream(
            &init,
            &[[&boxed(b"emsg", &[]).repeat(70_000), &segments[0][..]].concat()],
        ),
        &["emsg has no place"],
    );
    finds(
        &verify::stream(
            &init,
            &[[boxed(b"moof", &flood), boxed(b"mdat", &[])].concat()],
        ),
        &["more than 65536 children"],
    );
    finds(
        &verify::stream(&[&flood, &init[..]].concat(), &segments),
        &["there is no moov"],
    );
    let trafs = boxed(b"traf", &full(b"tfhd", 0, 0x2_0000, &words(&[1]))).repeat(2000);
    finds(
        &verify::stream(
            &init,
            &[[boxed(b"moof", &trafs), boxed(b"mdat", &[])].concat()],
        ),
        &["more than 1024 trafs"],
    );
    let many: Vec<_> = (1..=300).map(|id| Track { id, ..VIDEO }).collect();
    finds(
        &verify::stream(&head(&many, None, [0; 3]), &segments),
        &["more than 256 tracks"],
    );
}

/// To open a FIFO would wait for its writer for ever.
#[test]
fn a_fifo_in_place_of_a_segment_is_not_waited_on() {
    let mut world = World::new();
    world.segments[1].absent = true;
    world.write();
    let made = std::process::Command::new("mkfifo")
        .arg(world.out().join(&world.segments[1].name))
        .status()
        .unwrap();
    assert!(made.success());
    finds(
        &verify::directory(&world.out(), &world.options).unwrap(),
        &["take0-000001.m4s", "not a file"],
    );
}

#[test]
fn counts_of_a_manifest_are_not_counted_through() {
    let mut world = World::new();
    world.options.no_recordings = true;
    world.write();
    let mut manifest = world.manifest();
    let track = &mut manifest["takes"][1]["recordings"][1]["tracks"][0];
    track["samples"] = (u64::MAX).into();
    track["kept"] = serde_json::json!([[0, 60], [u64::MAX / 2, u64::MAX]]);
    fs::write(world.out().join("yeoul.json"), manifest.to_string()).unwrap();
    let report = verify::directory(&world.out(), &world.options).unwrap();
    finds(
        &report,
        &[
            "여울-1-1.mp4",
            "kept samples from here on are not in the output",
        ],
    );
    finds(&report, &["여울-1-1.mp4", "no reason is given"]);
}

#[test]
fn findings_are_bounded() {
    let mut world = World::new();
    for segment in &mut world.segments {
        segment
            .runs
            .iter_mut()
            .flat_map(|r| &mut r.samples)
            .for_each(|s| s.duration = 0);
    }
    let report = world.verify();
    assert!(report.problems.len() <= MAX_FINDINGS && !report.is_ok());
    let last = report.render().lines().last().unwrap().to_owned();
    assert_eq!(
        last,
        format!(
            "{} problems",
            report.problems.len() + report.problems_left_out
        )
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn changed_bytes_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let (mut init, mut segments) = small();
        let total = init.len() + segments[0].len();
        for (index, value) in changes {
            let at = index.index(total);
            match at.checked_sub(init.len()) {
                Some(at) => segments[0][at] = value,
                None => init[at] = value,
            }
        }
        let report = verify::stream(&init, &segments);
        prop_assert!(report.problems.len() <= MAX_FINDINGS);
        prop_assert!(report.render().ends_with('\n'));
    }

    #[test]
    fn noise_never_panics(init in prop::collection::vec(any::<u8>(), 0..200), media in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(!verify::stream(&init, &[media]).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_a_playlist_or_is_not(lines in prop::collection::vec(
        "(#EXT(M3U|INF|-X-MAP|-X-TARGETDURATION|-X-PROGRAM-DATE-TIME|-X-GAP|-X-STREAM-INF)[:=URI\"0-9T.%+-]{0,30})|\\PC{0,20}", 0..12)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index.m3u8");
        fs::write(&path, lines.join("\n")).unwrap();
        prop_assert!(!verify::playlist(&path).unwrap().is_ok());
    }

    #[test]
    fn a_changed_recording_gets_an_answer(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let world = World::new();
        let recording = &world.takes[0][0];
        let mut bytes = recording.bytes();
        for (index, value) in changes {
            let at = index.index(1200.min(bytes.len()));
            bytes[at] = value;
        }
        world.write();
        fs::write(world.dir.path().join("rec").join(&recording.name), bytes).unwrap();
        let report = verify::paths(&[world.out(), world.dir.path().join("rec")], &world.options).unwrap();
        prop_assert!(report.problems.len() <= MAX_FINDINGS);
    }
}
