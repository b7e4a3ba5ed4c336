use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use yeoul_pack::OutputFile;
use yeoul_spans::sink::SinkError;
use yeoul_spans::sink::digest::{Sha256, sha256};
use yeoul_spans::sink::file::{FileOptions, Written, create};

use super::Args;
use super::interrupt::{Interrupt, Interrupted};

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriterError {
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("{}: cannot be made: {error}", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("another file could not be written")]
    Stopped,
}

/// What was written: by name, so that the order in which writers end does not matter.
pub(super) type Files = BTreeMap<String, FileWritten>;

/// SHA-256 of recordings, by name.
pub(super) type Digests = BTreeMap<String, Sha256>;

#[derive(Debug, Clone)]
pub(super) struct FileWritten {
    pub(super) written: Written,
    pub(super) digest: Option<Sha256>,
}

/// Writes files at once, at most as many as there are jobs; a queue of the same length waits.
pub(super) struct Writers {
    folder: PathBuf,
    made: BTreeSet<PathBuf>,
    queue: Option<SyncSender<OutputFile>>,
    threads: Vec<JoinHandle<()>>,
    state: Arc<Mutex<State>>,
    interrupt: Interrupt,
}

#[derive(Default)]
struct State {
    files: Files,
    error: Option<WriterError>,
}

impl Writers {
    pub(super) fn new(folder: PathBuf, args: &Args, interrupt: &Interrupt) -> Self {
        let jobs = args.jobs.get();
        let (sender, receiver) = sync_channel::<OutputFile>(jobs);
        let receiver = Arc::new(Mutex::new(receiver));
        let state = Arc::new(Mutex::new(State::default()));
        let options = FileOptions {
            fsync: args.fsync,
            replace: false,
        };
        let threads = (0..jobs)
            .map(|_| {
                let (folder, receiver, state) =
                    (folder.clone(), Arc::clone(&receiver), Arc::clone(&state));
                let digest = args.digest;
                std::thread::spawn(move || work(&folder, &receiver, &state, options, digest))
            })
            .collect();
        Self {
            folder,
            made: BTreeSet::new(),
            queue: Some(sender),
            threads,
            state,
            interrupt: interrupt.clone(),
        }
    }

    /// Hands a file to the writers; waits while all are busy.
    pub(super) fn write(&mut self, file: OutputFile) -> Result<(), WriterError> {
        if let Some(error) = lock(&self.state).error.take() {
            return Err(error);
        }
        self.interrupt.check()?;
        let path = self.folder.join(&file.name);
        if let Some(parent) = path.parent().filter(|parent| !self.made.contains(*parent)) {
            std::fs::create_dir_all(parent).map_err(|error| WriterError::Folder {
                path: parent.to_owned(),
                error,
            })?;
            self.made.insert(parent.to_owned());
        }
        let queue = self.queue.as_ref().ok_or(WriterError::Stopped)?;
        queue.send(file).map_err(|_| WriterError::Stopped)
    }

    /// Waits for all files.
    pub(super) fn finish(&mut self) -> Result<Files, WriterError> {
        self.queue = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                return Err(WriterError::Stopped);
            }
        }
        let mut state = lock(&self.state);
        match state.error.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut state.files)),
        }
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(
    folder: &std::path::Path,
    queue: &Mutex<Receiver<OutputFile>>,
    state: &Mutex<State>,
    options: FileOptions,
    digest: bool,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(file) = next else { return };
        if lock(state).error.is_some() {
            continue;
        }
        let done = write(folder, &file, options, digest);
        let mut state = lock(state);
        match done {
            Ok(written) => {
                state.files.insert(file.name, written);
            }
            Err(error) => {
                state.error.get_or_insert(error);
            }
        }
    }
}

fn write(
    folder: &std::path::Path,
    file: &OutputFile,
    options: FileOptions,
    digest: bool,
) -> Result<FileWritten, WriterError> {
    let written = create(folder.join(&file.name), &file.body, &options)?;
    let digest = if digest {
        Some(sha256(&file.body)?)
    } else {
        None
    };
    Ok(FileWritten { written, digest })
}
