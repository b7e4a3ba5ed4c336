//! Rules 7, 8, 9, 13: where segments begin, what belongs to them, and what a stall is.

use std::collections::BTreeMap;
use std::time::Duration;

use yeoul_pack::{PackOptions, Time, WarningKind};
use yeoul_testkit::{Cadence, Codec, Event, SampleEntry, Scenario, Sizes, Track};

use crate::reader::{Sample, fragments};
use crate::world::*;

fn options(target: i64) -> PackOptions {
    let mut options = PackOptions::default();
    options.cut.target = Time::new(target, 1);
    options
}

/// The video samples of each segment, by its name.
fn by_segment(packed: &Packed, track: u32) -> BTreeMap<String, Vec<Sample>> {
    let names = packed.segments().into_iter();
    names
        .map(|name| {
            let trafs = fragments(&packed.files[&name]).concat();
            let own = trafs.into_iter().filter(|traf| traf.track == track);
            let samples = own.flat_map(|traf| traf.samples).collect();
            (name, samples)
        })
        .collect()
}

/// H.264 with a keyframe each `gop` pictures of 30 a second and no B-frames.
fn plain_video(gop: u32) -> Track {
    let cadence = Cadence {
        codec: Codec::H264,
        durations: vec![3000],
        gop,
        mini_gop: vec![1],
        open_gop: false,
        delay: 0,
        opening: Vec::new(),
        sizes: Sizes {
            sync: 200,
            anchor: 60,
            leaf: 60,
        },
    };
    Track::video(cadence, vec![SampleEntry::h264_720p30()])
}

#[test]
fn rule_07_a_segment_begins_at_the_first_sync_sample_of_each_multiple() {
    for target in [1, 2, 3, 5, 7] {
        let recorded = record(both(60).take(lasting(31)));
        let packed = pack_with(&recorded.files, &options(target));
        let mut wanted = Vec::new();
        let mut before = None;
        for meant in recorded.meant(0, 0).iter().filter(|m| m.truth.sync) {
            // Two ticks of tolerance: how well a recording's own clock is known.
            let pts = meant.truth.dts + i64::from(meant.truth.cts) + 2;
            let number = pts.div_euclid(target * 90_000);
            if before != Some(number) {
                wanted.push((number, meant.payload.clone()));
            }
            before = Some(number);
        }
        let found: Vec<(i64, Vec<u8>)> = by_segment(&packed, 1)
            .into_iter()
            .map(|(name, samples)| {
                let number = name[13..19].parse().unwrap();
                (number, samples[0].payload.clone())
            })
            .collect();
        assert!(found == wanted, "target {target}");
    }
}

#[test]
fn rule_07_deleting_old_recordings_moves_no_cut_and_renames_nothing() {
    for (seed, first_dts) in [(61, 0), (62, 6_040_123_457), (63, -66_666_666)] {
        let recorded = record(both(seed).take(lasting(31).starting_at(first_dts)));
        let whole = pack_with(&recorded.files, &options(2));
        let all = by_segment(&whole, 1);
        let count = recorded.truth.takes[0].files.len();
        for gone in 1..count {
            let left = pack_with(&recorded.without(0, 0..gone), &options(2));
            let names = left.segments();
            let left = by_segment(&left, 1);
            assert!(!left.is_empty());
            for (name, samples) in &left {
                let before: Vec<_> = all[name].iter().map(|s| &s.payload).collect();
                let now: Vec<_> = samples.iter().map(|s| &s.payload).collect();
                assert!(before == now, "{name} without the first {gone}");
            }
            assert!(whole.segments().ends_with(&names), "{names:?}");
        }
    }
}

/// The playlist but for its dates: a take of one recording has another anchor (rule 2).
fn undated(packed: &Packed) -> String {
    let text = std::str::from_utf8(&packed.files["index.m3u8"]).unwrap();
    let lines = text.lines().filter(|line| !line.contains("DATE-TIME"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn rule_07_how_long_recordings_and_parts_are_decides_nothing() {
    let packed: Vec<_> = [(4, 1000), (2, 333), (3600, 5000), (7, 2500)]
        .into_iter()
        .map(|(seconds, part)| {
            let mut scenario = both(64).take(lasting(23).starting_at(77 * SECOND));
            scenario.segment_duration = Duration::from_secs(seconds);
            scenario.part_duration = Duration::from_millis(part);
            pack_with(&record(scenario).files, &options(2))
        })
        .collect();
    for other in &packed[1..] {
        for track in [1, 2] {
            assert!(by_segment(&packed[0], track) == by_segment(other, track));
        }
        assert_eq!(undated(&packed[0]), undated(other));
    }
}

#[test]
fn rule_07_a_group_over_the_limit_is_cut_without_a_sync_sample() {
    let scenario = Scenario::new(65).track(plain_video(300)).take(lasting(25));
    let recorded = record(scenario);
    let mut options = options(2);
    options.cut.max_gop = Time::new(4, 1);
    let packed = pack_with(&recorded.files, &options);
    assert!(packed.has(WarningKind::LongGop));
    let playlist = packed.playlist("index.m3u8");
    assert!(!playlist.independent);
    assert!(
        playlist
            .entries
            .iter()
            .all(|entry| entry.micros <= 4_100_000)
    );
    assert_eq!(playlist.discontinuities().len(), 0);
    assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
    assert_contiguous("video", &packed.samples(1));

    let packed = pack_with(&recorded.files, &self::options(2));
    assert!(!packed.has(WarningKind::LongGop));
    assert!(packed.playlist("index.m3u8").independent);
}

#[test]
fn rule_08_audio_belongs_to_the_segment_that_holds_its_time() {
    let mut late = audio();
    late.latency_ns = 700_000_000;
    let mut scenario = Scenario::new(66)
        .track(video())
        .track(late)
        .take(lasting(23));
    scenario.part_duration = Duration::from_millis(500);
    let recorded = record(scenario);
    let packed = pack_with(&recorded.files, &options(2));
    let (pictures, sound) = (packed.played(1), packed.played(2));
    let count = packed.playlist("index.m3u8").entries.len();
    let start = |entry| {
        let first = pictures.iter().find(|p| p.entry == entry).unwrap();
        i128::from(first.sample.pts()) * 48_000
    };
    for played in &sound {
        let at = i128::from(played.sample.pts()) * 90_000;
        let entry = played.entry;
        assert!(entry == 0 || start(entry) <= at, "not before its segment");
        assert!(entry + 1 == count || at < start(entry + 1), "not behind it");
    }
    let heard = recorded.meant(0, 1);
    let samples = packed.samples(2);
    assert_same("audio", &heard, &samples);
    assert_contiguous("audio", &samples);

    let seen = recorded.meant(0, 0);
    let from_next = sound.iter().zip(&heard).filter(|(played, meant)| {
        let last = pictures
            .iter()
            .rposition(|p| p.entry == played.entry)
            .unwrap();
        meant.truth.file > seen[last].truth.file
    });
    assert!(from_next.count() > 0, "some come one recording later");
}

#[test]
fn rule_08_audio_alone_is_cut_at_the_first_frame_of_each_multiple() {
    let recorded = record(Scenario::new(67).track(audio()).take(lasting(20)));
    for cut in [PackOptions::default(), cmaf()] {
        let packed = pack_with(&recorded.files, &cut);
        let samples = packed.samples(2);
        assert_same("audio", &recorded.meant(0, 0), &samples);
        let played = packed.played(2);
        for entry in 1..packed.playlist(&packed.report.playlists[0]).entries.len() {
            let at = played.iter().position(|p| p.entry == entry).unwrap();
            let truth = |index: usize| recorded.meant(0, 0)[index].truth.dts + 2;
            let k = i64::try_from(entry).unwrap() * 4 * 48_000;
            assert!(truth(at - 1) < k && truth(at) >= k, "segment {entry}");
        }
    }
}

#[test]
fn rule_09_open_groups_are_cut_at_and_not_called_independent() {
    let scenario = Scenario::new(68).track(Track::h265_720p30()).track(audio());
    let recorded = record(scenario.take(lasting(21)));
    let packed = pack(&recorded.files);
    let playlist = packed.playlist("index.m3u8");
    assert!(!playlist.independent);
    assert!(playlist.entries.len() > 3);
    assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
    let played = packed.played(1);
    let starts = playlist.starts();
    for (entry, start) in starts
        .iter()
        .enumerate()
        .take(playlist.entries.len())
        .skip(1)
    {
        let own: Vec<_> = played.iter().filter(|p| p.entry == entry).collect();
        let cra = own[0].sample.pts();
        assert!(own[0].sample.is_sync());
        assert!(own[1].sample.pts() < cra, "leading pictures follow");
        let shown = (cra - played[0].sample.pts()) * 100 / 9;
        assert!((shown - start).abs() <= 1, "the boundary is the CRA");
    }
}

#[test]
fn rule_09_leading_pictures_behind_a_hole_are_left_out() {
    let scenario = Scenario::new(69).track(Track::h265_720p30()).track(audio());
    let missing = Event::Missing { file: 1 };
    let recorded = record(scenario.take(lasting(21).with(missing)));
    let packed = pack(&recorded.files);
    let meant = recorded.meant(0, 0);
    let cra = meant.iter().position(|m| m.truth.file == 2).unwrap();
    let shown = |m: &Meant| m.truth.dts + i64::from(m.truth.cts);
    assert!(shown(&meant[cra + 1]) < shown(&meant[cra]));
    let kept: Vec<_> = meant
        .iter()
        .enumerate()
        .filter(|(i, _)| !(cra + 1..cra + 3).contains(i))
        .map(|(_, m)| m.clone())
        .collect();
    assert_same("video", &kept, &packed.samples(1));
    assert_eq!(packed.count(WarningKind::Leading), 1);
    let recording = &packed.report.takes[0].recordings[1];
    assert_eq!(recording.tracks[0].dropped, [(1, 3)]);
    // The CRA lasts until the picture behind those that are left out.
    let samples = packed.samples(1);
    assert_eq!(samples[cra].end(), samples[cra + 1].dts);
}

#[test]
fn rule_09_a_take_that_begins_with_a_cra_loses_its_leading_pictures() {
    let scenario = Scenario::new(70).track(Track::h265_720p30());
    let recorded = record(scenario.take(lasting(13)));
    let packed = pack(&recorded.without(0, 0..1));
    assert_eq!(
        packed.report.takes[0].recordings[0].tracks[0].dropped,
        [(1, 3)]
    );
    assert_eq!(packed.count(WarningKind::Leading), 1);
}

fn stall(track: usize, at: u64, length: u64) -> Event {
    Event::Stall {
        track,
        at: Duration::from_secs(at),
        length: Duration::from_secs(length),
    }
}

#[test]
fn rule_13_the_picture_stands_while_sound_goes_on() {
    let recorded = record(both(71).take(lasting(20).with(stall(0, 7, 5))));
    let packed = pack(&recorded.files);
    assert_eq!(packed.count(WarningKind::Stall), 1);
    let meant = recorded.meant(0, 0);
    let samples = packed.samples(1);
    assert_same("video", &meant, &samples);
    assert_same("audio", &recorded.meant(0, 1), &packed.samples(2));
    assert_contiguous("audio", &packed.samples(2));
    let capped = meant
        .iter()
        .position(|m| m.truth.duration > 90_000)
        .unwrap();
    assert_eq!(samples[capped].duration, 90_000);
    assert!(samples[capped + 1].dts > samples[capped].end());
    let playlist = packed.playlist("index.m3u8");
    assert_eq!(playlist.gap_micros(), 0, "no hole: there is sound");
    assert_eq!(playlist.discontinuities().len(), 0);
    assert!((19_000_000..20_100_000).contains(&playlist.micros()));
}

#[test]
fn rule_13_where_nothing_goes_on_there_is_a_hole() {
    let take = lasting(20).with(stall(0, 7, 5)).with(stall(1, 7, 5));
    let recorded = record(both(72).take(take));
    let packed = pack(&recorded.files);
    assert_eq!(packed.count(WarningKind::Stall), 2);
    let playlist = packed.playlist("index.m3u8");
    let gap = playlist.gap_micros();
    assert!((3_500_000..4_500_000).contains(&gap), "{gap}");
    assert_eq!(playlist.discontinuities().len(), 1);
    assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
    assert_same("audio", &recorded.meant(0, 1), &packed.samples(2));

    let close = PackOptions {
        gaps: yeoul_pack::Gaps::Close,
        ..PackOptions::default()
    };
    let closed = pack_with(&recorded.files, &close);
    let closed_up = closed.playlist("index.m3u8");
    assert_eq!(closed_up.gap_micros(), 0);
    let shorter = playlist.micros() - closed_up.micros();
    assert!((shorter - gap).abs() < 200_000, "{shorter} of {gap}");
    for id in [1, 2] {
        let samples = closed.samples(id);
        assert!(samples.windows(2).all(|p| p[1].dts >= p[0].end()));
    }
}

#[test]
fn rule_13_ten_medians_of_a_slow_track_are_no_stall() {
    let cadence = Cadence {
        codec: Codec::H264,
        durations: vec![90_000, 90_000, 90_000, 700_000],
        gop: 4,
        mini_gop: vec![1],
        open_gop: false,
        delay: 0,
        opening: Vec::new(),
        sizes: Sizes {
            sync: 200,
            anchor: 60,
            leaf: 60,
        },
    };
    let slow = Track::video(cadence, vec![SampleEntry::h264_720p30()]);
    let recorded = record(Scenario::new(73).track(slow).take(lasting(60)));
    let packed = pack(&recorded.files);
    assert!(!packed.has(WarningKind::Stall));
    assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
    assert_contiguous("video", &packed.samples(1));
}
