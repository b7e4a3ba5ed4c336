//! What fuzzing found, as recordings.

use yeoul_pack::{Gaps, PackOptions, Selector};

use crate::world::*;
use crate::writer::{AUDIO, VIDEO, recording, run, samples as made};

/// Replaces the first `from` at or behind `at`.
fn patch(bytes: &mut [u8], at: usize, from: &[u8], to: &[u8]) -> usize {
    let found = bytes[at..].windows(from.len()).position(|w| w == from);
    let found = at + found.expect("it is there");
    bytes[found..found + to.len()].copy_from_slice(to);
    found
}

#[test]
fn a_run_without_decode_time_begins_where_its_recording_does() {
    let mut files = record(both(3).take(lasting(9))).files;
    let wanted = pack(&files[1..]);
    let bytes = &mut files[1].1;
    let first = patch(bytes, 0, b"tfdt", b"skip");
    patch(bytes, first, b"tfdt", b"skip");
    let packed = pack(&files[1..]);
    for track in [1, 2] {
        let (found, wanted) = (packed.samples(track), wanted.samples(track));
        assert_eq!(found.len(), wanted.len());
        let off = found[0].dts.abs_diff(wanted[0].dts);
        assert!(off <= 9000, "track {track} begins {off} ticks off");
    }

    // Of a take whose first recording has no parts: the decode time was negative.
    let moof = files[0].1.windows(4).position(|kind| kind == b"moof");
    files[0].1.truncate(moof.unwrap() - 4);
    assert!(!pack(&files).samples(1).is_empty());
}

#[test]
fn takes_whose_ids_begin_alike_have_files_of_their_own() {
    let mut files = record(both(4).take(lasting(5)).take(lasting(5))).files;
    let ids: Vec<Vec<u8>> = files
        .iter()
        .map(|(_, bytes)| {
            let at = bytes.windows(4).position(|kind| kind == b"mtxi").unwrap() + 8;
            bytes[at..at + 16].to_vec()
        })
        .collect();
    for (index, id) in ids.iter().enumerate() {
        if *id != ids[0] {
            patch(&mut files[index].1, 0, &id.clone(), &ids[0][..6]);
        }
    }
    let packed = pack(&files);
    assert_eq!(packed.report.takes.len(), 2);
    let names = packed.segments();
    let mut distinct = names.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
}

#[test]
fn every_rendition_of_sound_alone_can_be_found() {
    let files = record(both(5).track(audio()).track(audio()).take(lasting(5))).files;
    let mut options = cmaf();
    options.rendition.video = Selector::None;
    options.rendition.audio = Selector::All;
    let packed = pack_with(&files, &options);
    let text = String::from_utf8(packed.files["index.m3u8"].clone()).unwrap();
    let media: Vec<_> = text
        .lines()
        .filter(|l| l.starts_with("#EXT-X-MEDIA:"))
        .collect();
    assert_eq!(media.len(), 3, "{text}");
    // The first is the variant's own; it has no URI (RFC 8216bis section 4.4.6.1).
    assert!(
        media[0].contains("DEFAULT=YES") && !media[0].contains("URI"),
        "{text}"
    );
    for (line, folder) in [(1, "audio-2"), (2, "audio-3")] {
        let uri = format!("URI=\"{folder}/index.m3u8\"");
        assert!(
            media[line].contains("DEFAULT=NO") && media[line].contains(&uri),
            "{text}"
        );
        assert!(packed.files.contains_key(&format!("{folder}/index.m3u8")));
    }
    assert!(
        text.contains(",AUDIO=\"audio\"\naudio/index.m3u8\n"),
        "{text}"
    );
}

#[test]
fn sound_that_comes_behind_closed_holes_opens_them_again() {
    let video = |from: u64| run(VIDEO, from * 90_000, &made(1, 30, 3000));
    let audio = |from: u64| run(AUDIO, from * 48_000, &made(2, 47, 1024));
    let mut parts = vec![vec![video(0), audio(0)]];
    parts.extend([100, 200, 300].map(|second| vec![video(second)]));
    // Its decode time was negative: two holes of a hundred seconds were closed before it came.
    parts.push(vec![audio(2)]);
    let bytes = recording(&[VIDEO, AUDIO], None, &parts);
    let options = PackOptions {
        gaps: Gaps::Close,
        ..PackOptions::default()
    };
    let packed = pack_with(&[("late.mp4".to_owned(), bytes)], &options);
    assert_eq!(packed.samples(1).len(), 120);
    let heard = packed.samples(2);
    assert_eq!(heard.len(), 94);
    for pair in heard.windows(2) {
        assert!(pair[0].dts + i64::from(pair[0].duration) <= pair[1].dts);
    }
}
