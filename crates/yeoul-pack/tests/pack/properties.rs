//! What holds of any scenario.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use yeoul_pack::{Gaps, PackOptions, Time};
use yeoul_testkit::{Event, Presence, SampleTruth, Scenario, Sizes, SplitMix64, Take, Track};

use crate::world::*;

fn small(track: Track) -> Track {
    track.sizes(Sizes {
        sync: 120,
        anchor: 40,
        leaf: 24,
    })
}

fn any_video() -> impl Strategy<Value = Option<Track>> {
    prop_oneof![
        4 => Just(Some(small(Track::h264_720p30()))),
        3 => Just(Some(small(Track::h265_720p30()))),
        2 => Just(Some(small(Track::vp9_30()))),
        1 => Just(None),
    ]
}

fn any_audio() -> impl Strategy<Value = Track> {
    let kind = prop_oneof![Just(Track::aac_mono_48k()), Just(Track::opus_stereo())];
    (kind, 0..800_i64, 1..12_u32).prop_map(|(track, latency_ms, burst)| {
        let mut track = small(track);
        track.latency_ns = latency_ms * 1_000_000;
        track.burst = burst;
        track
    })
}

fn any_event(tracks: usize, seconds: u64, entries: usize) -> impl Strategy<Value = Event> {
    let at = (0..seconds * 1000).prop_map(Duration::from_millis);
    prop_oneof![
        (0..tracks, at.clone(), 200..6000_u64).prop_map(|(track, at, length)| Event::Stall {
            track,
            at,
            length: Duration::from_millis(length),
        }),
        (0..tracks, at.clone()).prop_map(|(track, at)| Event::Leave { track, at }),
        (1..tracks + 1, at.clone()).prop_map(move |(track, at)| Event::Join {
            track: track.min(tracks - 1),
            at: at / 3,
        }),
        (0..6_u64).prop_map(|file| Event::Missing { file }),
        (0..6_u64).prop_map(|file| Event::Missing { file }),
        (0..6_u64).prop_map(|file| Event::Empty { file }),
        (0..6_u64, 0..4_usize).prop_map(|(file, parts)| Event::Duplicate { file, parts }),
        (at.clone(), 0..entries).prop_map(|(at, entry)| Event::Parameters {
            track: 0,
            at,
            entry,
        }),
        (1..5_u64, 0..entries).prop_map(|(file, entry)| Event::ParametersAtFile {
            track: 0,
            file,
            entry,
        }),
        (at, -5_i64..5).prop_map(|(at, by)| Event::ClockStep {
            at,
            by_ns: by * SECOND / 3,
        }),
    ]
}

fn any_take(tracks: usize, entries: usize) -> impl Strategy<Value = Take> {
    let seconds = 2..16_u64;
    let start = prop_oneof![Just(0), -300_000_000..20_000_000_000_i64];
    (seconds, start, 0..9_i64, any::<bool>()).prop_flat_map(move |(seconds, start, gap, killed)| {
        let take = lasting(seconds)
            .starting_at(start)
            .after(gap * SECOND + 1_500_000_000);
        let take = if killed { take.killed() } else { take };
        prop::collection::vec(any_event(tracks, seconds, entries), 0..3)
            .prop_map(move |events| events.into_iter().fold(take.clone(), Take::with))
    })
}

fn any_scenario() -> impl Strategy<Value = Scenario> {
    let audio = prop::collection::vec(any_audio(), 0..3);
    let lengths = (300..2500_u64, 1500..7000_u64);
    (any::<u64>(), any_video(), audio, lengths)
        .prop_filter("some track", |(_, video, audio, _)| {
            video.is_some() || !audio.is_empty()
        })
        .prop_flat_map(|(seed, video, audio, (part, segment))| {
            let mut scenario = Scenario::new(seed);
            scenario.tracks = video.into_iter().chain(audio).collect();
            scenario.part_duration = Duration::from_millis(part);
            scenario.segment_duration = Duration::from_millis(segment);
            let takes = prop::collection::vec(
                any_take(scenario.tracks.len(), scenario.tracks[0].entries.len()),
                1..3,
            );
            takes.prop_map(move |takes| Scenario {
                takes,
                ..scenario.clone()
            })
        })
}

fn any_options() -> impl Strategy<Value = PackOptions> {
    let target = prop_oneof![
        Just(Time::new(4, 1)),
        (500..9000_i64).prop_map(|ms| Time::new(ms, 1000))
    ];
    (target, any::<bool>(), any::<bool>()).prop_map(|(target, close, split)| {
        let mut options = if split {
            cmaf()
        } else {
            PackOptions::default()
        };
        options.cut.target = target;
        options.gaps = if close { Gaps::Close } else { Gaps::Keep };
        options
    })
}

/// Whether leaving out a sample of a take is right: `stretch` are the pictures (if any) since the last missing recording.
fn may_be_left_out(m: &Meant, timescale: i64, slot: usize, stretch: &[Meant], first: bool) -> bool {
    let pts = |m: &Meant| m.truth.dts + i64::from(m.truth.cts);
    let Some(sync) = stretch.iter().find(|m| m.truth.sync) else {
        return true;
    };
    if slot == 0 {
        // Before the first sync sample, or led by it.
        return m.truth.dts < sync.truth.dts || pts(m) < pts(sync);
    }
    let early = i128::from(pts(m)) * 90_000 - i128::from(pts(sync)) * i128::from(timescale);
    !first && early < 4 * 90_000
}

/// The truth's samples of a slot that the report calls kept, take by take.
fn kept(recorded: &Recorded, packed: &Packed, slot: usize) -> Vec<Vec<Meant>> {
    let mut takes = Vec::new();
    for report in &packed.report.takes {
        let find = |t: &yeoul_testkit::TakeTruth| t.stream_id == report.id.0;
        let take = recorded.truth.takes.iter().position(find).unwrap();
        let truth = &recorded.truth.takes[take];
        let mut ranges: BTreeMap<u32, (usize, Vec<(u64, u64)>)> = BTreeMap::new();
        for recording in &report.recordings {
            let is = |f: &yeoul_testkit::FileTruth| {
                f.name == recording.name || f.duplicate.as_ref() == Some(&recording.name)
            };
            let file = u32::try_from(truth.files.iter().position(is).unwrap()).unwrap();
            for track in recording.tracks.iter().filter(|track| track.slot == slot) {
                let index = track.track_id as usize - 1;
                let whole = truth.tracks[index]
                    .samples
                    .iter()
                    .filter(|s| s.file == file);
                assert_eq!(track.samples, whole.count() as u64, "{}", recording.name);
                ranges.insert(file, (index, track.kept()));
            }
        }
        let index = ranges.values().next().map(|(index, _)| *index);
        let meant = index
            .map(|index| recorded.meant(take, index))
            .unwrap_or_default();
        let is_kept = |m: &Meant| {
            let found = ranges.get(&m.truth.file);
            found.is_some_and(|(_, kept)| kept.iter().any(|(a, b)| (*a..*b).contains(&m.index)))
        };
        let pictures = video_of(report).map(|id| recorded.meant(take, id as usize - 1));
        for m in meant.iter().filter(|m| !is_kept(m)) {
            let numbers = report
                .recordings
                .iter()
                .map(|r| r.number)
                .filter(|n| *n <= m.truth.file.into());
            let from = numbers.fold(None, |from: Option<(u64, u64)>, n| match from {
                Some((from, last)) if last + 1 == n => Some((from, n)),
                _ => Some((n, n)),
            });
            let from = from.unwrap().0;
            let first = report.recordings[0].number == from;
            let stretch: Vec<Meant> = pictures
                .iter()
                .flatten()
                .filter(|p| u64::from(p.truth.file) >= from)
                .cloned()
                .collect();
            let timescale = i64::from(truth.tracks[index.unwrap()].timescale);
            assert!(
                pictures.is_some() && may_be_left_out(m, timescale, slot, &stretch, first),
                "slot {slot}: {:?} is left out",
                m.truth
            );
        }
        takes.push(meant.into_iter().filter(is_kept).collect());
    }
    takes
}

/// The track id of a take's pictures.
fn video_of(take: &yeoul_pack::TakeReport) -> Option<u32> {
    let tracks = take
        .recordings
        .iter()
        .flat_map(|recording| &recording.tracks);
    tracks
        .into_iter()
        .find(|track| track.slot == 0)
        .map(|track| track.track_id)
}

fn check(scenario: Scenario, options: &PackOptions) {
    let timescales: Vec<i64> = vec![90_000, 48_000];
    let sets: Vec<Vec<Vec<u8>>> = scenario.tracks[0]
        .entries
        .iter()
        .map(|e| e.parameter_sets.clone())
        .collect();
    let recorded = record(scenario);
    let packed = pack_with(&recorded.files, options);
    let readable = recorded.truth.takes.iter().flat_map(|take| &take.files);
    let readable = readable
        .filter(|file| file.presence == Presence::Whole)
        .count();
    let reported: usize = packed
        .report
        .takes
        .iter()
        .map(|take| take.recordings.len())
        .sum();
    let beside: usize = packed
        .report
        .beside
        .iter()
        .map(|take| take.recordings.len())
        .sum();
    assert!(reported + beside <= readable);
    if packed.segments().is_empty() {
        return;
    }
    // By take: how far each slot's samples were moved, as broadcast time less the take's, at the take's begin.
    let mut moves: Vec<BTreeMap<usize, i64>> = vec![BTreeMap::new(); packed.report.takes.len()];
    for (slot, timescale) in packed.report.tracks.iter().map(|t| (t.slot, t.timescale)) {
        let takes = kept(&recorded, &packed, slot);
        let samples = packed.samples(u32::try_from(slot + 1).unwrap());
        let wanted: Vec<&Meant> = takes.iter().flatten().collect();
        assert_eq!(samples.len(), wanted.len(), "slot {slot}: each once");
        for (index, (sample, meant)) in samples.iter().zip(&wanted).enumerate() {
            assert!(
                sample.payload == meant.payload,
                "slot {slot}, sample {index}: payload"
            );
            assert_eq!(sample.cts, meant.truth.cts);
        }
        if slot == 0 {
            check_inits(&packed, &wanted, &sets);
        }
        for (index, pair) in samples.windows(2).enumerate() {
            let over = pair[0].end() - pair[1].dts;
            assert!(
                over <= 0,
                "slot {slot}: {index} ends {over} ticks behind the next"
            );
        }
        let mut at = 0;
        for (take, meant) in takes
            .iter()
            .enumerate()
            .filter(|(_, meant)| !meant.is_empty())
        {
            let own = &samples[at..at + meant.len()];
            at += meant.len();
            moves[take].insert(slot, own[0].dts - meant[0].truth.dts);
            let mut before: Option<(&SampleTruth, i64)> = None;
            for (sample, meant) in own.iter().zip(meant) {
                let meant = &meant.truth;
                let by = sample.dts - meant.dts;
                if let Some((last, moved)) = before {
                    let contiguous = last.dts + i64::from(last.duration) == meant.dts;
                    // Behind a hole rounding counts anew, and what is behind it is earlier when it is closed.
                    let stalls = i64::from(last.duration) > i64::from(timescale);
                    let closed = options.gaps == Gaps::Close && (stalls || !contiguous);
                    let rounding = if contiguous { 0 } else { 2 };
                    assert!(
                        by - moved <= rounding,
                        "slot {slot}: moved by {}",
                        by - moved
                    );
                    assert!(
                        closed || moved - by <= rounding,
                        "slot {slot}: moved by {}",
                        by - moved
                    );
                }
                before = Some((meant, by));
            }
        }
    }
    if options.gaps == Gaps::Keep {
        for moves in &moves {
            if let (Some(video), Some(audio)) = (moves.get(&0), moves.get(&1)) {
                let off = video * timescales[1] - audio * timescales[0];
                assert!(
                    off.abs() <= 2 * (90_000 + 48_000),
                    "sound and picture keep their offset: {off}"
                );
            }
        }
    }
    check_playlists(&packed);
    let mut shuffled = recorded.files.clone();
    SplitMix64::new(5).shuffle(&mut shuffled);
    assert!(
        pack_with(&shuffled, options).files == packed.files,
        "the order of inputs"
    );
}

/// Each picture comes with the init that has its parameter sets.
fn check_inits(packed: &Packed, pictures: &[&Meant], sets: &[Vec<Vec<u8>>]) {
    let folder = if packed.files.contains_key("video/index.m3u8") {
        "video/"
    } else {
        ""
    };
    let playlist = packed.playlist(&format!("{folder}index.m3u8"));
    for (played, meant) in packed.played(1).iter().zip(pictures) {
        let init = &packed.files[&format!("{folder}{}", playlist.entries[played.entry].map)];
        for set in &sets[usize::from(meant.truth.entry)] {
            assert!(
                init.windows(set.len()).any(|w| w == set),
                "picture at {}",
                meant.truth.dts
            );
        }
    }
}

fn check_playlists(packed: &Packed) {
    let playlists: Vec<_> = packed
        .report
        .playlists
        .iter()
        .map(|name| packed.playlist(name))
        .collect();
    let presented = packed.report.duration.unwrap().nearest(1_000_000);
    for playlist in &playlists {
        assert!((playlist.micros() - presented).abs() <= 2, "EXTINF adds up");
        assert_eq!(playlist.discontinuities(), playlists[0].discontinuities());
        assert_eq!(playlist.starts(), playlists[0].starts());
        let mut uris: Vec<_> = playlist
            .entries
            .iter()
            .filter(|e| !e.gap)
            .map(|e| &e.uri)
            .collect();
        let count = uris.len();
        uris.sort();
        uris.dedup();
        assert_eq!(uris.len(), count, "names are unique");
        for pair in playlist.entries.windows(2) {
            assert!(
                pair[0].map == pair[1].map || pair[1].discontinuity,
                "a MAP is a discontinuity"
            );
        }
    }
    for name in packed.segments() {
        assert!(name.ends_with(".m4s"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_whole_sample_is_there_once_at_its_exact_time(
        scenario in any_scenario(),
        options in any_options(),
    ) {
        check(scenario, &options);
    }
}
