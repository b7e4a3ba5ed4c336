//! Sides whose times are made up.
#![allow(clippy::unwrap_used, unreachable_pub)]

use std::fs;
use std::time::{Duration, SystemTime};

use yeoul_measure::equivalence::Bytes;
use yeoul_measure::{
    CompareError, Comparison, Input, Report, RunContext, RunRecord, Scope, Side, SideError,
    StageTimes, Usage,
};

/// A side that takes the time that it is told, and leaves for the check what it is told.
pub struct Simulated {
    pub name: &'static str,
    pub scope: Scope,
    pub ns: fn(usize) -> u64,
    pub made: fn(usize) -> &'static str,
    pub fails_in: Option<usize>,
}

pub fn simulated(name: &'static str, ns: fn(usize) -> u64) -> Simulated {
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

pub fn comparison(folder: &tempfile::TempDir) -> Comparison<'static> {
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

pub fn run(comparison: &Comparison<'_>, sides: Vec<Simulated>) -> Result<Report, CompareError> {
    let mut sides: Vec<Box<dyn Side>> = sides
        .into_iter()
        .map(|side| Box::new(side) as Box<dyn Side>)
        .collect();
    comparison.run(&mut sides, &mut |_| {})
}

pub fn pair() -> Vec<Simulated> {
    vec![
        simulated("A", |run| 1000 + run as u64),
        simulated("B", |run| 2000 + 2 * run as u64),
    ]
}
