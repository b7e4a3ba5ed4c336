use std::collections::BTreeSet;

use anyhow::ensure;
use yeoul_pack::Catalogue;

use super::args::Offset;

/// `--offset TAKE=SECONDS`: TAKE is its number in order of time, from 1, or the beginning of its id. Where there are several
/// broadcasts only an id says which take is meant.
pub(super) struct Offsets<'a> {
    offsets: &'a [Offset],
    several: bool,
    /// By place: those that fitted a take.
    used: BTreeSet<usize>,
}

impl<'a> Offsets<'a> {
    pub(super) fn new(offsets: &'a [Offset], several: bool) -> Self {
        Self {
            offsets,
            several,
            used: BTreeSet::new(),
        }
    }

    /// Corrects the takes of a broadcast.
    pub(super) fn apply(&mut self, catalogue: &mut Catalogue) -> anyhow::Result<()> {
        let ids: Vec<String> = catalogue
            .takes
            .iter()
            .map(|take| take.id.to_string())
            .collect();
        let names: Vec<&str> = ids.iter().map(|id| &id[..12]).collect();
        let names = names.join(", ");
        let mut moves = Vec::new();
        for (place, offset) in self.offsets.iter().enumerate() {
            let take = &offset.take;
            let fitting = self.fitting(take, &ids)?;
            ensure!(
                !fitting.is_empty() || self.several,
                "--offset {take}: no such take; there are: {names}"
            );
            ensure!(
                fitting.len() <= 1,
                "--offset {take}: more than one take fits: {names}"
            );
            let Some(&index) = fitting.first() else {
                continue;
            };
            ensure!(
                catalogue.takes[index].anchor_ns.is_some(),
                "--offset {take}: the take has no wall clock that could be corrected"
            );
            self.used.insert(place);
            moves.push((index, offset.ns));
        }
        for (take, by_ns) in moves {
            catalogue.shift(take, by_ns);
        }
        catalogue.sort();
        Ok(())
    }

    /// Refuses what fitted no take of any broadcast.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        for (place, offset) in self.offsets.iter().enumerate() {
            ensure!(
                self.used.contains(&place),
                "--offset {}: no such take in any of the broadcasts",
                offset.take
            );
        }
        Ok(())
    }

    fn fitting(&self, take: &str, ids: &[String]) -> anyhow::Result<Vec<usize>> {
        let number = take
            .parse::<usize>()
            .ok()
            .filter(|n| *n > 0 && take.len() <= 5);
        let Some(number) = number else {
            return Ok((0..ids.len())
                .filter(|index| ids[*index].starts_with(take))
                .collect());
        };
        ensure!(
            !self.several,
            "--offset {take}: there are several broadcasts; name the take by the beginning of its id"
        );
        Ok(Some(number - 1)
            .filter(|index| *index < ids.len())
            .into_iter()
            .collect())
    }
}
