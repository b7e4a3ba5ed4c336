//! The concurrency measurement with a real worker: this program itself, started again by the harness. It has no test
//! harness of its own, because that would print among the worker's lines.
#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::time::Duration;

use yeoul_measure::concurrency::protocol::LEVEL;
use yeoul_measure::concurrency::{
    Case, Concurrency, ConcurrencyError, ConcurrencyReport, Task, work,
};
use yeoul_measure::output::sha256;

const CASES: [&str; 2] = ["방송", "six-audio"];

fn main() {
    if std::env::var_os(LEVEL).is_some() {
        let case = std::env::args().nth(1).unwrap_or_default();
        if let Err(error) = worker(&case) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        return;
    }
    let tests: [(&str, fn()); 5] = [
        (
            "every_level_of_every_case_is_measured",
            every_level_of_every_case_is_measured,
        ),
        (
            "failing_workers_are_named_and_the_others_count",
            failing_workers_are_named_and_the_others_count,
        ),
        (
            "nothing_to_measure_is_refused",
            nothing_to_measure_is_refused,
        ),
        (
            "the_cap_on_cores_holds_in_the_worker_and_ends_with_the_run",
            the_cap_on_cores_holds,
        ),
        (
            "order_is_shuffled_within_rounds_and_repeatable",
            order_is_shuffled_within_rounds_and_repeatable,
        ),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

fn worker(case: &str) -> Result<(), Box<dyn std::error::Error>> {
    let cores = std::thread::available_parallelism()?.get();
    let sum = |text: String| Ok(sha256(text.as_bytes()));
    match case {
        "prints" => println!("hello"),
        "hangs" => loop {
            std::thread::park();
        },
        _ => {}
    }
    work(
        |call| match (case, call) {
            ("fails", 3) => Err("call three is broken".into()),
            ("wrong", 3) => Ok("something else".to_owned()),
            ("cores", _) => Ok(cores.to_string()),
            _ => Ok(case.to_owned()),
        },
        sum,
    )?;
    Ok(())
}

fn concurrency(cases: &[&str]) -> Concurrency {
    let case = |name: &&str| Case {
        name: (*name).to_owned(),
        expected_sha256: sha256(name.as_bytes()),
    };
    Concurrency {
        levels: vec![2, 1, 4],
        processes: 3,
        calls: 20,
        ..Concurrency::new("a worker that hashes", cases.iter().map(case).collect())
    }
}

fn itself(task: &Task) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(&task.case);
    command
}

fn run(concurrency: &Concurrency) -> ConcurrencyReport {
    concurrency.run(&mut itself, &mut |_| {}).unwrap()
}

fn every_level_of_every_case_is_measured() {
    let mut seen = 0;
    let report = concurrency(&CASES)
        .run(&mut itself, &mut |_| seen += 1)
        .unwrap();
    assert_eq!(
        (seen, report.runs.len(), report.failures.len()),
        (18, 18, 0)
    );
    let levels: Vec<(&str, usize)> = report
        .levels
        .iter()
        .map(|level| (level.case.as_str(), level.point.level))
        .collect();
    assert_eq!(
        levels,
        [
            ("방송", 1),
            ("방송", 2),
            ("방송", 4),
            ("six-audio", 1),
            ("six-audio", 2),
            ("six-audio", 4)
        ]
    );
    for level in &report.levels {
        assert_eq!(level.processes, 3);
        assert!(level.point.throughput > 0.0);
        assert!(
            (100 << 10..64 << 20).contains(&level.peak_rss_max),
            "{level:?}"
        );
        assert!(level.point.peak_rss_median <= level.peak_rss_max);
    }
    assert_eq!(report.knees.len(), 2);
    let text = report.to_markdown();
    assert!(
        text.contains(
            "- 3 independent processes a level, 20 calls each, all cores; 360 calls in all"
        ),
        "{text}"
    );
    assert!(text.contains(&report.knees[0].1.sentence), "{text}");
    let csv = report.to_csv();
    assert_eq!(csv.lines().count(), 20);
    let columns = csv.lines().nth(1).unwrap().matches(',').count();
    assert!(
        csv.lines()
            .skip(2)
            .all(|line| line.matches(',').count() == columns)
    );
    assert!(report.to_json().unwrap().contains("median_of_p95_ns"));
}

fn failing_workers_are_named_and_the_others_count() {
    let mut concurrency = concurrency(&["fails", "wrong", "prints", "hangs", "방송"]);
    (concurrency.levels, concurrency.processes) = (vec![2], 1);
    concurrency.timeout = Duration::from_secs(10);
    let report = run(&concurrency);
    let error = |case: &str| {
        report
            .failures
            .iter()
            .find(|failure| failure.case == case)
            .unwrap()
            .error
            .clone()
    };
    assert!(
        error("fails").ends_with("call 3: call three is broken"),
        "{}",
        error("fails")
    );
    let wrong = "1 of 20 outputs are not the expected one; the first is of call 3: ";
    assert!(error("wrong").starts_with(wrong), "{}", error("wrong"));
    assert!(
        error("prints").starts_with("line 1 is none of the worker protocol"),
        "{}",
        error("prints")
    );
    assert!(
        error("hangs").starts_with("killed after 10000 ms without an end"),
        "{}",
        error("hangs")
    );
    assert_eq!(report.runs.len(), 1);
    assert_eq!(
        report
            .knees
            .iter()
            .map(|(case, _)| case.as_str())
            .collect::<Vec<_>>(),
        ["방송"]
    );
    assert!(
        report
            .to_markdown()
            .contains("**FAILED:** wrong, 2 at once, process 1: ")
    );
}

fn nothing_to_measure_is_refused() {
    let none = |change: fn(&mut Concurrency)| {
        let mut concurrency = concurrency(&CASES);
        change(&mut concurrency);
        match concurrency.run(&mut itself, &mut |_| {}).unwrap_err() {
            ConcurrencyError::Nothing(what) => what,
            other => panic!("{other}"),
        }
    };
    assert_eq!(none(|c| c.calls = 0), "the number of calls");
    assert_eq!(none(|c| c.processes = 0), "the number of processes");
    assert_eq!(none(|c| c.levels = vec![1, 0]), "a level");
    assert_eq!(none(|c| c.levels.clear()), "the number of levels");
    assert_eq!(none(|c| c.cases.clear()), "the number of inputs");
    assert_eq!(none(|c| c.cores = Some(0)), "the number of cores");
}

fn the_cap_on_cores_holds() {
    let before = std::thread::available_parallelism().unwrap();
    let mut concurrency = concurrency(&["cores"]);
    concurrency.cases[0].expected_sha256 = sha256(b"1");
    (concurrency.levels, concurrency.processes, concurrency.cores) = (vec![1], 1, Some(1));
    let report = run(&concurrency);
    assert_eq!(report.failures, []);
    assert_eq!(std::thread::available_parallelism().unwrap(), before);
}

fn order_is_shuffled_within_rounds_and_repeatable() {
    let order = |seed| {
        let concurrency = Concurrency {
            seed,
            calls: 1,
            ..concurrency(&CASES)
        };
        let runs = run(&concurrency).runs;
        runs.into_iter()
            .map(|run| (run.process, run.case, run.level))
            .collect::<Vec<_>>()
    };
    let first = order(1);
    assert!(first.is_sorted_by_key(|(process, ..)| *process));
    assert_eq!(first, order(1));
    assert_ne!(first, order(2));
}
