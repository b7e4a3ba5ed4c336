use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{CompareError, Comparison, Order, Outputs};
use crate::evidence::{Evidence, Refusal, check};
use crate::output::{empty, files_in, tree_sha256};
use crate::report::{End, Row, SideReport};
use crate::rng::SplitMix64;
use crate::side::{RunContext, Side, SideError};
use crate::stage::nanoseconds;
use crate::usage::counts_dirtied;

/// A comparison while it runs.
pub(super) struct Rounds<'c, 'a> {
    comparison: &'c Comparison<'a>,
    counts_dirtied: bool,
    /// Output SHA-256 → what the equivalence check made of it.
    digests: HashMap<String, String>,
    lanes: Vec<Lane>,
    pub(super) reports: Vec<SideReport>,
}

/// Why a single run gave no row.
enum Stop {
    Failed(SideError),
    Unchecked(String),
    Refused(Refusal),
}

impl<E: Into<SideError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl<'c, 'a> Rounds<'c, 'a> {
    pub(super) fn new(
        comparison: &'c Comparison<'a>,
        folder: &Path,
        sides: &[Box<dyn Side + '_>],
    ) -> Result<Self, CompareError> {
        let reports = sides
            .iter()
            .map(|side| SideReport::new(side.name().to_owned(), side.scope()));
        Ok(Self {
            comparison,
            counts_dirtied: counts_dirtied(folder)?,
            digests: HashMap::new(),
            lanes: lanes(folder, sides.len(), comparison.outputs),
            reports: reports.collect(),
        })
    }

    /// All warm-ups and runs. Ends early, with who and why, when a side is refused.
    pub(super) fn all(
        &mut self,
        sides: &mut [Box<dyn Side + '_>],
        observe: &mut dyn FnMut(&Row),
    ) -> Result<Option<(String, usize, Refusal)>, CompareError> {
        for lane in &self.lanes {
            empty(&lane.output)?;
        }
        let mut rng = SplitMix64::new(self.comparison.bootstrap.seed);
        let warm_ups = (1..=self.comparison.warm_ups).map(|run| (run, true));
        for (run, warm_up) in warm_ups.chain((1..=self.comparison.runs).map(|run| (run, false))) {
            let mut turns: Vec<usize> = (0..sides.len()).collect();
            if self.comparison.order == Order::Random {
                rng.shuffle(&mut turns);
            }
            for (position, index) in turns.into_iter().enumerate() {
                if self.reports[index].end != End::Completed {
                    continue;
                }
                match self.one(index, sides[index].as_mut(), run, position, warm_up) {
                    Ok(Some(row)) => {
                        observe(&row);
                        self.reports[index].rows.push(row);
                    }
                    Ok(None) => {}
                    Err(Stop::Failed(error)) => self.fail(index, run, warm_up, error.to_string()),
                    Err(Stop::Unchecked(error)) => self.fail(index, run, warm_up, error),
                    Err(Stop::Refused(refusal)) => {
                        return Ok(Some(self.refuse(index, run, refusal)));
                    }
                }
            }
        }
        Ok(None)
    }

    fn fail(&mut self, index: usize, run: usize, warm_up: bool, error: String) {
        self.reports[index].end = End::Failed {
            run,
            warm_up,
            error,
        };
    }

    fn refuse(&mut self, index: usize, run: usize, refusal: Refusal) -> (String, usize, Refusal) {
        let name = self.reports[index].name.clone();
        for report in &mut self.reports {
            if report.end == End::Completed {
                report.end = End::Stopped {
                    reason: format!("side \"{name}\" was refused in run {run}: {refusal}"),
                };
            }
        }
        (name, run, refusal)
    }

    fn one(
        &mut self,
        index: usize,
        side: &mut dyn Side,
        run: usize,
        position: usize,
        warm_up: bool,
    ) -> Result<Option<Row>, Stop> {
        let comparison = self.comparison;
        let fresh = comparison.outputs == Outputs::Fresh;
        let lane = &mut self.lanes[index];
        if fresh {
            empty(&lane.output)?;
        }
        empty(&lane.check)?;
        let context = RunContext {
            run,
            warm_up,
            inputs: &comparison.inputs,
            output: &lane.output,
            check: &lane.check,
        };
        let record = side.run(&context)?;
        if warm_up {
            lane.warm_up_read = Some(record.usage.io.rchar);
            return Ok(None);
        }
        let outputs = files_in(&lane.output)?;
        let evidence = Evidence {
            usage: record.usage,
            began: record.began,
            outputs: &outputs,
            fresh,
            read_floor: comparison.floor(),
            counts_dirtied: self.counts_dirtied,
            warm_up_read: lane.warm_up_read,
        };
        check(side.scope(), &evidence).map_err(Stop::Refused)?;
        let (output_sha256, digest) = self.digest(index)?;
        Ok(Some(Row {
            side: side.name().to_owned(),
            run,
            position,
            elapsed_ns: nanoseconds(record.elapsed),
            usage: record.usage,
            stages: record.stages,
            output_files: outputs.len(),
            output_bytes: outputs.iter().map(|file| file.bytes).sum(),
            output_sha256,
            digest,
        }))
    }

    /// SHA-256 of what the run made, and the check's digest of it: asked once for the same bytes.
    fn digest(&mut self, index: usize) -> Result<(Option<String>, Option<String>), Stop> {
        let lane = &self.lanes[index];
        let made = if files_in(&lane.check)?.is_empty() {
            &lane.output
        } else {
            &lane.check
        };
        if files_in(made)?.is_empty() {
            return Ok((None, None));
        }
        let sum = tree_sha256(made)?;
        let Some(equivalence) = self.comparison.equivalence else {
            return Ok((Some(sum), None));
        };
        if let Some(known) = self.digests.get(&sum) {
            return Ok((Some(sum), Some(known.clone())));
        }
        let digest = equivalence.digest(made).map_err(|error| {
            Stop::Unchecked(format!(
                "the outputs cannot be checked by {}: {error}",
                equivalence.name()
            ))
        })?;
        self.digests.insert(sum.clone(), digest.clone());
        Ok((Some(sum), Some(digest)))
    }
}
struct Lane {
    output: PathBuf,
    check: PathBuf,
    warm_up_read: Option<u64>,
}

/// New outputs of all sides go to one folder in turn: two folders may lie on differently fast parts of a disk. What is
/// overwritten must be the side's own.
fn lanes(folder: &Path, sides: usize, outputs: Outputs) -> Vec<Lane> {
    let lane = |index| {
        let output = match outputs {
            Outputs::Fresh => folder.join("output"),
            Outputs::Overwritten => folder.join(format!("output-{index}")),
        };
        Lane {
            output,
            check: folder.join("check"),
            warm_up_read: None,
        }
    };
    (0..sides).map(lane).collect()
}
