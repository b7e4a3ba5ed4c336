//! Sides side by side: in one run, over one scope, in an order that favours none.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment::{NoiseLimits, Probe};
use crate::equivalence::{Equivalence, Verdict};
use crate::evidence::Refusal;
use crate::output::{FileError, Input, failed};
use crate::ratio::Bootstrap;
use crate::report::{FORMAT, Report, Row, SideReport};
use crate::side::Side;
use crate::usage::UsageError;

mod rounds;

use rounds::Rounds;

/// In which order the sides take turns within a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As they were given: A B A B.
    Interleaved,
    /// Shuffled anew in each round, so that no side always follows another. The default.
    #[default]
    Random,
}

/// What a run finds in its output folder. Making a file and overwriting one cost differently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outputs {
    /// An empty folder: every output is a new file. The default.
    #[default]
    Fresh,
    /// What the side's run before left.
    Overwritten,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// N = 0.
    #[error("0 runs show nothing; ask for at least 1")]
    NoRuns,
    /// There is no side.
    #[error("there is no side to measure; give at least one")]
    NoSides,
    /// Two sides have one name.
    #[error("two sides are named \"{0}\"; rows could not be told apart")]
    SameName(String),
    /// Sides declare different scopes.
    #[error(
        "the sides do not measure the same: {0}; give them one scope, or compare unequal scopes on purpose \
         (--unequal-scope): the title will then say so"
    )]
    UnequalScope(String),
    /// A run contradicts its side's scope.
    #[error("side \"{side}\", run {run} (declares {}): {refusal}", scope_of(.report, .side))]
    Refused {
        /// The side.
        side: String,
        /// The run, from 1.
        run: usize,
        /// What contradicts.
        refusal: Refusal,
        /// All rows up to then. It has no ratios.
        report: Box<Report>,
    },
    /// The harness could not measure.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The harness could not handle a file of its own.
    #[error(transparent)]
    File(#[from] FileError),
}

fn scope_of(report: &Report, side: &str) -> String {
    report
        .side(side)
        .map_or_else(String::new, |side| side.scope.to_string())
}

/// What is compared and how. Fields may be set directly; [`Comparison::new`] has the defaults.
pub struct Comparison<'a> {
    /// What is compared.
    pub title: String,
    /// What the sides work on.
    pub inputs: Vec<Input>,
    /// A folder for outputs. `output`, `output-N` and `check` in it are emptied.
    pub folder: PathBuf,
    /// Timed runs of each side. Default 30.
    pub runs: usize,
    /// Runs of each side before those. Default 3.
    pub warm_ups: usize,
    /// Who goes first.
    pub order: Order,
    /// Whether outputs are new files.
    pub outputs: Outputs,
    /// How many bytes of the inputs a run with `read` in its scope must read. Default: all of them. A side that needs
    /// only some tracks of them reads less.
    pub read_floor: Option<u64>,
    /// How outputs are compared.
    pub equivalence: Option<&'a dyn Equivalence>,
    /// Whether sides of different scope may be compared.
    pub unequal_scope: bool,
    /// How intervals are made; its seed also gives the random order.
    pub bootstrap: Bootstrap,
    /// From where on the machine counts as noisy.
    pub noise_limits: NoiseLimits,
}

impl<'a> Comparison<'a> {
    /// A comparison with the defaults, with outputs below `folder`.
    pub fn new(title: impl Into<String>, inputs: Vec<Input>, folder: impl Into<PathBuf>) -> Self {
        Self {
            title: title.into(),
            inputs,
            folder: folder.into(),
            runs: 30,
            warm_ups: 3,
            order: Order::default(),
            outputs: Outputs::default(),
            read_floor: None,
            equivalence: None,
            unequal_scope: false,
            bootstrap: Bootstrap::default(),
            noise_limits: NoiseLimits::default(),
        }
    }

    /// Runs it. Each row is given to `observe` as soon as it is there, so that a caller can keep it.
    ///
    /// A side whose run fails ends there; its rows are kept and the report names the failure. The other sides go on.
    ///
    /// # Errors
    /// When the comparison would not be fair or cannot be measured. See [`CompareError`].
    pub fn run(
        &self,
        sides: &mut [Box<dyn Side + '_>],
        observe: &mut dyn FnMut(&Row),
    ) -> Result<Report, CompareError> {
        let unequal = self.admit(sides)?;
        let folder = prepared(&self.folder)?;
        let mut rounds = Rounds::new(self, &folder, sides)?;
        let probe = Probe::start(&folder)?;
        let refused = rounds.all(sides, observe)?;
        let mut report = self.report(rounds.reports, unequal, probe)?;
        match refused {
            Some((side, run, refusal)) => {
                report.ratios.clear();
                Err(CompareError::Refused {
                    side,
                    run,
                    refusal,
                    report: Box::new(report),
                })
            }
            None => Ok(report),
        }
    }

    fn admit(&self, sides: &[Box<dyn Side + '_>]) -> Result<Option<String>, CompareError> {
        if self.runs == 0 {
            return Err(CompareError::NoRuns);
        }
        let (first, others) = sides.split_first().ok_or(CompareError::NoSides)?;
        for (index, side) in sides.iter().enumerate() {
            if sides[..index]
                .iter()
                .any(|earlier| earlier.name() == side.name())
            {
                return Err(CompareError::SameName(side.name().to_owned()));
            }
        }
        let differences: Vec<String> = others
            .iter()
            .filter_map(|other| {
                first
                    .scope()
                    .difference(first.name(), other.scope(), other.name())
            })
            .collect();
        match differences.is_empty() {
            true => Ok(None),
            false if self.unequal_scope => Ok(Some(differences.join("; "))),
            false => Err(CompareError::UnequalScope(differences.join("; "))),
        }
    }

    /// The title as it will stand in every output: with the scopes' difference when `sides` have unequal ones.
    ///
    /// # Errors
    /// When these sides would not be compared.
    pub fn full_title(&self, sides: &[Box<dyn Side + '_>]) -> Result<String, CompareError> {
        Ok(self.titled(self.admit(sides)?.as_deref()))
    }

    fn titled(&self, unequal: Option<&str>) -> String {
        match unequal {
            Some(difference) => format!("UNEQUAL SCOPE ({difference}): {}", self.title),
            None => self.title.clone(),
        }
    }

    fn floor(&self) -> u64 {
        self.read_floor
            .unwrap_or_else(|| self.inputs.iter().map(|input| input.bytes).sum())
    }

    fn report(
        &self,
        sides: Vec<SideReport>,
        unequal: Option<String>,
        probe: Probe,
    ) -> Result<Report, CompareError> {
        let mut report = Report {
            format: FORMAT,
            title: self.titled(unequal.as_deref()),
            unequal_scope: unequal,
            inputs: self.inputs.clone(),
            read_floor: self.floor(),
            outputs: self.outputs,
            runs: self.runs,
            warm_ups: self.warm_ups,
            order: self.order,
            bootstrap: self.bootstrap,
            environment: probe.finish(self.noise_limits)?,
            equivalence: Verdict::NotChecked,
            sides,
            ratios: Vec::new(),
        };
        report.conclude(self.equivalence.map(Equivalence::name));
        Ok(report)
    }
}

fn prepared(folder: &Path) -> Result<PathBuf, FileError> {
    std::fs::create_dir_all(folder).map_err(failed("make", folder))?;
    std::fs::canonicalize(folder).map_err(failed("resolve", folder))
}
