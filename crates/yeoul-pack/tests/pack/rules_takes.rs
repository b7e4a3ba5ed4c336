//! Rules 10, 11, 15: what is missing, twice there, beside another, or still open.

use std::sync::Arc;

use yeoul_pack::{Catalogue, FileInput, Gaps, Input, LaneReport, PackOptions, WarningKind};
use yeoul_testkit::{Event, tear};

use crate::reader::boxes;
use crate::world::*;

#[test]
fn rule_10_a_missing_number_is_a_hole_exact_by_decode_time() {
    let recorded = record(both(80).take(lasting(21).with(Event::Missing { file: 1 })));
    let packed = pack(&recorded.files);
    assert_eq!(packed.count(WarningKind::MissingNumber), 1);
    assert_eq!(packed.report.takes.len(), 1, "the same take");
    let meant = recorded.meant(0, 0);
    let samples = packed.samples(1);
    assert_same("video", &meant, &samples);
    let behind = meant.iter().position(|m| m.truth.file == 2).unwrap();
    let missing = meant[behind].truth.dts
        - (meant[behind - 1].truth.dts + i64::from(meant[behind - 1].truth.duration));
    assert_eq!(samples[behind].dts - samples[behind - 1].end(), missing);

    let playlist = packed.playlist("index.m3u8");
    assert!(playlist.gap_micros() > 3_000_000);
    let [at] = playlist.discontinuities()[..] else {
        panic!("one discontinuity");
    };
    assert!(playlist.entries[at].date.is_some() && playlist.entries[at - 1].gap);

    // Sound of behind the hole that comes before its first picture is left out, and nothing else.
    let heard = recorded.meant(0, 1);
    let picture = i128::from(samples[behind].pts() - samples[0].pts());
    let dropped = &packed.report.takes[0].recordings[1].tracks[1].dropped;
    let kept: Vec<_> = heard
        .iter()
        .filter(|m| m.truth.file != 2 || dropped.iter().all(|(a, b)| !(*a..*b).contains(&m.index)))
        .cloned()
        .collect();
    assert_same("audio", &kept, &packed.samples(2));
    let early = heard
        .iter()
        .filter(|m| m.truth.file == 2 && i128::from(m.truth.dts) * 90_000 < (picture - 2) * 48_000);
    assert_eq!(early.count(), heard.len() - kept.len());
}

#[test]
fn rule_10_a_closed_hole_leaves_nothing_between_and_keeps_the_offset() {
    let take = lasting(27)
        .with(Event::Missing { file: 1 })
        .with(Event::Missing { file: 3 });
    let recorded = record(both(81).take(take));
    let options = PackOptions {
        gaps: Gaps::Close,
        ..PackOptions::default()
    };
    let (kept, closed) = (pack(&recorded.files), pack_with(&recorded.files, &options));
    let playlist = closed.playlist("index.m3u8");
    assert_eq!(playlist.gap_micros(), 0);
    assert_eq!(playlist.discontinuities().len(), 2);
    for id in [1, 2] {
        let (open, shut) = (kept.samples(id), closed.samples(id));
        assert_eq!(open.len(), shut.len());
        assert!(open.iter().zip(&shut).all(|(a, b)| a.payload == b.payload));
        for pair in shut.windows(2) {
            let gap = pair[1].dts - pair[0].end();
            assert!((0..20_000).contains(&gap), "track {id}: {gap} ticks left");
        }
    }
    let moved =
        |id: u32, at: usize| kept.played(id)[at].sample.dts - closed.played(id)[at].sample.dts;
    let (last_v, last_a) = (kept.samples(1).len() - 1, kept.samples(2).len() - 1);
    assert_eq!(
        moved(1, last_v) * 48,
        moved(2, last_a) * 90,
        "one time for both tracks"
    );
}

#[test]
fn rule_10_an_empty_recording_is_a_missing_one() {
    let missing = record(both(82).take(lasting(21).with(Event::Missing { file: 1 })));
    let empty = record(both(82).take(lasting(21).with(Event::Empty { file: 1 })));
    assert_eq!(empty.files.len(), missing.files.len() + 1);
    let packed = pack(&empty.files);
    assert_eq!(packed.refused.len(), 1);
    assert!(packed.refused[0].to_string().contains("is empty"));
    assert!(packed.files == pack(&missing.files).files);
}

#[test]
fn rule_11_of_two_with_one_number_the_one_with_more_whole_parts_is_kept() {
    let single = record(both(83).take(lasting(14)));
    for parts in [0, 1, 2, 99] {
        let duplicate = Event::Duplicate { file: 1, parts };
        let recorded = record(both(83).take(lasting(14).with(duplicate)));
        assert_eq!(recorded.files.len(), single.files.len() + 1);
        let packed = pack(&recorded.files);
        assert!(packed.files == pack(&single.files).files, "{parts} parts");
        assert_eq!(packed.count(WarningKind::Duplicate), 1);
        let mut reversed = recorded.files.clone();
        reversed.reverse();
        assert!(pack(&reversed).files == packed.files);
    }
}

#[test]
fn rule_11_of_equals_the_first_by_path_is_kept() {
    let recorded = record(both(84).take(lasting(5)));
    let (name, bytes) = recorded.files[0].clone();
    for order in [["b.mp4", "a.mp4"], ["a.mp4", "b.mp4"]] {
        let files: Files = order.map(|name| (name.to_owned(), bytes.clone())).into();
        let packed = pack(&files);
        assert_eq!(packed.report.takes[0].recordings[0].name, "a.mp4", "{name}");
        let warned = packed
            .warnings
            .iter()
            .find(|w| w.kind == WarningKind::Duplicate);
        assert_eq!(warned.unwrap().path.as_deref(), Some("b.mp4"));
    }
}

#[test]
fn rule_11_a_torn_copy_loses_against_a_whole_one() {
    let recorded = record(both(85).take(lasting(5)));
    let whole = recorded.files[0].1.clone();
    let last = boxes(&whole).last().unwrap().1;
    // In the last payload, in its box's header, right behind its `moof`, in that.
    for size in [whole.len() - 10, last + 4, last, last - 4] {
        let torn = tear::truncate(&whole, size).to_vec();
        let files = vec![
            ("a.mp4".to_owned(), torn),
            ("b.mp4".to_owned(), whole.clone()),
        ];
        let packed = pack(&files);
        assert_eq!(
            packed.report.takes[0].recordings[0].name, "b.mp4",
            "cut at {size}"
        );
    }
}

#[test]
fn rule_11_a_take_beside_another_is_a_lane_of_its_own() {
    let recorded = record(
        both(86)
            .take(lasting(14))
            .take(lasting(9).after(-6 * SECOND)),
    );
    let first = pack(&recorded.without(1, 0..recorded.truth.takes[1].files.len()));
    let packed = pack(&recorded.files);
    assert!(packed.files == first.files);
    assert_eq!(packed.count(WarningKind::Lane), 1);
    let LaneReport { beside, .. } = packed.report;
    assert_eq!(beside.len(), 1);
    assert_eq!(beside[0].id.0, recorded.truth.takes[1].stream_id);
    assert_eq!(
        beside[0].recordings.len(),
        recorded.truth.takes[1].files.len()
    );
}

#[test]
fn rule_15_what_a_killed_recorder_left_is_kept_and_said() {
    let recorded = record(both(87).take(lasting(15).killed()).take(lasting(5)));
    let last = recorded.truth.takes[0].files.last().unwrap();
    assert_eq!(last.duration_ms, 0);
    let packed = pack(&recorded.files);
    for (track, id) in [(0, 1), (1, 2)] {
        let meant = [recorded.meant(0, track), recorded.meant(1, track)].concat();
        let samples = packed.samples(id);
        assert_eq!(samples.len(), meant.len());
        assert!(
            samples
                .iter()
                .zip(&meant)
                .all(|(s, m)| s.payload == m.payload)
        );
    }
    let open: Vec<_> = packed
        .warnings
        .iter()
        .filter(|w| w.kind == WarningKind::Open)
        .collect();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].path.as_deref(), Some(last.name.as_str()));
}

#[test]
fn rule_15_a_recording_that_grows_may_grow_between_catalogue_and_packing() {
    let recorded = record(both(88).take(lasting(5).killed()));
    let (name, bytes) = &recorded.files[0];
    let folder = std::env::temp_dir().join(format!("yeoul-pack-{}-grows", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let half = bytes.len() / 2;
    std::fs::write(&path, &bytes[..half]).unwrap();
    let inputs: Vec<Arc<dyn Input>> = vec![Arc::new(FileInput::new(&path))];
    let catalogue = Catalogue::read(inputs.clone(), &PackOptions::default().limits).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let grown = try_pack_takes(catalogue, &PackOptions::default()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let whole = pack(&[(name.clone(), bytes.clone())]);
    let segments = |packed: &Packed| -> Vec<Vec<u8>> {
        packed
            .segments()
            .iter()
            .map(|n| packed.files[n].clone())
            .collect()
    };
    let recording = &grown.report.takes[0].recordings[0];
    assert_eq!(
        (recording.size, recording.used),
        (bytes.len() as u64, bytes.len() as u64)
    );
    assert!(segments(&grown) == segments(&whole));
}
