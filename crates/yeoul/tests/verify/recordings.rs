//! Recordings by themselves, and what `paths` makes of what it is given.

use std::fs;
use std::path::PathBuf;

use yeoul::verify::{self, Error, Options};

use crate::world::{World, samples};
use crate::writer::{AUDIO, VIDEO, plain};
use crate::{clean, finds};

fn files(world: &World) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(world.dir.path().join("rec"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn right_recordings_are_ok() {
    let world = World::new();
    world.write();
    let report = verify::recordings(&files(&world));
    clean(&report);
    assert_eq!(
        (report.takes, report.recordings, report.boundaries.len()),
        (2, 4, 4)
    );
    assert!(report.max_clock_ticks <= 2);
    assert!(
        report
            .render()
            .starts_with("recordings 4 files · 2 takes\nboundaries 2 inside takes · clock within")
    );
}

#[test]
fn a_torn_tail_and_a_zeroed_tail() {
    let world = World::new();
    world.write();
    let path = files(&world).remove(0);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    finds(
        &verify::recordings(&files(&world)),
        &["여울-0-0.mp4", "mdat claims to end", "are not whole"],
    );
    fs::write(&path, [&bytes[..], &[0; 300]].concat()).unwrap();
    finds(
        &verify::recordings(&files(&world)),
        &[
            "여울-0-0.mp4",
            "zeros where a box header should be",
            "the last 300 bytes",
        ],
    );
    fs::write(&path, b"").unwrap();
    finds(
        &verify::recordings(&files(&world)),
        &["여울-0-0.mp4", "empty"],
    );
    fs::write(&path, b"GIF89a, and so on").unwrap();
    finds(
        &verify::recordings(&files(&world)),
        &["여울-0-0.mp4", "not an MP4 file"],
    );
}

#[test]
fn a_missing_number_is_noted_and_a_double_one_is_wrong() {
    let mut world = World::new();
    world.takes[0][1].mtxi.number = 3;
    world.write();
    let report = verify::recordings(&files(&world));
    clean(&report);
    assert!(report.notes.iter().any(|n| {
        n.what
            .contains("2 recordings of the take before it are missing")
    }));
    world.takes[0][1].mtxi.number = 0;
    world.write();
    finds(
        &verify::recordings(&files(&world)),
        &[
            "여울-0-1.mp4",
            "has number 0 of its take, as 여울-0-0.mp4 has",
        ],
    );
}

#[test]
fn time_that_goes_back_inside_a_recording() {
    let mut world = World::new();
    let run = world.takes[1][0].parts[1]
        .iter_mut()
        .find(|r| r.track == VIDEO.id)
        .unwrap();
    run.tfdt -= 5;
    world.write();
    finds(
        &verify::recordings(&files(&world)),
        &["여울-1-0.mp4", "track 1: tfdt", "off the running sum"],
    );
}

#[test]
fn tables_that_point_outside_the_file() {
    let world = World::new();
    world.write();
    let [video, audio] = samples(0);
    let bytes = plain(&[(VIDEO, video), (AUDIO, audio)], 5);
    let path = world.dir.path().join("rec/plain.mp4");
    fs::write(&path, &bytes).unwrap();
    clean(&verify::recordings(std::slice::from_ref(&path)));
    let at = bytes.windows(4).position(|w| w == b"stco").unwrap();
    let mut wrong = bytes.clone();
    wrong[at + 12..at + 16].copy_from_slice(&0x7fff_ffff_u32.to_be_bytes());
    fs::write(&path, &wrong).unwrap();
    finds(
        &verify::recordings(std::slice::from_ref(&path)),
        &["plain.mp4", "past the end"],
    );
    let at = bytes.windows(4).position(|w| w == b"stsz").unwrap();
    let mut wrong = bytes;
    wrong[at + 12..at + 16].copy_from_slice(&0xffff_ffff_u32.to_be_bytes());
    fs::write(&path, &wrong).unwrap();
    finds(
        &verify::recordings(std::slice::from_ref(&path)),
        &["plain.mp4", "stsz claims 4294967295 samples"],
    );
}

#[test]
fn each_kind_of_path_is_told_apart() {
    let world = World::new();
    world.write();
    let options = Options::default();
    let (root, out) = (world.dir.path().to_owned(), world.out());
    let whole = verify::paths(std::slice::from_ref(&out), &options).unwrap();
    assert_eq!((whole.recordings, whole.segments), (4, 8));
    let several = verify::paths(std::slice::from_ref(&root), &options).unwrap();
    // The output against its recordings, and the recordings by themselves.
    assert_eq!((several.recordings, several.segments), (8, 8));
    let list = verify::paths(&[out.join("index.m3u8")], &options).unwrap();
    assert_eq!((list.recordings, list.segments), (0, 8));
    let folder = verify::paths(&[root.join("rec")], &options).unwrap();
    let single = verify::paths(&files(&world), &options).unwrap();
    assert_eq!((folder.recordings, single.recordings), (4, 4));
    let both = verify::paths(&[out.clone(), root.join("rec")], &options).unwrap();
    assert_eq!(both.recordings, 8);
    for report in [whole, several, list, folder, single, both] {
        clean(&report);
    }
    fs::create_dir(root.join("empty")).unwrap();
    assert!(matches!(
        verify::paths(&[root.join("empty")], &options),
        Err(Error::Nothing(_))
    ));
    assert!(matches!(
        verify::paths(&[root.join("nowhere")], &options),
        Err(Error::Read { .. })
    ));
}

#[test]
fn the_command_line_is_well_formed() {
    use clap::{Args as _, Command};
    let command = || verify::Args::augment_args(Command::new("verify"));
    command().debug_assert();
    assert!(command().try_get_matches_from(["verify"]).is_err());
    assert!(
        command()
            .try_get_matches_from(["verify", "out", "--deep", "--no-recordings"])
            .is_err()
    );
    assert!(
        command()
            .try_get_matches_from([
                "verify",
                "out",
                "여울",
                "--json",
                "--deep",
                "--recordings",
                "d"
            ])
            .is_ok()
    );
}
