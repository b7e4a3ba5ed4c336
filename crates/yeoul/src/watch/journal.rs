use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use yeoul_pack::Line;

/// The journal's name in a lane's folder.
pub(super) const FILE_NAME: &str = ".yeoul-journal";

/// A journal larger than this is refused: some hundred bytes a segment, so years.
const MAX_JOURNAL: u64 = 4 << 30;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// What the lane was made with: the first line.
    Options(String),
    /// What the lane must remember.
    Lane(Line),
    /// A recording is packed, as far as it can be without the next one.
    Packed(Packed),
}

/// A packed recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Packed {
    /// Its file's name.
    pub(super) file: String,
    /// Its take, hex.
    pub(super) take: String,
    /// Its number in the take.
    pub(super) number: u64,
}

/// A file to which whole lines are added.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    fsync: bool,
}

impl Journal {
    /// Opens or begins the journal of a folder. A last line that a kill cut short is taken away.
    ///
    /// # Errors
    /// It cannot be read, or the lane was made with other options.
    pub(super) fn open(
        folder: &Path,
        options: &str,
        fsync: bool,
    ) -> anyhow::Result<(Self, Vec<Entry>)> {
        let path = folder.join(FILE_NAME);
        let context = || format!("{}: the journal", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(context)?;
        let size = file.metadata().with_context(context)?.len();
        ensure!(
            size <= MAX_JOURNAL,
            "{}: larger than {MAX_JOURNAL} bytes, the limit",
            path.display()
        );
        let mut text = Vec::new();
        file.read_to_end(&mut text).with_context(context)?;
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        let mut entries = Vec::new();
        for (number, line) in text[..whole].split(|byte| *byte == b'\n').enumerate() {
            if !line.is_empty() {
                let entry = serde_json::from_slice(line).with_context(|| {
                    format!(
                        "{}: line {} cannot be read; repair or remove the output",
                        path.display(),
                        number + 1
                    )
                })?;
                entries.push(entry);
            }
        }
        file.set_len(whole as u64).with_context(context)?;
        file.seek(SeekFrom::End(0)).with_context(context)?;
        let mut journal = Self { path, file, fsync };
        match entries.first() {
            None => journal.add([Entry::Options(options.to_owned())])?,
            Some(Entry::Options(before)) => ensure!(
                before == options,
                "{}: this output was made with {before}, now it is {options}; use another folder",
                folder.display()
            ),
            Some(_) => anyhow::bail!(
                "{}: its first line is not what a journal begins with",
                journal.path.display()
            ),
        }
        Ok((journal, entries))
    }

    /// Whoever removed the output under a running watch must be told: lines in a file that has no name are lost.
    pub(super) fn require_in_place(&self) -> anyhow::Result<()> {
        let ours = self.file.metadata()?;
        let there = std::fs::symlink_metadata(&self.path).ok();
        ensure!(
            there.is_some_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())),
            "{}: was removed or replaced while it was in use; start the watch again to pack everything anew",
            self.path.display()
        );
        Ok(())
    }

    /// Adds lines, in one write.
    pub(super) fn add(&mut self, entries: impl IntoIterator<Item = Entry>) -> anyhow::Result<()> {
        let mut text = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut text, &entry)?;
            text.push(b'\n');
        }
        if text.is_empty() {
            return Ok(());
        }
        self.require_in_place()?;
        let before = self.file.stream_position()?;
        let written = self.file.write_all(&text).and_then(|()| {
            if self.fsync {
                self.file.sync_data()
            } else {
                Ok(())
            }
        });
        if let Err(error) = written {
            // Half a line must not stay in front of the next one.
            let _ = self.file.set_len(before);
            let _ = self.file.seek(SeekFrom::Start(before));
            return Err(error)
                .with_context(|| format!("{}: cannot be written", self.path.display()));
        }
        Ok(())
    }
}
