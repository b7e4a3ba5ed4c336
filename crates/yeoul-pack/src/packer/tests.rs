//! What fuzzing found, at the packer itself.

use std::convert::Infallible;

use yeoul_isobmff::codec::SampleEntry;
use yeoul_isobmff::moof::NON_SYNC;

use super::*;

const SECOND: i64 = 90_000;

/// A packer of one H.265 track.
fn packer() -> Packer {
    let entry = yeoul_testkit::SampleEntry::h265_720p30().bytes.into();
    let init = TrackInit {
        handler: Handler::Video,
        timescale: 90_000,
        language: 0,
        width: 0,
        height: 0,
        entry: SampleEntry::new(&entry, Handler::Video).unwrap(),
    };
    let mut packer = Packer::new(CutOptions::new(Time::new(1, 1)), vec![init]);
    packer.begin_recording(0, &[None], false);
    packer
}

fn sample(duration: u32, flags: u32, composition_offset: i32) -> FragmentSample {
    FragmentSample {
        offset: 0,
        size: 6,
        duration,
        flags,
        composition_offset,
    }
}

/// Every sync sample is a CRA picture.
fn push(packer: &mut Packer, own: i64, samples: &[FragmentSample]) {
    let mut head = |_: &FragmentSample, _: usize| -> Result<Bytes, Infallible> {
        Ok(Bytes::from_static(&[0, 0, 0, 2, 0x2A, 1]))
    };
    let Ok(()) = packer.push_run(0, Some(own), 1, samples, &mut head);
}

/// Of each segment whether a discontinuity begins with it, its presentation, and its samples' decode time and duration.
type Made = (bool, i64, i64, Vec<(i64, u32)>);

fn made(mut packer: Packer) -> Vec<Made> {
    packer.finish();
    let segments = std::iter::from_fn(|| packer.poll_segment());
    let made = segments.map(|segment| {
        let mut samples = Vec::new();
        for piece in &segment.tracks[0] {
            let mut at = piece.decode_time;
            for sample in &piece.samples {
                samples.push((at, sample.duration));
                at += i64::from(sample.duration);
            }
        }
        let (start, end) = (segment.start.ticks, segment.end.ticks);
        (segment.discontinuity, start, end, samples)
    });
    made.collect()
}

#[test]
fn a_sample_lasts_over_leading_pictures_left_out_before_the_next_segment() {
    let mut packer = packer();
    let leading = sample(30_000, NON_SYNC, -60_000);
    let run = [sample(30_000, 0, 0), leading, sample(30_000, 0, 60_000)];
    push(&mut packer, 0, &run);
    let (first, second) = (vec![(0, 60_000)], vec![(60_000, 30_000)]);
    assert_eq!(
        made(packer),
        [(true, 0, 120_000, first), (false, 120_000, 150_000, second)]
    );
}

#[test]
fn a_gap_before_a_leading_picture_that_is_left_out_is_not_lost() {
    let mut packer = packer();
    push(&mut packer, 0, &[sample(3000, 0, 600_000)]);
    let leading = sample(3000, NON_SYNC, 0);
    push(
        &mut packer,
        5 * SECOND,
        &[leading, sample(3000, 0, 300_000)],
    );
    let segments = made(packer);
    assert_eq!(segments.len(), 2, "{segments:?}");
    assert_eq!(segments[0].3, [(0, 3000)], "it does not last over the gap");
    assert_eq!(segments[1].3, [(5 * SECOND + 3000, 3000)]);
}

#[test]
fn a_segment_without_a_sync_sample_begins_with_what_is_presented_first() {
    let mut packer = packer();
    push(&mut packer, 0, &[sample(3000, 0, 0)]);
    // Behind a gap comes P, then in the next run the B pictures that are presented before it.
    push(&mut packer, 10 * SECOND, &[sample(3000, NON_SYNC, 9000)]);
    let rest = [0, 0, 9000].map(|offset| sample(3000, NON_SYNC, offset));
    push(&mut packer, 10 * SECOND + 3000, &rest);
    let begin = 10 * SECOND + 3000;
    let segments = made(packer);
    assert_eq!(segments.len(), 2, "{segments:?}");
    assert_eq!((segments[0].1, segments[0].2), (0, 3000));
    assert_eq!((segments[1].0, segments[1].1), (true, begin));
}

#[test]
fn segments_have_different_names_when_presentation_goes_back() {
    let mut packer = packer();
    let seconds = [0, 1, 0, 1, 2];
    let samples = (0i32..).zip(seconds).map(|(n, at)| {
        let offset = at * 90_000 - n * 3000;
        sample(3000, 0, offset)
    });
    push(&mut packer, 0, &samples.collect::<Vec<_>>());
    // Presentation that goes back makes no segment by itself; behind a gap it does.
    push(&mut packer, 20 * SECOND, &[sample(3000, 0, -1_710_000)]);
    packer.finish();
    let names: Vec<_> = std::iter::from_fn(|| packer.poll_segment())
        .map(|segment| segment.stem())
        .collect();
    let mut distinct = names.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    assert_eq!(distinct, names, "and in order");
}

#[test]
fn a_hole_before_the_first_segment_of_a_take_is_no_gap() {
    let video = packer().inits(0)[0].clone();
    let audio = TrackInit {
        handler: Handler::Audio,
        ..video.clone()
    };
    let mut packer = Packer::new(CutOptions::new(Time::new(1, 1)), vec![video, audio]);
    let mut head = |_: &FragmentSample, _: usize| -> Result<Bytes, Infallible> {
        Ok(Bytes::from_static(&[0, 0, 0, 2, 0x2A, 1]))
    };
    packer.begin_recording(0, &[None, None], false);
    for (slot, run) in [(0, [sample(3000, NON_SYNC, 0)]), (1, [sample(3000, 0, 0)])] {
        let Ok(()) = packer.push_run(slot, Some(0), 1, &run, &mut head);
    }
    packer.begin_recording(1, &[None, None], true);
    let Ok(()) = packer.push_run(0, Some(4 * SECOND), 1, &[sample(3000, 0, 0)], &mut head);
    packer.finish();
    let segment = packer.poll_segment().unwrap();
    assert_eq!(segment.tracks[1].len(), 1, "the sound of before is kept");
    assert_eq!(segment.start.ticks, 0, "and the segment begins with it");
    assert!(packer.poll_segment().is_none());
}
