//! What a run says of itself.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{World, sha256};

/// Two recordings of `audio-only` and one that is empty.
fn world() -> World {
    let world = World::new();
    world.copy("audio-only", "in");
    fs::remove_file(world.path("in/2026-11-30_19-43-40-927426.mp4")).unwrap();
    world.write("in/broken.mp4", "");
    world
}

#[test]
fn json_has_this_shape() {
    let world = world();
    let said = world.repack(&["in", "--json"], "out").ended(0);
    assert_eq!(said.err, "");
    let mut json = said.json();
    let seconds = json["seconds"].as_object().unwrap();
    assert!(seconds.keys().eq(["catalogue", "pack", "publish", "total"]));
    for (name, seconds) in seconds {
        assert!(
            seconds.as_f64().is_some_and(|s| (0.0..60.0).contains(&s)),
            "{name}"
        );
    }
    json["seconds"] = json!({});
    let bytes = &json["bytes"];
    let copied = bytes["by_kernel"].as_u64().unwrap() + bytes["by_user"].as_u64().unwrap();
    assert_eq!(json["broadcasts"][0]["bytes"], copied, "{bytes}");
    json["bytes"] = json!({});
    let golden: Value = serde_json::from_str(include_str!("golden/report.json")).unwrap();
    assert_eq!(json, golden, "{json:#}");
}

#[test]
fn summary_says_what_was_made() {
    let world = world();
    let said = world.repack(&["in"], "out").ended(0);
    assert_eq!(
        said.err,
        "warning: in/broken.mp4: left out: is empty: the recorder wrote nothing, or the disk was full\n"
    );
    let (copied, lines): (Vec<_>, Vec<_>) = said
        .out
        .lines()
        .partition(|line| line.starts_with("copied "));
    assert_eq!(copied.len(), 1);
    assert_eq!(lines.join("\n") + "\n", include_str!("golden/summary.txt"));
}

#[test]
fn quiet_says_only_warnings() {
    let world = world();
    let said = world.repack(&["in", "--quiet"], "out").ended(0);
    assert_eq!(said.out, "");
    assert_eq!(said.err.lines().count(), 1);
    fs::remove_file(world.path("in/broken.mp4")).unwrap();
    world.repack(&["in", "-q"], "out").ended(0).silent();
}

#[test]
fn digests_are_those_of_the_files() {
    let world = world();
    for layout in ["muxed", "cmaf"] {
        let json = world
            .repack(&["in", "--json", "--digest", "--layout", layout], "out")
            .ended(0)
            .json();
        let report = &json["broadcasts"][0];
        let manifest = world.manifest("out");
        let tree = world.tree("out");
        let files = manifest["files"].as_array().unwrap();
        let media = tree
            .keys()
            .filter(|path| !path.to_string_lossy().ends_with('/'));
        assert_eq!(files.len(), media.count() - 1, "all but the manifest");
        for file in files {
            let bytes = &tree[Path::new(file["name"].as_str().unwrap())];
            assert_eq!(file["sha256"], sha256(bytes));
            assert_eq!(file["size"], bytes.len());
        }
        assert_eq!(report["files"], manifest["files"]);
        let recordings = manifest["takes"][0]["recordings"].as_array().unwrap();
        assert_eq!(recordings.len(), 2);
        for (index, recording) in recordings.iter().enumerate() {
            let path = world.path("out").join(recording["path"].as_str().unwrap());
            assert_eq!(recording["sha256"], sha256(&fs::read(path).unwrap()));
            assert_eq!(
                recording["sha256"],
                report["takes"][0]["recordings"][index]["sha256"]
            );
        }
    }
    world.repack(&["in"], "out").ended(0);
    assert!(
        !fs::read_to_string(world.path("out/yeoul.json"))
            .unwrap()
            .contains("sha256")
    );
}

#[test]
fn digest_changes_no_other_byte() {
    let world = world();
    world.repack(&["in"], "plain").ended(0);
    world
        .repack(&["in", "--digest", "--fsync"], "digest")
        .ended(0);
    let (mut plain, mut digest) = (world.tree("plain"), world.tree("digest"));
    plain.remove(Path::new("yeoul.json"));
    digest.remove(Path::new("yeoul.json"));
    assert!(plain == digest);
}
