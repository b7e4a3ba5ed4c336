//! What a side's time includes, as it declares it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What lies between a side's start of the clock and its end. Two times may be compared only over the same scope.
///
/// ```
/// use yeoul_measure::Scope;
///
/// let scope: Scope = "read,work,write".parse()?;
/// assert!(scope.write && !scope.start);
/// assert_eq!(scope.to_string(), "read+work+write");
/// # Ok::<(), yeoul_measure::UnknownScope>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope {
    /// Starting a process. Shown by a child that was waited for.
    pub start: bool,
    /// Reading the inputs. Shown by `rchar` (see [`crate::usage`] for what that sees).
    pub read: bool,
    /// The work itself. Shown by nothing but equal outputs.
    pub work: bool,
    /// Writing the outputs, as files. Shown by the files and by `wchar` and `write_bytes`.
    pub write: bool,
    /// Waiting until the outputs are on the disk. No counter shows it; only a run that never waited contradicts it.
    pub fsync: bool,
}

/// A word that is no part of a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no part of a scope; the parts are start, read, work, write, fsync (as in \"read,work,write\")"
)]
pub struct UnknownScope(pub String);

impl Scope {
    fn parts(self) -> [(&'static str, bool); 5] {
        let Self {
            start,
            read,
            work,
            write,
            fsync,
        } = self;
        [
            ("start", start),
            ("read", read),
            ("work", work),
            ("write", write),
            ("fsync", fsync),
        ]
    }

    /// What one of the two includes and the other does not, such as `write (B only)`. `None` when they are equal.
    #[must_use]
    pub fn difference(self, own_name: &str, other: Self, other_name: &str) -> Option<String> {
        let differing: Vec<String> = self
            .parts()
            .into_iter()
            .zip(other.parts())
            .filter(|((_, here), (_, there))| here != there)
            .map(|((part, here), _)| {
                format!("{part} ({} only)", if here { own_name } else { other_name })
            })
            .collect();
        (!differing.is_empty()).then(|| differing.join(", "))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self
            .parts()
            .into_iter()
            .filter(|part| part.1)
            .map(|part| part.0)
            .collect();
        f.write_str(if parts.is_empty() { "nothing" } else { "" })?;
        f.write_str(&parts.join("+"))
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    /// Parts in any order, separated by `,` or `+`; `nothing` or an empty text is the empty scope.
    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let mut scope = Self::default();
        if matches!(text.trim(), "" | "nothing") {
            return Ok(scope);
        }
        for part in text.split([',', '+']) {
            match part.trim() {
                "start" => scope.start = true,
                "read" => scope.read = true,
                "work" => scope.work = true,
                "write" => scope.write = true,
                "fsync" => scope.fsync = true,
                other => return Err(UnknownScope(other.to_owned())),
            }
        }
        Ok(scope)
    }
}

impl TryFrom<String> for Scope {
    type Error = UnknownScope;

    fn try_from(text: String) -> Result<Self, UnknownScope> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_survives_its_text() {
        for bits in 0..32u8 {
            let on = |bit: u8| bits & (1 << bit) != 0;
            let scope = Scope {
                start: on(0),
                read: on(1),
                work: on(2),
                write: on(3),
                fsync: on(4),
            };
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
    }

    #[test]
    fn an_unknown_word_is_named() {
        assert_eq!(
            "read,wrote".parse::<Scope>(),
            Err(UnknownScope("wrote".into()))
        );
    }

    #[test]
    fn a_difference_says_who_has_what() {
        let (a, b): (Scope, Scope) = ("start,work".parse().unwrap(), "work,write".parse().unwrap());
        assert_eq!(
            a.difference("A", b, "B").unwrap(),
            "start (A only), write (B only)"
        );
        assert_eq!(a.difference("A", a, "B"), None);
    }
}
