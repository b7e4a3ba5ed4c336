//! Names of files and folders as people have them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::support::World;

const FILES: [&str; 3] = [
    "2026-11-30_19-43-33-368390.mp4",
    "2026-11-30_19-43-36-916759.mp4",
    "2026-11-30_19-43-40-927426.mp4",
];

/// The media of an output: what does not depend on names.
fn media(world: &World, out: &str) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let tree = world.tree(out).into_iter();
    tree.filter(|(path, _)| path.file_name() != Some(OsStr::new("yeoul.json")))
        .collect()
}

#[test]
fn odd_names_work() {
    let plain = World::new();
    plain.copy("audio-only", "in");
    plain.repack(&["in"], "out").ended(0);
    let expected = media(&plain, "out");
    let long = format!("{}.mp4", "l".repeat(251));
    let korean = format!("{}.mp4", "한".repeat(83));
    for name in [
        "여울 녹화 1.mp4",
        "with space.MP4",
        "new\nline.mp4",
        "quote'\"`$(x).mp4",
        "-dash.mp4",
        "back\\slash.mov",
        "brackets[1]*?.mp4",
        "percent%20.m4a",
        "#hash.m4v",
        &long,
        &korean,
    ] {
        let world = World::new();
        for (from, to) in FILES.iter().zip([name, FILES[1], FILES[2]]) {
            world.copy(&format!("audio-only/{from}"), format!("폴더 a/{to}"));
        }
        let said = world.repack(&["폴더 a"], "출력 b/out").ended(0);
        assert_eq!(said.err, "", "{name:?}");
        assert!(media(&world, "출력 b/out") == expected, "{name:?}");
        world.verifies("출력 b/out");
        let listed = FILES.iter().skip(1).map(|file| format!("폴더 a/{file}"));
        let listed: Vec<_> = listed.chain([format!("폴더 a/{name}")]).collect();
        world.repack(&listed, "출력 b/out").ended(0);
        assert!(media(&world, "출력 b/out") == expected, "{name:?}");
    }
}

#[test]
fn output_of_the_longest_name() {
    let world = World::new();
    world.copy("audio-only", "in");
    for out in ["o".repeat(255), "여".repeat(85), "-out".to_owned()] {
        for _ in 0..2 {
            world.repack(&["in"], &format!("./{out}")).ended(0);
            world.verifies(&format!("./{out}"));
        }
    }
    world
        .repack(&["in"], &"o".repeat(256))
        .ended(1)
        .says(&["File name too long"]);
    assert!(world.names("").iter().all(|name| !name.starts_with('.')));
}

#[test]
fn names_that_are_not_utf8() {
    let world = World::new();
    world.copy("audio-only", "in");
    let name = OsStr::from_bytes(b"bad\xff.mp4");
    fs::rename(world.path("in").join(FILES[2]), world.path("in").join(name)).unwrap();
    for digest in ["-q", "--digest"] {
        world
            .repack(&["in", digest], "out")
            .ended(0)
            .says(&["warning: in/bad\u{fffd}.mp4: left out: its path is not UTF-8; rename it"]);
        world.verifies("out");
        assert_eq!(
            world.manifest("out")["takes"][0]["recordings"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
    }
    let alone = Path::new("in").join(name);
    world
        .repack(&[alone], "none")
        .ended(1)
        .says(&["not UTF-8", "error: nothing to repack"]);
    fs::rename(world.path("in"), world.path(OsStr::from_bytes(b"in\xfe"))).unwrap();
    world
        .repack(&[OsStr::from_bytes(b"in\xfe")], "none")
        .ended(1)
        .says(&["not UTF-8"]);
}

#[test]
fn output_that_is_not_utf8() {
    let world = World::new();
    world.copy("audio-only", "in");
    let out = OsStr::from_bytes(b"out\xff");
    for _ in 0..2 {
        let args = [
            OsStr::new("repack"),
            OsStr::new("in"),
            OsStr::new("-o"),
            out,
        ];
        world.yeoul(&args).ended(0);
        world.yeoul(&[OsStr::new("verify"), out]).ended(0);
    }
}

#[test]
fn patterns() {
    let world = World::new();
    world.copy("audio-only", "녹화/카메라 1/하루");
    world.repack(&["녹화/카메라 1/하루"], "folder").ended(0);
    let expected = media(&world, "folder");
    world.copy("video-only", "녹화/.hidden/하루");
    for pattern in [
        "녹화/**/*.mp4",
        "녹화/카메라 ?/*/2026-*.mp4",
        "./녹화/[가-힣]* 1/하루/*",
    ] {
        let said = world.repack(&[pattern], "out").ended(0);
        assert_eq!(said.err, "", "{pattern}");
        assert!(media(&world, "out") == expected, "{pattern}");
    }
    world
        .repack(&["녹화/***/x"], "none")
        .ended(1)
        .says(&["is not a pattern"]);
    world
        .repack(&["녹화/카메라*"], "none")
        .ended(1)
        .says(&["no file fits this pattern"]);
}
