//! Calls at once, a few of them.

use std::fs;

use serde_json::Value;

use crate::support::World;

/// What eight calls at once may hold. The figure is a release build's; the code and the stacks of a debug build are larger.
const LIMIT: u64 = if cfg!(debug_assertions) {
    32 << 20
} else {
    16 << 20
};

#[test]
fn every_level_is_measured_with_the_disk_in_and_out_of_scope() {
    let world = World::new();
    world.copy("plain-4s.mp4", "a/녹화.mp4");
    world.copy("audio-only/2026-11-30_19-43-33-368390.mp4", "b/녹화.mp4");
    for disk in ["in", "out"] {
        let report = format!("kept-{disk}");
        let args = [
            "bench",
            "repack",
            "a/녹화.mp4",
            "b/녹화.mp4",
            "--quiet",
            "--levels",
            "1,8",
            "--processes",
            "2",
            "--calls",
            "12",
            "--cores",
            "1",
            "--disk",
            disk,
            "--folder",
            "work",
            "--report",
            &report,
        ];
        let said = world.yeoul(&args).ended(0);
        assert!(
            said.out
                .contains("The SHA-256 of every output of 96 calls is the expected one"),
            "{}",
            said.out
        );
        assert!(said.out.contains("a/녹화.mp4: "), "{}", said.out);
        let json: Value = serde_json::from_str(
            &fs::read_to_string(world.path(format!("{report}/levels.json"))).unwrap(),
        )
        .unwrap();
        let report = &json["report"];
        assert_eq!(report["failures"], Value::Array(Vec::new()));
        for level in report["levels"].as_array().unwrap() {
            assert!(level["peak_rss_max"].as_u64().unwrap() <= LIMIT, "{level}");
        }
        assert_eq!(report["knees"].as_array().unwrap().len(), 2);
        assert!(world.names("work").is_empty());
    }
}

#[test]
fn nothing_at_once_is_refused() {
    let world = World::new();
    world.copy("plain-4s.mp4", "in.mp4");
    for (args, what) in [
        (["--levels", "0"], "a level must be at least 1"),
        (
            ["--levels=1", "--calls=0"],
            "the number of calls must be at least 1",
        ),
        (
            ["--levels=1", "--processes=0"],
            "the number of processes must be at least 1",
        ),
        (
            ["--levels=1", "--cores=0"],
            "the number of cores must be at least 1",
        ),
    ] {
        let mut all = vec!["bench", "repack", "in.mp4", "--quiet"];
        all.extend(args);
        world.yeoul(&all).ended(1).says(&[what]);
    }
    world
        .yeoul(&["bench", "repack", "in.mp4", "--calls", "5"])
        .ended(2)
        .says(&["--levels"]);
}
