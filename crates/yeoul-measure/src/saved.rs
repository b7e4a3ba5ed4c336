//! Saved results, loaded again: merged or compared only when they measured the same on the same machine.

use serde::{Deserialize, Serialize};

use crate::equivalence::Verdict;
use crate::ratio::{Bootstrap, Interval, unpaired};
use crate::report::{FORMAT, Report, Row, SideReport};

/// Why a saved result cannot be loaded, merged or compared.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It is no report.
    #[error("this is no saved result of yeoul-measure: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of another version.
    #[error(
        "the saved result has format {found}, this program reads format {FORMAT}; measure again"
    )]
    Format {
        /// The version that was found.
        found: u64,
    },
    /// They worked on different bytes.
    #[error("not merged: the inputs are not the same ({one} in one, {two} in the other)")]
    Inputs {
        /// SHA-256 sums of one.
        one: String,
        /// SHA-256 sums of the other.
        two: String,
    },
    /// They were made on different machines.
    #[error("not merged: the machines are not the same: {0}")]
    Machine(String),
    /// Their times include different things.
    #[error("not merged: the scopes are not the same: {0}")]
    Scope(String),
    /// They do not have the same sides.
    #[error("not merged: the sides are not the same ({one} in one, {two} in the other)")]
    Sides {
        /// Names of one.
        one: String,
        /// Names of the other.
        two: String,
    },
    /// They were made under different conditions.
    #[error("not merged: {what} differs ({one} in one, {two} in the other)")]
    Condition {
        /// Which condition.
        what: &'static str,
        /// In the one.
        one: String,
        /// In the other.
        two: String,
    },
    /// A side that was asked for is not there, or has no run.
    #[error("there is no run of a side \"{name}\"; the sides are: {known}")]
    NoSuchSide {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

/// A side of one saved result over a side of another. They did not take turns: what changed on the machine between the
/// two is in the ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Across {
    /// Says what is compared, that it was not interleaved, and unequal scopes.
    pub title: String,
    /// The side above.
    pub side: String,
    /// The side below.
    pub baseline: String,
    /// The ratio of the medians, unpaired.
    pub interval: Interval,
}

impl Report {
    /// Reads what [`Report::to_json`] wrote.
    ///
    /// # Errors
    /// When it is something else, or of another version.
    pub fn from_json(text: &str) -> Result<Self, SavedError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(FORMAT) => Err(SavedError::Format { found }),
            _ => Ok(serde_json::from_value(value)?),
        }
    }

    /// Adds the rows of `other`, a later run of the same comparison; its runs are numbered on. The environment stays
    /// that of `self`, with the noise of both.
    ///
    /// # Errors
    /// When inputs, machine, sides, scopes or conditions are not the same.
    pub fn merge(mut self, other: Self) -> Result<Self, SavedError> {
        comparable(&self, &other)?;
        let names = |report: &Self| {
            let mut names: Vec<String> =
                report.sides.iter().map(|side| side.name.clone()).collect();
            names.sort();
            names.join(", ")
        };
        let (one, two) = (names(&self), names(&other));
        if one != two {
            return Err(SavedError::Sides { one, two });
        }
        let offset = self.runs;
        self.runs += other.runs;
        let check = merged_check(&self.equivalence, &other.equivalence);
        for noise in other.environment.noise {
            self.environment.noise.push(noise);
        }
        for side in &mut self.sides {
            let later = other
                .sides
                .iter()
                .find(|later| later.name == side.name)
                .map_or(&[][..], |later| &later.rows);
            same_scope(side, &other.sides)?;
            side.rows.extend(later.iter().map(|row| Row {
                run: row.run + offset,
                ..row.clone()
            }));
            if let Some(later) = other.sides.iter().find(|later| later.name == side.name)
                && side.end == crate::report::End::Completed
            {
                side.end.clone_from(&later.end);
            }
        }
        self.conclude(check.as_deref());
        Ok(self)
    }
}

/// `side` of one saved result over `baseline` of another.
///
/// # Errors
/// When inputs, machine or conditions are not the same, when the scopes are not and `unequal_scope` does not say that
/// this is meant, or when a side has no runs.
pub fn across(
    (of, side): (&Report, &str),
    (over, baseline): (&Report, &str),
    unequal_scope: bool,
) -> Result<Across, SavedError> {
    comparable(of, over)?;
    let (above, below) = (find(of, side)?, find(over, baseline)?);
    let difference = above.scope.difference(side, below.scope, baseline);
    let mark = match difference {
        None => String::new(),
        Some(difference) if unequal_scope => format!("UNEQUAL SCOPE ({difference}): "),
        Some(difference) => return Err(SavedError::Scope(difference)),
    };
    let interval = unpaired(&above.elapsed(), &below.elapsed(), Bootstrap::default())
        .ok_or_else(|| missing(of, side))?;
    Ok(Across {
        title: format!("{mark}{side} ÷ {baseline}, from separate runs (not interleaved)"),
        side: side.to_owned(),
        baseline: baseline.to_owned(),
        interval,
    })
}

fn find<'a>(report: &'a Report, name: &str) -> Result<&'a SideReport, SavedError> {
    report
        .side(name)
        .filter(|side| !side.rows.is_empty())
        .ok_or_else(|| missing(report, name))
}

fn missing(report: &Report, name: &str) -> SavedError {
    let known: Vec<&str> = report.sides.iter().map(|side| side.name.as_str()).collect();
    SavedError::NoSuchSide {
        name: name.to_owned(),
        known: known.join(", "),
    }
}

fn comparable(one: &Report, two: &Report) -> Result<(), SavedError> {
    let sums = |report: &Report| {
        let mut sums: Vec<&str> = report
            .inputs
            .iter()
            .map(|input| input.sha256.as_str())
            .collect();
        sums.sort_unstable();
        sums.join(" ")
    };
    if sums(one) != sums(two) {
        return Err(SavedError::Inputs {
            one: sums(one),
            two: sums(two),
        });
    }
    if let Some(difference) = one.environment.machine.difference(&two.environment.machine) {
        return Err(SavedError::Machine(difference));
    }
    let condition = |what, one: String, two: String| match one == two {
        true => Ok(()),
        false => Err(SavedError::Condition { what, one, two }),
    };
    condition(
        "where outputs go",
        format!("{:?}", one.outputs),
        format!("{:?}", two.outputs),
    )?;
    condition(
        "how much must be read",
        one.read_floor.to_string(),
        two.read_floor.to_string(),
    )
}

fn same_scope(side: &SideReport, others: &[SideReport]) -> Result<(), SavedError> {
    let other = others.iter().find(|other| other.name == side.name);
    match other.and_then(|other| side.scope.difference("the one", other.scope, "the other")) {
        Some(difference) => Err(SavedError::Scope(format!("{}: {difference}", side.name))),
        None => Ok(()),
    }
}

/// The check of both, if it is the same; digests of different checks say nothing about each other.
fn merged_check(one: &Verdict, two: &Verdict) -> Option<String> {
    let name = |verdict: &Verdict| match verdict {
        Verdict::NotChecked => None,
        Verdict::Equal { check } | Verdict::Different { check, .. } => Some(check.clone()),
    };
    name(one).filter(|check| name(two).as_ref() == Some(check))
}
