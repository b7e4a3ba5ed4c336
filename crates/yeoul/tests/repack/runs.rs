//! Several runs for one output, and runs that are ended in the middle.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use yeoul_testkit::presets;

use crate::support::{World, YEOUL, sha256};

/// The staging folders of runs for the output `out`.
fn staging(world: &World) -> Vec<String> {
    let prefix = format!(".yeoul-{}-", &sha256(b"out")[..12]);
    let mut names = world.names("");
    names.retain(|name| name.starts_with(&prefix));
    names
}

#[test]
fn runs_at_the_same_time_leave_one_whole_output() {
    let world = World::new();
    world.copy("audio-only", "in");
    world.repack(&["in"], "alone").ended(0);
    for _ in 0..4 {
        let start = || {
            world
                .command(&["repack", "in", "-o", "out", "-q"])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let runs: Vec<Child> = (0..6).map(|_| start()).collect();
        for run in runs {
            let done = run.wait_with_output().unwrap();
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        assert!(world.tree("alone") == world.tree("out"));
        assert_eq!(world.names(""), ["alone", "in", "out"]);
    }
}

/// An old output, and a recording of ten minutes that takes a while.
fn long() -> World {
    let world = World::new();
    world.copy("audio-only", "small");
    world.repack(&["small"], "out").ended(0);
    world.record(presets::long_file(1, 600, 600_000_000), "in");
    world
}

/// A run that has begun to write: its staging folder has a segment.
fn begun(world: &World, command: &mut Command) -> Child {
    let mut run = command.stdout(Stdio::null()).spawn().unwrap();
    loop {
        assert!(
            run.try_wait().unwrap().is_none(),
            "ended before it was seen"
        );
        let names = staging(world);
        let mut files = names
            .iter()
            .filter_map(|name| fs::read_dir(world.path(name)).ok())
            .flatten();
        if files
            .any(|file| file.is_ok_and(|file| file.path().extension().is_some_and(|e| e == "m4s")))
        {
            return run;
        }
        std::thread::yield_now();
    }
}

fn send(run: &Child, signal: Signal) {
    kill_process(Pid::from_child(run), signal).unwrap();
}

#[test]
fn killed_run_leaves_the_old_output_and_the_next_run_cleans_up() {
    let world = long();
    let before = world.tree("out");
    let mut run = begun(&world, &mut world.command(&["repack", "in", "-o", "out"]));
    run.kill().unwrap();
    assert_eq!(run.wait().unwrap().signal(), Some(9));
    assert!(before == world.tree("out"));
    assert_eq!(staging(&world).len(), 1);
    world.repack(&["small"], "out").ended(0);
    assert!(before == world.tree("out"));
    assert_eq!(world.names(""), ["in", "out", "small"]);
}

#[test]
fn signals_end_a_run_in_order() {
    let world = long();
    let before = world.tree("out");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut run = begun(&world, &mut world.command(&["repack", "in", "-o", "out"]));
        send(&run, signal);
        assert_eq!(run.wait().unwrap().signal(), Some(signal.as_raw()));
        assert!(before == world.tree("out"));
        assert_eq!(world.names(""), ["in", "out", "small"]);
    }
}

#[test]
fn signals_that_were_ignored_stay_ignored() {
    let world = long();
    let mut command = Command::new("sh");
    let script = "trap '' INT TERM HUP; exec \"$0\" repack in -o out";
    command
        .args(["-ec", script, YEOUL])
        .current_dir(world.path(""));
    let mut run = begun(&world, &mut command);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        send(&run, signal);
    }
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(world.path("out/index.m3u8").exists());
}

fn left_behind(world: &World, end: &str) -> PathBuf {
    let name = format!(".yeoul-{}-1-0.partial{end}", &sha256(b"out")[..12]);
    world.path(name)
}

#[test]
fn staging_folder_of_a_live_run_is_left_alone() {
    let world = World::new();
    world.copy("audio-only", "in");
    let theirs = left_behind(&world, "");
    fs::create_dir(&theirs).unwrap();
    let lock = fs::File::open(&theirs).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    world.repack(&["in"], "out").ended(0);
    assert!(theirs.is_dir());
    drop(lock);
    world.repack(&["in"], "out").ended(0);
    assert!(!theirs.exists());
}

#[test]
fn only_folders_of_this_output_are_cleaned_up() {
    let world = World::new();
    world.copy("audio-only", "in");
    world.write(".yeoul-000000000000-1-0.partial/mine", "");
    world.write(left_behind(&world, ".txt").file_name().unwrap(), "");
    std::os::unix::fs::symlink("in", left_behind(&world, "")).unwrap();
    let before = world.names("");
    world.repack(&["in"], "out").ended(0);
    let mut after = world.names("");
    after.retain(|name| name != "out");
    assert_eq!(before, after);
    assert_eq!(world.names("in").len(), 3);
}

#[test]
fn output_that_was_only_set_aside_comes_back() {
    let world = World::new();
    world.copy("audio-only", "in");
    world.repack(&["in"], "out").ended(0);
    let before = world.tree("out");
    fs::rename(world.path("out"), left_behind(&world, ".old")).unwrap();
    world.write("broken.mp4", "");
    world.repack(&["broken.mp4"], "out").ended(1);
    assert!(before == world.tree("out"));
    assert_eq!(world.names(""), ["broken.mp4", "in", "out"]);
}
