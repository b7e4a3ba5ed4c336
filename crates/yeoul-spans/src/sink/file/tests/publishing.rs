//! The name under which a body appears, and when.

use std::fs;
use std::sync::atomic::AtomicU64;

use rustix::io::Errno;

use super::{Act, Scene, Scripted};
use crate::sink::SinkError;
use crate::sink::file::{FileOptions, create_by, create_partial, write_new_by};

const FSYNC: FileOptions = FileOptions {
    fsync: true,
    replace: false,
};
const REPLACE: FileOptions = FileOptions {
    fsync: false,
    replace: true,
};

fn fail(errno: Errno) -> impl Fn(usize) -> Act {
    move |_| Act::Return(Err(errno))
}

#[test]
fn nothing_has_the_name_before_the_body_is_whole() {
    let scene = Scene::new();
    let system = Scripted::new().copy(|_| {
        let left = scene.left();
        assert_eq!(left.len(), 1);
        assert!(
            left[0].starts_with(".yeoul-") && left[0].ends_with(".partial"),
            "{left:?}"
        );
        Act::Real
    });
    write_new_by(&system, &scene.path(), &scene.body, &FileOptions::default()).unwrap();
    assert_eq!(system.copies.get(), 3);
    assert_eq!(scene.left(), ["조각.m4s"]);
}

#[test]
fn without_a_rename_that_refuses_to_replace_a_link_is_made() {
    for errno in [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP] {
        let scene = Scene::new();
        let system = Scripted::new().rename(fail(errno));
        write_new_by(&system, &scene.path(), &scene.body, &FileOptions::default()).unwrap();
        assert!(fs::read(scene.path()).unwrap() == scene.expected);
        assert_eq!(scene.left(), ["조각.m4s"]);
    }
}

#[test]
fn a_file_that_takes_the_name_meanwhile_is_kept() {
    for rename in [Act::Real, Act::Return(Err(Errno::INVAL))] {
        let scene = Scene::new();
        let system = Scripted::new().rename(move |_| rename).copy(|_| {
            fs::write(scene.path(), b"theirs").unwrap();
            Act::Real
        });
        let error =
            write_new_by(&system, &scene.path(), &scene.body, &FileOptions::default()).unwrap_err();
        assert!(matches!(&error, SinkError::Exists { .. }), "{error}");
        assert_eq!(fs::read(scene.path()).unwrap(), b"theirs");
        assert_eq!(scene.left(), ["조각.m4s"]);
    }
}

#[test]
fn a_rename_that_fails_leaves_nothing() {
    let scene = Scene::new();
    let system = Scripted::new().rename(fail(Errno::ROFS));
    let error =
        write_new_by(&system, &scene.path(), &scene.body, &FileOptions::default()).unwrap_err();
    assert!(matches!(&error, SinkError::Publish { .. }), "{error}");
    assert_eq!(scene.left(), [""; 0]);
}

#[test]
fn a_failure_while_replacing_keeps_the_old_file() {
    let scene = Scene::new();
    fs::write(scene.path(), b"old").unwrap();
    let system = Scripted::new().copy(fail(Errno::NOSPC));
    write_new_by(&system, &scene.path(), &scene.body, &REPLACE).unwrap_err();
    assert_eq!(fs::read(scene.path()).unwrap(), b"old");
    assert_eq!(scene.left(), ["조각.m4s"]);

    write_new_by(&Scripted::new(), &scene.path(), &scene.body, &REPLACE).unwrap();
    assert!(fs::read(scene.path()).unwrap() == scene.expected);
    assert_eq!(scene.left(), ["조각.m4s"]);
}

#[test]
fn fsync_reaches_the_file_and_then_its_folder() {
    let scene = Scene::new();
    let system = Scripted::new().sync(|call| {
        assert_eq!(
            scene.path().exists(),
            call == 1,
            "file before the rename, folder after it"
        );
        Act::Real
    });
    write_new_by(&system, &scene.path(), &scene.body, &FSYNC).unwrap();
    assert_eq!(system.syncs.get(), 2);

    let none = Scripted::new();
    write_new_by(
        &none,
        &scene.out().join("b"),
        &scene.body,
        &FileOptions::default(),
    )
    .unwrap();
    assert_eq!(none.syncs.get(), 0);
    let file_only = Scripted::new();
    create_by(&file_only, &scene.out().join("c"), &scene.body, &FSYNC).unwrap();
    assert_eq!(file_only.syncs.get(), 1);
}

#[test]
fn a_file_that_does_not_reach_the_disk_does_not_appear() {
    let scene = Scene::new();
    let error = write_new_by(
        &Scripted::new().sync(fail(Errno::IO)),
        &scene.path(),
        &scene.body,
        &FSYNC,
    )
    .unwrap_err();
    assert!(
        matches!(&error, SinkError::Sync { to, .. } if *to == scene.path().display().to_string()),
        "{error}"
    );
    assert_eq!(scene.left(), [""; 0]);
}

#[test]
fn a_folder_that_does_not_reach_the_disk_is_told() {
    let folder_fails = |errno| {
        move |call| {
            if call == 1 {
                Act::Return(Err(errno))
            } else {
                Act::Real
            }
        }
    };
    let scene = Scene::new();
    let system = Scripted::new().sync(folder_fails(Errno::IO));
    let error = write_new_by(&system, &scene.path(), &scene.body, &FSYNC).unwrap_err();
    assert!(
        matches!(&error, SinkError::Sync { to, .. } if *to == scene.out().display().to_string()),
        "{error}"
    );
    assert!(
        fs::read(scene.path()).unwrap() == scene.expected,
        "the file itself is whole"
    );

    let scene = Scene::new();
    let system = Scripted::new().sync(folder_fails(Errno::INVAL));
    write_new_by(&system, &scene.path(), &scene.body, &FSYNC).unwrap();
    assert_eq!(system.syncs.get(), 2, "a filesystem without folder sync");
}

#[test]
fn partial_files_of_a_killed_process_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let name = |number: u64| {
        folder.path().join(format!(
            ".yeoul-{:x}-{number:x}.partial",
            std::process::id()
        ))
    };
    for number in 0..20 {
        fs::write(name(number), b"left").unwrap();
    }
    let (_, made) = create_partial(folder.path(), &AtomicU64::new(0)).unwrap();
    assert_eq!(made.path, name(20));
    assert_eq!(fs::read(name(19)).unwrap(), b"left");
}

#[test]
fn room_is_taken_for_a_new_file_and_its_size_is_that_of_the_body() {
    let scene = Scene::new();
    let system = Scripted::new();
    write_new_by(&system, &scene.path(), &scene.body, &REPLACE).unwrap();
    create_by(&system, &scene.out().join("2"), &scene.body, &FSYNC).unwrap();
    assert_eq!(*system.reserved.borrow(), [scene.body.len(); 2]);
    assert_eq!(fs::metadata(scene.path()).unwrap().len(), scene.body.len());
}

/// ext4 would not write the new file out before it takes the place of the old one.
#[test]
fn no_room_is_taken_where_a_file_is_replaced_nor_for_a_small_one() {
    let scene = Scene::new();
    let system = Scripted::new();
    fs::write(scene.path(), "old").unwrap();
    write_new_by(&system, &scene.path(), &scene.body, &REPLACE).unwrap();
    let small = scene.body.slice(0..1000).unwrap();
    write_new_by(&system, &scene.out().join("small"), &small, &REPLACE).unwrap();
    assert!(system.reserved.borrow().is_empty());
}

#[test]
fn where_no_room_can_be_taken_the_body_is_written_all_the_same() {
    for errno in [Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOSPC, Errno::INTR] {
        let scene = Scene::new();
        let system = Scripted::new().reserve(fail(errno));
        write_new_by(&system, &scene.path(), &scene.body, &FileOptions::default()).unwrap();
        assert!(fs::read(scene.path()).unwrap() == scene.expected);
    }
}
