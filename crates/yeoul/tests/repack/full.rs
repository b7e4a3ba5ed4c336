//! Nowhere to write: a full disk, a limit of file sizes, and streams that nobody reads.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::support::{World, YEOUL, can_mount, said};

/// An old output of something small, and large recordings to put in its place.
fn world() -> World {
    let world = World::new();
    world.copy("audio-only", "small");
    world.copy("1080p-six-audio", "in");
    world.repack(&["small"], "out").ended(0);
    world
}

#[test]
fn file_size_limit_is_an_error_and_the_old_output_stays() {
    let world = world();
    let before = world.tree("");
    let mut command = Command::new("sh");
    let script = "ulimit -f 200; exec \"$0\" repack in -o out";
    command
        .args(["-ec", script, YEOUL])
        .current_dir(world.path(""));
    said(&mut command)
        .ended(1)
        .says(&["error: ", ".m4s: cannot write at byte ", "File too large"]);
    assert!(before == world.tree(""));
}

#[test]
fn full_disk_is_an_error_that_says_how_much_was_wanted() {
    if !can_mount() {
        println!("skipped: no mount namespace can be had here");
        return;
    }
    let world = world();
    fs::create_dir(world.path("disk")).unwrap();
    let script = "mount -t tmpfs -o size=512k none disk; \"$0\" repack small -o disk/out
        (cd disk; find . -type f -exec sha256sum {} +) > before
        if \"$0\" repack in -o disk/out; then exit 7; fi
        (cd disk; find . -type f -exec sha256sum {} +) > after
        ls -A disk > left; \"$0\" verify disk/out";
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-ec", script, YEOUL])
        .current_dir(world.path(""));
    said(&mut command)
        .ended(0)
        .says(&["no space left: ", " bytes were written", "error: "]);
    let read = |name| fs::read_to_string(world.path(name)).unwrap();
    assert_eq!(read("before"), read("after"));
    assert_eq!(read("left"), "out\n");
}

#[test]
fn full_standard_output_is_an_error_but_the_output_stands() {
    for option in ["--json", "--fsync"] {
        let world = world();
        let args = ["repack", "in", "-o", "out", option];
        let mut command = world.command(&args);
        command
            .stdout(File::options().write(true).open("/dev/full").unwrap())
            .stderr(Stdio::piped());
        let done = command.spawn().unwrap().wait_with_output().unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{text}");
        assert!(text.contains("the output is in its place (out), but what was done cannot be printed: No space left"), "{text}");
        world.verifies("out");
    }
}

#[test]
fn full_standard_error_costs_only_the_words() {
    let world = world();
    world.write("in/broken.mp4", "");
    let mut command = world.command(&["repack", "in", "-o", "out"]);
    command
        .stderr(File::options().write(true).open("/dev/full").unwrap())
        .stdout(Stdio::piped());
    let done = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert!(
        String::from_utf8(done.stdout)
            .unwrap()
            .starts_with("output ")
    );
    let mut command = world.command(&["repack", "in/broken.mp4", "-o", "out"]);
    command.stderr(File::options().write(true).open("/dev/full").unwrap());
    assert_eq!(command.status().unwrap().code(), Some(1));
}

#[test]
fn reader_that_went_away_is_no_fault() {
    for args in [
        &["repack", "in", "-o", "out"][..],
        &["repack", "in", "-o", "out", "--json"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let world = world();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = world
            .command(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(done.stderr).unwrap(), "", "{args:?}");
        assert_eq!(done.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn closed_streams() {
    let world = world();
    let mut command = Command::new("sh");
    let script = "exec \"$0\" repack in -o out <&- >&- 2>&-";
    command
        .args(["-ec", script, YEOUL])
        .current_dir(world.path(""));
    said(&mut command).ended(0).silent();
    world.verifies("out");
}
