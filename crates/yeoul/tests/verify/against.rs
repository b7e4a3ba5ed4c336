//! The output against the recordings.

use std::fs;

use serde_json::json;

use crate::world::{World, samples};
use crate::writer::{AUDIO, VIDEO, plain};
use crate::{clean, finds};

#[test]
fn a_right_output_is_ok() {
    let world = World::new();
    let report = world.verify();
    clean(&report);
    assert_eq!(
        (
            report.takes,
            report.recordings,
            report.segments,
            report.distinct_inits
        ),
        (2, 4, 8, 1)
    );
    assert_eq!(
        report.boundaries.len(),
        4,
        "two takes with one boundary each, in two slots"
    );
    for boundary in &report.boundaries {
        assert_eq!(
            (
                boundary.output_ticks,
                boundary.output_samples,
                boundary.hole
            ),
            (0, 0, false)
        );
        assert!(boundary.clock_ticks.unwrap().abs() <= 2);
    }
    assert!(report.notes.is_empty(), "{}", report.render());
    let text = report.render();
    assert!(
        text.starts_with("broadcast  2 takes · 4 recordings · 8 segments · 1 distinct init\n"),
        "{text}"
    );
    assert!(text.contains("boundaries 2 inside takes · clock within 1 tick (limit 2) · output 0 ticks / 0 samples\n"), "{text}");
    assert!(text.ends_with("\nok\n"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["ok"], true);
    assert_eq!(json["boundaries"][0]["from"], "여울-0-0.mp4");
}

#[test]
fn a_right_output_is_ok_to_the_byte() {
    let mut world = World::new();
    world.options.deep = true;
    clean(&world.verify());
}

#[test]
fn other_payload_is_seen_only_when_asked_for() {
    let mut world = World::new();
    world.segments[1].runs[0].samples[3].payload[5] ^= 1;
    clean(&world.verify());
    world.options.deep = true;
    finds(
        &world.verify(),
        &[
            "take0-000001.m4s",
            "video",
            "sample 33 of 여울-0-0.mp4",
            "other bytes",
        ],
    );
}

#[test]
fn tfdt_three_ticks_late_at_a_boundary() {
    let mut world = World::new();
    world.segments[2].runs[0].tfdt += 3;
    let report = world.verify();
    finds(
        &report,
        &[
            "take0-000002.m4s",
            "3 ticks",
            "without samples",
            "no DISCONTINUITY",
        ],
    );
    finds(
        &report,
        &[
            "take0-000002.m4s",
            "video",
            "off the own clock of 여울-0-1.mp4",
        ],
    );
    assert!(
        report
            .boundaries
            .iter()
            .any(|b| b.output_ticks == 3 && b.slot == 0)
    );
}

/// The running sum itself goes wrong: each segment still joins the next, and only the recordings' clock tells.
#[test]
fn a_running_sum_that_drifts_three_ticks() {
    let mut world = World::new();
    world.segments[1].runs[1]
        .samples
        .last_mut()
        .unwrap()
        .duration += 4;
    world.segments[2].runs[1].tfdt += 4;
    world.segments[3].runs[1].tfdt += 4;
    let report = world.verify();
    finds(
        &report,
        &[
            "audio",
            "ticks off the own clock of 여울-0-1.mp4",
            "limit 2",
        ],
    );
    assert!(
        !report
            .problems
            .iter()
            .any(|p| p.what.contains("without samples") || p.what.contains("goes back"))
    );
    assert!(report.max_clock_ticks >= 3);
}

#[test]
fn a_jump_inside_a_recording_is_seen_too() {
    let mut world = World::new();
    world.segments[0].runs[0]
        .samples
        .last_mut()
        .unwrap()
        .duration += 30;
    for segment in &mut world.segments[1..4] {
        segment.runs[0].tfdt += 30;
    }
    finds(
        &world.verify(),
        &[
            "take0-000001.m4s",
            "video",
            "30 ticks off the own clock of 여울-0-0.mp4 at its sample 30",
        ],
    );
}

#[test]
fn a_dropped_sample_that_leaves_its_time() {
    let mut world = World::new();
    let run = &mut world.segments[1].runs[0];
    run.samples.remove(0);
    run.tfdt += 3000;
    let report = world.verify();
    finds(
        &report,
        &[
            "take0-000001.m4s",
            "1 samples of 여울-0-0.mp4 from sample 30 on are missing",
        ],
    );
    assert!(
        report
            .boundaries
            .iter()
            .any(|b| b.output_samples == 1 && b.slot == 0)
    );
}

#[test]
fn a_dropped_sample_whose_time_is_closed_up() {
    let mut world = World::new();
    world.segments[1].runs[0].samples.remove(7);
    finds(&world.verify(), &["video", "sample 37 of 여울-0-0.mp4"]);
}

#[test]
fn dropped_samples_at_the_end_of_the_broadcast() {
    let mut world = World::new();
    let samples = &mut world.segments[8].runs[1].samples;
    samples.truncate(samples.len() - 2);
    finds(
        &world.verify(),
        &["audio", "2 kept samples", "not in the output"],
    );
}

#[test]
fn dropped_samples_at_the_end_of_a_take() {
    let mut world = World::new();
    world.segments[3].runs[1].samples.pop();
    finds(
        &world.verify(),
        &["audio", "1 samples of 여울-0-1.mp4", "are missing"],
    );
}

#[test]
fn a_duplicated_sample() {
    let mut world = World::new();
    let last = world.segments[0].runs[1].samples.last().unwrap().clone();
    let run = &mut world.segments[1].runs[1];
    run.samples.insert(0, last);
    run.tfdt -= 1024;
    let report = world.verify();
    finds(&report, &["take0-000001.m4s", "goes back by 1024"]);
    finds(
        &report,
        &["take0-000001.m4s", "audio", "is not in the recordings here"],
    );
    finds(&report, &["presentation time", "there twice"]);
    assert!(
        report
            .boundaries
            .iter()
            .any(|b| b.output_samples == 1 && b.slot == 1)
    );
}

#[test]
fn swapped_samples() {
    let mut world = World::new();
    world.segments[1].runs[1].samples.swap(4, 5);
    let report = world.verify();
    finds(
        &report,
        &[
            "take0-000001.m4s",
            "audio",
            "of 여울-0-0.mp4 has",
            "bytes, here it has",
        ],
    );
    assert_eq!(report.problems.len(), 2, "{}", report.render());
}

#[test]
fn another_composition_offset() {
    let mut world = World::new();
    world.segments[1].runs[0].samples[2].cts += 1;
    finds(
        &world.verify(),
        &[
            "video",
            "sample 32 of 여울-0-0.mp4 has composition offset 0, here it is 1",
        ],
    );
}

#[test]
fn a_missing_recording_is_named_and_the_rest_is_still_compared() {
    let mut world = World::new();
    world.takes[0][1].absent = true;
    let report = world.verify();
    finds(
        &report,
        &[
            "recordings not found: 1 of 4",
            "여울-0-1.mp4",
            "--recordings DIR or --no-recordings",
        ],
    );
    assert_eq!(report.problems.len(), 1, "{}", report.render());
    world.segments[6].runs[1].samples.swap(1, 2);
    finds(&world.verify(), &["take1-000001.m4s", "여울-1-0.mp4"]);
}

#[test]
fn without_recordings_the_output_alone_is_checked() {
    let mut world = World::new();
    world
        .takes
        .iter_mut()
        .flatten()
        .for_each(|r| r.absent = true);
    finds(&world.verify(), &["recordings not found: 4 of 4"]);
    world.options.no_recordings = true;
    let report = world.verify();
    clean(&report);
    assert_eq!(report.notes.len(), 1);
    assert!(
        report
            .boundaries
            .iter()
            .all(|b| b.clock_ticks.is_none() && b.output_ticks == 0)
    );
    world.segments[2].runs[0].samples.pop();
    finds(&world.verify(), &["1 kept samples"]);
}

#[test]
fn recordings_that_were_moved_are_found() {
    let mut world = World::new();
    world.write();
    let moved = world.dir.path().join("보관");
    fs::rename(world.dir.path().join("rec"), &moved).unwrap();
    world.options.recordings = Some(moved);
    clean(&yeoul::verify::directory(&world.out(), &world.options).unwrap());
}

#[test]
fn samples_left_out_need_a_reason() {
    let mut world = World::new();
    let kept = &mut world.takes[1][1].kept[0];
    kept[0].1 -= 2;
    let samples = &mut world.segments[8].runs[0].samples;
    samples.truncate(samples.len() - 2);
    world.segments[8].extinf = "0.966667".to_owned();
    finds(
        &world.verify(),
        &[
            "여울-1-1.mp4",
            "video: 2 samples are not in the output and no reason is given",
        ],
    );
    world.warnings.push(
        json!({"kind": "torn", "path": "../rec/여울-1-1.mp4", "offset": 1, "message": "cut"}),
    );
    clean(&world.verify());
}

#[test]
fn a_manifest_that_keeps_more_than_there_is() {
    let mut world = World::new();
    world.takes[1][1].kept[0][0].1 += 1;
    finds(&world.verify(), &["여울-1-1.mp4", "kept ranges"]);
}

#[test]
fn a_jump_of_the_recordings_clock_needs_a_warning() {
    let mut world = World::new();
    // 1 ms: 90 ticks of video that the running sum does not follow.
    world.takes[0][1].mtxi.dts_ns += 1_000_000;
    world.takes[0][1].mtxi.ntp_ns += 1_000_000;
    let report = world.verify();
    finds(
        &report,
        &["video: -90 ticks off the own clock of 여울-0-1.mp4"],
    );
    finds(&report, &["audio: -49 ticks off the own clock"]);
    world.warnings.push(json!({"kind": "jump", "path": "../rec/여울-0-1.mp4", "message": "clock went on by 90 ticks"}));
    let report = world.verify();
    clean(&report);
    assert_eq!(report.boundaries.iter().filter(|b| b.hole).count(), 2);
}

#[test]
fn a_recording_of_another_take() {
    let mut world = World::new();
    world.takes[1][1].mtxi.stream = [9; 16];
    finds(&world.verify(), &["여울-1-1.mp4", "is of stream 0909"]);
}

#[test]
fn a_recording_that_was_cut_since() {
    let mut world = World::new();
    world.write();
    let path = world.dir.path().join("rec/여울-1-1.mp4");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();
    let report = yeoul::verify::directory(&world.out(), &world.options).unwrap();
    finds(&report, &["여울-1-1.mp4", "it had", "when it was packed"]);
    finds(
        &report,
        &["여울-1-1.mp4", "whole samples are here, yeoul.json says"],
    );
    world.options.no_recordings = true;
    clean(&yeoul::verify::directory(&world.out(), &world.options).unwrap());
}

/// A plain MP4's clock is the sum of its `stts`, and its samples are found through `stsc` and `stco`.
#[test]
fn plain_mp4_recordings_are_compared_too() {
    let mut world = World::new();
    world.options.deep = true;
    world.takes.truncate(1);
    world.segments.truncate(4);
    world.segments[0].date = None;
    world.anchors[0] = None;
    let [video, audio] = samples(0);
    let counts = [video.len(), audio.len()];
    for per_chunk in [1, 7, 1000] {
        let tracks = [(AUDIO, audio.clone()), (VIDEO, video.clone())];
        world.takes[0].truncate(1);
        let recording = &mut world.takes[0][0];
        recording.bytes = Some(plain(&tracks, per_chunk));
        recording.kept = counts.map(|n| vec![(0, n)]);
        recording.parts = vec![vec![
            crate::writer::Run {
                track: 1,
                tfdt: 0,
                samples: video.clone(),
            },
            crate::writer::Run {
                track: 2,
                tfdt: 0,
                samples: audio.clone(),
            },
        ]];
        clean(&world.verify());
        let mut broken = tracks.clone();
        broken[1].1[50].duration += 5;
        world.takes[0][0].bytes = Some(plain(&broken, per_chunk));
        finds(
            &world.verify(),
            &[
                "video",
                "-5 ticks off the own clock of 여울-0-0.mp4 at its sample 51",
            ],
        );
    }
}
