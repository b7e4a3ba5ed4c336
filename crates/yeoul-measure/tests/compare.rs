//! The comparison as a whole, with sides whose times are made up: nothing here depends on how quiet the machine is.
#![allow(clippy::unwrap_used)]

use std::fs;

use yeoul_measure::equivalence::Named;
use yeoul_measure::record::{COLUMNS, Csv};
use yeoul_measure::{CompareError, Comparison, End, Order, Row, Side, Verdict};

mod support;

use support::{comparison, pair, run, simulated};

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
