use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Options;
use super::broadcast::Broadcast;
use super::files::{folders_with_recordings, relative_name, takes};
use crate::repack::{Interrupt, is_recording};

/// Files that are named one by one in a folder; past that, the whole folder is looked at.
const MAX_NAMED: usize = 256;

/// What to look at in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hint {
    Files(BTreeSet<PathBuf>),
    Everything,
}

impl Hint {
    fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Everything, _) => {}
            (_, Self::Everything) => *self = Self::Everything,
            (Self::Files(files), Self::Files(more)) => {
                files.extend(more);
                if files.len() > MAX_NAMED {
                    *self = Self::Everything;
                }
            }
        }
    }
}

/// Folders with work, each once; and their broadcasts.
pub(super) struct Queue<'a> {
    options: &'a Options,
    state: Mutex<State>,
    changed: Condvar,
    /// Folders that were said to be left out.
    told: Mutex<BTreeSet<PathBuf>>,
}

#[derive(Default)]
struct State {
    /// Folders with work that nobody has in hand.
    waiting: BTreeMap<PathBuf, Hint>,
    in_hand: BTreeSet<PathBuf>,
    broadcasts: BTreeMap<PathBuf, Arc<Mutex<Broadcast>>>,
    failed: Option<anyhow::Error>,
    closed: bool,
}

impl<'a> Queue<'a> {
    pub(super) fn new(options: &'a Options) -> Self {
        Self {
            options,
            state: Mutex::default(),
            changed: Condvar::new(),
            told: Mutex::default(),
        }
    }

    /// A file may be finished.
    pub(super) fn file(&self, path: &Path) {
        // Whatever a hook names: only what really lies in the folder counts.
        let Some(folder) = path.parent().and_then(|folder| folder.canonicalize().ok()) else {
            return;
        };
        let root = &self.options.folder;
        if folder.starts_with(root) && takes(root, &folder) && is_recording(path) {
            self.add(folder, Hint::Files([path.to_owned()].into()));
        }
    }

    /// Every folder is to be looked at.
    pub(super) fn everything(&self) {
        match folders_with_recordings(&self.options.folder) {
            Ok(folders) => {
                for folder in folders {
                    if takes(&self.options.folder, &folder) {
                        self.add(folder, Hint::Everything);
                    } else if self
                        .told
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(folder.clone())
                    {
                        crate::say(&format!(
                            "warning: {}: left out: in the output of the folder above, this name is for a track or a lane; rename it",
                            folder.display()
                        ));
                    }
                }
            }
            Err(error) => crate::say(&format!("warning: {error:#}")),
        }
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes folders and packs what is finished in them, until the queue is closed and empty.
    pub(super) fn work(&self, interrupt: &Interrupt) {
        while let Some((folder, hint)) = self.take(interrupt) {
            if let Err(error) = self.process(&folder, &hint, interrupt) {
                let mut state = self.lock();
                if self.options.finish && state.failed.is_none() {
                    // It is what the command ends with, and told then.
                    state.failed = Some(error);
                } else {
                    crate::say_error(&crate::with_causes(&error));
                }
            }
            let mut state = self.lock();
            state.in_hand.remove(&folder);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Works through what is there, with `jobs` workers.
    pub(super) fn work_until_done(&self, interrupt: &Interrupt) {
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs {
                scope.spawn(|| self.work(interrupt));
            }
        });
    }

    /// Ends all takes and playlists.
    pub(super) fn finish(&self) -> anyhow::Result<ExitCode> {
        let mut state = self.lock();
        let mut failed = state.failed.take();
        for broadcast in state.broadcasts.values() {
            let mut broadcast = broadcast.lock().unwrap_or_else(PoisonError::into_inner);
            // What failed in one broadcast must not leave the others without an end.
            if let Err(error) = broadcast.finish() {
                match failed {
                    None => failed = Some(error),
                    Some(_) => crate::say_error(&crate::with_causes(&error)),
                }
            }
        }
        failed.map_or(Ok(ExitCode::SUCCESS), Err)
    }

    fn add(&self, folder: PathBuf, hint: Hint) {
        let mut state = self.lock();
        if !state.closed {
            state
                .waiting
                .entry(folder)
                .and_modify(|old| old.add(hint.clone()))
                .or_insert(hint);
        }
        drop(state);
        self.changed.notify_one();
    }

    fn take(&self, interrupt: &Interrupt) -> Option<(PathBuf, Hint)> {
        let mut state = self.lock();
        loop {
            if interrupt.check().is_err() {
                return None;
            }
            let free = state
                .waiting
                .keys()
                .find(|folder| !state.in_hand.contains(*folder))
                .cloned();
            if let Some(folder) = free {
                let hint = state.waiting.remove(&folder)?;
                state.in_hand.insert(folder.clone());
                return Some((folder, hint));
            }
            if state.closed && state.waiting.is_empty() {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn process(&self, folder: &Path, hint: &Hint, interrupt: &Interrupt) -> anyhow::Result<()> {
        let broadcast = self.broadcast(folder)?;
        let mut broadcast = broadcast.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = || self.lock().waiting.len();
        broadcast.look(hint, &waiting, interrupt)
    }

    fn broadcast(&self, folder: &Path) -> anyhow::Result<Arc<Mutex<Broadcast>>> {
        if let Some(known) = self.lock().broadcasts.get(folder) {
            return Ok(Arc::clone(known));
        }
        let name = relative_name(&self.options.folder, folder);
        let output = if name.as_os_str().is_empty() {
            self.options.output.clone()
        } else {
            self.options.output.join(name)
        };
        let opened = Broadcast::open(folder, &output, self.options)?;
        let opened = Arc::new(Mutex::new(opened));
        self.lock()
            .broadcasts
            .insert(folder.to_owned(), Arc::clone(&opened));
        Ok(opened)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_named_files_are_the_whole_folder() {
        let mut hint = Hint::Files(BTreeSet::new());
        for n in 0..=MAX_NAMED {
            hint.add(Hint::Files([PathBuf::from(n.to_string())].into()));
        }
        assert_eq!(hint, Hint::Everything);
        hint.add(Hint::Files([PathBuf::from("x")].into()));
        assert_eq!(hint, Hint::Everything);
    }
}
