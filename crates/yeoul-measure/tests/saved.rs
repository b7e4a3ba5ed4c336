//! Saved results: loaded, merged, or refused with the reason.
#![allow(clippy::unwrap_used)]

use yeoul_measure::{Report, SavedError, across};

mod support;

use support::{comparison, pair, run, simulated};

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
