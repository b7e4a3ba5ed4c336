//! What a report looks like.

use serde_json::json;
use yeoul::inspect::{Options, Verdict};
use yeoul_isobmff::write::{SegmentIndex, Subsegment, sidx};

use crate::world::{init_len, json as inspect_json, plain, recording, report, samples_of, segment};

/// `UPDATE_GOLDEN=1 cargo test` writes the files anew: read the difference.
fn same(name: &str, found: &str) {
    let path = format!("{}/tests/inspect/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(expected == found, "{name} differs:\n{found}");
}

#[test]
fn a_recording_as_text() {
    let (bytes, _) = recording();
    let (verdict, text) = report(&bytes, &Options::default());
    assert_eq!(verdict, Verdict::Whole);
    same("recording.txt", &text);
}

#[test]
fn a_plain_mp4_with_its_samples_as_text() {
    let options = Options {
        samples: true,
        ..Options::default()
    };
    let (verdict, text) = report(&plain(), &options);
    assert_eq!(verdict, Verdict::Whole);
    same("plain.txt", &text);
}

#[test]
fn a_recording_as_json() {
    let (bytes, _) = recording();
    let options = Options {
        json: true,
        depth: Some(1),
        ..Options::default()
    };
    let (_, text) = report(&bytes, &options);
    same("recording.json", &text);
}

#[test]
fn the_tracks_alone() {
    let (bytes, _) = recording();
    let options = Options {
        tracks_only: true,
        ..Options::default()
    };
    let (_, text) = report(&bytes, &options);
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(!text.contains("moov") && !text.contains("mtxi"));
}

#[test]
fn depth_hides_what_is_deeper() {
    let (bytes, _) = recording();
    let deep = |depth| {
        let depth = Some(depth);
        report(
            &bytes,
            &Options {
                depth,
                ..Options::default()
            },
        )
        .1
    };
    assert!(!deep(1).contains("mvhd "));
    assert!(deep(2).contains("mvhd ") && !deep(2).contains("tkhd "));
    assert!(deep(3).contains("tkhd ") && !deep(3).contains("mdhd "));
}

/// Every number of every sample, against the recorder's own list.
#[test]
fn samples_are_what_was_recorded() {
    let (bytes, tracks) = recording();
    let (_, found) = inspect_json(&bytes);
    for track in &tracks {
        let samples = samples_of(&found, track.id);
        assert_eq!(samples.len(), track.samples.len());
        let first = track.samples[0].dts;
        let zero = samples[0]["dts"].as_i64().unwrap();
        for (found, truth) in samples.iter().zip(&track.samples) {
            // `tfdt` has been through nanoseconds: up to a tick low (see the recorder).
            let dts = found["dts"].as_i64().unwrap() - zero;
            assert!((dts - (truth.dts - first)).abs() <= 1, "{found} {truth:?}");
            let cts = found["pts"].as_i64().unwrap() - found["dts"].as_i64().unwrap();
            assert_eq!(cts, i64::from(truth.cts));
            assert_eq!(found["duration"], truth.duration);
            assert_eq!(found["size"], truth.size);
            assert_eq!(found["sync"], truth.sync);
            assert_eq!(found["offset"], truth.offset);
        }
    }
}

#[test]
fn totals_are_the_sums_of_samples() {
    for bytes in [recording().0, plain(), segment(&recording().0)] {
        let (_, found) = inspect_json(&bytes);
        for track in found["tracks"].as_array().unwrap() {
            let id = u32::try_from(track["id"].as_u64().unwrap()).unwrap();
            let samples = samples_of(&found, id);
            let sum = |field: &str| {
                samples
                    .iter()
                    .map(|s| s[field].as_u64().unwrap())
                    .sum::<u64>()
            };
            assert_eq!(track["samples"], samples.len());
            assert_eq!(track["bytes"], sum("size"));
            assert_eq!(track["duration"], sum("duration"));
            let sync = samples.iter().filter(|s| s["sync"] == true).count();
            assert_eq!(track["sync"], sync);
        }
    }
}

#[test]
fn an_init_and_a_segment_are_whole_files() {
    let (bytes, _) = recording();
    let (verdict, found) = inspect_json(&segment(&bytes));
    assert_eq!(verdict, Verdict::Whole);
    assert_eq!(found["summary"]["kind"], "segment");
    assert_eq!(found["tracks"][0]["kind"], "unknown");
    assert_eq!(found["tracks"][0]["timescale"], json!(null));
    let (verdict, found) = inspect_json(&bytes[..init_len(&bytes)]);
    assert_eq!(verdict, Verdict::Whole);
    assert_eq!(found["summary"]["parts"], 0);
    assert_eq!(found["tracks"][1]["language"], "kor");
}

#[test]
fn a_segment_index_is_shown() {
    let subsegment = Subsegment {
        size: 1000,
        duration: 180_000,
        starts_with_sap: true,
        sap_type: 1,
        sap_delta: 0,
    };
    let mut bytes = sidx(&SegmentIndex {
        reference_id: 1,
        timescale: 90_000,
        earliest_presentation_time: 1 << 60,
        first_offset: 0,
        subsegments: &[subsegment; 2],
    })
    .unwrap()
    .to_vec();
    let (verdict, found) = inspect_json(&bytes);
    assert_eq!(verdict, Verdict::Whole);
    assert_eq!(
        found["boxes"][0]["fields"],
        json!({"reference": 1, "timescale": 90_000, "earliest": "1152921504606846976", "first_offset": 0, "references": 2})
    );
    let size = bytes.len() - 12;
    bytes.truncate(size);
    bytes[..4].copy_from_slice(&u32::try_from(size).unwrap().to_be_bytes());
    let (verdict, found) = inspect_json(&bytes);
    assert_eq!(verdict, Verdict::Faulty);
    assert_eq!(found["fault"]["message"], "needs 56 bytes, 44 are there");
}
