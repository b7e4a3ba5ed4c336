use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};

/// Names files as they are best named from a folder: relative where both have a common root, else absolute. Links among
/// the folders are resolved first: behind one, `..` leads elsewhere.
pub(super) struct Near {
    from: PathBuf,
    /// The last folder asked for, and what it really is.
    last: RefCell<(PathBuf, PathBuf)>,
}

impl Near {
    /// From a folder; its own path has no links.
    pub(super) fn new(from: &Path) -> Self {
        Self {
            from: from.to_owned(),
            last: RefCell::default(),
        }
    }

    pub(super) fn name(&self, path: &str) -> String {
        let path = Path::new(path);
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return path.display().to_string();
        };
        let mut last = self.last.borrow_mut();
        if last.0 != folder || last.1.as_os_str().is_empty() {
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            let Ok(real) = folder.canonicalize() else {
                return path.display().to_string();
            };
            *last = (folder.to_owned(), real);
        }
        relative(&last.1.join(name), &self.from)
            .display()
            .to_string()
    }
}

fn relative(path: &Path, from: &Path) -> PathBuf {
    let common = path
        .components()
        .zip(from.components())
        .take_while(|(a, b)| a == b)
        .count();
    if common <= 1 {
        return path.to_owned();
    }
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}
