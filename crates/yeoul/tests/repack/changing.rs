//! Inputs that change between the catalogue and the copy. The packer is driven as the command drives it, by an output that
//! changes a recording when the first segment arrives.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use yeoul_isobmff::Limits;
use yeoul_pack::{
    Catalogue, FileInput, FileKind, Input, Output, OutputFile, PackError, PackOptions, pack_lane,
};
use yeoul_spans::sink::SinkError;
use yeoul_spans::sink::digest::sha256;
use yeoul_testkit::{Scenario, Take, Track};

use crate::support::World;

struct Meddler<F> {
    act: Option<F>,
}

impl<F: FnOnce()> Output for Meddler<F> {
    type Error = SinkError;

    fn file(&mut self, file: OutputFile) -> Result<(), SinkError> {
        if matches!(file.kind, FileKind::Segment { .. })
            && let Some(act) = self.act.take()
        {
            act();
        }
        sha256(&file.body).map(drop)
    }
}

/// Two recordings of 12 s, so that the first has several segments; written an hour ago.
fn recordings(world: &World) -> Vec<PathBuf> {
    let mut scenario = Scenario::new(5)
        .track(Track::h264_720p30())
        .track(Track::aac_mono_48k())
        .take(Take::lasting(Duration::from_secs(24)));
    scenario.segment_duration = Duration::from_secs(12);
    let truth = world.record(scenario, "in");
    let paths = truth.takes[0]
        .files
        .iter()
        .map(|file| world.path("in").join(&file.name));
    let paths: Vec<_> = paths.collect();
    for path in &paths {
        touch(path, SystemTime::now() - Duration::from_secs(3600));
    }
    paths
}

fn touch(path: &Path, when: SystemTime) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(when)).unwrap();
}

fn pack(paths: &[PathBuf], act: impl FnOnce()) -> Result<usize, PackError<SinkError>> {
    let inputs = paths
        .iter()
        .map(|path| Arc::new(FileInput::new(path)) as Arc<dyn Input>);
    let catalogue = Catalogue::read(inputs, &Limits::DEFAULT).unwrap();
    let mut output = Meddler { act: Some(act) };
    let report = pack_lane(catalogue.takes, &PackOptions::default(), &mut output)?;
    assert!(output.act.is_none());
    Ok(report.segments)
}

#[track_caller]
fn refused(which: usize, why: &str, act: impl FnOnce(&Path)) {
    let world = World::new();
    let paths = recordings(&world);
    let error = pack(&paths, || act(&paths[which])).unwrap_err().to_string();
    let name = paths[which].display().to_string();
    assert!(error.starts_with(&name), "{error}");
    assert!(error.contains(why), "{error}");
}

#[test]
fn unchanged_recordings_pass() {
    let world = World::new();
    let paths = recordings(&world);
    assert_eq!(pack(&paths, || {}).unwrap(), 6);
}

#[test]
fn longer() {
    refused(0, "size", |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, [bytes, vec![0; 8]].concat()).unwrap();
    });
}

#[test]
fn truncated() {
    refused(0, "size", |path| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    });
}

#[test]
fn touched() {
    refused(0, "mtime", |path| touch(path, SystemTime::now()));
}

#[test]
fn overwritten_in_place() {
    refused(0, "mtime", |path| {
        let len = usize::try_from(fs::metadata(path).unwrap().len()).unwrap();
        fs::write(path, vec![0xaa; len]).unwrap();
    });
}

#[test]
fn deleted_before_its_turn() {
    refused(1, "No such file", |path| fs::remove_file(path).unwrap());
}

#[test]
fn replaced_before_its_turn() {
    refused(1, "inode", |path| {
        let copy = path.with_extension("copy");
        fs::copy(path, &copy).unwrap();
        fs::rename(copy, path).unwrap();
    });
}

#[test]
fn deleted_or_replaced_while_open_gives_the_bytes_that_were_indexed() {
    for replace in [false, true] {
        let world = World::new();
        let paths = recordings(&world);
        let packed = pack(&paths, || {
            fs::remove_file(&paths[0]).unwrap();
            if replace {
                fs::write(&paths[0], "something else").unwrap();
            }
        });
        assert_eq!(packed.unwrap(), 6);
    }
}
