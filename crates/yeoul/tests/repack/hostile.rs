//! An earlier output whose manifest somebody else wrote: it must not lead us anywhere.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::World;

fn world(manifest: &str) -> World {
    let world = World::new();
    world.copy("audio-only", "in");
    world.write("x", "outside");
    world.write("elsewhere/index.m3u8", "outside");
    world.write(
        "elsewhere/yeoul.json",
        r#"{"files":[{"name":"index.m3u8"}]}"#,
    );
    world.write(
        "out/yeoul.json",
        manifest.replace("ROOT", world.path("").to_str().unwrap()),
    );
    world
}

#[track_caller]
fn outside_is_untouched(world: &World) {
    assert_eq!(fs::read(world.path("x")).unwrap(), b"outside");
    assert_eq!(world.names("elsewhere"), ["index.m3u8", "yeoul.json"]);
    assert_eq!(world.names(""), ["elsewhere", "in", "out", "x"]);
}

#[test]
fn names_that_lead_outside() {
    for manifest in [
        r#"{"format":1,"files":[{"name":"../x"},{"name":"../../x"},{"name":"a/../../x"}]}"#,
        r#"{"format":1,"files":[{"name":"ROOT/x"},{"name":""},{"name":"."},{"name":".."}]}"#,
        r#"{"format":1,"broadcasts":[".."]}"#,
        r#"{"format":1,"broadcasts":["../elsewhere","ROOT/elsewhere","","."]}"#,
    ] {
        let world = world(manifest);
        world.repack(&["in"], "out").ended(0);
        world.verifies("out");
        outside_is_untouched(&world);
    }
}

#[test]
fn names_of_other_peoples_files() {
    let names = [
        "x.mp4",
        "notes.txt",
        "sub/film.mp4",
        "init-1.mp4",
        "init-0123456z.mp4",
        "yeoul.toml",
    ];
    for name in names {
        let world = world(&format!(r#"{{"format":1,"files":[{{"name":"{name}"}}]}}"#));
        world.write(format!("out/{name}"), "mine");
        let before = world.tree("");
        world
            .repack(&["in"], "out")
            .ended(1)
            .says(&["a file that yeoul did not write", name]);
        assert!(before == world.tree(""));
    }
}

#[test]
fn link_in_the_place_of_a_file_or_folder() {
    let world = world(r#"{"format":1,"files":[{"name":"gap.m4s"}],"broadcasts":["b"]}"#);
    symlink("../x", world.path("out/gap.m4s")).unwrap();
    world
        .repack(&["in"], "out")
        .ended(1)
        .says(&["such as gap.m4s"]);
    fs::remove_file(world.path("out/gap.m4s")).unwrap();
    symlink("../elsewhere", world.path("out/b")).unwrap();
    world.repack(&["in"], "out").ended(1).says(&["such as b"]);
    outside_is_untouched(&world);
}

#[test]
fn manifest_that_is_no_manifest() {
    for manifest in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"files":[]}"#,
        "[1]",
        "[1,[],[]]",
        r#"{"files":3}"#,
        r#"{"files":[{}]}"#,
        &"[".repeat(100_000),
    ] {
        let world = world(manifest);
        let before = world.tree("");
        world
            .repack(&["in"], "out")
            .ended(1)
            .says(&["is not empty and yeoul did not write it"]);
        assert!(before == world.tree(""));
    }
}

#[test]
fn manifest_that_would_be_waited_on() {
    let world = world("");
    fs::remove_file(world.path("out/yeoul.json")).unwrap();
    mknodat(
        CWD,
        world.path("out/yeoul.json"),
        FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    world
        .repack(&["in"], "out")
        .ended(1)
        .says(&["yeoul did not write it"]);
    fs::remove_file(world.path("out/yeoul.json")).unwrap();
    symlink("/dev/zero", world.path("out/yeoul.json")).unwrap();
    world
        .repack(&["in"], "out")
        .ended(1)
        .says(&["yeoul did not write it"]);
    outside_is_untouched(&world);
}

#[test]
fn names_with_terminal_codes_are_shown_escaped() {
    let world = World::new();
    world.copy("audio-only", "in");
    world.write("in/\u{1b}[2Jcleared\n.mp4", "no recording");
    let said = world.repack(&["in"], "out").ended(0);
    assert!(
        said.err
            .contains(r"in/\u{1b}[2Jcleared\n.mp4: left out: not an MP4"),
        "{}",
        said.err
    );
    assert_eq!(said.err.lines().count(), 1);
}
