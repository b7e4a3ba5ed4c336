//! What each option does, and what is no option.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use yeoul_testkit::presets;

use crate::support::{World, testdata};

fn reconnects() -> World {
    let world = World::new();
    world.copy("reconnects", "in");
    world
}

fn json(world: &World, args: &[&str]) -> Value {
    let json = world
        .repack(&[&["in", "--json"], args].concat(), "out")
        .ended(0)
        .json();
    world.verifies("out");
    json["broadcasts"][0].clone()
}

#[test]
fn jobs_change_no_byte() {
    let world = reconnects();
    world.repack(&["in"], "out").ended(0);
    let one = world.tree("out");
    for jobs in ["1", "2", "8", "256", "auto"] {
        world.repack(&["in", "--jobs", jobs], "out").ended(0);
        assert!(one == world.tree("out"), "--jobs {jobs}");
    }
}

#[test]
fn order_and_place_of_inputs_change_no_byte() {
    let world = reconnects();
    world.repack(&["in"], "out").ended(0);
    let mut names: Vec<_> = world
        .names("in")
        .iter()
        .map(|name| format!("in/{name}"))
        .collect();
    names.reverse();
    world.repack(&names, "reversed").ended(0);
    assert!(world.tree("out") == world.tree("reversed"));
    let far = World::new();
    far.repack(&[testdata("reconnects")], "x/y/out").ended(0);
    let (mut near, mut far) = (world.tree("out"), far.tree("x/y/out"));
    near.remove(std::path::Path::new("yeoul.json"));
    far.remove(std::path::Path::new("yeoul.json"));
    assert!(near == far);
}

#[test]
fn segment_length() {
    let world = World::new();
    world.record(presets::simple(1, 12), "in");
    for (length, segments) in [
        ("2s", 6),
        ("4", 3),
        ("4s", 3),
        ("4000ms", 3),
        ("6s", 2),
        ("3600s", 1),
    ] {
        assert_eq!(
            json(&world, &["--segment", length])["segments"],
            segments,
            "{length}"
        );
    }
}

#[test]
fn layout_cmaf_is_a_file_a_track() {
    let world = reconnects();
    let json = json(&world, &["--layout", "cmaf"]);
    assert_eq!(json["inits"].as_array().unwrap().len(), 2);
    assert_eq!(world.manifest("out")["layout"], "cmaf");
    let tree = world.tree("out");
    let names: BTreeSet<_> = tree
        .keys()
        .filter(|path| path.extension().is_some_and(|e| e == "m3u8"))
        .collect();
    assert_eq!(
        names
            .into_iter()
            .map(|p| p.to_str().unwrap())
            .collect::<Vec<_>>(),
        ["audio/index.m3u8", "index.m3u8", "video/index.m3u8"]
    );
    let master = fs::read_to_string(world.path("out/index.m3u8")).unwrap();
    assert!(
        master.contains("#EXT-X-MEDIA:TYPE=AUDIO") && master.contains("video/index.m3u8"),
        "{master}"
    );
}

#[test]
fn gaps_kept_or_closed() {
    let world = reconnects();
    let kept = json(&world, &["--gaps", "keep"]);
    let with = fs::read_to_string(world.path("out/index.m3u8")).unwrap();
    assert!(with.contains("#EXT-X-GAP") && world.path("out/gap.m4s").exists());
    let closed = json(&world, &["--gaps", "close"]);
    let without = fs::read_to_string(world.path("out/index.m3u8")).unwrap();
    assert!(!without.contains("#EXT-X-GAP") && !world.path("out/gap.m4s").exists());
    assert_eq!(
        without.matches("#EXT-X-DISCONTINUITY\n").count(),
        2,
        "{without}"
    );
    let seconds = |json: &Value| json["seconds"].as_f64().unwrap();
    assert!(
        seconds(&kept) > 70.0 && seconds(&closed) < 20.0,
        "{kept} {closed}"
    );
}

#[test]
fn offset_moves_a_take_by_number_and_by_id() {
    let world = reconnects();
    let start = |json: &Value, take: usize| json["takes"][take]["start"].as_f64().unwrap();
    let plain = json(&world, &[]);
    let id = plain["takes"][1]["id"].as_str().unwrap().to_owned();
    let short = &id[..8];
    for take in ["2", short, &id, &id.to_uppercase()] {
        let moved = json(&world, &["--offset", &format!("{take}=2.5")]);
        let by = start(&moved, 1) - start(&plain, 1);
        assert!((by - 2.5).abs() < 0.001, "{take}: {by}");
        assert!((start(&moved, 2) - start(&plain, 2)).abs() < 0.001);
    }
    let both = json(&world, &["--offset", "2=-1", "--offset", "3=10"]);
    assert!((start(&both, 1) - start(&plain, 1) + 1.0).abs() < 0.001);
    assert!((start(&both, 2) - start(&plain, 2) - 10.0).abs() < 0.001);
    for take in ["4", "ffffffff"] {
        world
            .repack(&["in", "--offset", &format!("{take}=1")], "none")
            .ended(1)
            .says(&["no such take; there are: ", &id[..12]]);
    }
    assert_eq!(world.names(""), ["in", "out"]);
}

#[test]
fn offset_for_one_of_several_broadcasts() {
    let world = World::new();
    world.copy("reconnects", "in/a");
    world.copy("hevc-opus", "in/b");
    let plain = world.repack(&["in", "--json"], "out").ended(0).json();
    let id = plain["broadcasts"][0]["takes"][1]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let moved = world
        .repack(&["in", "--json", "--offset", &format!("{id}=2.5")], "out")
        .ended(0)
        .json();
    let start = |json: &Value| json["broadcasts"][0]["takes"][1]["start"].as_f64().unwrap();
    assert!((start(&moved) - start(&plain) - 2.5).abs() < 0.001);
    assert_eq!(
        plain["broadcasts"][1]["takes"][0]["start"],
        moved["broadcasts"][1]["takes"][0]["start"]
    );
    world
        .repack(&["in", "--offset", "2=1"], "none")
        .ended(1)
        .says(&["--offset 2: ", "its id"]);
    world
        .repack(&["in", "--offset", "ffffffff=1"], "none")
        .ended(1)
        .says(&["no such take"]);
    assert_eq!(world.names(""), ["in", "out"]);
}

#[test]
fn tracks_that_are_kept() {
    let world = World::new();
    world.copy("1080p-six-audio", "in");
    let kinds = |args: &[&str]| -> Vec<(String, u64)> {
        let json = json(&world, args);
        let kept = &json["takes"][0]["recordings"][0]["tracks"];
        let tracks = json["tracks"].as_array().unwrap().iter();
        let ids = kept
            .as_array()
            .unwrap()
            .iter()
            .map(|track| track["track_id"].as_u64().unwrap());
        tracks
            .map(|track| track["kind"].as_str().unwrap().to_owned())
            .zip(ids)
            .collect()
    };
    let named = |list: &[(&str, u64)]| {
        list.iter()
            .map(|(k, n)| ((*k).to_owned(), *n))
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&[]), named(&[("video", 1), ("audio", 2)]));
    assert_eq!(
        kinds(&["--audio", "3"]),
        named(&[("video", 1), ("audio", 4)])
    );
    assert_eq!(kinds(&["--audio", "none"]), named(&[("video", 1)]));
    assert_eq!(kinds(&["--video", "none"]), named(&[("audio", 2)]));
    assert_eq!(
        kinds(&["--audio", "lang:und"]),
        named(&[("video", 1), ("audio", 2)])
    );
    assert_eq!(kinds(&["--audio", "all"]).len(), 7);
    assert_eq!(kinds(&["--audio", "all", "--layout", "cmaf"]).len(), 7);
    world
        .repack(&["in", "--video", "none", "--audio", "lang:kor"], "none")
        .ended(1)
        .says(&["no track with samples fits the selection"]);
}

#[test]
fn largest_header() {
    let world = reconnects();
    world.repack(&["in", "--max-header", "1"], "out").ended(0);
    world.verifies("out");
}

#[test]
fn wrong_usage_is_2_and_makes_nothing() {
    let world = reconnects();
    let wrong: &[&[&str]] = &[
        &[],
        &["repack"],
        &["repack", "in"],
        &["repack", "-o", "out"],
        &["repack", "in", "-o"],
        &["repack", "in", "-o", "out", "--unknown"],
        &["repack", "in", "-o", "out", "--video", "second"],
        &["repack", "in", "-o", "out", "--video", "0"],
        &["repack", "in", "-o", "out", "--audio", "-1"],
        &["repack", "in", "-o", "out", "--audio", "lang:ko"],
        &["repack", "in", "-o", "out", "--audio", "lang:KOR"],
        &["repack", "in", "-o", "out", "--segment", "0"],
        &["repack", "in", "-o", "out", "--segment", "4m"],
        &["repack", "in", "-o", "out", "--segment", "99ms"],
        &[
            "repack",
            "in",
            "-o",
            "out",
            "--segment",
            "99999999999999999999",
        ],
        &["repack", "in", "-o", "out", "--layout", "dash"],
        &["repack", "in", "-o", "out", "--gaps", "drop"],
        &["repack", "in", "-o", "out", "--offset", "2"],
        &["repack", "in", "-o", "out", "--offset", "two=1"],
        &["repack", "in", "-o", "out", "--offset", "2=1h"],
        &["repack", "in", "-o", "out", "--jobs", "0"],
        &["repack", "in", "-o", "out", "--jobs", "257"],
        &["repack", "in", "-o", "out", "--jobs", "many"],
        &["repack", "in", "-o", "out", "--max-header", "0"],
        &["repack", "in", "-o", "out", "--max-header", "4097"],
        &["repack", "in", "-o", "out", "--json=yes"],
        &["unpack"],
        &["completions", "csh"],
    ];
    for args in wrong {
        let said = world.yeoul(args).ended(2);
        assert!(said.out.is_empty() && !said.err.is_empty(), "{args:?}");
        assert_eq!(world.names(""), ["in"], "{args:?}");
    }
}

#[test]
fn recordings_over_the_limit_of_size_are_left_out_and_named() {
    let world = World::new();
    world.copy("audio-only", "in");
    world.copy("killed", "in");
    world.copy("reconnects", "in");
    let said = world.repack(&["in", "--max-input", "1"], "out").ended(0);
    said.says(&["over the limit of 1048576 (--max-input)"]);
    world.record(presets::simple(1, 4), "small");
    world
        .repack(&["small", "--audio", "lang:kor"], "korean")
        .ended(1)
        .says(&["--audio lang:kor", "yeoul inspect"]);
}
