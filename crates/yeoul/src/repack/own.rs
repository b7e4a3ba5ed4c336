//! What yeoul wrote, as its manifests say: the only files that a later run may remove.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::manifest::FILE_NAME;

/// Bytes of a manifest that are read.
const MAX_MANIFEST: u64 = 1 << 30;

#[derive(Deserialize)]
struct Manifest {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(default)]
    files: Vec<Named>,
    #[serde(default)]
    broadcasts: Vec<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Every file that manifests in and below `output` say yeoul wrote, the manifests included, as paths within it; `None`
/// without a readable manifest. A name that leads outside, or that yeoul gives to no file, does not count.
pub(super) fn files_written(output: &Path) -> Option<BTreeSet<PathBuf>> {
    let root = read(output)?;
    let mut out = BTreeSet::new();
    let inside = |name: &String| Some(PathBuf::from(name)).filter(|path| is_inside(path));
    let mut add = |folder: &Path, manifest: &Manifest| {
        out.insert(folder.join(FILE_NAME));
        let names = manifest.files.iter().map(|file| &file.name);
        let files = names.filter_map(inside).filter(|path| is_ours(path));
        out.extend(files.map(|path| folder.join(path)));
    };
    add(Path::new(""), &root);
    let folders: BTreeSet<PathBuf> = root.broadcasts.iter().filter_map(inside).collect();
    for folder in folders {
        if let Some(manifest) = read(&output.join(&folder)) {
            add(&folder, &manifest);
        }
    }
    Some(out)
}

fn read(folder: &Path) -> Option<Manifest> {
    let path = folder.join(FILE_NAME);
    let meta = path.symlink_metadata().ok()?;
    if !meta.is_file() || meta.len() > MAX_MANIFEST {
        return None;
    }
    let mut file = BufReader::new(fs::File::open(path).ok()?);
    // An array would be read as the fields in order.
    let is_object = file.fill_buf().ok()?.first() == Some(&b'{');
    is_object.then(|| serde_json::from_reader(file).ok())?
}

fn is_inside(path: &Path) -> bool {
    let mut components = path.components().peekable();
    components.peek().is_some() && components.all(|part| matches!(part, Component::Normal(_)))
}

/// Whether yeoul gives such a name to a file. No recording has one, so that no manifest can make it ours.
fn is_ours(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let init = name
        .strip_prefix("init-")
        .and_then(|name| name.strip_suffix(".mp4"));
    init.is_some_and(|digest| digest.len() == 8 && digest.bytes().all(|b| b.is_ascii_hexdigit()))
        || name.ends_with(".m4s")
        || name == "index.m3u8"
}

/// Refuses a folder that has anything in it that yeoul did not write. Messages call it `name`.
pub(super) fn refuse_foreign(folder: &Path, name: &Path) -> anyhow::Result<()> {
    let is_empty = fs::read_dir(folder)
        .with_context(|| format!("{}: cannot be read", name.display()))?
        .next()
        .is_none();
    if is_empty {
        return Ok(());
    }
    if folder.join(crate::watch::JOURNAL).exists() {
        bail!(
            "{}: a watch writes here (repack --watch); give another folder",
            name.display()
        );
    }
    let Some(own) = files_written(folder) else {
        bail!(
            "{}: is not empty and yeoul did not write it; give another folder, or remove it first",
            name.display()
        );
    };
    let mut foreign = Vec::new();
    collect_foreign(folder, Path::new(""), &own, &mut foreign)
        .with_context(|| format!("{}: cannot be read", name.display()))?;
    if let Some(first) = foreign.first() {
        bail!(
            "{}: has {} that yeoul did not write, such as {}; move it, or give another folder",
            name.display(),
            match foreign.len() {
                1 => "a file".to_owned(),
                n => format!("{n} files"),
            },
            first.display()
        );
    }
    Ok(())
}

fn collect_foreign(
    root: &Path,
    inside: &Path,
    own: &BTreeSet<PathBuf>,
    foreign: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(inside))? {
        let entry = entry?;
        let path = inside.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect_foreign(root, &path, own, foreign)?;
        } else if !kind.is_file() || !own.contains(&path) {
            foreign.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_within_the_folder_and_as_yeoul_gives_them_count() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let manifest = r#"{"format":1,
            "files":[{"name":"a-1.m4s"},{"name":"audio/index.m3u8"},{"name":"init-0123abcd.mp4"},{"name":"../a.m4s"},
                {"name":"/a.m4s"},{"name":"a/../../a.m4s"},{"name":"film.mp4"},{"name":"init-0123abcd9.mp4"},{"name":""}],
            "broadcasts":["in","in/../../out","..","/","."]}"#;
        let inner = r#"{"format":1,"files":[{"name":"b.m4s"}],"broadcasts":["deeper"]}"#;
        fs::create_dir_all(folder.path().join("out/in/deeper"))?;
        fs::write(folder.path().join("yeoul.json"), inner)?;
        fs::write(folder.path().join("out/yeoul.json"), manifest)?;
        fs::write(folder.path().join("out/in/yeoul.json"), inner)?;
        fs::write(folder.path().join("out/in/deeper/yeoul.json"), inner)?;
        let written = files_written(&folder.path().join("out")).unwrap_or_default();
        let expected = [
            "a-1.m4s",
            "audio/index.m3u8",
            "in/b.m4s",
            "in/yeoul.json",
            "init-0123abcd.mp4",
            "yeoul.json",
        ];
        assert_eq!(written, expected.map(PathBuf::from).into());
        Ok(())
    }
}
