//! Rules 1, 2, 12, 14, 16, 17, 18: where things lie in time, and what playlists say of it.

use std::time::Duration;

use yeoul_pack::{Gaps, PackOptions, WarningKind, rfc3339};
use yeoul_testkit::{Event, Scenario, Track};

use crate::reader::fragments;
use crate::world::*;

#[test]
fn rule_01_a_take_of_many_recordings_is_one_exact_sum() {
    let recorded = record(both(1).take(lasting(26).starting_at(5_033_333_333)));
    assert!(recorded.truth.takes[0].files.len() > 5);
    let packed = pack(&recorded.files);
    for (track, id) in [(0, 1), (1, 2)] {
        let samples = packed.samples(id);
        assert_same("track", &recorded.meant(0, track), &samples);
        assert_contiguous("track", &samples);
    }
    let boundaries = &packed.report.takes[0].boundaries;
    assert_eq!(boundaries.len(), 2 * (recorded.files.len() - 1));
    assert!(boundaries.iter().all(|b| b.clock_ticks.abs() <= 2));
    assert!(
        boundaries.iter().any(|b| b.clock_ticks != 0),
        "this recorder rounds as MediaMTX does"
    );
    assert!(!packed.has(WarningKind::Jump));
}

#[test]
fn rule_01_a_take_may_begin_before_zero() {
    let scenario = Scenario::new(2)
        .track(Track::h265_720p30())
        .track(audio())
        .take(lasting(7));
    let recorded = record(scenario);
    assert!(recorded.truth.takes[0].files[0].dts_ns < 0);
    let packed = pack(&recorded.files);
    let moved = assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
    assert_eq!(moved, 6000, "66.67 ms");
    assert_eq!(packed.samples(1)[0].dts, 0);
    let heard = assert_same("audio", &recorded.meant(0, 1), &packed.samples(2));
    assert!(
        (3198..=3202).contains(&heard),
        "66.67 ms but for rounding: {heard}"
    );
}

#[test]
fn rule_02_the_first_recordings_wall_clock_is_not_the_anchor() {
    let recorded = record(both(3).take(lasting(10)).take(lasting(9).after(5 * SECOND)));
    let packed = pack(&recorded.files);
    let playlist = packed.playlist("index.m3u8");
    let text = String::from_utf8(packed.files["index.m3u8"].clone()).unwrap();
    for (take, report) in recorded.truth.takes.iter().zip(&packed.report.takes) {
        let anchor = take.files[1].ntp_ns - take.files[1].dts_ns;
        assert_eq!(report.anchor_ns, Some(anchor));
        let off = take.files[0].ntp_ns - take.files[0].dts_ns - anchor;
        assert!((380_000_000..600_000_000).contains(&off));
        let date = format!(
            "#EXT-X-PROGRAM-DATE-TIME:{}",
            rfc3339(anchor + take.files[0].dts_ns)
        );
        assert!(text.contains(&date), "{date} in {text}");
    }
    let [first, second] = &packed.report.takes[..] else {
        panic!("two takes");
    };
    let apart = (second.start.seconds() - first.start.seconds()) * 1e9;
    let wall = second.anchor_ns.unwrap() - first.anchor_ns.unwrap();
    #[expect(
        clippy::cast_precision_loss,
        reason = "compared to a hundredth of a second"
    )]
    let off = (apart - wall as f64).abs();
    assert!(off < 1e7, "{apart} {wall}");
    assert_eq!(
        playlist.entries.iter().filter(|e| e.date.is_some()).count(),
        2
    );
}

#[test]
fn rule_02_the_anchor_of_a_single_recording_is_its_own() {
    let recorded = record(both(4).take(lasting(3)));
    let file = &recorded.truth.takes[0].files[0];
    let packed = pack(&recorded.files);
    assert_eq!(
        packed.report.takes[0].anchor_ns,
        Some(file.ntp_ns - file.dts_ns)
    );
}

#[test]
fn rule_12_a_take_that_begins_too_early_goes_to_the_end_and_is_flagged() {
    let recorded = record(both(5).take(lasting(9)).take(lasting(5).after(-SECOND / 2)));
    let packed = pack(&recorded.files);
    assert_eq!(packed.count(WarningKind::ClockStep), 1);
    assert!(packed.report.beside.is_empty());
    let [first, second] = &packed.report.takes[..] else {
        panic!("two takes");
    };
    assert!(second.start >= first.end);
    let playlist = packed.playlist("index.m3u8");
    let [at] = playlist.discontinuities()[..] else {
        panic!("one discontinuity");
    };
    assert!(playlist.entries[at].date.is_some(), "a date anew");
    assert_eq!(playlist.gap_micros(), 0);
    for id in [1, 2] {
        let samples = packed.samples(id);
        assert!(samples.windows(2).all(|p| p[1].dts >= p[0].end()));
    }
}

#[test]
fn rule_12_the_recorders_clock_steps_inside_a_take_and_nothing_moves() {
    let step = Event::ClockStep {
        at: Duration::from_secs(6),
        by_ns: -3600 * SECOND,
    };
    let plain = pack(&record(both(6).take(lasting(14))).files);
    let recorded = record(both(6).take(lasting(14).with(step)));
    let packed = pack(&recorded.files);
    assert_eq!(packed.files, plain.files);
}

#[test]
fn rule_14_times_past_32_bits() {
    let gap = 50_000 * SECOND;
    let recorded = record(both(7).take(lasting(5)).take(lasting(5).after(gap)));
    let packed = pack(&recorded.files);
    let last = packed.segments().pop().unwrap();
    let tfdt = fragments(&packed.files[&last])[0][0].tfdt;
    assert!(tfdt > 1 << 32, "{tfdt}");
    let playlist = packed.playlist("index.m3u8");
    let gaps = playlist.entries.iter().filter(|entry| entry.gap).count();
    assert!(
        (1..=60).contains(&gaps),
        "{gaps} entries for a gap of a day"
    );
    let seconds = playlist.micros() / 1_000_000;
    assert!((50_009..50_011).contains(&seconds), "{seconds}");

    let recorded = record(both(8).take(lasting(9).starting_at(200_000 * SECOND)));
    let packed = pack(&recorded.files);
    for (track, id) in [(0, 1), (1, 2)] {
        let samples = packed.samples(id);
        assert_same(
            "a take that began long ago",
            &recorded.meant(0, track),
            &samples,
        );
        assert!(samples[0].dts < 90_000, "broadcast time begins at 0");
    }
}

#[test]
fn rule_16_a_takes_segments_do_not_depend_on_other_takes() {
    let recorded = record(both(9).take(lasting(9)).take(lasting(9)));
    let second = recorded.without(0, 0..recorded.truth.takes[0].files.len());
    let first = recorded.without(1, 0..recorded.truth.takes[1].files.len());
    let (all, first, second) = (pack(&recorded.files), pack(&first), pack(&second));
    for name in first.segments() {
        assert!(
            all.files[&name] == first.files[&name],
            "{name}: what follows"
        );
    }
    let mut moved = None;
    for name in second.segments() {
        let (with, alone) = (
            fragments(&all.files[&name]),
            fragments(&second.files[&name]),
        );
        for (with, alone) in with.iter().flatten().zip(alone.iter().flatten()) {
            let timescale = if with.track == 1 { 90_000 } else { 48_000 };
            let by = (with.tfdt - alone.tfdt) * 90_000;
            assert_eq!(by % timescale, 0);
            assert_eq!(
                *moved.get_or_insert(by / timescale),
                by / timescale,
                "{name}: both tracks move by one time"
            );
        }
        let same = without_tfdt(&all.files[&name]) == without_tfdt(&second.files[&name]);
        assert!(same, "{name}: nothing but tfdt tells what came before");
    }
    assert!(moved.unwrap() > 0);
}

/// A segment with zeros where `tfdt`s say the time.
fn without_tfdt(segment: &[u8]) -> Vec<u8> {
    let mut out = segment.to_vec();
    let places: Vec<usize> = (0..segment.len() - 4)
        .filter(|at| &segment[*at..*at + 4] == b"tfdt")
        .collect();
    for at in places {
        out[at + 8..at + 16].fill(0);
    }
    out
}

#[test]
fn rule_17_durations_are_what_is_shown_not_what_is_decoded() {
    let recorded = record(both(10).take(lasting(13)));
    let packed = pack(&recorded.files);
    let playlist = packed.playlist("index.m3u8");
    let video = packed.samples(1);
    let starts = playlist.starts();
    let mut sums = Vec::new();
    for (index, entry) in playlist.entries.iter().enumerate() {
        let own: Vec<_> = fragments(&packed.files[&entry.uri])
            .into_iter()
            .flatten()
            .filter(|traf| traf.track == 1)
            .flat_map(|traf| traf.samples)
            .collect();
        let earliest = own.iter().map(|s| s.pts()).min().unwrap();
        let from_zero = (earliest - video[0].pts()) * 100 / 9;
        assert!((from_zero - starts[index]).abs() <= 1, "start of {index}");
        sums.push(own.iter().map(|s| i64::from(s.duration)).sum::<i64>());
    }
    assert_eq!(playlist.entries[0].micros, 4_000_000);
    assert_ne!(sums[0], 360_000, "the first group decodes in less");
    let last = video.iter().map(|s| s.presented_until()).max().unwrap();
    let heard = packed
        .samples(2)
        .iter()
        .map(|s| s.presented_until())
        .max()
        .unwrap();
    let end = (last * 100 / 9).max(heard * 125 / 6);
    let begin = (video[0].pts() * 100 / 9).min(packed.samples(2)[0].pts() * 125 / 6);
    assert!(
        (playlist.micros() - (end - begin)).abs() <= 12,
        "all of it, once"
    );
}

#[test]
fn rule_18_every_discontinuity_is_in_all_renditions() {
    let missing = Event::Missing { file: 1 };
    let change = Event::Parameters {
        track: 0,
        at: Duration::from_secs(3),
        entry: 1,
    };
    let scenario = both(11)
        .take(lasting(14).with(missing))
        .take(lasting(9).after(7 * SECOND).with(change));
    let recorded = record(scenario);
    for gaps in [Gaps::Keep, Gaps::Close] {
        let packed = pack_with(&recorded.files, &PackOptions { gaps, ..cmaf() });
        let video = packed.playlist("video/index.m3u8");
        let audio = packed.playlist("audio/index.m3u8");
        assert_eq!(video.discontinuities(), audio.discontinuities());
        assert_eq!(video.discontinuities().len(), 3, "hole, take, parameters");
        let durations = |p: &crate::reader::Playlist| -> Vec<i64> {
            p.entries.iter().map(|e| e.micros).collect()
        };
        assert_eq!(durations(&video), durations(&audio));
        assert_eq!(video.target, audio.target);
        assert_eq!(video.gap_micros() > 0, gaps == Gaps::Keep);
        for entry in &video.entries {
            assert!(!entry.maps || entry.discontinuity || entry.uri == video.entries[0].uri);
            assert!(
                !entry.gap || entry.micros <= 4_500_000,
                "gaps within TARGETDURATION"
            );
        }
    }
}

#[test]
fn rule_18_players_that_add_up_durations_are_where_the_wall_clock_is() {
    let recorded = record(
        both(12)
            .take(lasting(9))
            .take(lasting(9).after(33 * SECOND)),
    );
    let packed = pack(&recorded.files);
    let playlist = packed.playlist("index.m3u8");
    let starts = playlist.starts();
    let dated: Vec<(i64, i64)> = (playlist.entries.iter().zip(&starts))
        .filter_map(|(entry, at)| Some((at / 1000, entry.date?)))
        .collect();
    let [first, second] = dated[..] else {
        panic!("two dates");
    };
    assert!(
        ((second.0 - first.0) - (second.1 - first.1)).abs() <= 1,
        "{dated:?}"
    );
}
