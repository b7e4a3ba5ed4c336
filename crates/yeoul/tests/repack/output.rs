//! Where the output may go. The recordings are people's only copy: whatever is not ours stays.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::support::{World, YEOUL, said};

/// Recordings in `in`.
fn world() -> World {
    let world = World::new();
    world.copy("audio-only", "in");
    world
}

/// The run is refused, and nothing in this folder is other than before.
#[track_caller]
fn refuses(world: &World, inputs: &[&str], out: &str, reasons: &[&str]) {
    let before = world.tree("");
    world
        .repack(inputs, out)
        .ended(1)
        .says(&["error: "])
        .says(reasons);
    assert!(before == world.tree(""), "something changed");
}

#[test]
fn fresh_folder_with_parents() {
    let world = world();
    world.repack(&["in"], "a/b/out").ended(0);
    world.verifies("a/b/out");
    assert_eq!(world.names("a/b"), ["out"]);
}

#[test]
fn empty_folder_keeps_its_permissions() {
    let world = world();
    fs::create_dir(world.path("out")).unwrap();
    fs::set_permissions(world.path("out"), fs::Permissions::from_mode(0o700)).unwrap();
    world.repack(&["in"], "out/").ended(0);
    world.verifies("out");
    let mode = fs::metadata(world.path("out"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o700);
    assert_eq!(world.names(""), ["in", "out"]);
}

#[test]
fn own_output_is_replaced_as_a_whole() {
    let world = world();
    world.copy("video-only", "other");
    world.repack(&["in", "--layout", "cmaf"], "out").ended(0);
    world.repack(&["other"], "out").ended(0);
    world.repack(&["other"], "fresh").ended(0);
    assert!(world.tree("out") == world.tree("fresh"));
    assert_eq!(world.names(""), ["fresh", "in", "other", "out"]);
}

#[test]
fn file_of_somebody_else_is_never_lost() {
    let world = world();
    world.repack(&["in"], "out").ended(0);
    world.write("out/notes.txt", "mine");
    refuses(
        &world,
        &["in"],
        "out",
        &["a file that yeoul did not write, such as notes.txt"],
    );
    fs::remove_file(world.path("out/notes.txt")).unwrap();
    world.write("out/sub/my.m4s", "mine");
    refuses(&world, &["in"], "out", &["such as sub/my.m4s"]);
    fs::remove_file(world.path("out/sub/my.m4s")).unwrap();
    world.repack(&["in"], "out").ended(0);
}

#[test]
fn folder_that_yeoul_did_not_write() {
    let world = world();
    world.write("out/index.m3u8", "#EXTM3U\n");
    refuses(
        &world,
        &["in"],
        "out",
        &["is not empty and yeoul did not write it"],
    );
}

#[test]
fn output_is_a_file() {
    let world = world();
    world.write("out", "mine");
    refuses(&world, &["in"], "out", &["is there and not a folder"]);
    refuses(&world, &["in"], "out/below", &["Not a directory"]);
}

#[test]
fn output_is_a_link() {
    let world = world();
    world.repack(&["in"], "real").ended(0);
    symlink("real", world.path("out")).unwrap();
    for out in ["out", "out/", "./out/."] {
        refuses(&world, &["in"], out, &["is a link; give the folder itself"]);
    }
    symlink("nowhere", world.path("dangling")).unwrap();
    refuses(&world, &["in"], "dangling", &["is a link"]);
}

#[test]
fn output_is_the_input() {
    let world = world();
    for out in ["in", "in/", "./in/../in"] {
        refuses(&world, &["in"], out, &["is in the output folder"]);
    }
    refuses(&world, &["in/*.mp4"], "in", &["is in the output folder"]);
    refuses(
        &world,
        &["in/2026-11-30_19-43-33-368390.mp4"],
        "in",
        &["is in the output folder"],
    );
    fs::create_dir(world.path("links")).unwrap();
    symlink(
        "../in/2026-11-30_19-43-33-368390.mp4",
        world.path("links/a.mp4"),
    )
    .unwrap();
    refuses(&world, &["links"], "in", &["is in the output folder"]);
}

#[test]
fn output_is_above_the_input() {
    let world = World::new();
    world.copy("audio-only", "out/in");
    refuses(&world, &["out/in"], "out", &["is in the output folder"]);
}

#[test]
fn manifest_cannot_make_recordings_ours() {
    let world = world();
    let names = world.names("in");
    let files: Vec<_> = names
        .iter()
        .map(|n| format!(r#"{{"name":"{n}"}}"#))
        .collect();
    world.write(
        "in/yeoul.json",
        format!(r#"{{"format":1,"files":[{}]}}"#, files.join(",")),
    );
    world.copy("video-only", "other");
    refuses(&world, &["other"], "in", &["that yeoul did not write"]);
    refuses(&world, &["in/*.mp4"], "in", &["is in the output folder"]);
}

#[test]
fn output_in_the_input_is_not_input_the_next_time() {
    let world = world();
    for input in ["in", "in/**/*.mp4"] {
        world.repack(&[input], "in/out").ended(0);
        let first = world.tree("in/out");
        let said = world.repack(&[input], "in/out").ended(0);
        assert_eq!(said.err, "");
        assert!(first == world.tree("in/out"));
    }
    world.repack(&["in", "--layout", "cmaf"], "in/out").ended(0);
    let said = world
        .repack(&["in/**/*.mp4", "--layout", "cmaf"], "in/out")
        .ended(0);
    assert_eq!(said.err, "");
    world.verifies("in/out");
    assert!(world.names("in").iter().all(|name| !name.starts_with('.')));
}

#[test]
fn output_given_as_input() {
    let world = world();
    world.repack(&["in"], "out").ended(0);
    refuses(&world, &["out"], "again", &["yeoul wrote this folder"]);
}

#[test]
fn current_folder() {
    let world = world();
    for out in [".", "./", "../here", ""] {
        fs::create_dir_all(world.path("here/below")).unwrap();
        let mut command = Command::new(YEOUL);
        command
            .args(["repack", "../in", "-o", out])
            .current_dir(world.path("here"));
        let said = said(&mut command);
        if out.is_empty() {
            said.ended(2);
        } else {
            said.ended(1).says(&["the current folder is in it"]);
        }
        assert_eq!(world.names("here"), ["below"]);
    }
}

#[test]
fn output_without_a_name() {
    let world = world();
    for out in ["/", "..", "in/.."] {
        let said = world.repack(&["in"], out).ended(1);
        assert!(
            said.err.contains("name") || said.err.contains("output"),
            "{}",
            said.err
        );
    }
    assert_eq!(world.names(""), ["in"]);
}

#[test]
fn way_to_the_recordings_is_right_behind_links() {
    let world = world();
    fs::create_dir_all(world.path("far/away/place")).unwrap();
    symlink("far/away/place", world.path("near")).unwrap();
    world.repack(&["in"], "near/out").ended(0);
    world.verifies("near/out");
    world.verifies("far/away/place/out");
    let path = world.manifest("near/out")["takes"][0]["recordings"][0]["path"].clone();
    let path = world.path("near/out").join(path.as_str().unwrap());
    assert!(path.is_file(), "{}", path.display());
}

/// Runs a script as root of a mount namespace of its own; `$YEOUL` is the program. `None` where that cannot be had.
fn with_mounts(world: &World, script: &str) -> Option<crate::support::Said> {
    if !crate::support::can_mount() {
        println!("skipped: no mount namespace can be had here");
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-ec", script])
        .env("YEOUL", YEOUL)
        .current_dir(world.path(""));
    Some(said(&mut command))
}

#[test]
fn mount_point_is_refused_before_anything_is_written() {
    let world = world();
    fs::create_dir(world.path("out")).unwrap();
    let script = "mount --bind out out; exec \"$YEOUL\" repack in -o out";
    let Some(said) = with_mounts(&world, script) else {
        return;
    };
    said.ended(1).says(&[
        "is a mount point",
        "give a folder in it, such as",
        "out/hls",
    ]);
    let script =
        "mount -t tmpfs none out; \"$YEOUL\" repack in -o out/hls; exec \"$YEOUL\" verify out/hls";
    with_mounts(&world, script).unwrap().ended(0);
    assert_eq!(world.names(""), ["in", "out"]);
}

#[test]
fn parent_that_cannot_be_written() {
    let world = world();
    fs::create_dir(world.path("ro")).unwrap();
    let script = "mount -t tmpfs -o ro none ro; exec \"$YEOUL\" repack in -o ro/out";
    let Some(said) = with_mounts(&world, script) else {
        return;
    };
    said.ended(1)
        .says(&["/ro: a folder to write in cannot be made here: Read-only file system"]);
}
