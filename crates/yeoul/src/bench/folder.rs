use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// A folder for outputs, removed at the end.
pub(super) struct WorkFolder {
    path: PathBuf,
}

impl WorkFolder {
    pub(super) fn new(place: Option<&Path>) -> anyhow::Result<Self> {
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let name = format!("yeoul-bench-{}", std::process::id());
        let path = place.join(name);
        fs::create_dir_all(&place)
            .and_then(|()| fs::create_dir(&path))
            .with_context(|| {
                format!("{}: cannot be made; give another --folder", path.display())
            })?;
        let path = fs::canonicalize(&path).with_context(|| path.display().to_string())?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Where the report goes, if anywhere.
pub(super) struct ReportFolder {
    path: Option<PathBuf>,
}

impl ReportFolder {
    /// Makes the folder. One that holds something is refused: results of two runs must not be mixed.
    pub(super) fn new(path: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(path) = path {
            fs::create_dir_all(path)
                .with_context(|| format!("{}: cannot be made", path.display()))?;
            let mut entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
            ensure!(
                entries.next().is_none(),
                "{}: is not empty; results of two runs are not mixed: give a new folder",
                path.display()
            );
        }
        Ok(Self {
            path: path.map(Path::to_owned),
        })
    }

    pub(super) fn create(&self, name: &str) -> anyhow::Result<Option<File>> {
        let Some(folder) = &self.path else {
            return Ok(None);
        };
        let path = folder.join(name);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        Ok(Some(file))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let Some(folder) = &self.path else {
            return Ok(());
        };
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())
    }
}
