//! The comparison as a whole, with sides whose times are made up: nothing here depends on how quiet the machine is.

use std::fs;
use std::time::{Duration, SystemTime};

use yeoul_measure::equivalence::{Bytes, Named};
use yeoul_measure::record::{COLUMNS, Csv};
use yeoul_measure::{
    CompareError, Comparison, End, Input, Order, Report, Row, RunContext, RunRecord, SavedError,
    Scope, Side, SideError, StageTimes, Usage, Verdict, across,
};

/// A side that takes the time that it is told, and leaves for the check what it is told.
struct Simulated {
    name: &'static str,
    scope: Scope,
    ns: fn(usize) -> u64,
    made: fn(usize) -> &'static str,
    fails_in: Option<usize>,
}

fn simulated(name: &'static str, ns: fn(usize) -> u64) -> Simulated {
    Simulated {
        name,
        scope: Scope {
            work: true,
            ..Scope::default()
        },
        ns,
        made: |_| "같은 것",
        fails_in: None,
    }
}

impl Side for Simulated {
    fn name(&self) -> &str {
        self.name
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn run(&mut self, run: &RunContext<'_>) -> Result<RunRecord, SideError> {
        if self.fails_in == Some(run.run) && !run.warm_up {
            return Err(SideError::Work("the disk is full".into()));
        }
        fs::write(run.check.join("made"), (self.made)(run.run)).unwrap();
        Ok(RunRecord {
            elapsed: Duration::from_nanos((self.ns)(run.run)),
            began: SystemTime::now(),
            usage: Usage::default(),
            stages: StageTimes::default(),
        })
    }
}

fn comparison(folder: &tempfile::TempDir) -> Comparison<'static> {
    let path = folder.path().join("녹화.mp4");
    fs::write(&path, "input").unwrap();
    let mut comparison = Comparison::new(
        "A and B",
        vec![Input::of(path).unwrap()],
        folder.path().join("work"),
    );
    comparison.equivalence = Some(&Bytes);
    comparison.runs = 50;
    comparison
}

fn run(comparison: &Comparison<'_>, sides: Vec<Simulated>) -> Result<Report, CompareError> {
    let mut sides: Vec<Box<dyn Side>> = sides
        .into_iter()
        .map(|side| Box::new(side) as Box<dyn Side>)
        .collect();
    comparison.run(&mut sides, &mut |_| {})
}

fn pair() -> Vec<Simulated> {
    vec![
        simulated("A", |run| 1000 + run as u64),
        simulated("B", |run| 2000 + 2 * run as u64),
    ]
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let none = Comparison {
        runs: 0,
        ..comparison(&folder)
    };
    assert!(matches!(
        run(&none, pair()).unwrap_err(),
        CompareError::NoRuns
    ));
    assert!(matches!(
        run(&comparison(&folder), vec![]).unwrap_err(),
        CompareError::NoSides
    ));
    let twice = vec![simulated("A", |_| 1), simulated("A", |_| 1)];
    assert!(
        matches!(run(&comparison(&folder), twice).unwrap_err(), CompareError::SameName(name) if name == "A")
    );
}

#[test]
fn pairs_are_of_the_same_round_and_the_first_side_is_the_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(&comparison(&folder), pair()).unwrap();
    let ratio = &report.ratios[0];
    assert_eq!((ratio.side.as_str(), ratio.baseline.as_str()), ("B", "A"));
    let interval = ratio.interval;
    assert_eq!(
        (interval.pairs, interval.low, interval.median, interval.high),
        (50, 2.0, 2.0, 2.0)
    );
    assert_eq!(
        report.equivalence,
        Verdict::Equal {
            check: "bytes (SHA-256)".into()
        }
    );
    assert!(
        report.to_markdown().contains("2.00× as slow"),
        "{}",
        report.to_markdown()
    );
}

#[test]
fn order_is_as_given_or_shuffled_in_each_round_by_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    let positions = |order, seed| {
        let mut comparison = comparison(&folder);
        comparison.order = order;
        comparison.bootstrap.seed = seed;
        let report = run(&comparison, pair()).unwrap();
        report
            .side("A")
            .unwrap()
            .rows
            .iter()
            .map(|row| row.position)
            .collect::<Vec<_>>()
    };
    assert_eq!(positions(Order::Interleaved, 1), [0; 50]);
    let random = positions(Order::Random, 1);
    assert!(
        (15..=35).contains(&random.iter().sum::<usize>()),
        "{random:?}"
    );
    assert_eq!(positions(Order::Random, 1), random);
    assert_ne!(positions(Order::Random, 2), random);
}

#[test]
fn a_side_that_fails_in_run_37_keeps_36_rows_and_the_other_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut sides = pair();
    sides[1].fails_in = Some(37);
    let report = run(&comparison(&folder), sides).unwrap();
    let b = report.side("B").unwrap();
    assert_eq!(b.rows.len(), 36);
    assert_eq!(
        b.end,
        End::Failed {
            run: 37,
            warm_up: false,
            error: "the disk is full".into()
        }
    );
    assert_eq!(report.side("A").unwrap().rows.len(), 50);
    assert_eq!(report.ratios[0].interval.pairs, 36);
    let text = report.to_markdown();
    assert!(
        text.contains("**B: 36 of 50 runs.** It failed in run 37: the disk is full"),
        "{text}"
    );
}

#[test]
fn outputs_that_differ_between_runs_of_one_side_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut sides = pair();
    sides[1].made = |run| {
        if run.is_multiple_of(10) {
            "다른 것"
        } else {
            "같은 것"
        }
    };
    let report = run(&comparison(&folder), sides).unwrap();
    assert_eq!(
        report.side("B").unwrap().differing_runs,
        [10, 20, 30, 40, 50]
    );
    assert!(matches!(report.equivalence, Verdict::Different { .. }));
    let text = report.to_markdown();
    assert!(
        text.contains("**Outputs: DIFFERENT** by bytes (SHA-256): A: "),
        "{text}"
    );
    assert!(
        text.contains("**B does not always make the same bytes:** 5 of 50 runs"),
        "{text}"
    );
}

#[test]
fn without_a_check_the_report_says_not_checked_and_a_check_is_asked_once_for_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(
        &Comparison {
            equivalence: None,
            ..comparison(&folder)
        },
        pair(),
    )
    .unwrap();
    assert!(report.to_markdown().contains("Outputs: not checked."));
    let asked = std::cell::Cell::new(0);
    let check = Named::new("characters", |made| {
        asked.set(asked.get() + 1);
        Ok(fs::read_to_string(made.join("made"))?
            .chars()
            .count()
            .to_string())
    });
    let mut sides = pair();
    sides[1].made = |_| "다른 것";
    let report = run(
        &Comparison {
            equivalence: Some(&check),
            ..comparison(&folder)
        },
        sides,
    )
    .unwrap();
    assert_eq!(
        report.equivalence,
        Verdict::Equal {
            check: "characters".into()
        }
    );
    assert_eq!(asked.get(), 2);
}

#[test]
fn outputs_that_cannot_be_checked_end_the_side() {
    let folder = tempfile::tempdir().unwrap();
    let check = Named::new("packet hashes", |_| Err("no packets".into()));
    let report = run(
        &Comparison {
            equivalence: Some(&check),
            ..comparison(&folder)
        },
        pair(),
    )
    .unwrap();
    let End::Failed { run: 1, error, .. } = &report.sides[0].end else {
        panic!("{:?}", report.sides[0].end)
    };
    assert_eq!(
        error,
        "the outputs cannot be checked by packet hashes: no packets"
    );
    assert!(report.ratios.is_empty());
}

#[test]
fn unequal_scopes_are_refused_and_on_purpose_stand_in_every_title() {
    let folder = tempfile::tempdir().unwrap();
    let sides = || {
        let mut sides = pair();
        sides[1].scope = "start,work".parse().unwrap();
        sides
    };
    let error = run(&comparison(&folder), sides()).unwrap_err().to_string();
    assert!(
        error.starts_with("the sides do not measure the same: start (B only); "),
        "{error}"
    );
    let mut on_purpose = comparison(&folder);
    on_purpose.unequal_scope = true;
    let boxed: Vec<Box<dyn Side>> = sides()
        .into_iter()
        .map(|side| Box::new(side) as Box<dyn Side>)
        .collect();
    let title = "UNEQUAL SCOPE (start (B only)): A and B";
    assert_eq!(on_purpose.full_title(&boxed).unwrap(), title);
    // The flag allows unequal declarations, not false ones: B starts nothing.
    let CompareError::Refused { report, .. } = run(&on_purpose, sides()).unwrap_err() else {
        panic!()
    };
    assert!(report.to_csv().starts_with(&format!("# {title}\r\n")));
    assert!(report.to_markdown().starts_with(&format!("# {title}\n")));
    assert!(
        report
            .to_json()
            .unwrap()
            .contains(&format!("\"title\": \"{title}\""))
    );
    assert!(
        report
            .to_json()
            .unwrap()
            .contains("\"unequal_scope\": \"start (B only)\"")
    );
}

#[test]
fn rows_are_seen_as_they_come_and_the_csv_has_a_row_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut csv = Csv::begin(Vec::new(), "A, \"B\"\nand C").unwrap();
    let mut sides: Vec<Box<dyn Side>> = vec![Box::new(simulated("A, 1", |run| run as u64))];
    let report = comparison(&folder)
        .run(&mut sides, &mut |row: &Row| csv.row(row).unwrap())
        .unwrap();
    let text = String::from_utf8(csv.finish().unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 52);
    assert_eq!(lines[0], "# A, \"B\" and C");
    assert_eq!(lines[1], COLUMNS.join(","));
    assert!(
        lines[2].starts_with("\"A, 1\",1,0,1,0,0,,,0,"),
        "{}",
        lines[2]
    );
    assert_eq!(lines[51].matches(',').count(), COLUMNS.len());
    assert_eq!(
        report.to_csv().lines().skip(1).collect::<Vec<_>>(),
        lines[1..]
    );
    assert!(report.ratios.is_empty());
}

#[test]
fn a_saved_report_is_loaded_as_it_was_and_another_version_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(&comparison(&folder), pair()).unwrap();
    let json = report.to_json().unwrap();
    assert_eq!(Report::from_json(&json).unwrap(), report);
    let newer = json.replacen("\"format\": 1", "\"format\": 9", 1);
    assert!(matches!(
        Report::from_json(&newer).unwrap_err(),
        SavedError::Format { found: 9 }
    ));
    assert!(matches!(
        Report::from_json("{}").unwrap_err(),
        SavedError::Json(_)
    ));
}

#[test]
fn two_runs_of_the_same_comparison_merge_into_one_with_all_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let one = run(&comparison(&folder), pair()).unwrap();
    let merged = one.clone().merge(one.clone()).unwrap();
    assert_eq!(merged.ratios[0].interval.pairs, 100);
    assert_eq!(merged.side("B").unwrap().rows[99].run, 100);
    assert_eq!(merged.side("A").unwrap().elapsed_ns.unwrap().n, 100);
    assert_eq!(merged.equivalence, one.equivalence);
}

#[test]
fn what_was_not_measured_alike_is_not_merged_and_it_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let one = run(&comparison(&folder), pair()).unwrap();
    let said = |change: fn(&mut Report)| {
        let mut two = one.clone();
        change(&mut two);
        one.clone().merge(two).unwrap_err().to_string()
    };
    let inputs = said(|two| two.inputs[0].sha256 = "other".into());
    assert!(
        inputs.starts_with("not merged: the inputs are not the same ("),
        "{inputs}"
    );
    let cores = said(|two| two.environment.machine.cores = 99);
    assert!(
        cores.starts_with("not merged: the machines are not the same: cores: "),
        "{cores}"
    );
    let scope = said(|two| two.sides[1].scope.write = true);
    assert_eq!(
        scope,
        "not merged: the scopes are not the same: B: write (the other only)"
    );
    let sides = said(|two| two.sides[1].name = "C".into());
    assert_eq!(
        sides,
        "not merged: the sides are not the same (A, B in one, A, C in the other)"
    );
    let outputs = said(|two| two.outputs = yeoul_measure::Outputs::Overwritten);
    assert_eq!(
        outputs,
        "not merged: where outputs go differs (Fresh in one, Overwritten in the other)"
    );
    let floor = said(|two| two.read_floor = 1);
    assert_eq!(
        floor,
        "not merged: how much must be read differs (5 in one, 1 in the other)"
    );
}

#[test]
fn sides_of_different_results_are_compared_unpaired_and_the_title_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let one = run(&comparison(&folder), pair()).unwrap();
    let two = run(
        &comparison(&folder),
        vec![simulated("C", |run| 500 + run as u64)],
    )
    .unwrap();
    let across_both = across((&two, "C"), (&one, "A"), false).unwrap();
    assert_eq!(
        across_both.title,
        "C ÷ A, from separate runs (not interleaved)"
    );
    assert!(across_both.interval.high < 1.0);
    let error = across((&two, "D"), (&one, "A"), false)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "there is no run of a side \"D\"; the sides are: C");
    let mut wider = two.clone();
    wider.sides[0].scope.fsync = true;
    assert!(matches!(
        across((&wider, "C"), (&one, "A"), false).unwrap_err(),
        SavedError::Scope(_)
    ));
    let marked = across((&wider, "C"), (&one, "A"), true).unwrap().title;
    assert!(
        marked.starts_with("UNEQUAL SCOPE (fsync (C only)): C ÷ A"),
        "{marked}"
    );
}
