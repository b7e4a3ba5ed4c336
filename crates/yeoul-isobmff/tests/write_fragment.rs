//! Fragments, read back by another parser.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

mod write_support;

use mp4_atom::{Moof, ReadFrom};
use proptest::prelude::*;
use write_support::{all, any_samples, boxes, frames, one, pictures, sample, sha256};
use yeoul_isobmff::write::{
    FourCc, FragmentTrack, MAX_FRAGMENT_SIZE, Sample, WriteError, fragment,
};

fn track(track_id: u32, samples: &[Sample]) -> FragmentTrack<'_> {
    FragmentTrack {
        track_id,
        base_decode_time: 0,
        samples,
    }
}

#[test]
fn golden_bytes() {
    let (pictures, frames) = (pictures(), frames());
    let tracks = [
        FragmentTrack {
            track_id: 1,
            base_decode_time: 180_000,
            samples: &pictures,
        },
        FragmentTrack {
            track_id: 2,
            base_decode_time: 5_000_000_000,
            samples: &frames,
        },
    ];
    let written = fragment(3, &tracks).unwrap();
    assert_eq!(
        sha256(&written),
        "52318926b9472e797081293254dc9974763f773cbc8a48245cffc08da93c82a9"
    );
    assert_eq!(written, fragment(3, &tracks).unwrap());
}

/// As a default the size of no bytes was refused by `yeoul verify`.
#[test]
fn samples_without_bytes_say_so_one_by_one() {
    let empty = sample(3000, 0, false, 0);
    let written = fragment(1, &[track(1, &[empty, empty])]).unwrap();
    let moof = Moof::read_from(&mut &written[..]).unwrap();
    let traf = &moof.traf[0];
    assert_eq!(traf.tfhd.default_sample_size, None);
    let sizes: Vec<_> = traf.trun[0].samples.iter().map(|s| s.size).collect();
    assert_eq!(sizes, [Some(0), Some(0)]);
}

proptest! {
    #[test]
    fn another_parser_reads_the_same_samples(
        tracks in prop::collection::vec((any_samples(40), 0..1u64 << 53), 1..4),
        sequence: u32,
    ) {
        let inputs: Vec<_> = (1..)
            .zip(&tracks)
            .map(|(track_id, (samples, time))| FragmentTrack {
                track_id,
                base_decode_time: *time,
                samples,
            })
            .collect();
        let written = fragment(sequence, &inputs).unwrap();
        let mut rest = &written[..];
        let moof = Moof::read_from(&mut rest).unwrap();
        let payload: u64 = tracks.iter().flat_map(|t| &t.0).map(|s| u64::from(s.size)).sum();
        prop_assert_eq!(rest.len(), 8);
        prop_assert_eq!(u64::from(u32::from_be_bytes(rest[..4].try_into().unwrap())), payload + 8);
        prop_assert_eq!(&rest[4..], b"mdat");
        prop_assert_eq!(moof.mfhd.sequence_number, sequence);
        prop_assert_eq!(moof.traf.len(), tracks.len());

        let mut at = written.len() as u64;
        for (traf, input) in moof.traf.iter().zip(&inputs) {
            prop_assert!(traf.tfhd.default_base_is_moof);
            prop_assert_eq!(traf.tfhd.track_id, input.track_id);
            let time = traf.tfdt.as_ref().unwrap().base_media_decode_time;
            prop_assert_eq!(time, input.base_decode_time);
            prop_assert_eq!(traf.trun.len(), 1);
            let trun = &traf.trun[0];
            prop_assert_eq!(u64::try_from(trun.data_offset.unwrap()).unwrap(), at);
            let read: Vec<_> = trun
                .samples
                .iter()
                .map(|s| Sample {
                    duration: s.duration.or(traf.tfhd.default_sample_duration).unwrap(),
                    size: s.size.or(traf.tfhd.default_sample_size).unwrap(),
                    flags: s.flags.or(traf.tfhd.default_sample_flags).unwrap(),
                    composition_offset: i32::try_from(s.cts.unwrap_or(0)).unwrap(),
                })
                .collect();
            prop_assert_eq!(&read[..], input.samples);
            at += input.samples.iter().map(|s| u64::from(s.size)).sum::<u64>();
        }

        for (content, input) in all(&written[..written.len() - 8], &[b"moof", b"traf"]).into_iter().zip(&inputs) {
            let children = boxes(content);
            let names: Vec<_> = children.iter().map(|c| &c.0).collect();
            prop_assert_eq!(names, [b"tfhd", b"tfdt", b"trun"]);
            prop_assert_eq!(children[1].1[0], 1);
            let negative = input.samples.iter().any(|s| s.composition_offset < 0);
            prop_assert_eq!(children[2].1[0], u8::from(negative));
        }
    }
}

#[test]
fn what_all_samples_share_is_written_once() {
    let flags = |name, written: &[u8]| {
        let content = one(&written[..written.len() - 8], &[b"moof", b"traf", name]);
        u32::from_be_bytes(content[..4].try_into().unwrap()) & 0x00ff_ffff
    };
    let same = [sample(1024, 4, true, 0); 3];
    let written = fragment(0, &[track(1, &same)]).unwrap();
    assert_eq!(flags(b"tfhd", &written), 0x02_0038);
    assert_eq!(flags(b"trun", &written), 0x01);
    // A default for one sample would save nothing.
    let written = fragment(0, &[track(1, &same[..1])]).unwrap();
    assert_eq!(flags(b"tfhd", &written), 0x02_0000);
    assert_eq!(flags(b"trun", &written), 0x701);
    let written = fragment(0, &[track(1, &pictures())]).unwrap();
    assert_eq!(flags(b"tfhd", &written), 0x02_0008);
    assert_eq!(flags(b"trun", &written), 0xe01);
}

#[test]
fn a_fragment_may_reach_two_gib_and_no_more() {
    let header = fragment(0, &[track(1, &[sample(1, 0, true, 0)])]).unwrap();
    let room = u32::try_from(MAX_FRAGMENT_SIZE).unwrap() - u32::try_from(header.len()).unwrap();
    let most = [sample(1, room, true, 0)];
    assert!(fragment(0, &[track(1, &most)]).is_ok());
    let more = [sample(1, room + 1, true, 0)];
    let error = fragment(0, &[track(1, &more)]).unwrap_err();
    let expected = WriteError::Overflow {
        name: FourCc(*b"mdat"),
        field: "fragment size",
        value: u128::from(MAX_FRAGMENT_SIZE) + 1,
        limit: MAX_FRAGMENT_SIZE,
    };
    assert_eq!(error, expected);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let one_sample = [sample(1, 1, true, 0)];
    assert!(fragment(0, &[]).is_err());
    assert!(fragment(0, &[track(1, &[])]).is_err());
    assert!(fragment(0, &[track(0, &one_sample)]).is_err());
    assert!(fragment(0, &[track(1, &one_sample), track(1, &one_sample)]).is_err());
    let late = FragmentTrack {
        base_decode_time: u64::MAX,
        ..track(1, &one_sample)
    };
    assert!(fragment(0, &[late]).is_err());
}
