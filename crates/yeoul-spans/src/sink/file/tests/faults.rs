//! System calls that refuse, stop short, or fail while a body is written.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use super::{Act, Scene, Scripted, noise};
use crate::sink::SinkError;
use crate::sink::file::{FileOptions, Written, create_by, write_new_by};
use crate::{SealedFile, Source, SourceError, SpansBuilder};

/// Small enough that every range takes several calls.
const SHORT: usize = 6000;
/// Calls for the ranges of a [`Scene`] at `SHORT` bytes each: 20,000, 15,000 and 25,000 bytes.
const CALLS: usize = 4 + 3 + 5;

fn write(scene: &Scene, system: &Scripted<'_>) -> Result<Written, SinkError> {
    write_new_by(system, &scene.path(), &scene.body, &FileOptions::default())
}

fn require_right(scene: &Scene, written: Written) {
    assert!(
        fs::read(scene.path()).unwrap() == scene.expected,
        "other bytes"
    );
    assert_eq!(written.bytes, scene.expected.len() as u64);
    assert_eq!(written.by_kernel + written.by_user, written.bytes);
    assert_eq!(scene.left(), ["조각.m4s"]);
}

/// At call `k` of many short ones the script does `act`.
fn at(k: usize, act: Act) -> impl Fn(usize) -> Act {
    move |call| if call == k { act } else { Act::Short(SHORT) }
}

#[test]
fn kernel_copies_all_but_inline_bytes() {
    let scene = Scene::new();
    let system = Scripted::new();
    let written = write(&scene, &system).unwrap();
    require_right(&scene, written);
    assert_eq!(written.by_user, scene.inline);
    assert_eq!(system.copies.get(), 3);
}

#[test]
fn short_copies_go_on_where_they_stopped() {
    let scene = Scene::new();
    let system = Scripted::new().copy(|_| Act::Short(SHORT));
    let written = write(&scene, &system).unwrap();
    require_right(&scene, written);
    assert_eq!(written.by_user, scene.inline);
    assert_eq!(system.copies.get(), CALLS);
}

#[test]
fn each_refusal_at_each_call_falls_back() {
    let refusals = [
        Errno::XDEV,
        Errno::INVAL,
        Errno::NOSYS,
        Errno::OPNOTSUPP,
        Errno::PERM,
        Errno::ACCESS,
        Errno::IO,
        Errno::TXTBSY,
        Errno::BADF,
    ];
    for errno in refusals {
        for k in 0..CALLS {
            let scene = Scene::new();
            let system = Scripted::new().copy(at(k, Act::Return(Err(errno))));
            let written = write(&scene, &system)
                .unwrap_or_else(|error| panic!("{errno:?} at call {k}: {error}"));
            require_right(&scene, written);
            assert!(
                system.copies.get() > k,
                "{errno:?} at call {k} was never asked for"
            );
            assert!(
                written.by_user > scene.inline,
                "{errno:?} at call {k}: nothing fell back"
            );
        }
    }
}

#[test]
fn a_source_that_was_refused_is_not_tried_again() {
    let scene = Scene::new();
    let system = Scripted::new().copy(|_| Act::Return(Err(Errno::XDEV)));
    let written = write(&scene, &system).unwrap();
    require_right(&scene, written);
    assert_eq!(written.by_kernel, 0);
    assert_eq!(system.copies.get(), 2, "one call for each of two sources");
}

#[test]
fn interrupted_calls_are_made_again() {
    let scene = Scene::new();
    let every_other = |call: usize| {
        if call.is_multiple_of(2) {
            Act::Return(Err(Errno::INTR))
        } else {
            Act::Short(SHORT)
        }
    };
    let system = Scripted::new().copy(every_other).write(every_other);
    let written = write(&scene, &system).unwrap();
    require_right(&scene, written);
    assert_eq!(written.by_user, scene.inline);
    assert_eq!(system.copies.get(), 2 * CALLS);
}

#[test]
fn short_writes_go_on_where_they_stopped() {
    let scene = Scene::new();
    let system = Scripted::new()
        .copy(|_| Act::Return(Err(Errno::NOSYS)))
        .write(|_| Act::Short(3));
    let written = write(&scene, &system).unwrap();
    require_right(&scene, written);
    assert_eq!(written.by_kernel, 0);
}

#[test]
fn zero_from_the_kernel_with_bytes_to_read_falls_back() {
    for k in 0..CALLS {
        let scene = Scene::new();
        let written = write(&scene, &Scripted::new().copy(at(k, Act::Return(Ok(0))))).unwrap();
        require_right(&scene, written);
        assert!(written.by_user > scene.inline);
    }
}

#[test]
fn a_source_truncated_while_copied_is_an_error_that_names_it() {
    for k in 0..4 {
        let scene = Scene::new();
        let system = Scripted::new().copy(|call| {
            if call == k {
                File::options()
                    .write(true)
                    .open(&scene.first)
                    .unwrap()
                    .set_len(100)
                    .unwrap();
            }
            Act::Short(SHORT)
        });
        let error = write(&scene, &system).unwrap_err();
        assert!(
            matches!(&error, SinkError::Source(SourceError::Truncated { .. })),
            "{error}"
        );
        assert!(error.to_string().contains("녹화-1.mp4"), "{error}");
        assert_eq!(scene.left(), [""; 0]);
    }
}

#[test]
fn a_source_overwritten_while_copied_is_an_error_that_names_it() {
    for k in 0..CALLS {
        let scene = Scene::new();
        let system = Scripted::new().copy(|call| {
            if call == k {
                let file = File::options().write(true).open(&scene.first).unwrap();
                file.write_all_at(b"other", 40_000).unwrap();
                // However coarse the filesystem's clock is.
                let later = SystemTime::now() + Duration::from_secs(5);
                file.set_times(FileTimes::new().set_modified(later))
                    .unwrap();
            }
            Act::Short(SHORT)
        });
        let error = write(&scene, &system).unwrap_err();
        assert!(
            matches!(
                &error,
                SinkError::Source(SourceError::Changed {
                    field: "mtime_ns",
                    ..
                })
            ),
            "{error}"
        );
        assert!(error.to_string().contains("녹화-1.mp4"), "{error}");
        assert_eq!(scene.left(), [""; 0]);
    }
}

#[test]
fn a_full_disk_at_each_copy_leaves_nothing() {
    for errno in [Errno::NOSPC, Errno::DQUOT] {
        for k in 0..CALLS {
            let scene = Scene::new();
            let error = write(
                &scene,
                &Scripted::new().copy(at(k, Act::Return(Err(errno)))),
            )
            .unwrap_err();
            let SinkError::NoSpace {
                to,
                wanted,
                written,
                ..
            } = &error
            else {
                panic!("{error}")
            };
            assert_eq!(*to, scene.path().display().to_string());
            assert_eq!(*wanted, scene.expected.len() as u64);
            assert!(
                *written < *wanted && *written >= (k * 5000) as u64,
                "{error}"
            );
            assert_eq!(scene.left(), [""; 0]);
        }
    }
}

#[test]
fn a_full_disk_at_each_write_leaves_nothing() {
    let by_user = || Scripted::new().copy(|_| Act::Return(Err(Errno::XDEV)));
    let counted = by_user();
    write(&Scene::new(), &counted).unwrap();
    assert_eq!(counted.writes.get(), 5);
    for k in 0..counted.writes.get() {
        let scene = Scene::new();
        let full = Act::Return(Err(Errno::NOSPC));
        let error = write(
            &scene,
            &by_user().write(move |call| if call == k { full } else { Act::Real }),
        )
        .unwrap_err();
        assert!(matches!(&error, SinkError::NoSpace { .. }), "{error}");
        assert_eq!(scene.left(), [""; 0]);
    }
}

#[test]
fn any_other_failure_is_told_and_leaves_nothing() {
    for errno in [Errno::FBIG, Errno::NOMEM, Errno::OVERFLOW] {
        let scene = Scene::new();
        let error = write(
            &scene,
            &Scripted::new().copy(at(5, Act::Return(Err(errno)))),
        )
        .unwrap_err();
        let SinkError::Write {
            error: told,
            written,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(told.raw_os_error(), Some(errno.raw_os_error()));
        assert_eq!(*written, 4 + 20_000 + 4 + SHORT as u64);
        assert_eq!(scene.left(), [""; 0]);
    }
    let scene = Scene::new();
    let error = write(&scene, &Scripted::new().write(|_| Act::Return(Ok(0)))).unwrap_err();
    assert!(
        matches!(&error, SinkError::Write { written: 0, .. }),
        "a write of nothing must not loop: {error}"
    );
}

#[test]
fn create_removes_what_it_could_not_finish() {
    let scene = Scene::new();
    let system = Scripted::new().copy(at(7, Act::Return(Err(Errno::NOSPC))));
    let error =
        create_by(&system, &scene.path(), &scene.body, &FileOptions::default()).unwrap_err();
    assert!(matches!(&error, SinkError::NoSpace { .. }), "{error}");
    assert_eq!(scene.left(), [""; 0]);
}

#[test]
fn one_call_copies_at_most_16_mib() {
    let scene = Scene::new();
    let path = scene.folder.path().join("long.mp4");
    let file = File::create(&path).unwrap();
    file.set_len(40 << 20).unwrap();
    file.write_all_at(&noise(3, 1000), (16 << 20) - 500)
        .unwrap();
    let source: std::sync::Arc<dyn Source> = std::sync::Arc::new(SealedFile::open(&path).unwrap());
    let mut body = SpansBuilder::new();
    body.range(&source, 0, source.len()).unwrap();

    let system = Scripted::new();
    write_new_by(
        &system,
        &scene.path(),
        &body.build().unwrap(),
        &FileOptions::default(),
    )
    .unwrap();
    assert!(system.asked.borrow().iter().all(|&len| len <= 16 << 20));
    assert!(system.copies.get() >= 3);
    assert!(
        fs::read(scene.path()).unwrap() == fs::read(path).unwrap(),
        "other bytes"
    );
}
