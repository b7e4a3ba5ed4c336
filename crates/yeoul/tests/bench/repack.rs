//! The ways of repacking, few calls of each.

use std::fs;

use serde_json::Value;

use crate::support::World;

const OURS: [&str; 14] = [
    "--side",
    "resident",
    "--side",
    "process",
    "--side",
    "memory",
    "--side",
    "virtual",
    "--side",
    "kernel-copy",
    "--side",
    "read-write",
    "--side",
    "whole-copy",
];

fn bench(world: &World, args: &[&str]) -> crate::support::Said {
    let mut all = vec!["bench", "repack", "--quiet", "--folder", "work"];
    all.extend(args);
    world.yeoul(&all)
}

#[test]
fn all_ways_give_the_same_packets_and_every_table_says_what_is_unequal() {
    let world = World::new();
    world.copy("reconnects/2026-11-30_19-48-29-032686.mp4", "녹화 1.mp4");
    let mut args = vec![
        "녹화 1.mp4",
        "--runs",
        "2",
        "--warm-ups",
        "1",
        "--report",
        "kept",
    ];
    args.extend(OURS);
    let said = bench(&world, &args).ended(0);
    for section in ["fresh", "overwritten"] {
        let report = fs::read_to_string(world.path(format!("kept/{section}-1.json"))).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["equivalence"]["verdict"], "equal", "{report}");
        assert!(
            report["title"]
                .as_str()
                .unwrap()
                .starts_with("UNEQUAL SCOPE (")
        );
        let sides = report["sides"].as_array().unwrap();
        assert_eq!(sides.len(), 7);
        for side in sides {
            assert_eq!(side["rows"].as_array().unwrap().len(), 2, "{side}");
        }
        let csv = fs::read_to_string(world.path(format!("kept/{section}-1.csv"))).unwrap();
        assert!(csv.starts_with("# UNEQUAL SCOPE ("), "{csv}");
        assert_eq!(csv.lines().count(), 2 + 7 * 2);
    }
    assert!(
        said.out
            .contains("### UNEQUAL SCOPE (start (process only)): What residency gives"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("\n### What not copying through memory gives"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("| resident / kernel-copy |"),
        "{}",
        said.out
    );
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(world.path("kept/summary.json")).unwrap())
            .unwrap();
    assert_eq!(summary["inputs"][0]["sha256"].as_str().unwrap().len(), 64);
    assert!(
        summary["command"]
            .as_str()
            .unwrap()
            .contains("'녹화 1.mp4'")
    );
    // Outputs are gone, the report stays.
    assert!(world.names("work").is_empty());
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_runs() {
    let world = World::new();
    world.copy("plain-4s.mp4", "in.mp4");
    bench(&world, &["in.mp4", "--runs", "0", "--side", "resident"])
        .ended(1)
        .says(&["0 runs show nothing"]);
    bench(&world, &["in.mp4", "--ffmpeg", "없는-ffmpeg"])
        .ended(1)
        .says(&[
            "없는-ffmpeg: is not there",
            "--ffmpeg PATH",
            "--side resident",
        ]);
    bench(&world, &["in.mp4", "--ffmpeg", "true"])
        .ended(1)
        .says(&["does not say what version of ffmpeg it is", "--ffmpeg PATH"]);
    bench(&world, &[".", "--side", "resident"])
        .ended(1)
        .says(&["is no file"]);
    bench(&world, &["없다.mp4", "--side", "resident"])
        .ended(1)
        .says(&["없다.mp4"]);
    world.write("kept/rows.csv", "from before");
    bench(
        &world,
        &["in.mp4", "--side", "resident", "--report", "kept"],
    )
    .ended(1)
    .says(&["kept: is not empty", "give a new folder"]);
    world
        .yeoul(&["repack", "in.mp4", "-o", "out", "--jobs", "0"])
        .ended(2)
        .says(&["use auto or a number from 1"]);
}

#[test]
fn what_is_no_recording_is_named() {
    let world = World::new();
    world.write("text.mp4", "no recording");
    bench(&world, &["text.mp4", "--runs", "1", "--side", "resident"])
        .ended(1)
        .says(&["text.mp4"]);
}

#[test]
fn a_side_that_cannot_hold_the_recording_fails_and_the_others_count() {
    let world = World::new();
    let recording = world.copy("plain-4s.mp4", "in.mp4");
    // A box that nobody needs makes it too large for memory.
    let mut bytes = fs::read(&recording).unwrap();
    let filler = 17_u32 << 20;
    bytes.extend(filler.to_be_bytes());
    bytes.extend(b"free");
    bytes.resize(bytes.len() + usize::try_from(filler).unwrap() - 8, 0);
    fs::write(&recording, bytes).unwrap();
    let args = [
        "in.mp4",
        "--runs",
        "2",
        "--warm-ups",
        "0",
        "--fresh-only",
        "--report",
        "kept",
        "--side",
        "resident",
        "--side",
        "memory",
    ];
    bench(&world, &args).ended(1).says(&[
        "side \"memory\" failed in run 1",
        "are over the 16777216 that this side holds in memory",
        "(0 rows are kept)",
    ]);
    let csv = fs::read_to_string(world.path("kept/fresh-1.csv")).unwrap();
    assert_eq!(
        csv.lines()
            .filter(|line| line.starts_with("resident,"))
            .count(),
        2
    );
}
