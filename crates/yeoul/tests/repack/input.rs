//! Inputs that are broken, or nothing of the kind.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use yeoul_testkit::{presets, tear};

use crate::support::{World, YEOUL, killed, said, testdata};

/// Nothing is left beside the output, and no output.
#[track_caller]
fn nothing_left(world: &World, expected: &[&str]) {
    assert_eq!(world.names(""), expected);
}

/// A file alone is refused with its name and a reason; among good ones it costs itself only.
#[track_caller]
fn refused(name: &str, reasons: &[&str], make: impl FnOnce(&World, &str)) {
    let world = World::new();
    make(&world, name);
    world
        .repack(&[name], "made/out")
        .ended(1)
        .says(&["error: nothing to repack", "warning: ", name])
        .says(reasons);
    nothing_left(&world, &[name]);

    world.copy("audio-only", "good");
    let alone = world.repack(&["good"], "alone").ended(0);
    assert_eq!(alone.err, "");
    let among = world.repack(
        &[
            name,
            "good/2026-11-30_19-43-33-368390.mp4",
            "good/2026-11-30_19-43-36-916759.mp4",
            "good/2026-11-30_19-43-40-927426.mp4",
        ],
        "among",
    );
    among.ended(0).says(&["warning: ", name]).says(reasons);
    world.verifies("among");
    for (path, bytes) in world.tree("alone") {
        if path.to_str() != Some("yeoul.json") {
            assert!(world.tree("among").get(&path) == Some(&bytes), "{path:?}");
        }
    }
    let warnings = world.manifest("among")["warnings"].clone();
    let paths: Vec<_> = warnings
        .as_array()
        .unwrap()
        .iter()
        .map(|w| &w["path"])
        .collect();
    assert!(
        !paths.is_empty() && paths.iter().all(|path| *path == &format!("../{name}")),
        "{warnings}"
    );
}

#[test]
fn empty_file() {
    refused("empty.mp4", &["is empty"], |world, name| {
        world.write(name, "");
    });
}

#[test]
fn all_zeros() {
    refused("zeros.mp4", &["not an MP4"], |world, name| {
        world.write(name, vec![0; 100_000]);
    });
}

#[test]
fn jpeg() {
    let jpeg = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9";
    refused("picture.mp4", &["not an MP4"], |world, name| {
        world.write(name, jpeg);
    });
}

#[test]
fn text() {
    refused("notes.mp4", &["not an MP4"], |world, name| {
        world.write(name, "ftyp is what this is not\n");
    });
}

#[test]
fn one_byte() {
    refused("one.mp4", &["not an MP4"], |world, name| {
        world.write(name, [0]);
    });
}

#[test]
fn torn_in_moov() {
    refused("torn.mp4", &["no whole 'moov'", "torn"], |world, name| {
        world.copy("torn/mid-moov.mp4", name);
    });
}

#[test]
fn without_moov() {
    let bytes = killed();
    let ftyp = usize::try_from(u32::from_be_bytes(bytes[..4].try_into().unwrap())).unwrap();
    refused("headless.mp4", &["no whole 'moov'"], |world, name| {
        world.write(name, &bytes[..ftyp]);
    });
}

#[test]
fn without_parts() {
    refused("no-parts.mp4", &["no track with samples"], |world, name| {
        world.copy("torn/no-parts.mp4", name);
    });
}

#[test]
fn moov_that_claims_four_gigabytes() {
    let mut bytes = killed();
    let ftyp = usize::try_from(u32::from_be_bytes(bytes[..4].try_into().unwrap())).unwrap();
    bytes[ftyp..ftyp + 4].copy_from_slice(&[0xff; 4]);
    refused("liar.mp4", &["no whole 'moov'"], |world, name| {
        world.write(name, bytes);
    });
}

#[test]
fn fifo_is_not_waited_on() {
    refused("pipe.mp4", &["FIFO"], |world, name| {
        mknodat(CWD, world.path(name), FileType::Fifo, Mode::RUSR, 0).unwrap();
    });
}

#[test]
fn device_and_socket() {
    for name in ["/dev/null", "/dev/zero", "socket.mp4"] {
        let world = World::new();
        let _socket = std::os::unix::net::UnixListener::bind(world.path("socket.mp4")).unwrap();
        let kind = if name.starts_with('/') {
            "device"
        } else {
            "socket"
        };
        world.repack(&[name], "out").ended(1).says(&[name, kind]);
        nothing_left(&world, &["socket.mp4"]);
    }
}

#[test]
fn zero_tail_keeps_what_is_before() {
    let world = World::new();
    let bytes = killed();
    world.write(
        "in/zero-tail.mp4",
        tear::zero_tail(&bytes, bytes.len() * 3 / 4),
    );
    world
        .repack(&["in"], "out")
        .ended(0)
        .says(&["zero-tail.mp4: at byte ", "zero"]);
    world.verifies("out");
}

#[test]
fn every_file_of_the_torn_folder() {
    let world = World::new();
    world.copy("torn", "torn");
    let said = world.repack(&["torn"], "out").ended(0);
    for name in ["empty", "mid-moov", "no-parts"] {
        assert!(
            said.err.contains(&format!("torn/{name}.mp4: ")),
            "{}",
            said.err
        );
    }
    world.verifies("out");
    for name in ["mid-mdat", "zero-tail", "zero-after-part"] {
        let file = format!("torn/{name}.mp4");
        world
            .repack(&[&file], "one")
            .ended(0)
            .says(&["warning: ", &file, "at byte "]);
        world.verifies("one");
    }
}

#[test]
fn moov_behind_mdat() {
    let world = World::new();
    let bytes = fs::read(testdata("plain-4s.mp4")).unwrap();
    let boxes = top_level(&bytes);
    let (_, moov) = boxes.iter().find(|(kind, _)| kind == b"moov").unwrap();
    let mut swapped: Vec<u8> = Vec::new();
    let mut shift = None;
    for (kind, range) in &boxes {
        if kind == b"mdat" {
            shift = Some(range.start - swapped.len());
        }
        if kind != b"moov" {
            swapped.extend(&bytes[range.clone()]);
        }
    }
    let mut table = bytes[moov.clone()].to_vec();
    move_chunks(&mut table, u32::try_from(shift.unwrap()).unwrap());
    swapped.extend(table);
    world.write("a/plain.mp4", &bytes);
    world.write("b/plain.mp4", swapped);
    world.repack(&["a"], "first").ended(0);
    world.repack(&["b"], "behind").ended(0);
    world.verifies("behind");
    let payload = |out: &str| {
        let bytes = world.manifest(out);
        bytes["takes"][0]["recordings"][0]["tracks"].clone()
    };
    assert_eq!(payload("first"), payload("behind"));
}

fn top_level(bytes: &[u8]) -> Vec<([u8; 4], std::ops::Range<usize>)> {
    let mut at = 0;
    let mut found = Vec::new();
    while at < bytes.len() {
        let size = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        let size = usize::try_from(size).unwrap();
        found.push((bytes[at + 4..at + 8].try_into().unwrap(), at..at + size));
        at += size;
    }
    found
}

/// Moves every `stco` entry of a `moov` towards the start.
fn move_chunks(moov: &mut [u8], by: u32) {
    let mut at = 0;
    while at + 12 < moov.len() {
        if &moov[at..at + 4] == b"stco" {
            let count = u32::from_be_bytes(moov[at + 8..at + 12].try_into().unwrap());
            for entry in 0..usize::try_from(count).unwrap() {
                let place = at + 12 + 4 * entry..at + 16 + 4 * entry;
                let old = u32::from_be_bytes(moov[place.clone()].try_into().unwrap());
                moov[place].copy_from_slice(&(old - by).to_be_bytes());
            }
        }
        at += 1;
    }
}

#[test]
fn folder_named_like_a_file() {
    let world = World::new();
    world.copy("audio-only", "in");
    fs::create_dir(world.path("in/folder.mp4")).unwrap();
    let said = world.repack(&["in"], "out").ended(0);
    assert_eq!(said.err, "");
    world
        .repack(&["in/folder.mp4"], "none")
        .ended(1)
        .says(&["in/folder.mp4: no recordings in this folder"]);
    nothing_left(&world, &["in", "out"]);
}

#[test]
fn dangling_link() {
    let world = World::new();
    world.copy("audio-only", "in");
    symlink("nowhere.mp4", world.path("in/link.mp4")).unwrap();
    world
        .repack(&["in"], "out")
        .ended(0)
        .says(&["warning: in/link.mp4: ", "No such file"]);
    world.verifies("out");
    world
        .repack(&["in/link.mp4"], "none")
        .ended(1)
        .says(&["error: in/link.mp4: cannot be read: No such file"]);
    nothing_left(&world, &["in", "out"]);
}

#[test]
fn link_to_a_recording_is_followed() {
    let world = World::new();
    let real = world.copy("audio-only", "elsewhere/deep");
    fs::create_dir(world.path("in")).unwrap();
    for entry in fs::read_dir(&real).unwrap() {
        let entry = entry.unwrap();
        symlink(entry.path(), world.path("in").join(entry.file_name())).unwrap();
    }
    world.repack(&["in"], "out").ended(0);
    world.verifies("out");
}

#[test]
fn missing_file_names_itself_and_makes_nothing() {
    let world = World::new();
    world.copy("audio-only", "in");
    world
        .repack(
            &["in/2026-11-30_19-43-33-368390.mp4", "gone.mp4"],
            "new/out",
        )
        .ended(1)
        .says(&["error: gone.mp4: cannot be read: No such file"]);
    world
        .repack(&["in/*.ts"], "new/out")
        .ended(1)
        .says(&["'in/*.ts': no file fits this pattern"]);
    nothing_left(&world, &["in"]);
}

#[test]
fn unreadable_file() {
    let world = World::new();
    world.copy("audio-only", "in");
    let secret = world.copy("killed/2026-11-30_19-46-40-404770.mp4", "in/secret.mp4");
    set_mode(&secret, 0o000);
    set_mode(&world.path(""), 0o777);
    let args = ["repack", "in", "-o", "out"];
    let mut command = world.command(&args);
    if rustix::process::geteuid().is_root() {
        let copy = world.path("yeoul");
        fs::copy(YEOUL, &copy).unwrap();
        set_mode(&copy, 0o755);
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(copy).args(args).current_dir(world.path(""));
        if Command::new("setpriv").arg("--version").output().is_err() {
            println!("skipped: root reads everything, and setpriv is not there");
            return;
        }
    }
    said(&mut command)
        .ended(0)
        .says(&["warning: in/secret.mp4: ", "Permission denied"]);
    world.verifies("out");
}

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn folders_without_recordings() {
    let world = World::new();
    world.write("docs/readme.txt", "hello");
    fs::create_dir(world.path("empty")).unwrap();
    for folder in ["docs", "empty"] {
        world
            .repack(&[folder], "out")
            .ended(1)
            .says(&[folder, "no recordings in this folder (*.mp4"]);
    }
    nothing_left(&world, &["docs", "empty"]);
}

#[test]
fn same_file_twice_counts_once() {
    let world = World::new();
    world.copy("audio-only", "in");
    symlink("in", world.path("also")).unwrap();
    world.repack(&["in"], "once").ended(0);
    let name = "2026-11-30_19-43-33-368390.mp4";
    let (file, other, again) = (
        format!("in/{name}"),
        format!("also/{name}"),
        "in/*.mp4".to_owned(),
    );
    let said = world
        .repack(&[file.clone(), file, other, again], "twice")
        .ended(0);
    assert_eq!(said.err, "");
    assert!(world.tree("once") == world.tree("twice"));
}

#[test]
fn two_folders_of_one_name_are_refused() {
    let world = World::new();
    world.copy("audio-only", "a/cam");
    world.copy("video-only", "b/cam");
    world
        .repack(&["a/cam", "b/cam"], "out")
        .ended(1)
        .says(&["two inputs would both go to 'cam'"]);
    nothing_left(&world, &["a", "b"]);
}

#[test]
fn folder_with_a_name_that_its_parents_output_needs() {
    let world = World::new();
    world.copy("audio-only", "in");
    world.copy("video-only", "in/video");
    world
        .repack(&["in"], "out")
        .ended(1)
        .says(&["'video'", "repack this folder by itself"]);
    nothing_left(&world, &["in"]);
}

#[test]
fn subfolders_are_broadcasts_of_their_own() {
    let world = World::new();
    world.copy("audio-only", "in/a");
    world.copy("video-only", "in/b/c");
    world.write("in/d/broken.mp4", "");
    for _ in 0..2 {
        world
            .repack(&["in"], "out")
            .ended(0)
            .says(&["in/d/broken.mp4"]);
        let tree = world.tree("out");
        for path in [
            "yeoul.json",
            "a/index.m3u8",
            "a/yeoul.json",
            "b/c/index.m3u8",
        ] {
            assert!(tree.contains_key(std::path::Path::new(path)), "{path}");
        }
        assert_eq!(world.names("out"), ["a", "b", "yeoul.json"]);
        world.verifies("out/a");
        world.verifies("out/b/c");
    }
    let json = world.repack(&["in", "--json"], "out").ended(0).json();
    let broken = &json["broadcasts"][2];
    assert_eq!(broken["name"], "d");
    assert!(
        broken["playlist"].is_null() && broken["manifest"].is_null(),
        "{broken}"
    );
}

#[test]
fn folders_deeper_than_the_limit() {
    let world = World::new();
    let deep = "d/".repeat(40);
    world.copy("audio-only", format!("in/{deep}"));
    world
        .repack(&["in"], "out")
        .ended(1)
        .says(&["nested deeper than 32"]);
}

#[test]
fn nothing_fits_the_selection() {
    let world = World::new();
    world.record(presets::simple(1, 4), "in");
    world
        .repack(&["in", "--video", "none", "--audio", "none"], "out")
        .ended(1)
        .says(&[
            "no track with samples fits the selection",
            "error: nothing to repack",
        ]);
    nothing_left(&world, &["in"]);
}

#[test]
fn verify_follows_every_broadcast_of_an_output() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    for name in ["", "a", "b"] {
        let folder = input.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let recorder = yeoul_testkit::Recorder::new(
            yeoul_testkit::presets::simple(name.len() as u64 + 1, 6),
            yeoul_testkit::Folder::new(&folder).unwrap(),
        );
        recorder.unwrap().record().unwrap();
    }
    let yeoul = |args: &[&str], path: &std::path::Path| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_yeoul"));
        command.args(args).arg(path);
        command
    };
    let done = yeoul(&["repack", "-q", "-o", output.to_str().unwrap()], &input)
        .status()
        .unwrap();
    assert!(done.success());
    assert!(yeoul(&["verify"], &output).status().unwrap().success());
    std::fs::write(output.join("b/index.m3u8"), "#EXTM3U\n").unwrap();
    assert_eq!(
        yeoul(&["verify"], &output).status().unwrap().code(),
        Some(1)
    );
    std::fs::remove_dir_all(output.join("b")).unwrap();
    let done = yeoul(&["verify"], &output).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stdout).contains("b: is named by yeoul.json"));
}
