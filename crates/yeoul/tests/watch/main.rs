//! `yeoul repack --watch`, the real binary, against recordings that a recorder writes part by part.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its input should stop there"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use yeoul_testkit::{Folder, Recorder, Scenario, SplitMix64, Take, Track};

fn yeoul() -> Command {
    Command::new(env!("CARGO_BIN_EXE_yeoul"))
}

/// A watch whose lines can be waited for.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(input: &Path, output: &Path, more: &[&str]) -> Self {
        let mut child = yeoul()
            .args(["repack", "--watch", "--json"])
            .args(more)
            .arg(input)
            .arg("-o")
            .arg(output)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Waits for the next recording to be packed.
    fn packed(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn run(args: &[&str], input: &Path, output: &Path) -> std::process::Output {
    let done = yeoul()
        .arg("repack")
        .args(args)
        .arg(input)
        .arg("-o")
        .arg(output)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    done
}

/// Three takes of some 200 recordings with two cuts.
fn broadcast(seed: u64) -> Scenario {
    let seconds = |n| Take::lasting(Duration::from_secs(n));
    Scenario::new(seed)
        .track(Track::h264_720p30().sizes(yeoul_testkit::Sizes {
            sync: 900,
            anchor: 120,
            leaf: 90,
        }))
        .track(Track::aac_mono_48k().sizes(yeoul_testkit::Sizes {
            sync: 40,
            anchor: 40,
            leaf: 40,
        }))
        .take(seconds(300))
        .take(seconds(300).after(3_000_000_000))
        .take(seconds(200).after(8_000_000_000))
}

/// Published files: name → (inode, bytes).
fn published(folder: &Path) -> BTreeMap<String, (u64, Vec<u8>)> {
    let mut out = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_file() && !name.starts_with('.') {
            out.insert(name, (meta.ino(), std::fs::read(entry.path()).unwrap()));
        }
    }
    out
}

fn is_media(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ext| ext == "m4s" || ext == "mp4")
}

#[test]
fn killed_fifty_times_each_output_is_there_once_whole_and_as_in_a_batch() {
    let dir = tempfile::tempdir().unwrap();
    let (all, batch) = (dir.path().join("all"), dir.path().join("batch"));
    std::fs::create_dir(&all).unwrap();
    Recorder::new(broadcast(7), Folder::new(&all).unwrap())
        .unwrap()
        .record()
        .unwrap();
    assert!(std::fs::read_dir(&all).unwrap().count() >= 200);
    run(&["--quiet"], &all, &batch);
    let expected = published(&batch);

    let (live, output) = (dir.path().join("live"), dir.path().join("output"));
    std::fs::create_dir(&live).unwrap();
    let mut recorder = Recorder::new(broadcast(7), Folder::new(&live).unwrap()).unwrap();
    let mut random = SplitMix64::new(11);
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut ended = false;
    for round in 0..50 {
        let mut watch = Watch::start(&live, &output, &[]);
        for _ in 0..10 + random.next_u64() % 14 {
            ended |= recorder.next_part().unwrap().is_none();
        }
        if round % 2 == 0 && !ended {
            // Of so many parts at least one recording was closed and can be packed.
            watch.packed();
        }
        watch.kill();
        for (name, (inode, bytes)) in published(&output) {
            if is_media(&name) {
                assert!(
                    expected[&name].1 == bytes,
                    "round {round}: {name} is not what a batch makes"
                );
                let before = *seen.entry(name.clone()).or_insert(inode);
                assert_eq!(before, inode, "round {round}: {name} was written twice");
            }
        }
    }
    assert!(
        seen.len() > 20,
        "the kills left {} files behind them",
        seen.len()
    );
    while recorder.next_part().unwrap().is_some() {}
    run(&["--watch", "--finish", "--quiet"], &live, &output);
    let done = published(&output);
    for (name, (_, bytes)) in &expected {
        if name != "yeoul.json" {
            assert!(
                done.get(name).is_some_and(|(_, made)| made == bytes),
                "{name} differs from the batch"
            );
        }
    }
    assert_eq!(
        done.len(),
        expected.len() - 1,
        "nothing but what a batch makes"
    );
    for (name, inode) in seen {
        assert_eq!(done[&name].0, inode, "{name} was written twice");
    }
    let partial = std::fs::read_dir(&output).unwrap().flatten();
    assert!(
        !partial
            .into_iter()
            .any(|e| e.file_name().to_string_lossy().ends_with(".partial"))
    );
}

#[test]
fn recordings_are_packed_as_they_are_closed_and_the_playlist_grows() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("카메라 1"), dir.path().join("출력"));
    std::fs::create_dir(&live).unwrap();
    let scenario = yeoul_testkit::presets::simple(3, 30);
    let mut recorder = Recorder::new(scenario, Folder::new(&live).unwrap()).unwrap();
    let mut watch = Watch::start(&live, &output, &["--segment", "2s"]);
    let mut before = String::new();
    let mut packed = 0;
    let mut closed = 0;
    while let Some(part) = recorder.next_part().unwrap() {
        closed += u32::from(part.closed);
        // The first recording of a take waits for the header of the second.
        while closed > 1 && packed < closed - 1 {
            let line = watch.packed();
            packed += 1;
            assert_eq!(line["number"], packed - 1);
        }
        let text = std::fs::read_to_string(output.join("index.m3u8")).unwrap_or_default();
        assert!(text.starts_with(&before), "{before}\nbecame\n{text}");
        before = text;
    }
    watch.kill();
    assert!(before.contains("#EXT-X-PLAYLIST-TYPE:EVENT") && !before.contains("ENDLIST"));
}

#[test]
fn notify_tells_a_watch_and_is_no_error_without_one() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("live"), dir.path().join("out"));
    let done = yeoul()
        .args(["notify", "-o"])
        .arg(&output)
        .env("MTX_SEGMENT_PATH", live.join("a.mp4"))
        .output()
        .unwrap();
    assert!(done.status.success());
    assert!(String::from_utf8_lossy(&done.stderr).contains("no watch is told"));
    let done = yeoul()
        .args(["notify", "-o"])
        .arg(&output)
        .env_remove("MTX_SEGMENT_PATH")
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(1));
}

#[test]
fn each_folder_is_a_broadcast() {
    let dir = tempfile::tempdir().unwrap();
    let (root, output) = (dir.path().join("recordings"), dir.path().join("out"));
    for (name, seed) in [("cam1", 1), ("cam2/현관", 2)] {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let scenario = yeoul_testkit::presets::simple(seed, 12);
        Recorder::new(scenario, Folder::new(&folder).unwrap())
            .unwrap()
            .record()
            .unwrap();
    }
    run(&["--watch", "--finish", "--jobs", "2"], &root, &output);
    for name in ["cam1", "cam2/현관"] {
        let batch = dir.path().join("batch").join(name);
        run(&["--quiet"], &root.join(name), &batch);
        let text = std::fs::read_to_string(output.join(name).join("index.m3u8")).unwrap();
        assert_eq!(
            text,
            std::fs::read_to_string(batch.join("index.m3u8")).unwrap()
        );
    }
}

#[test]
fn other_options_and_foreign_folders_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("live"), dir.path().join("out"));
    std::fs::create_dir(&live).unwrap();
    Recorder::new(
        yeoul_testkit::presets::simple(1, 8),
        Folder::new(&live).unwrap(),
    )
    .unwrap()
    .record()
    .unwrap();
    run(&["--watch", "--finish"], &live, &output);
    let refused = |args: &[&str], input: &Path, output: &Path, why: &str| {
        let done = yeoul()
            .args(["repack", "--watch", "--finish"])
            .args(args)
            .arg(input)
            .arg("-o")
            .arg(output)
            .output();
        let done = done.unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{said}");
        assert!(said.contains(why), "{said}");
    };
    refused(&["--segment", "6s"], &live, &output, "was made with");
    let foreign = dir.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("thesis.txt"), "only copy").unwrap();
    refused(&[], &live, &foreign, "no watch wrote it");
    refused(&[], &live, &live.join("out"), "must not lie");
    refused(&[], &live, dir.path(), "must not lie");
}

#[test]
fn an_output_that_is_removed_under_a_watch_is_said_and_packed_anew_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("live"), dir.path().join("out"));
    std::fs::create_dir(&live).unwrap();
    let scenario = yeoul_testkit::presets::simple(5, 40);
    let mut recorder = Recorder::new(scenario, Folder::new(&live).unwrap()).unwrap();
    let mut watch = Watch::start(&live, &output, &[]);
    for _ in 0..12 {
        recorder.next_part().unwrap();
    }
    watch.packed();
    std::fs::remove_dir_all(&output).unwrap();
    while recorder.next_part().unwrap().is_some() {}
    watch.kill();
    assert!(!output.join("index.m3u8").exists());
    let batch = dir.path().join("batch");
    run(&["--watch", "--finish"], &live, &output);
    run(&["--quiet"], &live, &batch);
    let text = |folder: &Path| std::fs::read_to_string(folder.join("index.m3u8")).unwrap();
    assert_eq!(text(&output), text(&batch));
}

#[test]
fn a_recording_that_is_rewritten_or_broken_costs_itself_only() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("live"), dir.path().join("out"));
    std::fs::create_dir(&live).unwrap();
    Recorder::new(
        yeoul_testkit::presets::simple(5, 40),
        Folder::new(&live).unwrap(),
    )
    .unwrap()
    .record()
    .unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&live)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    names.sort();
    std::fs::write(&names[2], "not a recording any more").unwrap();
    std::fs::write(live.join("empty.mp4"), "").unwrap();
    std::fs::create_dir(live.join("folder.mp4")).unwrap();
    let done = run(&["--watch", "--finish"], &live, &output);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        said.contains("not an MP4") && said.contains("empty.mp4"),
        "{said}"
    );
    let text = std::fs::read_to_string(output.join("index.m3u8")).unwrap();
    assert!(
        text.contains("#EXT-X-GAP") && text.contains("#EXT-X-ENDLIST"),
        "{text}"
    );
    let verified = yeoul()
        .arg("verify")
        .arg(output.join("index.m3u8"))
        .output()
        .unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
}

#[test]
fn a_signal_ends_a_watch_at_once_and_leaves_no_socket() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("live"), dir.path().join("out"));
    std::fs::create_dir(&live).unwrap();
    let scenario = yeoul_testkit::presets::simple(2, 12);
    Recorder::new(scenario, Folder::new(&live).unwrap())
        .unwrap()
        .record()
        .unwrap();
    // A look at everything comes in an hour only: it is the signal that must wake the watch.
    let mut watch = Watch::start(&live, &output, &["--rescan", "3600s"]);
    watch.packed();
    assert!(output.join(".yeoul.sock").exists());
    let id = watch.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let status = watch.child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(15)
    );
    assert!(!output.join(".yeoul.sock").exists());
}

#[test]
fn finished_takes_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (all, live, output) = (
        dir.path().join("all"),
        dir.path().join("live"),
        dir.path().join("out"),
    );
    std::fs::create_dir(&all).unwrap();
    std::fs::create_dir(&live).unwrap();
    let scenario = yeoul_testkit::presets::simple(9, 30);
    Recorder::new(scenario, Folder::new(&all).unwrap())
        .unwrap()
        .record()
        .unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&all)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    for name in &names[..3] {
        std::fs::copy(all.join(name), live.join(name)).unwrap();
    }
    run(&["--watch", "--finish"], &live, &output);
    let before = published(&output);
    for name in &names[3..] {
        std::fs::copy(all.join(name), live.join(name)).unwrap();
    }
    let done = run(&["--watch", "--finish"], &live, &output);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("its take has ended already"), "{said}");
    for (name, (inode, bytes)) in published(&output) {
        let (old_inode, old) = &before[&name];
        assert!(*old == bytes, "{name} changed");
        assert!(
            !is_media(&name) || *old_inode == inode,
            "{name} was written again"
        );
    }
    let verified = yeoul().arg("verify").arg(&output).output().unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
}

fn recorded(folder: &Path, seed: u64, seconds: u64) -> Vec<std::path::PathBuf> {
    std::fs::create_dir_all(folder).unwrap();
    let scenario = yeoul_testkit::presets::simple(seed, seconds);
    Recorder::new(scenario, Folder::new(folder).unwrap())
        .unwrap()
        .record()
        .unwrap();
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    names.sort();
    names
}

fn assert_same(batch: &Path, output: &Path) {
    let (expected, made) = (published(batch), published(output));
    for (name, (_, bytes)) in expected.iter().filter(|(name, _)| *name != "yeoul.json") {
        assert!(
            made.get(name).is_some_and(|(_, made)| made == bytes),
            "{name} differs from the batch"
        );
    }
}

#[test]
fn a_file_that_cannot_be_written_breaks_nothing_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output, batch) = (
        dir.path().join("live"),
        dir.path().join("out"),
        dir.path().join("batch"),
    );
    recorded(&live, 4, 60);
    run(&["--quiet"], &live, &batch);
    let sizes: Vec<u64> = published(&batch)
        .into_values()
        .map(|(_, bytes)| bytes.len() as u64)
        .collect();
    let largest = sizes.into_iter().max().unwrap();
    // A limit on the size of files is a full disk that comes and goes: some segments fit, others do not.
    for kib in [1, largest / 4096, largest / 2048, largest / 1400] {
        let done = Command::new("sh")
            .args(["-c", "ulimit -f \"$1\"; shift; exec \"$@\"", "sh"])
            .arg((kib * 2).to_string())
            .arg(env!("CARGO_BIN_EXE_yeoul"))
            .args(["repack", "--watch", "--finish", "--quiet"])
            .arg(&live)
            .arg("-o")
            .arg(&output)
            .output()
            .unwrap();
        assert_eq!(
            done.status.code(),
            Some(1),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    run(&["--watch", "--finish", "--quiet"], &live, &output);
    assert_same(&batch, &output);
}

#[test]
fn a_signal_while_finishing_ends_no_take() {
    let dir = tempfile::tempdir().unwrap();
    let (live, batch) = (dir.path().join("live"), dir.path().join("batch"));
    recorded(&live, 4, 300);
    run(&["--quiet"], &live, &batch);
    for round in 0..6 {
        let output = dir.path().join(format!("out{round}"));
        let mut child = yeoul()
            .args(["repack", "--watch", "--finish", "--json"])
            .arg(&live)
            .arg("-o")
            .arg(&output)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..=round * 3 {
            lines.read_line(&mut String::new()).unwrap();
        }
        Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .unwrap();
        drop(lines);
        child.wait().unwrap();
        run(&["--watch", "--finish", "--quiet"], &live, &output);
        assert_same(&batch, &output);
    }
}

#[test]
fn a_broadcast_that_fails_keeps_no_other_from_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("live"), dir.path().join("out"));
    recorded(&live.join("a"), 1, 12);
    recorded(&live.join("b"), 2, 12);
    recorded(&live.join("d/".repeat(40)), 3, 8);
    std::fs::create_dir_all(output.join("a")).unwrap();
    std::fs::write(output.join("a/thesis.txt"), "only copy").unwrap();
    let done = yeoul()
        .args(["repack", "--watch", "--finish"])
        .arg(&live)
        .arg("-o")
        .arg(&output)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("deeper than 32") && said.contains("no watch wrote it"),
        "{said}"
    );
    let text = std::fs::read_to_string(output.join("b/index.m3u8")).unwrap();
    assert!(text.contains("ENDLIST"));
}

#[test]
fn copies_hidden_folders_and_names_of_lanes_make_no_broadcasts() {
    let dir = tempfile::tempdir().unwrap();
    let (live, output) = (dir.path().join("live"), dir.path().join("out"));
    let names = recorded(&live, 1, 24);
    recorded(&live.join("lane-2"), 2, 8);
    recorded(&live.join(".trash"), 3, 8);
    run(&["--watch", "--finish"], &live, &output);
    let before = published(&output);
    std::fs::copy(&names[1], live.join("copy.mp4")).unwrap();
    std::fs::rename(&names[2], live.join("renamed.mp4")).unwrap();
    let done = run(&["--watch", "--finish"], &live, &output);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        said.contains("packed already") && said.contains("rename it"),
        "{said}"
    );
    assert!(before.keys().eq(published(&output).keys()));
    assert!(!output.join("lane-2").exists() && !output.join(".trash").exists());
}
