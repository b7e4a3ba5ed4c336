//! Commands that behave badly.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use yeoul_measure::usage::Bound;
use yeoul_measure::{CommandSide, RunContext, RunRecord, Scope, Side, SideError};

fn scope() -> Scope {
    "start,work".parse().unwrap()
}

fn shell(script: &str) -> CommandSide<'static> {
    let script = script.to_owned();
    CommandSide::new("sh", scope(), move |run: &RunContext<'_>| {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&script).current_dir(run.output);
        command
    })
}

fn run_in(side: &mut CommandSide<'_>, folder: &Path) -> Result<RunRecord, SideError> {
    side.run(&RunContext {
        run: 1,
        warm_up: false,
        inputs: &[],
        output: folder,
        check: folder,
    })
}

fn run(side: &mut CommandSide<'_>) -> Result<RunRecord, SideError> {
    run_in(side, tempfile::tempdir().unwrap().path())
}

/// Whether the process whose number a script wrote to `file` is gone (or is a zombie that init will take).
fn is_gone(file: &Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    match std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
        Ok(stat) => stat.contains(") Z ") || stat.contains(") X "),
        Err(_) => true,
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let mut side = CommandSide::new("x", scope(), |_: &RunContext<'_>| {
        Command::new("/없는/프로그램")
    });
    assert!(
        run(&mut side)
            .unwrap_err()
            .to_string()
            .starts_with("cannot start /없는/프로그램: ")
    );
}

#[test]
fn a_failure_shows_its_status_and_what_it_printed() {
    let error = run(&mut shell("echo 녹화 없음 >&2; exit 3"))
        .unwrap_err()
        .to_string();
    assert_eq!(error, "exit status: 3; it printed:\n녹화 없음");
    let error = run(&mut shell("kill -9 $$")).unwrap_err().to_string();
    assert!(error.starts_with("signal: 9"), "{error}");
}

#[test]
fn megabytes_of_output_are_read_to_the_end_cut_and_said_so() {
    let script = "head -c 5000000 /dev/zero | tr '\\0' x; echo the end; exit 1";
    let error = run(&mut shell(script).capture(100))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("[… 4999908 of 5000008 bytes cut …]"),
        "{error}"
    );
    assert!(error.ends_with("xthe end"), "{error}");
    run(&mut shell("head -c 5000000 /dev/zero >&2")).unwrap();
}

#[test]
fn a_program_that_hangs_is_killed_with_all_of_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let mut side = shell("echo waiting; sleep 1000 & echo $! > child; sleep 1000")
        .timeout(Duration::from_secs(2));
    let start = Instant::now();
    let error = run_in(&mut side, folder.path()).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(60));
    assert!(matches!(error, SideError::Timeout { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("killed after 2000 ms without an end"),
        "{error}"
    );
    assert!(
        error.to_string().ends_with("it printed:\nwaiting"),
        "{error}"
    );
    assert!(is_gone(&folder.path().join("child")));
}

#[test]
fn a_program_that_leaves_a_child_running_has_failed_and_the_child_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let error = run_in(&mut shell("sleep 1000 & echo $! > child"), folder.path())
        .unwrap_err()
        .to_string();
    assert!(
        // Its name is the shell's until it has become the program.
        error.starts_with("ended and left 1 of its processes running (s"),
        "{error}"
    );
    assert!(is_gone(&folder.path().join("child")));
}

#[test]
fn a_child_that_left_the_group_is_found_too() {
    let folder = tempfile::tempdir().unwrap();
    // The shell ends only after the child has left its group and written its number.
    let script = "mkfifo ready; setsid sh -c 'echo $$ > child; echo > ready; exec sleep 1000' & read line < ready";
    let error = run_in(&mut shell(script), folder.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("ended and left 1 of its processes running ("),
        "{error}"
    );
    assert!(is_gone(&folder.path().join("child")));
}

#[test]
fn usage_covers_the_tree_that_was_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("input"), vec![0; 3 << 20]).unwrap();
    let record = run_in(
        &mut shell("cat input > one; sh -c 'cat input > two; exit 0'; true"),
        folder.path(),
    )
    .unwrap();
    let io = record.usage.io;
    assert!((6 << 20..7 << 20).contains(&io.rchar), "{io:?}");
    assert!((6 << 20..7 << 20).contains(&io.wchar), "{io:?}");
    assert!(record.usage.children_reaped);
    assert!(record.usage.minor_faults > 0);
    assert!(record.elapsed > Duration::ZERO);
}

#[test]
fn the_peak_of_a_child_above_our_own_is_exact_and_below_it_a_bound() {
    // dd takes one block of this size and fills it.
    let large = run(&mut shell(
        "exec dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null",
    ))
    .unwrap();
    let large = large.usage.peak_rss.unwrap();
    assert!((200 << 20..230 << 20).contains(&large.bytes), "{large:?}");
    assert_eq!(large.bound, Bound::Exact);
    let ballast = std::hint::black_box(vec![1u8; 64 << 20]);
    let small = run(&mut shell("true")).unwrap().usage.peak_rss.unwrap();
    drop(ballast);
    assert_eq!(small.bound, Bound::AtMost, "{small:?}");
    assert!(
        small.bytes >= 64 << 20,
        "the moment before exec, when the child was our copy, is in it: {small:?}"
    );
}

#[test]
fn standard_output_can_be_the_output() {
    let folder = tempfile::tempdir().unwrap();
    run_in(&mut shell("printf 방송").stdout_file("조각"), folder.path()).unwrap();
    assert_eq!(
        std::fs::read_to_string(folder.path().join("조각")).unwrap(),
        "방송"
    );
}
