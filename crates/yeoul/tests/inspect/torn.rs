//! Files that end too early.

use serde_json::json;
use yeoul::inspect::{Options, Verdict};
use yeoul_isobmff::write::{Brands, styp};
use yeoul_testkit::tear;

use crate::world::{
    init_len, json as inspect_json, recording, report, samples_of, top_level, whole,
};

/// The samples shown are those of which every byte is there; the fault is the box that the cut goes through.
#[test]
fn a_recording_cut_after_every_byte() {
    let (bytes, tracks) = recording();
    let boxes = top_level(&bytes);
    for len in 0..bytes.len() {
        let cut = tear::truncate(&bytes, len);
        let (verdict, found) = inspect_json(cut);
        for track in &tracks {
            let samples = samples_of(&found, track.id);
            assert_eq!(samples.len(), whole(track, len).len(), "cut at {len}");
        }

        let (_, start, _) = *boxes.iter().find(|(_, _, end)| *end > len).unwrap();
        let fault = &found["fault"];
        let whole_boxes: Vec<_> = boxes.iter().filter(|(_, _, end)| *end <= len).collect();
        let after = whole_boxes.last().map(|(kind, ..)| kind);
        match after {
            _ if start < len => {
                assert_eq!(fault["offset"], start, "cut at {len}");
                assert_eq!(
                    found["summary"]["torn"],
                    if len - start < 8 {
                        json!(null)
                    } else {
                        json!(start)
                    }
                );
            }
            // A cut between boxes: after `moof` its payload is missing, after `ftyp` everything is.
            Some(b"moof") => {
                assert_eq!(fault["box"], "moof");
                assert_eq!(fault["offset"], whole_boxes.last().unwrap().1);
            }
            Some(b"ftyp") | None => assert_eq!(fault["offset"], len),
            Some(_) => assert_eq!(*fault, json!(null), "cut at {len}"),
        }
        let expected = if fault.is_null() {
            Verdict::Whole
        } else {
            Verdict::Faulty
        };
        assert_eq!(verdict, expected);
        assert!(found["boxes"].as_array().unwrap().len() >= whole_boxes.len());
    }
}

#[test]
fn a_torn_moov_shows_the_boxes_before_the_tear() {
    let (bytes, _) = recording();
    let end = init_len(&bytes);
    let (verdict, text) = report(&bytes[..end / 2], &Options::default());
    assert_eq!(verdict, Verdict::Faulty);
    for shown in [
        "ftyp brand=mp42",
        "mvhd timescale=1000",
        "tkhd id=1",
        "torn: in the box at offset 32",
    ] {
        assert!(text.contains(shown), "{shown}:\n{text}");
    }
    let last = text.lines().last().unwrap();
    let moov = end - 32;
    let have = end / 2 - 32;
    assert_eq!(
        last,
        format!("fault: box 'moov' at offset 32: needs {moov} bytes, {have} are there")
    );
}

#[test]
fn zeros_where_a_box_should_be_are_named() {
    let (bytes, _) = recording();
    let boxes = top_level(&bytes);
    let (_, second_part, _) = boxes[4];
    let (verdict, found) = inspect_json(&tear::zero_tail(&bytes, second_part));
    assert_eq!(verdict, Verdict::Faulty);
    assert_eq!(found["fault"]["offset"], second_part);
    assert_eq!(
        found["fault"]["message"],
        "zeros where a box was expected, as after a power cut"
    );
    assert_eq!(found["summary"]["parts"], 1);
}

/// What a playlist's GAP entries name.
#[test]
fn a_segment_of_its_type_alone_is_empty_and_no_fault() {
    let gap = styp(&Brands::MUXED_SEGMENT).unwrap();
    let (verdict, text) = report(&gap, &Options::default());
    assert_eq!(verdict, Verdict::Whole);
    assert_eq!(text.lines().last(), Some("empty segment"), "{text}");
    let (verdict, found) = inspect_json(&gap);
    assert_eq!(verdict, Verdict::Whole);
    assert_eq!(found["summary"]["kind"], "empty segment");

    let (verdict, _) = inspect_json(&gap[..gap.len() - 1]);
    assert_eq!(verdict, Verdict::Faulty, "torn");
    let payload = [&gap[..], b"\0\0\0\x09mdat."].concat();
    let (verdict, _) = inspect_json(&payload);
    assert_eq!(verdict, Verdict::Faulty, "payload that nothing tells of");
}

#[test]
fn one_part_is_not_called_parts() {
    let (bytes, _) = recording();
    let (_, second_part, _) = top_level(&bytes)[4];
    let (_, text) = report(&bytes[..second_part], &Options::default());
    assert!(text.contains("recording, 1 part, closed"), "{text}");
}

#[test]
fn an_empty_file_and_text_are_no_recordings() {
    let (verdict, text) = report(b"", &Options::default());
    assert_eq!(verdict, Verdict::Faulty);
    assert!(
        text.contains("fault: the file, at offset 0: is empty"),
        "{text}"
    );
    let (verdict, text) = report(b"#EXTM3U\n#EXT-X-VERSION:9\n", &Options::default());
    assert_eq!(verdict, Verdict::Faulty);
    assert!(text.contains("not an MP4"), "{text}");
}
