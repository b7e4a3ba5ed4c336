//! The recordings of a folder, as far as they are known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use yeoul_isobmff::Limits;
use yeoul_pack::{FileInput, Input, TakeId, TakeRecording};

use super::queue::Hint;
use crate::repack::is_recording;

/// Size and modification time: whether a file that could not be used has changed since.
type Stamp = (u64, Option<SystemTime>);

/// A recording that is not packed yet.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) name: String,
    pub(super) take: TakeId,
    pub(super) found: TakeRecording,
    stamp: Stamp,
    /// Since when it is seen with this stamp: a copy may have an old modification time.
    since: Instant,
}

/// What is known of a folder.
#[derive(Debug)]
pub(super) struct Recordings {
    folder: PathBuf,
    limits: Limits,
    max_input: Option<u64>,
    /// Whether a file without a header may get one yet.
    patient: bool,
    packed: BTreeSet<String>,
    /// Takes and numbers that are packed: a copy under another name is none again.
    numbers: BTreeSet<(TakeId, u64)>,
    refused: BTreeMap<String, Stamp>,
    pending: BTreeMap<String, Pending>,
}

impl Recordings {
    pub(super) fn new(
        folder: &Path,
        limits: Limits,
        max_input: Option<u64>,
        patient: bool,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            limits,
            max_input,
            patient,
            packed: BTreeSet::new(),
            numbers: BTreeSet::new(),
            refused: BTreeMap::new(),
            pending: BTreeMap::new(),
        }
    }

    pub(super) fn mark_packed(&mut self, name: &str) {
        self.pending.remove(name);
        self.packed.insert(name.to_owned());
    }

    pub(super) fn mark_number(&mut self, take: TakeId, number: u64) {
        self.numbers.insert((take, number));
    }

    pub(super) fn has_number(&self, take: TakeId, number: u64) -> bool {
        self.numbers.contains(&(take, number))
    }

    /// It cannot be used as it is; only a change makes it worth another look.
    pub(super) fn refuse(&mut self, name: &str) {
        self.pending.remove(name);
        if let Ok(meta) = fs::metadata(self.folder.join(name)) {
            self.refused.insert(name.to_owned(), stamp(&meta));
        }
    }

    /// Looks at the files of a hint. Those that cannot be used are told once.
    pub(super) fn look(
        &mut self,
        hint: &Hint,
        tell: &mut dyn FnMut(&str, String),
    ) -> anyhow::Result<()> {
        let names = match hint {
            Hint::Files(files) => files
                .iter()
                .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
                .chain(self.pending.keys().cloned())
                .collect(),
            Hint::Everything => self.list()?,
        };
        if *hint == Hint::Everything {
            self.pending.retain(|name, _| names.contains(name));
        }
        for name in names {
            self.look_at(&name, tell);
        }
        Ok(())
    }

    fn list(&self) -> anyhow::Result<BTreeSet<String>> {
        let context = || format!("{}: cannot be read", self.folder.display());
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.folder).with_context(context)? {
            let name = entry.with_context(context)?.file_name();
            // A name that is not UTF-8 has no place in a journal; MediaMTX writes none.
            if let Some(name) = name.to_str() {
                names.insert(name.to_owned());
            }
        }
        Ok(names)
    }

    fn look_at(&mut self, name: &str, tell: &mut dyn FnMut(&str, String)) {
        let path = self.folder.join(name);
        if self.packed.contains(name) || name.starts_with('.') || !is_recording(&path) {
            return;
        }
        let Ok(meta) = fs::metadata(&path) else {
            self.pending.remove(name);
            return;
        };
        if !meta.is_file() || self.refused.get(name) == Some(&stamp(&meta)) {
            return;
        }
        if let Some(limit) = self.max_input.filter(|limit| meta.len() > *limit) {
            tell(
                name,
                format!(
                    "has {} bytes, over the limit of {limit} (--max-input): left out",
                    meta.len()
                ),
            );
            self.refuse(name);
            return;
        }
        match self.read(name) {
            Ok((take, found)) => {
                let stamp = stamp(&meta);
                let before = self
                    .pending
                    .get(name)
                    .filter(|before| before.stamp == stamp);
                let pending = Pending {
                    name: name.to_owned(),
                    take,
                    found,
                    stamp,
                    since: before.map_or_else(Instant::now, |before| before.since),
                };
                self.pending.insert(name.to_owned(), pending);
            }
            // A recorder makes the file first and writes its header with the first part.
            Err(_) if self.patient && is_fresh(&meta) => {
                self.pending.remove(name);
            }
            Err(error) => {
                let why = error.to_string();
                let why = why
                    .strip_prefix(&*path.display().to_string())
                    .unwrap_or(&why);
                tell(name, format!("left out: {}", why.trim_start_matches(": ")));
                self.refuse(name);
            }
        }
    }

    /// Reads a recording's head anew.
    pub(super) fn read(
        &self,
        name: &str,
    ) -> Result<(TakeId, TakeRecording), yeoul_pack::RecordingError> {
        let input: Arc<dyn Input> = Arc::new(FileInput::new(self.folder.join(name)));
        TakeRecording::read(&input, &self.limits)
    }

    /// What is not packed yet, by take and number.
    pub(super) fn pending(&self) -> Vec<Pending> {
        let mut all: Vec<_> = self.pending.values().cloned().collect();
        all.sort_by(|a, b| {
            (a.take, a.found.number, &a.name).cmp(&(b.take, b.found.number, &b.name))
        });
        all
    }
}

impl Pending {
    /// Whether nothing was written to it for so long.
    pub(super) fn is_idle(&self, idle: Duration) -> bool {
        self.since.elapsed() >= idle
    }
}

fn stamp(meta: &fs::Metadata) -> Stamp {
    (meta.len(), meta.modified().ok())
}

/// Written to within the last seconds: its header may still come.
fn is_fresh(meta: &fs::Metadata) -> bool {
    const HEADER_COMES_WITHIN: Duration = Duration::from_secs(10);
    let age = meta
        .modified()
        .ok()
        .and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_none_or(|age| age < HEADER_COMES_WITHIN)
}
