//! Sides that lie about what their time includes. Each of them gives the right output, and each is refused.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use yeoul_measure::equivalence::Bytes;
use yeoul_measure::usage::counts_dirtied;
use yeoul_measure::{
    ClosureSide, CommandSide, CompareError, Comparison, Input, Meter, Outputs, Refusal, Report,
    RunContext, Side,
};

const LENGTH: usize = 300_000;

/// The counters are the whole process's, so it runs one test after another and prints only in between: the usual test
/// harness prints from a thread of its own.
fn main() {
    let tests: [(&str, fn()); 9] = [
        (
            "honest_sides_of_both_kinds_pass",
            honest_sides_of_both_kinds_pass,
        ),
        (
            "a_side_that_wrote_its_output_before_the_clock_started_is_refused",
            a_side_that_wrote_its_output_before_the_clock_started_is_refused,
        ),
        (
            "an_early_output_is_refused_even_if_as_much_is_written_elsewhere_meanwhile",
            an_early_output_is_refused_even_if_as_much_is_written_elsewhere_meanwhile,
        ),
        ("links_are_refused_by_name", links_are_refused_by_name),
        (
            "bytes_that_went_into_the_void_are_not_the_output",
            bytes_that_went_into_the_void_are_not_the_output,
        ),
        (
            "a_side_that_keeps_the_input_from_its_warm_up_is_refused",
            a_side_that_keeps_the_input_from_its_warm_up_is_refused,
        ),
        (
            "nothing_written_is_not_write_and_something_written_is",
            nothing_written_is_not_write_and_something_written_is,
        ),
        (
            "reading_and_starting_must_be_declared",
            reading_and_starting_must_be_declared,
        ),
        (
            "a_command_that_does_not_do_what_it_declares_is_refused_too",
            a_command_that_does_not_do_what_it_declares_is_refused_too,
        ),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

/// A folder with an input and a place for outputs.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("input"), vec![b'y'; LENGTH]).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn comparison(&self) -> Comparison<'static> {
        let inputs = vec![Input::of(self.path("input")).unwrap()];
        let mut comparison = Comparison::new("a lie", inputs, self.path("work"));
        comparison.runs = 3;
        comparison.warm_ups = 1;
        comparison.equivalence = Some(&Bytes);
        comparison
    }
}

/// What an honest side does.
fn copy(run: &RunContext<'_>, _: &mut Meter) -> Result<(), yeoul_measure::side::BoxError> {
    fs::copy(&run.inputs[0].path, run.output.join("copy"))?;
    Ok(())
}

fn honest<'a>() -> Box<dyn Side + 'a> {
    Box::new(ClosureSide::new(
        "honest",
        "read,work,write".parse().unwrap(),
        copy,
    ))
}

fn refusal(
    comparison: &Comparison<'_>,
    liar: Box<dyn Side + '_>,
) -> (Refusal, String, Box<Report>) {
    let error = comparison
        .run(&mut [honest(), liar], &mut |_| {})
        .unwrap_err();
    let said = error.to_string();
    match error {
        CompareError::Refused {
            side,
            refusal,
            report,
            ..
        } => {
            assert_eq!(side, "liar");
            (refusal, said, report)
        }
        other => panic!("not refused as a lie: {other}"),
    }
}

fn liar<'a>(
    scope: &str,
    timed: impl FnMut(&RunContext<'_>, &mut Meter) -> Result<(), yeoul_measure::side::BoxError> + 'a,
) -> ClosureSide<'a> {
    ClosureSide::new("liar", scope.parse().unwrap(), timed)
}

fn only_read(run: &RunContext<'_>) -> Result<(), yeoul_measure::side::BoxError> {
    read_input(run);
    Ok(())
}

fn read_input(run: &RunContext<'_>) -> Vec<u8> {
    fs::read(&run.inputs[0].path).unwrap()
}

fn honest_sides_of_both_kinds_pass() {
    let place = Place::new();
    for outputs in [Outputs::Fresh, Outputs::Overwritten] {
        let again = liar("read,work,write", |run, _| {
            Ok(fs::write(run.output.join("copy"), read_input(run))?)
        });
        let comparison = Comparison {
            outputs,
            ..place.comparison()
        };
        let report = comparison
            .run(&mut [honest(), Box::new(again)], &mut |_| {})
            .unwrap();
        assert_eq!(report.ratios[0].interval.pairs, 3);
    }
    let command = |name: &'static str| -> Box<dyn Side> {
        Box::new(CommandSide::new(
            name,
            "start,read,work,write".parse().unwrap(),
            |run: &RunContext<'_>| {
                let mut command = Command::new("cp");
                command
                    .arg(&run.inputs[0].path)
                    .arg(run.output.join("copy"));
                command
            },
        ))
    };
    place
        .comparison()
        .run(&mut [command("one"), command("two")], &mut |_| {})
        .unwrap();
}

fn a_side_that_wrote_its_output_before_the_clock_started_is_refused() {
    let place = Place::new();
    let early = |run: &RunContext<'_>| fs::write(run.output.join("copy"), read_input(run));
    let side = liar("read,work,write", |run, _| only_read(run)).before(move |run| Ok(early(run)?));
    let (refusal, said, report) = refusal(&place.comparison(), Box::new(side));
    assert_eq!(
        refusal,
        Refusal::WroteTooLittle {
            output: LENGTH as u64,
            written: 0
        }
    );
    assert!(said.starts_with(
        "side \"liar\", run 1 (declares read+work+write): declares write and left 300000 bytes"
    ));
    assert!(report.ratios.is_empty());
}

fn an_early_output_is_refused_even_if_as_much_is_written_elsewhere_meanwhile() {
    let place = Place::new();
    let kept = place.path("kept");
    fs::write(&kept, vec![b'y'; LENGTH]).unwrap();
    let spare = RefCell::new(0);
    let side = liar("read,work,write", |run, _| {
        fs::write(place.path("junk"), read_input(run))?;
        *spare.borrow_mut() += 1;
        Ok(fs::rename(
            place.path(&format!("spare-{}", spare.borrow())),
            run.output.join("copy"),
        )?)
    });
    // One for each run, written a minute before as its own time says.
    let old = SystemTime::now() - Duration::from_secs(60);
    for number in 1..=9 {
        let path = place.path(&format!("spare-{number}"));
        fs::copy(&kept, &path).unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    let comparison = Comparison {
        outputs: Outputs::Overwritten,
        ..place.comparison()
    };
    let (refusal, said, _) = refusal(&comparison, Box::new(side));
    assert!(matches!(refusal, Refusal::OlderThanRun { .. }), "{said}");
    assert!(said.contains("its output copy is 60"), "{said}");
}

fn links_are_refused_by_name() {
    let place = Place::new();
    fs::write(place.path("kept"), vec![b'y'; LENGTH]).unwrap();
    let link = |run: &RunContext<'_>, how: fn(&Path, &Path) -> std::io::Result<()>| {
        fs::write(place.path("junk"), read_input(run))?;
        how(&place.path("kept"), &run.output.join("copy"))
    };
    let hard = liar("read,work,write", |run, _| {
        Ok(link(run, |from, to| fs::hard_link(from, to))?)
    });
    let (refused, _, _) = refusal(&place.comparison(), Box::new(hard));
    assert!(
        matches!(refused, Refusal::HardLink { links, .. } if links == 2),
        "{refused}"
    );
    let soft = liar("read,work,write", |run, _| {
        Ok(link(run, |from, to| std::os::unix::fs::symlink(from, to))?)
    });
    let (refused, said, _) = refusal(&place.comparison(), Box::new(soft));
    assert_eq!(
        refused,
        Refusal::SymbolicLink {
            path: "copy".into()
        }
    );
    assert!(said.ends_with("its output copy is a symbolic link: no bytes of it were written"));
}

fn bytes_that_went_into_the_void_are_not_the_output() {
    let place = Place::new();
    if !counts_dirtied(place.folder.path()).unwrap() {
        return;
    }
    let early = |run: &RunContext<'_>| fs::write(run.output.join("copy"), read_input(run));
    let side = liar("read,work,write", |run, _| {
        Ok(fs::write("/dev/null", read_input(run))?)
    })
    .before(move |run| Ok(early(run)?));
    let (refusal, said, _) = refusal(&place.comparison(), Box::new(side));
    assert_eq!(
        refusal,
        Refusal::SharedBlocks {
            output: LENGTH as u64,
            dirtied: 0
        },
        "{said}"
    );
}

fn a_side_that_keeps_the_input_from_its_warm_up_is_refused() {
    let place = Place::new();
    let mut kept: Option<Vec<u8>> = None;
    let side = liar("read,work,write", move |run, _| {
        let bytes = kept.get_or_insert_with(|| read_input(run));
        Ok(fs::write(run.output.join("copy"), bytes)?)
    });
    let (refusal, said, _) = refusal(&place.comparison(), Box::new(side));
    let floor = LENGTH as u64;
    assert_eq!(
        refusal,
        Refusal::NotRead {
            read: 0,
            floor,
            warm_up: Some(floor)
        }
    );
    assert!(
        said.contains("its warm-up read 300000: it keeps the inputs in memory"),
        "{said}"
    );
}

fn nothing_written_is_not_write_and_something_written_is() {
    let place = Place::new();
    let (refused, _, _) = refusal(
        &place.comparison(),
        Box::new(liar("read,work,write", |run, _| only_read(run))),
    );
    assert_eq!(refused, Refusal::NoOutput);
    let mut comparison = place.comparison();
    comparison.unequal_scope = true;
    let (refused, _, _) = refusal(&comparison, Box::new(liar("read,work", copy)));
    assert!(
        matches!(refused, Refusal::UndeclaredWrite { output, .. } if output == LENGTH as u64),
        "{refused}"
    );
}

fn reading_and_starting_must_be_declared() {
    let place = Place::new();
    let mut comparison = place.comparison();
    comparison.unequal_scope = true;
    let (refused, _, _) = refusal(&comparison, Box::new(liar("work,write", copy)));
    assert!(
        matches!(refused, Refusal::UndeclaredRead { read } if read == LENGTH as u64),
        "{refused}"
    );
    let (refused, _, _) = refusal(&comparison, Box::new(liar("start,read,work,write", copy)));
    assert_eq!(refused, Refusal::NothingStarted);
    let starts = liar("read,work,write", |run, _| {
        Command::new("cp")
            .arg(&run.inputs[0].path)
            .arg(run.output.join("copy"))
            .status()?;
        Ok(())
    });
    let (refused, _, _) = refusal(&comparison, Box::new(starts));
    assert_eq!(refused, Refusal::UndeclaredStart);
}

fn a_command_that_does_not_do_what_it_declares_is_refused_too() {
    let place = Place::new();
    let scope = "start,read,work,write".parse().unwrap();
    fs::write(place.path("kept"), vec![b'y'; LENGTH]).unwrap();
    let kept = place.path("kept");
    let link = CommandSide::new("liar", scope, |run: &RunContext<'_>| {
        let mut command = Command::new("sh");
        command.args(["-c", "cat \"$1\" > /dev/null; ln \"$2\" \"$3\"/copy", "sh"]);
        command.arg(&run.inputs[0].path).arg(&kept).arg(run.output);
        command
    });
    let honest = CommandSide::new("honest", scope, |run: &RunContext<'_>| {
        let mut command = Command::new("cp");
        command
            .arg(&run.inputs[0].path)
            .arg(run.output.join("copy"));
        command
    });
    let error = place
        .comparison()
        .run(&mut [Box::new(honest), Box::new(link)], &mut |_| {})
        .unwrap_err();
    assert!(
        matches!(
            error,
            CompareError::Refused {
                refusal: Refusal::HardLink { .. },
                ..
            }
        ),
        "{error}"
    );
}
