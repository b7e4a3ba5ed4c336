//! The file sink against a system that fails on demand.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tempfile::TempDir;

use super::system::{Real, System};
use crate::{SealedFile, Source, Spans, SpansBuilder};

mod faults;
mod publishing;

/// What a scripted call does.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// The real call.
    Real,
    /// The real call, for at most so many bytes.
    Short(usize),
    /// No call; this result.
    Return(Result<usize, Errno>),
}

type Script<'a> = Box<dyn Fn(usize) -> Act + 'a>;

/// The real system, except where a script says otherwise. Scripts are asked with the number of the call, from 0 on.
struct Scripted<'a> {
    copy: Script<'a>,
    write: Script<'a>,
    sync: Script<'a>,
    rename: Script<'a>,
    reserve: Script<'a>,
    copies: Cell<usize>,
    writes: Cell<usize>,
    syncs: Cell<usize>,
    asked: RefCell<Vec<usize>>,
    reserved: RefCell<Vec<u64>>,
}

impl<'a> Scripted<'a> {
    fn new() -> Self {
        let real = || -> Script<'a> { Box::new(|_| Act::Real) };
        Self {
            copy: real(),
            write: real(),
            sync: real(),
            rename: real(),
            reserve: real(),
            copies: Cell::new(0),
            writes: Cell::new(0),
            syncs: Cell::new(0),
            asked: RefCell::default(),
            reserved: RefCell::default(),
        }
    }

    fn copy(mut self, script: impl Fn(usize) -> Act + 'a) -> Self {
        self.copy = Box::new(script);
        self
    }

    fn write(mut self, script: impl Fn(usize) -> Act + 'a) -> Self {
        self.write = Box::new(script);
        self
    }

    fn sync(mut self, script: impl Fn(usize) -> Act + 'a) -> Self {
        self.sync = Box::new(script);
        self
    }

    fn rename(mut self, script: impl Fn(usize) -> Act + 'a) -> Self {
        self.rename = Box::new(script);
        self
    }

    fn reserve(mut self, script: impl Fn(usize) -> Act + 'a) -> Self {
        self.reserve = Box::new(script);
        self
    }
}

impl System for Scripted<'_> {
    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        from_at: u64,
        to: BorrowedFd<'_>,
        to_at: u64,
        len: usize,
    ) -> Result<usize, Errno> {
        self.asked.borrow_mut().push(len);
        match (self.copy)(self.copies.replace(self.copies.get() + 1)) {
            Act::Real => Real.copy_range(from, from_at, to, to_at, len),
            Act::Short(most) => Real.copy_range(from, from_at, to, to_at, len.min(most)),
            Act::Return(result) => result,
        }
    }

    fn reserve(&self, file: BorrowedFd<'_>, len: u64) -> Result<(), Errno> {
        self.reserved.borrow_mut().push(len);
        match (self.reserve)(0) {
            Act::Return(result) => result.map(drop),
            _ => Real.reserve(file, len),
        }
    }

    fn write_at(&self, to: BorrowedFd<'_>, bytes: &[u8], at: u64) -> Result<usize, Errno> {
        match (self.write)(self.writes.replace(self.writes.get() + 1)) {
            Act::Real => Real.write_at(to, bytes, at),
            Act::Short(most) => Real.write_at(to, &bytes[..bytes.len().min(most)], at),
            Act::Return(result) => result,
        }
    }

    fn sync(&self, file: BorrowedFd<'_>) -> Result<(), Errno> {
        match (self.sync)(self.syncs.replace(self.syncs.get() + 1)) {
            Act::Return(result) => result.map(drop),
            _ => Real.sync(file),
        }
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        match (self.rename)(0) {
            Act::Return(result) => result.map(drop),
            _ => Real.rename_new(from, to),
        }
    }
}

/// Two recordings, a body of ranges of both with inline bytes between, and an empty folder for the output.
struct Scene {
    folder: TempDir,
    first: PathBuf,
    body: Spans,
    expected: Vec<u8>,
    inline: u64,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("녹화-1.mp4");
        let second = folder.path().join("녹화-2.mp4");
        fs::write(&first, noise(1, 50_000)).unwrap();
        fs::write(&second, noise(2, 30_000)).unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();

        let open = |path| -> Arc<dyn Source> { Arc::new(SealedFile::open(path).unwrap()) };
        let (one, two) = (open(&first), open(&second));
        let mut body = SpansBuilder::new();
        body.inline(&b"moof"[..]).range(&one, 10, 20_000).unwrap();
        body.inline(&b"mdat"[..])
            .range(&one, 30_010, 15_000)
            .unwrap();
        body.range(&two, 7, 25_000).unwrap();
        let mut expected = b"moof".to_vec();
        expected.extend(&noise(1, 50_000)[10..20_010]);
        expected.extend(b"mdat");
        expected.extend(&noise(1, 50_000)[30_010..45_010]);
        expected.extend(&noise(2, 30_000)[7..25_007]);
        Self {
            body: body.build().unwrap(),
            expected,
            inline: 8,
            folder,
            first,
        }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn path(&self) -> PathBuf {
        self.out().join("조각.m4s")
    }

    /// The names in the output folder.
    fn left(&self) -> Vec<String> {
        fs::read_dir(self.out())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

/// `len` bytes that repeat nowhere near (a linear congruential generator).
fn noise(seed: u32, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}
