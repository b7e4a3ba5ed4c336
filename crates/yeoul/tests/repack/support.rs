//! A folder for each test, the program, and what it left behind.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use yeoul_testkit::{Folder, Recorder, Scenario, Truth};

pub(crate) const YEOUL: &str = env!("CARGO_BIN_EXE_yeoul");

/// What a run said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// It ended with this code, and did not panic.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert!(!self.err.contains("panicked"), "{}", self.err);
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// It said each of these on standard error.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "'{part}' is not in:\n{}", self.err);
        }
        self
    }

    #[track_caller]
    pub(crate) fn silent(self) -> Self {
        assert_eq!((&*self.out, &*self.err), ("", ""));
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

pub(crate) struct World {
    dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A copy of a folder or file of `testdata/`.
    pub(crate) fn copy(&self, from: &str, to: impl AsRef<Path>) -> PathBuf {
        let (from, to) = (testdata(from), self.path(to));
        if from.is_dir() {
            fs::create_dir_all(&to).unwrap();
            for entry in fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        } else {
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, &to).unwrap();
        }
        to
    }

    pub(crate) fn record(&self, scenario: Scenario, to: &str) -> Truth {
        let folder = Folder::new(self.path(to)).unwrap();
        Recorder::new(scenario, folder).unwrap().record().unwrap().1
    }

    /// `yeoul` with arguments, in this folder.
    pub(crate) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(YEOUL);
        command
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn yeoul(&self, args: &[impl AsRef<OsStr>]) -> Said {
        said(&mut self.command(args))
    }

    /// `yeoul repack INPUTS… -o OUT`, with options among the inputs.
    pub(crate) fn repack(&self, inputs: &[impl AsRef<OsStr>], out: &str) -> Said {
        let mut args = vec![OsStr::new("repack")];
        args.extend(inputs.iter().map(AsRef::as_ref));
        args.extend([OsStr::new("-o"), OsStr::new(out)]);
        self.yeoul(&args)
    }

    /// `yeoul verify` finds nothing wrong.
    #[track_caller]
    pub(crate) fn verifies(&self, out: &str) {
        self.yeoul(&["verify", out]).ended(0);
    }

    /// Everything in a folder but what is below `except`: path to content; folders end in `/`.
    pub(crate) fn tree(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.path(folder), Path::new(""), &mut found);
        found
    }

    /// Names in this folder, hidden ones too.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn manifest(&self, out: &str) -> Value {
        let text = fs::read(self.path(out).join("yeoul.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

pub(crate) fn said(command: &mut Command) -> Said {
    let done = command.output().unwrap();
    Said {
        code: done.status.code(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

fn collect(root: &Path, inside: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(root.join(inside)).unwrap() {
        let entry = entry.unwrap();
        let path = inside.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.insert(path.join(""), Vec::new());
            collect(root, &path, found);
        } else if kind.is_file() {
            found.insert(path, fs::read(entry.path()).unwrap());
        } else {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            found.insert(path, target.as_os_str().as_encoded_bytes().to_vec());
        }
    }
}

/// A file or folder of the repository's `testdata/`.
pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(name)
        .canonicalize()
        .unwrap()
}

/// As `sha256sum` prints it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// The one recording of `testdata/killed`.
pub(crate) fn killed() -> Vec<u8> {
    fs::read(testdata("killed/2026-11-30_19-46-40-404770.mp4")).unwrap()
}

/// Whether this machine lets us mount something where nobody else sees it.
pub(crate) fn can_mount() -> bool {
    let mut command = Command::new("unshare");
    command.args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"]);
    command.output().is_ok_and(|done| done.status.success())
}
