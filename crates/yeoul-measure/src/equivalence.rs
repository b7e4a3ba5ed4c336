//! Whether the sides made the same thing: by a named check, or the report says "not checked".

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::output::tree_sha256;
use crate::side::BoxError;

/// Reduces the outputs of a run to a text that is equal for equivalent outputs.
///
/// It is asked once for each distinct set of output bytes, outside of any measured time.
pub trait Equivalence {
    /// What is compared, as it stands in the report: "bytes (SHA-256)", "packet hashes", "decoded frames", …
    fn name(&self) -> &str;

    /// The digest of what lies in `outputs`.
    ///
    /// # Errors
    /// When the outputs cannot be judged; the run then counts as failed.
    fn digest(&self, outputs: &Path) -> Result<String, BoxError>;
}

/// The strictest check: same file names, same bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bytes;

impl Equivalence for Bytes {
    fn name(&self) -> &'static str {
        "bytes (SHA-256)"
    }

    fn digest(&self, outputs: &Path) -> Result<String, BoxError> {
        Ok(tree_sha256(outputs)?)
    }
}

/// A check by a closure.
///
/// ```
/// use yeoul_measure::equivalence::{Equivalence, Named};
///
/// let lines = Named::new("sorted lines", |outputs| {
///     let text = std::fs::read_to_string(outputs.join("list.txt"))?;
///     let mut lines: Vec<&str> = text.lines().collect();
///     lines.sort_unstable();
///     Ok(lines.join("\n"))
/// });
/// assert_eq!(lines.name(), "sorted lines");
/// ```
pub struct Named<F> {
    name: String,
    digest: F,
}

impl<F: Fn(&Path) -> Result<String, BoxError>> Named<F> {
    /// The check `name`, which is `digest`.
    pub fn new(name: impl Into<String>, digest: F) -> Self {
        Self {
            name: name.into(),
            digest,
        }
    }
}

impl<F: Fn(&Path) -> Result<String, BoxError>> Equivalence for Named<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn digest(&self, outputs: &Path) -> Result<String, BoxError> {
        (self.digest)(outputs)
    }
}

/// What the check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// No check was asked for.
    NotChecked,
    /// Every run of every side gave the same digest.
    Equal {
        /// The check's name.
        check: String,
    },
    /// At least two runs gave different digests.
    Different {
        /// The check's name.
        check: String,
        /// For each side its distinct digests, in order of appearance.
        digests: BTreeMap<String, Vec<String>>,
    },
}

impl Verdict {
    /// The verdict of `check` on (side, digest) pairs. No pair at all is "not checked".
    pub(crate) fn of<'a>(check: &str, runs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut digests: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (side, digest) in runs {
            let known = digests.entry(side.to_owned()).or_default();
            if !known.iter().any(|one| one == digest) {
                known.push(digest.to_owned());
            }
        }
        let check = check.to_owned();
        let mut all = digests.values().flatten();
        match all.next() {
            None => Self::NotChecked,
            Some(first) if all.all(|digest| digest == first) => Self::Equal { check },
            Some(_) => Self::Different { check, digests },
        }
    }

    /// One line for a report.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::NotChecked => "Outputs: not checked.".to_owned(),
            Self::Equal { check } => {
                format!("Outputs: equal in every run of every side, by {check}.")
            }
            Self::Different { check, digests } => {
                let sides: Vec<String> = digests
                    .iter()
                    .map(|(side, digests)| {
                        let short: Vec<String> =
                            digests.iter().map(|digest| shortened(digest)).collect();
                        format!("{side}: {}", short.join(" and "))
                    })
                    .collect();
                format!("**Outputs: DIFFERENT** by {check}: {}.", sides.join("; "))
            }
        }
    }
}

fn shortened(digest: &str) -> String {
    const SHOWN: usize = 16;
    if digest.chars().count() <= SHOWN {
        return digest.to_owned();
    }
    digest.chars().take(SHOWN).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_seen_is_not_checked() {
        assert_eq!(Verdict::of("x", [].into_iter()), Verdict::NotChecked);
    }

    #[test]
    fn a_side_that_differs_from_itself_is_shown_with_both() {
        let verdict = Verdict::of(
            "bytes",
            [("A", "1"), ("B", "1"), ("A", "1"), ("A", "2")].into_iter(),
        );
        assert_eq!(
            verdict.sentence(),
            "**Outputs: DIFFERENT** by bytes: A: 1 and 2; B: 1."
        );
    }
}
