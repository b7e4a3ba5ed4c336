//! Any two commands: the trap of leaving work out of one side, and sides that go wrong.

use std::fs;

use serde_json::Value;

use crate::support::{Said, World};

const COPY: &str = "cat {input} > {output}/x";

fn world() -> World {
    let world = World::new();
    world.write("입력 '1'.bin", vec![b'y'; 300_000]);
    world
}

fn compare(world: &World, args: &[&str]) -> Said {
    let mut all = vec![
        "bench",
        "compare",
        "입력 '1'.bin",
        "--quiet",
        "--folder",
        "work",
    ];
    all.extend(["--runs", "4", "--warm-ups", "1"]);
    all.extend(args);
    world.yeoul(&all)
}

fn text(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).unwrap()
}

#[test]
fn honest_commands_are_compared_and_their_outputs_are_equal() {
    let world = world();
    let said = compare(&world, &["--a", COPY, "--b", "cp {input} {output}/x"]).ended(0);
    assert!(
        said.out
            .contains("Outputs: equal in every run of every side"),
        "{}",
        said.out
    );
    assert!(said.out.contains("B ÷ A"), "{}", said.out);
}

#[test]
fn a_side_that_leaves_the_writing_out_is_refused() {
    let world = world();
    let args = [
        "--a",
        COPY,
        "--b",
        "cat {input} > /dev/null",
        "--scope-b",
        "start,read,work",
        "--report",
        "kept",
    ];
    compare(&world, &args).ended(1).says(&[
        "the sides do not measure the same: write (A only)",
        "--unequal-scope",
    ]);
    assert!(world.names("kept").is_empty());
}

#[test]
fn a_side_that_lies_about_the_writing_is_refused_and_its_rows_are_kept() {
    let world = world();
    // It has nothing to write: what is there comes under its name by a rename.
    let lies = [
        (
            "cat {input} > /dev/null",
            "left no output bytes in its output folder",
        ),
        (
            "cat {input} > /dev/null; ln {input} {output}/x",
            "is a hard link",
        ),
        (
            "cat {input} > /dev/null; ln -s {input} {output}/x",
            "is a symbolic link",
        ),
    ];
    for (number, (lie, why)) in lies.into_iter().enumerate() {
        let report = format!("kept-{number}");
        let args = [
            "--a", COPY, "--b", lie, "--report", &report, "--check", "none",
        ];
        compare(&world, &args)
            .ended(1)
            .says(&["side \"B\", run 1", "declares write", why]);
        let report: Value =
            serde_json::from_str(&text(&world, &format!("{report}/compare-1.json"))).unwrap();
        assert_eq!(report["ratios"].as_array().unwrap().len(), 0);
    }
}

#[test]
fn with_the_flag_the_title_of_every_output_says_what_is_unequal() {
    let world = world();
    let args = [
        "--a",
        COPY,
        "--b",
        "cat {input} > /dev/null",
        "--scope-b",
        "start,read,work",
        "--unequal-scope",
        "--report",
        "kept",
    ];
    let said = compare(&world, &args).ended(0);
    let title = "UNEQUAL SCOPE (write (A only)): ";
    assert!(said.out.starts_with(&format!("# {title}")), "{}", said.out);
    assert!(text(&world, "kept/compare-1.csv").starts_with(&format!("# {title}")));
    assert!(text(&world, "kept/compare-1.md").starts_with(&format!("# {title}")));
    let report: Value = serde_json::from_str(&text(&world, "kept/compare-1.json")).unwrap();
    assert!(report["title"].as_str().unwrap().starts_with(title));
}

#[test]
fn outputs_that_differ_are_reported() {
    let world = world();
    compare(
        &world,
        &["--a", COPY, "--b", "tr y z < {input} > {output}/x"],
    )
    .ended(1)
    .says(&["DIFFERENT", "bytes (SHA-256)"]);
    let said = compare(&world, &["--a", COPY, "--b", COPY, "--check", "none"]).ended(0);
    assert!(said.out.contains("Outputs: not checked."), "{}", said.out);
}

#[test]
fn a_side_that_fails_in_its_third_run_keeps_two_rows() {
    let world = world();
    let counted = world.path("count");
    let failing = format!(
        "cat {{input}} > {{output}}/x; echo >> {0}; test $(wc -l < {0}) -lt 4 || {{ echo the disk is on fire >&2; exit 7; }}",
        counted.display()
    );
    compare(&world, &["--a", COPY, "--b", &failing, "--report", "kept"])
        .ended(1)
        .says(&[
            "side \"B\" failed in run 3",
            "exit status: 7",
            "the disk is on fire",
            "(2 rows are kept)",
        ]);
    let csv = text(&world, "kept/compare-1.csv");
    let rows = |side: &str| csv.lines().filter(|line| line.starts_with(side)).count();
    assert_eq!((rows("A,"), rows("B,")), (4, 2));
}

#[test]
fn a_side_that_prints_megabytes_hangs_or_leaves_processes_is_told() {
    let world = world();
    let prints = format!("{COPY}; head -c 3000000 /dev/zero | tr '\\0' 'p'");
    compare(&world, &["--a", COPY, "--b", &prints]).ended(0);
    let hangs = format!("{COPY}; exec tail -f /dev/null");
    compare(&world, &["--a", COPY, "--b", &hangs, "--timeout", "2"])
        .ended(1)
        .says(&["side \"B\" failed in warm-up 1", "killed after 2000 ms"]);
    let forks = format!("{COPY}; tail -f /dev/null > /dev/null 2>&1 &");
    compare(&world, &["--a", COPY, "--b", &forks])
        .ended(1)
        .says(&["side \"B\" failed in warm-up 1", "of its processes running"]);
}

#[test]
fn nothing_to_measure_is_refused() {
    let world = world();
    let said = world.yeoul(&[
        "bench",
        "compare",
        "입력 '1'.bin",
        "--a",
        COPY,
        "--b",
        COPY,
        "--runs",
        "0",
    ]);
    said.ended(1).says(&["0 runs show nothing"]);
    compare(&world, &["--a", COPY, "--aa", "0"])
        .ended(1)
        .says(&["0 comparisons show nothing"]);
    compare(&world, &["--a", COPY]).ended(2).says(&["--b"]);
    compare(&world, &["--a", COPY, "--b", COPY, "--scope", "wrote"])
        .ended(2)
        .says(&["is no part of a scope"]);
    compare(&world, &["--a", COPY, "--planted", "-5%"]).ended(2);
}

#[test]
fn series_say_how_many_intervals_hold_what_is_known() {
    let world = world();
    let said = compare(&world, &["--a", COPY, "--aa", "3", "--report", "aa"]).ended(0);
    assert!(
        said.out
            .contains(" of 3 intervals contain 1.0; median width "),
        "{}",
        said.out
    );
    assert_eq!(text(&world, "aa/series.csv").lines().count(), 2 + 3);
    // So much that no noise hides it: eleven times the work.
    let said = compare(
        &world,
        &["--a", COPY, "--planted", "1000%", "--times", "2", "--json"],
    )
    .ended(0);
    let json = said.json();
    let sentence = json["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("are found in 2 of 2 comparisons"),
        "{sentence}"
    );
}
