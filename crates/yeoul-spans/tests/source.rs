//! Files as sources: what is refused, what is tolerated, what is noticed.

#![allow(clippy::unwrap_used)]

use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use yeoul_spans::{
    GrowingFile, Identity, Memory, SealedFile, Source, SourceError, SpansBuilder, SpansError, sink,
};

fn folder_with(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Sets another modification time, however coarse the filesystem's clock is.
fn touch(path: &Path) {
    let later = SystemTime::now() + Duration::from_secs(5);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_times(FileTimes::new().set_modified(later))
        .unwrap();
}

fn append(path: &Path, bytes: &[u8]) {
    File::options()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

fn read(source: &dyn Source, offset: u64, len: usize) -> Vec<u8> {
    let mut buf = vec![0; len];
    source.read_exact_at(&mut buf, offset).unwrap();
    buf
}

fn changed_field(error: SourceError) -> &'static str {
    match error {
        SourceError::Changed { field, .. } => field,
        other => panic!("{other}"),
    }
}

#[test]
fn sealed_reads_within_its_bounds() {
    let (_folder, path) = folder_with("2026-11-30_00-00-00 한강.mp4", b"0123456789");
    let file = SealedFile::open(&path).unwrap();
    assert_eq!(file.name(), path.display().to_string());
    assert_eq!(file.len(), 10);
    assert_eq!(read(&file, 3, 4), b"3456");
    assert_eq!(read(&file, 10, 0), b"");
    for (offset, len) in [(7, 4), (11, 0), (u64::MAX, 2)] {
        let error = file.read_exact_at(&mut vec![0; len], offset).unwrap_err();
        assert!(
            matches!(error, SourceError::OutOfBounds { size: 10, .. }),
            "{error}"
        );
    }
    file.check().unwrap();
}

#[test]
fn sealed_file_modified_between_open_and_write_is_refused() {
    let (folder, path) = folder_with("a.mp4", b"0123456789");
    let source: Arc<dyn Source> = Arc::new(SealedFile::open(&path).unwrap());
    let mut body = SpansBuilder::new();
    body.range(&source, 2, 5).unwrap();
    let body = body.build().unwrap();

    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all_at(b"xxx", 3)
        .unwrap();
    touch(&path);

    let out = folder.path().join("out.m4s");
    for error in [
        sink::file::write_new(&out, &body, &Default::default()).unwrap_err(),
        sink::file::create(&out, &body, &Default::default()).unwrap_err(),
        sink::write::write_to(&body, &mut Vec::new(), "a vector").unwrap_err(),
        sink::memory::to_vec(&body, 100).unwrap_err(),
        sink::digest::sha256(&body).unwrap_err(),
    ] {
        let sink::SinkError::Source(error) = error else {
            panic!("{error}")
        };
        assert!(
            error.to_string().starts_with(&path.display().to_string()),
            "{error}"
        );
        assert_eq!(changed_field(error), "mtime_ns");
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing was left behind"
    );
}

#[test]
fn sealed_notices_size_and_time() {
    let (_folder, path) = folder_with("a.mp4", b"0123456789");
    let file = SealedFile::open(&path).unwrap();
    append(&path, b"x");
    assert_eq!(changed_field(file.check().unwrap_err()), "size");

    let file = SealedFile::open(&path).unwrap();
    touch(&path);
    let error = file.check().unwrap_err();
    let SourceError::Changed {
        field: "mtime_ns",
        was,
        now,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(was, file.identity().mtime_ns);
    assert!(now > was);
}

#[test]
fn sealed_truncated_is_an_error_not_zeros() {
    let (_folder, path) = folder_with("a.mp4", b"0123456789");
    let file = SealedFile::open(&path).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(4)
        .unwrap();
    let error = file.read_exact_at(&mut [0; 4], 2).unwrap_err();
    assert!(
        matches!(
            error,
            SourceError::Truncated {
                offset: 2,
                len: 4,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn open_as_says_which_field_differs() {
    let (_folder, path) = folder_with("a.mp4", b"0123456789");
    let is = SealedFile::open(&path).unwrap().identity();
    assert_eq!(SealedFile::open_as(&path, &is).unwrap().identity(), is);
    for (was, field) in [
        (
            Identity {
                dev: is.dev + 1,
                ..is
            },
            "device",
        ),
        (
            Identity {
                ino: is.ino + 1,
                ..is
            },
            "inode",
        ),
        (Identity { size: 9, ..is }, "size"),
        (
            Identity {
                mtime_ns: is.mtime_ns - 1,
                ..is
            },
            "mtime_ns",
        ),
    ] {
        assert_eq!(
            changed_field(SealedFile::open_as(&path, &was).unwrap_err()),
            field
        );
    }
    let error = SealedFile::open_as(&path, &Identity { size: 9, ..is })
        .unwrap_err()
        .to_string();
    assert!(error.contains("size was 9, is now 10"), "{error}");
}

#[test]
fn a_file_replaced_by_a_rename_is_another_file() {
    let (folder, path) = folder_with("a.mp4", b"0123456789");
    let (sealed, growing) = (
        SealedFile::open(&path).unwrap(),
        GrowingFile::open(&path).unwrap(),
    );
    let other = folder.path().join("b.mp4");
    fs::write(&other, b"abcdefghijklm").unwrap();
    fs::rename(&other, &path).unwrap();

    assert_eq!(
        changed_field(SealedFile::open_as(&path, &sealed.identity()).unwrap_err()),
        "inode"
    );
    assert_eq!(
        changed_field(GrowingFile::open_as(&path, &growing.identity()).unwrap_err()),
        "inode"
    );
    growing.check().unwrap();
    assert_eq!(
        growing.refresh().unwrap(),
        10,
        "what is open is the file that was indexed"
    );
    assert_eq!(read(&growing, 0, 10), b"0123456789");
}

#[test]
fn rename_and_unlink_while_open_do_no_harm() {
    let (folder, path) = folder_with("a.mp4", b"0123456789");
    let source: Arc<dyn Source> = Arc::new(SealedFile::open(&path).unwrap());
    let mut body = SpansBuilder::new();
    body.range(&source, 2, 5).unwrap();
    let body = body.build().unwrap();
    let moved = folder.path().join("moved.mp4");
    let out = folder.path().join("out.m4s");
    let replace = sink::file::FileOptions {
        replace: true,
        ..Default::default()
    };

    fs::rename(&path, &moved).unwrap();
    sink::file::write_new(&out, &body, &replace).unwrap();
    assert_eq!(fs::read(&out).unwrap(), b"23456");
    fs::remove_file(&moved).unwrap();
    sink::file::write_new(&out, &body, &replace).unwrap();
    assert_eq!(fs::read(&out).unwrap(), b"23456");
}

#[test]
fn growing_keeps_its_prefix_while_the_file_grows() {
    let (_folder, path) = folder_with("a.mp4", b"01234");
    let file = Arc::new(GrowingFile::open(&path).unwrap());
    let source: Arc<dyn Source> = Arc::clone(&file) as _;
    let mut body = SpansBuilder::new();
    body.range(&source, 1, 4).unwrap();

    append(&path, b"56789");
    assert_eq!(file.len(), 5, "not seen yet");
    assert!(matches!(
        body.range(&source, 5, 1),
        Err(SpansError::OutOfBounds { size: 5, .. })
    ));
    file.check().unwrap();
    assert_eq!(file.refresh().unwrap(), 10);
    assert_eq!(file.identity().size, 10);
    body.range(&source, 5, 3).unwrap();
    let body = body.build().unwrap();
    assert_eq!(body.iter().len(), 1, "both ranges are one");
    append(&path, b"more");
    assert_eq!(sink::memory::to_vec(&body, 100).unwrap(), b"1234567");
}

#[test]
fn growing_tolerates_a_patch_in_place_and_another_time() {
    let (_folder, path) = folder_with("a.mp4", b"mvhd:0 payload");
    let source: Arc<dyn Source> = Arc::new(GrowingFile::open(&path).unwrap());
    let mut body = SpansBuilder::new();
    body.range(&source, 7, 7).unwrap();
    let body = body.build().unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all_at(b"9", 5)
        .unwrap();
    touch(&path);
    assert_eq!(sink::memory::to_vec(&body, 100).unwrap(), b"payload");
}

#[test]
fn growing_that_shrank_is_refused() {
    let (_folder, path) = folder_with("a.mp4", b"0123456789");
    let file = GrowingFile::open(&path).unwrap();
    let seen = file.identity();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(4)
        .unwrap();
    for error in [
        file.refresh().unwrap_err(),
        file.check().unwrap_err(),
        GrowingFile::open_as(&path, &seen).unwrap_err(),
    ] {
        assert!(
            matches!(
                error,
                SourceError::Shrunk {
                    was: 10,
                    now: 4,
                    ..
                }
            ),
            "{error}"
        );
    }
    assert_eq!(file.len(), 10, "the prefix stays what was indexed");
}

#[test]
fn growing_opens_again_as_the_same_file_grown() {
    let (_folder, path) = folder_with("a.mp4", b"01234");
    let seen = GrowingFile::open(&path).unwrap().identity();
    append(&path, b"56789");
    assert_eq!(GrowingFile::open_as(&path, &seen).unwrap().len(), 10);
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo.mp4");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let socket = folder.path().join("socket.mp4");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let linked = folder.path().join("linked.mp4");
    std::os::unix::fs::symlink(&fifo, &linked).unwrap();

    for (path, expected) in [
        (fifo.as_path(), "FIFO"),
        (linked.as_path(), "FIFO"),
        (socket.as_path(), "socket"),
        (folder.path(), "directory"),
        (Path::new("/dev/zero"), "device"),
    ] {
        for error in [
            SealedFile::open(path).unwrap_err(),
            GrowingFile::open(path).unwrap_err(),
        ] {
            assert!(
                matches!(error, SourceError::NotRegular { kind, .. } if kind == expected),
                "{error}"
            );
            assert!(
                error.to_string().starts_with(&path.display().to_string()),
                "{error}"
            );
        }
    }
    let missing = SealedFile::open(folder.path().join("none.mp4")).unwrap_err();
    assert!(matches!(missing, SourceError::Open { .. }), "{missing}");
}

#[test]
fn a_link_to_a_regular_file_is_that_file() {
    let (folder, path) = folder_with("a.mp4", b"01234");
    let linked = folder.path().join("linked.mp4");
    std::os::unix::fs::symlink(&path, &linked).unwrap();
    let direct = SealedFile::open(&path).unwrap().identity();
    assert_eq!(SealedFile::open(&linked).unwrap().identity(), direct);
}

#[test]
fn memory_reads_within_its_bounds() {
    let memory = Memory::new("머리", &b"01234"[..]);
    assert_eq!((memory.name(), memory.len()), ("머리", 5));
    assert_eq!(read(&memory, 1, 3), b"123");
    let error = memory.read_exact_at(&mut [0; 3], 3).unwrap_err();
    assert!(
        matches!(
            error,
            SourceError::OutOfBounds {
                size: 5,
                offset: 3,
                len: 3,
                ..
            }
        ),
        "{error}"
    );
    assert!(memory.fd().is_none());
}
