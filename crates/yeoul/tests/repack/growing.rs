//! Inputs that a recorder still writes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use yeoul_isobmff::Limits;
use yeoul_pack::{Catalogue, FileInput, Input, Output, OutputFile, PackOptions, pack_lane};
use yeoul_spans::sink::SinkError;
use yeoul_spans::sink::digest::sha256;
use yeoul_testkit::{Folder, Recorder, presets};

use crate::support::{World, sha256 as sha256sum};

const SECONDS: u64 = 20;

fn recorder(world: &World) -> Recorder<Folder> {
    let folder = Folder::new(world.path("in")).unwrap();
    Recorder::new(presets::simple(3, SECONDS), folder).unwrap()
}

/// Files that stay the same while a broadcast grows: inits, and all segments but the last two. The sound that belongs to
/// the last but one may be in a part that is not written yet.
fn settled(tree: &BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<PathBuf, Vec<u8>> {
    let has = |path: &Path, extension| path.extension() == Some(OsStr::new(extension));
    let segments = tree.keys().filter(|path| has(path, "m4s"));
    let last: Vec<_> = segments.rev().take(2).collect();
    let media = tree
        .iter()
        .filter(|(path, _)| has(path, "mp4") || has(path, "m4s") && !last.contains(path));
    media
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect()
}

#[test]
fn each_step_of_a_recorder_gives_a_right_output_that_the_next_one_extends() {
    let world = World::new();
    let mut recorder = recorder(&world);
    let mut before: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    while let Some(part) = recorder.next_part().unwrap() {
        let said = world.repack(&["in", "--digest"], "out").ended(0);
        world.verifies("out");
        digests_are_right(&world);
        let tree = world.tree("out");
        for (path, bytes) in &before {
            assert!(tree.get(path) == Some(bytes), "{} changed", path.display());
        }
        before = settled(&tree);
        let open = world.manifest("out")["warnings"].to_string();
        assert_eq!(
            open.contains(r#""kind":"open""#),
            !part.closed,
            "{part:?} {open} {}",
            said.err
        );
    }
    assert_eq!(before.len(), 4, "an init and all segments but the last two");
}

fn digests_are_right(world: &World) {
    let manifest = world.manifest("out");
    for recording in manifest["takes"][0]["recordings"].as_array().unwrap() {
        let path = world.path("out").join(recording["path"].as_str().unwrap());
        assert_eq!(recording["sha256"], sha256sum(&fs::read(path).unwrap()));
    }
}

struct Stepper {
    recorder: Recorder<Folder>,
    files: BTreeMap<String, String>,
}

impl Output for Stepper {
    type Error = SinkError;

    fn file(&mut self, file: OutputFile) -> Result<(), SinkError> {
        self.recorder.next_part().unwrap();
        self.files
            .insert(file.name, sha256(&file.body)?.to_string());
        Ok(())
    }
}

#[test]
fn file_that_grows_and_is_closed_during_the_copy() {
    let world = World::new();
    let mut recorder = recorder(&world);
    for _ in 0..14 {
        recorder.next_part().unwrap();
    }
    let mut paths: Vec<_> = world.names("in");
    paths.sort();
    let inputs = paths
        .iter()
        .map(|name| Arc::new(FileInput::new(world.path("in").join(name))) as Arc<dyn Input>);
    let catalogue = Catalogue::read(inputs, &Limits::DEFAULT).unwrap();
    let files = BTreeMap::new();
    let mut output = Stepper { recorder, files };
    pack_lane(catalogue.takes, &PackOptions::default(), &mut output).unwrap();
    while output.recorder.next_part().unwrap().is_some() {}
    world.repack(&["in"], "out").ended(0);
    let whole = world.tree("out");
    let early: BTreeMap<_, _> = output
        .files
        .into_iter()
        .map(|(n, d)| (PathBuf::from(n), d.into_bytes()))
        .collect();
    let settled = settled(&early);
    assert_eq!(
        settled.len(),
        3,
        "an init and all segments but the last two"
    );
    for (path, digest) in settled {
        assert_eq!(sha256sum(&whole[&path]).into_bytes(), digest, "{path:?}");
    }
}
