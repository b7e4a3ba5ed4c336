//! Rules 3, 4, 5, 6, 22: which tracks, what an init says of them, and which brands.

use std::time::Duration;

use mp4_atom::{Any, Codec, Moov, ReadFrom};
use yeoul_pack::{Rendition, Selector, WarningKind};
use yeoul_testkit::{Event, Scenario, Track};

use crate::reader::{brands, child, fragments};
use crate::world::*;

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn moov(init: &[u8]) -> Moov {
    let content = child(init, &[b"moov"]).unwrap();
    let start = content.as_ptr() as usize - init.as_ptr() as usize - 8;
    Moov::read_from(&mut &init[start..]).unwrap()
}

#[test]
fn rule_03_the_first_audio_with_samples_is_kept_for_good() {
    let silent = Event::Join {
        track: 1,
        at: at(6),
    };
    let gone = Event::Leave {
        track: 2,
        at: at(9),
    };
    let scenario = Scenario::new(20)
        .track(video())
        .track(audio())
        .track(audio())
        .track(audio())
        .take(lasting(14).with(silent).with(gone));
    let recorded = record(scenario);
    let packed = pack_with(&recorded.files, &cmaf());
    let heard = recorded.meant(0, 2);
    assert_same("the second audio track", &heard, &packed.samples(2));
    let tracks = &packed.report.takes[0].recordings[0].tracks;
    let ids: Vec<u32> = tracks.iter().map(|kept| kept.track_id).collect();
    assert_eq!(ids, [1, 3]);
    let audio = packed.playlist("audio/index.m3u8");
    assert!(
        audio.entries.last().unwrap().gap,
        "it left: a hole, not another choice"
    );
    assert!(
        packed
            .playlist("video/index.m3u8")
            .entries
            .iter()
            .all(|e| !e.gap)
    );
}

#[test]
fn rule_03_all_audio_tracks_on_request() {
    let scenario = Scenario::new(21)
        .track(audio())
        .track(video())
        .track(audio())
        .take(lasting(6));
    let recorded = record(scenario);
    let mut options = cmaf();
    options.rendition = Rendition {
        audio: Selector::All,
        ..Rendition::default()
    };
    let packed = pack_with(&recorded.files, &options);
    for (id, track) in [(1, 1), (2, 0), (3, 2)] {
        assert_same("track", &recorded.meant(0, track), &packed.samples(id));
    }
    options.rendition.video = Selector::None;
    options.rendition.audio = Selector::Number(2);
    let packed = pack_with(&recorded.files, &options);
    assert_same("one", &recorded.meant(0, 2), &packed.samples(2));
    assert!(!packed.files.keys().any(|name| name.starts_with("video/")));
}

#[test]
fn rule_04_a_late_track_has_no_filler_and_keeps_its_offset() {
    let late = Event::Join {
        track: 1,
        at: at(9),
    };
    let scenario = both(22)
        .take(lasting(14).starting_at(777_777_777))
        .take(lasting(14).with(late));
    let recorded = record(scenario);
    // The choice is frozen by the take's first recording (rule 3): audio that comes in the second one is not in it.
    let packed = pack_with(&recorded.files, &cmaf());
    assert_eq!(packed.report.takes[1].recordings[0].tracks.len(), 1);
    let gaps = packed.playlist("audio/index.m3u8").gap_micros();
    assert!(
        (13_900_000..17_100_000).contains(&gaps),
        "{gaps}: the gap of 3 s and the take"
    );
    assert_same("first take", &recorded.meant(0, 1), &packed.samples(2));

    let late = Event::Join {
        track: 1,
        at: at(2),
    };
    let recorded = record(both(23).take(lasting(14).with(late)));
    let mut options = cmaf();
    options.cut.target = yeoul_pack::Time::new(1, 1);
    let packed = pack_with(&recorded.files, &options);
    let moved = assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
    let heard = assert_same("audio", &recorded.meant(0, 1), &packed.samples(2));
    assert!(
        (moved * 48 - heard * 90).abs() <= 2 * 90 + 2 * 48,
        "{moved} {heard}"
    );
    let audio = packed.playlist("audio/index.m3u8");
    assert!(audio.entries[0].gap);
    assert!(audio.entries[1..].iter().all(|entry| !entry.gap));

    let mut options = yeoul_pack::PackOptions::default();
    options.cut.target = yeoul_pack::Time::new(1, 1);
    let muxed = pack_with(&recorded.files, &options);
    let trafs: Vec<Vec<u32>> = muxed
        .segments()
        .iter()
        .map(|name| {
            fragments(&muxed.files[name])
                .concat()
                .iter()
                .map(|t| t.track)
                .collect()
        })
        .collect();
    assert_eq!(trafs[0], [1], "no traf for a track without samples");
    assert!(
        trafs[1..].iter().all(|ids| ids == &[1, 2]),
        "video first: {trafs:?}"
    );
}

#[test]
fn rule_04_the_last_sample_of_a_track_that_fell_silent_is_whole() {
    let gone = Event::Leave {
        track: 1,
        at: at(2),
    };
    let recorded = record(both(30).take(lasting(40).with(gone)));
    assert!(recorded.files.len() > 8);
    for options in [cmaf(), yeoul_pack::PackOptions::default()] {
        let packed = pack_with(&recorded.files, &options);
        assert_same("audio", &recorded.meant(0, 1), &packed.samples(2));
    }
}

#[test]
fn rule_05_parameters_that_change_inside_a_recording_make_a_new_init() {
    let change = Event::Parameters {
        track: 0,
        at: at(7),
        entry: 1,
    };
    let recorded = record(both(24).take(lasting(17).with(change)));
    let truth = &recorded.truth.takes[0];
    let first_new = truth.tracks[0]
        .samples
        .iter()
        .find(|s| s.entry == 1)
        .unwrap();
    assert_eq!(
        (first_new.file, first_new.dts / 90_000),
        (1, 7),
        "in the middle of a file"
    );

    let packed = pack(&recorded.files);
    assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
    assert_contiguous("video", &packed.samples(1));
    let playlist = packed.playlist("index.m3u8");
    assert_eq!(
        playlist.maps(),
        2,
        "none at the next file, whose moov says the same"
    );
    let [at] = playlist.discontinuities()[..] else {
        panic!("one discontinuity");
    };
    assert!(playlist.entries[at].maps);
    assert_eq!(packed.report.inits.len(), 2);
    assert_eq!(
        packed.count(WarningKind::ParametersChanged),
        1,
        "{:?}",
        packed.warnings
    );

    let begins = fragments(&packed.files[&playlist.entries[at].uri]).concat();
    assert!(
        begins[0].samples[0].payload
            == recorded.meant(0, 0)[usize::try_from(index_of(truth, first_new)).unwrap()].payload
    );

    let new = &packed.files[&playlist.entries[at].map];
    let moov = moov(new);
    let Codec::Avc1(avc1) = &moov.trak[0].mdia.minf.stbl.stsd.codecs[0] else {
        panic!("avc1");
    };
    assert_eq!((avc1.visual.width, avc1.visual.height), (640, 480));
    let later = recorded.without(0, 0..2);
    let later = pack(&later);
    assert_eq!(later.report.inits.len(), 1);
    assert!(
        &later.files[&later.report.inits[0]] == new,
        "what the next file's moov makes"
    );

    let cmaf = pack_with(&recorded.files, &cmaf());
    let (v, a) = (
        cmaf.playlist("video/index.m3u8"),
        cmaf.playlist("audio/index.m3u8"),
    );
    assert_eq!((v.maps(), a.maps()), (2, 1));
    assert_eq!(v.discontinuities(), a.discontinuities());
}

fn index_of(take: &yeoul_testkit::TakeTruth, wanted: &yeoul_testkit::SampleTruth) -> u64 {
    take.tracks[0]
        .samples
        .iter()
        .position(|s| s == wanted)
        .unwrap() as u64
}

#[test]
fn rule_05_parameters_that_change_there_and_back_reuse_the_first_init() {
    let to = |seconds, entry| Event::Parameters {
        track: 0,
        at: at(seconds),
        entry,
    };
    let recorded = record(both(25).take(lasting(15).with(to(3, 1)).with(to(9, 0))));
    let packed = pack(&recorded.files);
    let playlist = packed.playlist("index.m3u8");
    assert_eq!((playlist.maps(), packed.report.inits.len()), (3, 2));
    assert_eq!(
        playlist.entries[0].map,
        playlist.entries.last().unwrap().map
    );
    assert_same("video", &recorded.meant(0, 0), &packed.samples(1));
}

#[test]
fn rule_06_bit_rates_in_sample_entries_make_no_new_init() {
    let mut recorded = record(both(26).take(lasting(13)).take(lasting(5)));
    let one = pack(&recorded.files);
    for (index, (_, bytes)) in recorded.files.iter_mut().enumerate() {
        let places: Vec<usize> = (0..bytes.len() - 4)
            .filter(|at| &bytes[*at..*at + 4] == b"btrt")
            .collect();
        for at in places {
            bytes[at + 15] = u8::try_from(index).unwrap();
        }
    }
    let packed = pack(&recorded.files);
    assert_eq!(packed.report.inits.len(), 1);
    assert_eq!(packed.playlist("index.m3u8").maps(), 1);
    assert_eq!(
        packed.files, one.files,
        "bit rates are nowhere in the output"
    );
}

#[test]
fn rule_06_another_entry_from_a_recording_on_is_a_new_init_right_there() {
    let change = Event::ParametersAtFile {
        track: 0,
        file: 2,
        entry: 1,
    };
    let recorded = record(both(27).take(lasting(17).with(change)));
    let packed = pack(&recorded.files);
    let playlist = packed.playlist("index.m3u8");
    assert_eq!((playlist.maps(), playlist.discontinuities().len()), (2, 1));
    let entry = playlist.discontinuities()[0];
    let first = packed
        .played(1)
        .into_iter()
        .find(|p| p.entry == entry)
        .unwrap();
    let meant = recorded.meant(0, 0);
    let wanted = meant.iter().find(|m| m.truth.entry == 1).unwrap();
    assert_eq!(first.sample.payload, wanted.payload);
    assert_eq!((wanted.truth.file, wanted.index), (2, 0));
}

#[test]
fn rule_06_sound_that_changes_its_entry_comes_with_the_right_init() {
    let mut sound = audio();
    let mut stereo = sound.entries[0].clone();
    // Channel count of an audio sample entry.
    stereo.bytes[25] = 2;
    sound.entries.push(stereo);
    for latency in [0, 300, 700] {
        sound.latency_ns = latency * 1_000_000;
        for (seconds, file) in [(17, 1), (17, 2), (14, 3), (15, 3), (9, 1)] {
            let change = Event::ParametersAtFile {
                track: 1,
                file,
                entry: 1,
            };
            let scenario = Scenario::new(31).track(video()).track(sound.clone());
            let recorded = record(scenario.take(lasting(seconds).with(change)));
            let meant = recorded.meant(0, 1);
            for options in [cmaf(), yeoul_pack::PackOptions::default()] {
                let packed = pack_with(&recorded.files, &options);
                let samples = packed.samples(2);
                assert_eq!(samples.len(), meant.len());
                for (played, meant) in packed.played(2).iter().zip(&meant) {
                    assert_eq!(played.sample.payload, meant.payload);
                    let name = &packed.report.tracks[1].playlist;
                    let folder = name.strip_suffix("index.m3u8").unwrap();
                    let map = &packed.playlist(name).entries[played.entry].map;
                    let init = &packed.files[&format!("{folder}{map}")];
                    let at = init.windows(4).position(|w| w == b"mp4a").unwrap();
                    let channels = u16::from(init[at + 21]);
                    assert_eq!(
                        channels,
                        meant.truth.entry + 1,
                        "at {}, {latency} {file}",
                        meant.truth.dts
                    );
                }
                assert_contiguous("audio", &samples);
            }
        }
    }
}

#[test]
fn rule_22_muxed_segments_do_not_claim_to_be_cmaf() {
    let recorded = record(both(28).take(lasting(5)));
    let muxed = pack(&recorded.files);
    for (name, bytes) in &muxed.files {
        if !name.ends_with("m3u8") {
            let brands = brands(bytes);
            assert!(
                brands.iter().all(|b| !b.starts_with("cmf")),
                "{name}: {brands:?}"
            );
        }
    }
    let cmaf = pack_with(&recorded.files, &cmaf());
    for (name, bytes) in cmaf.files.iter().filter(|(n, _)| !n.ends_with("m3u8")) {
        let brands = brands(bytes);
        let claims = |brand: &str| brands.iter().any(|b| b == brand);
        if name.contains("init") {
            assert!(claims("cmfc"), "{name}");
            assert_eq!(
                claims("cmf2"),
                name.starts_with("audio"),
                "{name}: {brands:?}"
            );
            assert_eq!(moov(bytes).trak.len(), 1);
        } else {
            assert!(claims("cmfs"), "{name}");
        }
        if name.starts_with("audio") && name.ends_with(".m4s") {
            for traf in fragments(bytes).concat() {
                let earliest = traf.samples.iter().map(|s| s.pts()).min();
                assert_eq!(earliest, Some(traf.tfdt), "what cmf2 promises");
            }
        }
    }
}

#[test]
fn another_reader_understands_every_file() {
    let recorded = record(
        Scenario::new(29)
            .track(Track::h265_720p30())
            .track(Track::opus_stereo())
            .take(lasting(9)),
    );
    for options in [cmaf(), yeoul_pack::PackOptions::default()] {
        let packed = pack_with(&recorded.files, &options);
        for (name, bytes) in packed.files.iter().filter(|(n, _)| !n.ends_with("m3u8")) {
            let mut rest = bytes.as_slice();
            let mut payload = 0;
            while !rest.is_empty() {
                let atom = Any::read_from(&mut rest).unwrap();
                match atom {
                    Any::Mdat(mdat) => payload += mdat.data.len(),
                    Any::Unknown(kind, _) => panic!("{name}: unknown {kind:?}"),
                    _ => {}
                }
            }
            if name.ends_with("m4s") && !name.ends_with("gap.m4s") {
                let own = fragments(bytes).concat();
                let own: usize = own
                    .iter()
                    .flat_map(|t| &t.samples)
                    .map(|s| s.payload.len())
                    .sum();
                assert_eq!(own, payload, "{name}");
            }
        }
    }
}
