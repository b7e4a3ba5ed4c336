//! Sinks against real filesystems and writers.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use yeoul_spans::sink::SinkError;
use yeoul_spans::sink::digest::{Sha256, sha256};
use yeoul_spans::sink::file::{FileOptions, Written, create, sync_folder, write_into, write_new};
use yeoul_spans::sink::write::write_to;
use yeoul_spans::{Memory, SealedFile, Source, SourceError, Spans, SpansBuilder};

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251).to_le_bytes()[0]).collect()
}

/// A header and all but the first ten bytes of the file at `path`.
fn body_of(path: &Path) -> (Spans, Vec<u8>) {
    let source: Arc<dyn Source> = Arc::new(SealedFile::open(path).unwrap());
    let mut body = SpansBuilder::new();
    body.inline(&b"header"[..])
        .range(&source, 10, source.len() - 10)
        .unwrap();
    let mut expected = b"header".to_vec();
    expected.extend(&fs::read(path).unwrap()[10..]);
    (body.build().unwrap(), expected)
}

fn memory_body(bytes: &'static [u8]) -> Spans {
    let source: Arc<dyn Source> = Arc::new(Memory::new("memory", bytes));
    let mut body = SpansBuilder::new();
    body.range(&source, 0, source.len()).unwrap();
    body.build().unwrap()
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_file_is_written_whole_and_synced() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("녹화.mp4");
    fs::write(&source, payload(300_000)).unwrap();
    let (body, expected) = body_of(&source);
    let fsync = FileOptions {
        fsync: true,
        ..Default::default()
    };

    let a = folder.path().join("조각-1.m4s");
    let written = write_new(&a, &body, &fsync).unwrap();
    assert_eq!(written.bytes, expected.len() as u64);
    assert_eq!(written.by_kernel + written.by_user, written.bytes);
    assert!(fs::read(&a).unwrap() == expected);
    let b = folder.path().join("조각-2.m4s");
    create(&b, &body, &fsync).unwrap();
    sync_folder(folder.path()).unwrap();
    assert!(fs::read(&b).unwrap() == expected);
    assert_eq!(count(folder.path()), 3);
}

#[test]
fn two_filesystems() {
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no /dev/shm to write to");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = elsewhere.path().join("a.mp4");
    fs::write(&source, payload(700_000)).unwrap();
    let (body, expected) = body_of(&source);
    let out = folder.path().join("out.m4s");
    assert_eq!(
        write_new(&out, &body, &FileOptions::default())
            .unwrap()
            .bytes,
        expected.len() as u64
    );
    assert!(fs::read(&out).unwrap() == expected);
}

#[test]
fn a_source_without_a_descriptor_goes_through_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.m4s");
    let written = write_new(&out, &memory_body(b"0123456789"), &FileOptions::default()).unwrap();
    assert_eq!(
        written,
        Written {
            bytes: 10,
            by_kernel: 0,
            by_user: 10
        }
    );
    assert_eq!(fs::read(out).unwrap(), b"0123456789");
}

#[test]
fn an_empty_body_is_an_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.m4s");
    assert_eq!(
        write_new(&out, &Spans::default(), &FileOptions::default()).unwrap(),
        Written::default()
    );
    assert_eq!(fs::read(out).unwrap(), b"");
}

#[test]
fn a_name_of_255_bytes_in_korean() {
    let folder = tempfile::tempdir().unwrap();
    let longest = "가".repeat(85);
    assert_eq!(longest.len(), 255);
    let out = folder.path().join(&longest);
    write_new(&out, &memory_body(b"bytes"), &FileOptions::default()).unwrap();
    assert_eq!(fs::read(&out).unwrap(), b"bytes");

    let longer = folder.path().join(longest + "a");
    let error = write_new(&longer, &memory_body(b"bytes"), &FileOptions::default()).unwrap_err();
    assert!(matches!(error, SinkError::Create { .. }), "{error}");
    assert_eq!(count(folder.path()), 1);
}

#[test]
fn what_has_the_name_stays() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.m4s");
    let dangling = folder.path().join("dangling.m4s");
    fs::write(&out, b"old").unwrap();
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    for path in [&out, &dangling] {
        for error in [
            write_new(path, &memory_body(b"new"), &FileOptions::default()).unwrap_err(),
            create(path, &memory_body(b"new"), &FileOptions::default()).unwrap_err(),
        ] {
            assert!(
                matches!(&error, SinkError::Exists { to } if *to == path.display().to_string()),
                "{error}"
            );
        }
    }
    assert_eq!(fs::read(&out).unwrap(), b"old");
    assert_eq!(count(folder.path()), 2);

    let replace = FileOptions {
        replace: true,
        ..Default::default()
    };
    write_new(&out, &memory_body(b"new"), &replace).unwrap();
    assert_eq!(fs::read(&out).unwrap(), b"new");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), b"").unwrap();
    // No user, root included, may make files in /proc/self/fdinfo.
    let no_folders = [
        Path::new("/proc/self/fdinfo"),
        &folder.path().join("none"),
        &folder.path().join("file"),
    ];
    for place in no_folders {
        let out = place.join("조각.m4s");
        for error in [
            write_new(&out, &memory_body(b"new"), &FileOptions::default()).unwrap_err(),
            create(&out, &memory_body(b"new"), &FileOptions::default()).unwrap_err(),
        ] {
            assert!(
                matches!(&error, SinkError::Create { to, .. } if *to == out.display().to_string()),
                "{error}"
            );
        }
    }
    for nameless in ["/", "..", ""] {
        let error = write_new(nameless, &memory_body(b"new"), &FileOptions::default()).unwrap_err();
        assert!(matches!(&error, SinkError::Create { .. }), "{error}");
    }
}

#[test]
fn a_folder_without_write_permission_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if File::create(folder.path().join("probe")).is_ok() {
        eprintln!("skipped: this user may write anywhere");
        return;
    }
    let error = write_new(
        folder.path().join("a"),
        &memory_body(b"new"),
        &FileOptions::default(),
    )
    .unwrap_err();
    assert!(matches!(&error, SinkError::Create { .. }), "{error}");
    assert_eq!(count(folder.path()), 0);
}

#[test]
fn a_full_device_is_told_with_its_name_and_what_was_wanted() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.mp4");
    fs::write(&source, payload(300_000)).unwrap();
    let (body, expected) = body_of(&source);
    let inline_only = memory_body(b"0123456789");
    for (body, len) in [(&body, expected.len() as u64), (&inline_only, 10)] {
        for error in [
            write_to(body, &mut full(), "/dev/full").unwrap_err(),
            write_into(full(), "/dev/full", body).unwrap_err(),
        ] {
            let SinkError::NoSpace {
                to,
                written: 0,
                wanted,
                ..
            } = &error
            else {
                panic!("{error}")
            };
            assert_eq!((to.as_str(), *wanted), ("/dev/full", len));
        }
    }
}

#[test]
fn write_into_leaves_the_rest_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, b"0123456789").unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    write_into(&file, "out", &memory_body(b"abc")).unwrap();
    assert_eq!(fs::read(path).unwrap(), b"abc3456789");
}

/// A writer that takes so many bytes in all, one at a time, then fails.
struct Narrow {
    room: usize,
}

impl Write for Narrow {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.room -= 1;
        Ok(buf.len().min(1))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_fails_is_named() {
    assert_eq!(
        write_to(
            &memory_body(b"0123456789"),
            &mut Narrow { room: 10 },
            "pipe"
        )
        .unwrap(),
        10
    );
    let error = write_to(&memory_body(b"0123456789"), &mut Narrow { room: 9 }, "pipe").unwrap_err();
    let SinkError::Write {
        to,
        wanted: 10,
        error,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (to.as_str(), error.kind()),
        ("pipe", io::ErrorKind::BrokenPipe)
    );
}

/// FIPS 180-4 examples: "abc", and the empty message.
#[test]
fn digests_are_the_standards() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(sha256(&memory_body(b"abc")).unwrap().to_string(), abc);
    assert_eq!(sha256(&Spans::default()).unwrap().to_string(), empty);
    assert_eq!(Sha256::of(b"abc").to_string(), abc);
}

/// A source that counts how often it is asked whether it is unchanged.
#[derive(Debug, Default)]
struct Counted {
    checks: AtomicUsize,
    good_for: usize,
}

impl Source for Counted {
    fn name(&self) -> &str {
        "counted"
    }

    fn len(&self) -> u64 {
        1000
    }

    fn read_exact_at(&self, buf: &mut [u8], _: u64) -> Result<(), SourceError> {
        buf.fill(0);
        Ok(())
    }

    fn check(&self) -> Result<(), SourceError> {
        if self.checks.fetch_add(1, Ordering::Relaxed) < self.good_for {
            return Ok(());
        }
        Err(SourceError::Shrunk {
            name: "counted".to_owned(),
            was: 1000,
            now: 0,
        })
    }
}

#[test]
fn each_source_is_checked_once_before_and_once_after() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for sink in 0..5 {
        for good_for in 0..=2 {
            let counted = Arc::new(Counted {
                good_for,
                ..Default::default()
            });
            let source: Arc<dyn Source> = Arc::clone(&counted) as _;
            let other: Arc<dyn Source> = Arc::new(Memory::new("other", &b"other"[..]));
            let mut body = SpansBuilder::new();
            for offset in [0, 500, 20] {
                body.range(&source, offset, 10)
                    .unwrap()
                    .range(&other, 0, 1)
                    .unwrap();
            }
            let body = body.build().unwrap();
            let result = match sink {
                0 => write_new(&out, &body, &FileOptions::default()).map(drop),
                1 => create(&out, &body, &FileOptions::default()).map(drop),
                2 => write_to(&body, &mut Vec::new(), "a vector").map(drop),
                3 => yeoul_spans::sink::memory::to_vec(&body, 100).map(drop),
                _ => sha256(&body).map(drop),
            };
            assert_eq!(result.is_ok(), good_for == 2, "sink {sink}");
            assert_eq!(
                counted.checks.load(Ordering::Relaxed),
                (good_for + 1).min(2),
                "sink {sink}"
            );
            assert_eq!(
                fs::remove_file(&out).is_ok(),
                sink < 2 && good_for == 2,
                "sink {sink}"
            );
        }
    }
}
