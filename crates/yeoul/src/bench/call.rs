//! One call of a resident repacker: a recording in, the files of its output out. Nothing is kept from call to call.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use yeoul_measure::Meter;
use yeoul_measure::side::BoxError;
use yeoul_pack::{
    Catalogue, FileInput, Input, MemoryInput, Output, OutputFile, PackOptions, pack_lane,
};
use yeoul_spans::Span;
use yeoul_spans::sink::SinkError;
use yeoul_spans::sink::digest::sha256;
use yeoul_spans::sink::file::{FileOptions, write_new};
use yeoul_spans::sink::memory::to_vec;

/// Packs one recording, from its head on.
pub(super) fn pack<O: Output>(input: Arc<dyn Input>, output: &mut O) -> Result<(), BoxError> {
    let options = PackOptions::default();
    let mut catalogue = Catalogue::read([input], &options.limits)?;
    if let Some(error) = catalogue.refused.pop() {
        return Err(error.into());
    }
    let lane = pack_lane(catalogue.takes, &options, output)?;
    if lane.segments == 0 {
        return Err("nothing of the recording can be kept".into());
    }
    Ok(())
}

/// A recording that nobody has looked at yet.
pub(super) fn file(path: &Path) -> Arc<dyn Input> {
    Arc::new(FileInput::new(path))
}

/// Files, published by a rename as `repack --watch` does.
pub(super) struct ToFolder<'a> {
    pub(super) folder: &'a Path,
    pub(super) replace: bool,
    pub(super) meter: Option<&'a mut Meter>,
}

impl Output for ToFolder<'_> {
    type Error = SinkError;

    fn file(&mut self, file: OutputFile) -> Result<(), SinkError> {
        let options = FileOptions {
            fsync: false,
            replace: self.replace,
        };
        if let Some(meter) = &mut self.meter {
            meter.stage("write");
        }
        let written = write_new(self.folder.join(&file.name), &file.body, &options)?;
        if let Some(meter) = &mut self.meter {
            meter.kernel_copied(written.by_kernel);
            meter.stage("pack");
        }
        Ok(())
    }
}

/// The description of every file, and nothing else.
#[derive(Default)]
pub(super) struct Described {
    pub(super) files: Vec<OutputFile>,
}

impl Described {
    /// Bytes that are ranges of the recording.
    pub(super) fn payload(&self) -> u64 {
        let spans = self.files.iter().flat_map(|file| file.body.iter());
        spans
            .filter(|span| matches!(span, Span::Range(_)))
            .map(|span| span.len())
            .sum()
    }
}

impl Output for Described {
    type Error = Infallible;

    fn file(&mut self, file: OutputFile) -> Result<(), Infallible> {
        self.files.push(file);
        Ok(())
    }
}

/// SHA-256 over `NAME SHA256\n` of every file; at most one file's buffer is in memory.
#[derive(Default)]
pub(super) struct ToDigest {
    sum: Sha256,
}

impl ToDigest {
    pub(super) fn finish(self) -> String {
        let sum: [u8; 32] = self.sum.finalize().into();
        yeoul_spans::sink::digest::Sha256(sum).to_string()
    }

    fn line(&mut self, name: &str, sum: impl std::fmt::Display) {
        self.sum.update(format!("{name} {sum}\n"));
    }
}

impl Output for ToDigest {
    type Error = SinkError;

    fn file(&mut self, file: OutputFile) -> Result<(), SinkError> {
        let sum = sha256(&file.body)?;
        self.line(&file.name, sum);
        Ok(())
    }
}

/// Files that are written, read back for their digest, and removed.
pub(super) struct ThroughFolder<'a> {
    pub(super) folder: &'a Path,
    pub(super) digest: ToDigest,
}

impl Output for ThroughFolder<'_> {
    type Error = SinkError;

    fn file(&mut self, file: OutputFile) -> Result<(), SinkError> {
        let path = self.folder.join(&file.name);
        write_new(&path, &file.body, &FileOptions::default())?;
        let sum = file_sha256(&path);
        let removed = fs::remove_file(&path);
        let failed = |error| SinkError::Write {
            to: path.display().to_string(),
            written: file.body.len(),
            wanted: file.body.len(),
            error,
        };
        let sum = sum.and_then(|sum| removed.map(|()| sum)).map_err(failed)?;
        self.digest.line(&file.name, sum);
        Ok(())
    }
}

fn file_sha256(path: &Path) -> std::io::Result<yeoul_spans::sink::digest::Sha256> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 << 10];
    let mut sum = Sha256::new();
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(yeoul_spans::sink::digest::Sha256(sum.finalize().into())),
            read => sum.update(&buffer[..read]),
        }
    }
}

/// What a repacker without spans does: the whole recording in memory, every output put together in memory.
pub(super) struct ThroughMemory<'a> {
    pub(super) folder: &'a Path,
}

/// The most that it holds of a recording, and of an output.
pub(super) const MEMORY_LIMIT: u64 = 16 << 20;

/// Reads the whole recording into memory; more than [`MEMORY_LIMIT`] is refused before anything is read.
pub(super) fn in_memory(path: &Path) -> Result<Arc<dyn Input>, BoxError> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > MEMORY_LIMIT {
        let name = path.display();
        return Err(format!(
            "{name}: {size} bytes are over the {MEMORY_LIMIT} that this side holds in memory; give a shorter recording or leave the side out (--side)"
        )
        .into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size)?);
    file.read_to_end(&mut bytes)?;
    Ok(Arc::new(MemoryInput::new(path.to_string_lossy(), bytes)))
}

impl Output for ThroughMemory<'_> {
    type Error = SinkError;

    fn file(&mut self, file: OutputFile) -> Result<(), SinkError> {
        let bytes = to_vec(&file.body, MEMORY_LIMIT)?;
        let path = self.folder.join(&file.name);
        fs::write(&path, &bytes).map_err(|error| SinkError::Write {
            to: path.display().to_string(),
            written: 0,
            wanted: file.body.len(),
            error,
        })
    }
}
