//! `yeoul repack --watch`: recordings become segments as they are closed.
//!
//! ```text
//!  inotify ─┐                                              ┌─ worker ─┐
//!  notify  ─┼─► Queue: folders with work, each once ─► ... ┼─ worker ─┼─► Broadcast (a folder): lanes, journal, playlists
//!  rescan  ─┘   (bounded by the number of folders)         └─ worker ─┘
//! ```
//!
//! The unit of work is a folder, and a folder is in hand of at most one worker: recordings of a broadcast are packed in order,
//! broadcasts side by side, at most `--jobs` at once. What waits is a set of folders, so it cannot pile up.
//!
//! Every file is written beside its place and renamed; then a line in the broadcast's journal says that it is there. After a
//! kill the journal tells where things stood, and what is made again is the same to the byte.

mod broadcast;
mod files;
mod journal;
mod queue;
mod recordings;

pub(crate) use self::journal::FILE_NAME as JOURNAL;

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind, RenameMode};
use notify::{RecursiveMode, Watcher};
use yeoul_pack::PackOptions;

use self::queue::Queue;
use crate::repack::Interrupt;

/// Changes that may wait to be looked at; past that, everything is looked at.
const MAX_EVENTS: usize = 4096;

/// What to watch, and how to pack it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of recordings, or of folders of recordings.
    pub folder: PathBuf,
    /// Folder of outputs.
    pub output: PathBuf,
    /// How a broadcast is packed.
    pub pack: PackOptions,
    /// Broadcasts in hand at once.
    pub jobs: usize,
    /// Between two looks at everything, for what no event told of.
    pub rescan: Duration,
    /// A recording that was not closed counts as closed when nothing was written to it for so long.
    pub idle: Duration,
    /// Larger recordings are refused.
    pub max_input: Option<u64>,
    /// Wait until files are on the disk.
    pub fsync: bool,
    /// Pack what is there, end the takes and the playlists, and return.
    pub finish: bool,
    /// What happens goes to standard output as a JSON document a line.
    pub json: bool,
    /// Nothing is said but errors.
    pub quiet: bool,
    /// Broadcasts that wait for the header of a recording: begins at 0.
    pub headers_awaited: Arc<AtomicUsize>,
}

/// Something that the watcher tells of.
#[derive(Debug)]
enum Change {
    /// A file may be finished.
    File(PathBuf),
    /// Anything may have changed.
    Everything,
    /// A signal came.
    Stop,
}

/// Runs until a signal ends it, or with `finish` until everything is packed.
///
/// # Errors
/// The folder cannot be watched, or the output is not one that a watch wrote.
pub fn run(options: &Options, interrupt: &Interrupt) -> anyhow::Result<ExitCode> {
    let done = run_locked(options, interrupt);
    // Only now: the socket is gone and everything in hand is done.
    interrupt.die();
    done
}

fn run_locked(options: &Options, interrupt: &Interrupt) -> anyhow::Result<ExitCode> {
    let folder = options
        .folder
        .canonicalize()
        .with_context(|| format!("{}: cannot be read", options.folder.display()))?;
    ensure!(
        folder.is_dir(),
        "{}: give a folder to watch",
        folder.display()
    );
    std::fs::create_dir_all(&options.output)
        .with_context(|| format!("{}: cannot be made", options.output.display()))?;
    let output = options.output.canonicalize()?;
    ensure!(
        !output.starts_with(&folder) && !folder.starts_with(&output),
        "{}: the output must not lie in the folder that is watched, nor that in the output",
        options.output.display()
    );
    let _lock = lock(&output)?;
    let options = Options {
        folder,
        output,
        ..options.clone()
    };
    if !options.quiet && !options.json {
        let (folder, output) = (options.folder.display(), options.output.display());
        crate::tell(&format!("watching {folder}, writing {output}"));
    }
    let queue = Queue::new(&options);
    if options.finish {
        queue.everything();
        queue.close();
        queue.work_until_done(interrupt);
        // What a signal left is not the end of a take.
        interrupt.check()?;
        return queue.finish();
    }

    until_signal(&options, &queue, interrupt)?;
    Ok(ExitCode::SUCCESS)
}

/// Takes changes as they come until a signal does.
fn until_signal(options: &Options, queue: &Queue<'_>, interrupt: &Interrupt) -> anyhow::Result<()> {
    let (changes, receiver) = sync_channel(MAX_EVENTS);
    let awaited = Arc::clone(&options.headers_awaited);
    let mut watched = inode(&options.folder);
    let mut watcher = watch(&options.folder, awaited, changes.clone());
    if let Err(error) = &watcher {
        crate::say(&format!(
            "warning: {}: no events of this folder ({error:#}); it is looked at every {} s",
            options.folder.display(),
            options.rescan.as_secs()
        ));
    }
    let mut signals = interrupt.stream().context("signals")?;
    let stop = changes.clone();
    std::thread::spawn(move || {
        let _ = signals.read(&mut [0]);
        let _ = stop.send(Change::Stop);
    });
    let again = changes.clone();
    let _socket = socket(&options.output, changes)?;
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| queue.work(interrupt));
        }
        queue.everything();
        let mut looked = Instant::now();
        loop {
            match receiver.recv_timeout(options.rescan.saturating_sub(looked.elapsed())) {
                Ok(Change::File(path)) => queue.file(&path),
                Ok(Change::Everything) => queue.everything(),
                Err(RecvTimeoutError::Timeout) => {
                    looked = Instant::now();
                    let now = inode(&options.folder);
                    if now.is_some() && now != watched {
                        // Another folder has the name now: its events are not the old one's.
                        let folder = options.folder.display();
                        crate::say(&format!(
                            "warning: {folder}: was replaced; watching the new one"
                        ));
                        watched = now;
                        let awaited = Arc::clone(&options.headers_awaited);
                        watcher = watch(&options.folder, awaited, again.clone());
                    }
                    queue.everything();
                }
                Ok(Change::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        queue.close();
    });
    drop(watcher);
    Ok(())
}

fn inode(folder: &Path) -> Option<(u64, u64)> {
    let meta = folder.metadata().ok()?;
    Some((meta.dev(), meta.ino()))
}

/// One watch an output.
fn lock(output: &Path) -> anyhow::Result<std::fs::File> {
    let folder = std::fs::File::open(output)?;
    let flags = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    if rustix::fs::flock(&folder, flags).is_err() {
        bail!("{}: another yeoul is writing to it", output.display());
    }
    Ok(folder)
}

/// Tells of files that were closed after writing or moved in, and of new folders.
fn watch(
    folder: &Path,
    headers_awaited: Arc<AtomicUsize>,
    changes: SyncSender<Change>,
) -> notify::Result<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else {
            let _ = changes.try_send(Change::Everything);
            return;
        };
        let is_file = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => true,
            EventKind::Modify(ModifyKind::Data(_)) => headers_awaited.load(Ordering::Relaxed) > 0,
            _ => false,
        };
        let is_folder =
            matches!(event.kind, EventKind::Create(CreateKind::Folder)) || event.need_rescan();
        if is_folder {
            let _ = changes.try_send(Change::Everything);
        } else if is_file {
            for path in event.paths {
                // Full: the rescan finds what was not told.
                let _ = changes.try_send(Change::File(path));
            }
        }
    })?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(watcher)
}

/// The socket's name in the output folder.
const SOCKET: &str = ".yeoul.sock";

/// Removes the socket at the end.
struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Listens for `yeoul notify`.
fn socket(output: &Path, changes: SyncSender<Change>) -> anyhow::Result<Option<Socket>> {
    let path = output.join(SOCKET);
    let _ = std::fs::remove_file(&path);
    let socket = match std::os::unix::net::UnixDatagram::bind(&path) {
        Ok(socket) => socket,
        Err(error) => {
            crate::say(&format!(
                "warning: {}: no `yeoul notify` ({error})",
                path.display()
            ));
            return Ok(None);
        }
    };
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(len) = socket.recv(&mut buffer) {
            use std::os::unix::ffi::OsStrExt as _;
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(&buffer[..len]));
            let change = if path.is_absolute() {
                Change::File(path)
            } else {
                Change::Everything
            };
            if changes.send(change).is_err() {
                break;
            }
        }
    });
    Ok(Some(Socket(path)))
}

/// Tell a running watch that a recording is finished
///
/// For MediaMTX's `runOnRecordSegmentComplete`: the path is taken from MTX_SEGMENT_PATH. A watch does not need it where it
/// gets events of the file system; it is for network folders. It is no error if no watch runs: a rescan finds the recording.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_long_help = "Example, in mediamtx.yml:\n  runOnRecordSegmentComplete: yeoul notify -o /srv/hls"
)]
pub struct NotifyArgs {
    /// The watch's output folder
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// The recording; default: MTX_SEGMENT_PATH
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Runs `yeoul notify`.
///
/// # Errors
/// No path is given.
pub fn notify_command(args: &NotifyArgs) -> anyhow::Result<ExitCode> {
    use std::os::unix::ffi::OsStrExt as _;
    let from_hook = || std::env::var_os("MTX_SEGMENT_PATH").map(PathBuf::from);
    let Some(file) = args.file.clone().or_else(from_hook) else {
        bail!("give a file, or set MTX_SEGMENT_PATH");
    };
    let file = std::path::absolute(file)?;
    let socket = std::os::unix::net::UnixDatagram::unbound()?;
    let to = args.output.join(SOCKET);
    if let Err(error) = socket.send_to(file.as_os_str().as_bytes(), &to) {
        crate::say(&format!(
            "warning: {}: no watch is told ({error}); its next look finds the recording",
            to.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}
