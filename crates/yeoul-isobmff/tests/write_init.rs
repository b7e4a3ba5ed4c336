//! Init segments.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

mod write_support;

use bytes::Bytes;
use mp4_atom::{Atom, Ftyp, Moov, ReadFrom};
use write_support::{all, audio, boxes, one, sha256, video};
use yeoul_isobmff::write::{Brands, FourCc, WriteError, init, styp};

#[test]
fn golden_bytes() {
    let muxed = init(&[video(), audio()], &Brands::MUXED).unwrap();
    assert_eq!(
        sha256(&muxed),
        "d22bcae3a7e1852701fd9de01c78f3487e2e7ad4101b1029ff84d3cf45d79234"
    );
    let cmaf = init(&[video()], &Brands::cmaf(true)).unwrap();
    assert_eq!(
        sha256(&cmaf),
        "9321dae42a1b1be717c2a0a099541b087aeb96ed64cb5a47480f61fcb8249c10"
    );
}

#[test]
fn another_parser_reads_what_was_asked_for() {
    let mut subtitles = audio();
    subtitles.track_id = 7;
    subtitles.handler = FourCc(*b"subt");
    let tracks = [video(), audio(), subtitles];
    let written = init(&tracks, &Brands::MUXED).unwrap();
    let mut rest = &written[..];
    let ftyp = Ftyp::read_from(&mut rest).unwrap();
    assert_eq!(ftyp.major_brand, (*b"iso6").into());
    assert!(!ftyp.compatible_brands.contains(&(*b"cmfc").into()));
    let moov = Moov::read_from(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert_eq!(moov.mvhd.next_track_id, 8);
    assert_eq!((moov.mvhd.timescale, moov.mvhd.duration), (1000, 0));
    assert_eq!(moov.mvhd.creation_time, 0);
    let mvex = moov.mvex.unwrap();
    for ((trak, trex), track) in moov.trak.iter().zip(&mvex.trex).zip(&tracks) {
        assert_eq!(trak.tkhd.track_id, track.track_id);
        assert_eq!(trex.track_id, track.track_id);
        assert_eq!(trex.default_sample_description_index, 1);
        assert_eq!(trex.default_sample_flags, 0);
        assert_eq!(trak.mdia.mdhd.timescale, track.timescale);
        assert_eq!(trak.mdia.mdhd.language, "und");
        assert_eq!(trak.mdia.hdlr.handler, track.handler.0.into());
        let minf = &trak.mdia.minf;
        assert_eq!(minf.vmhd.is_some(), track.handler.0 == *b"vide");
        assert_eq!(minf.smhd.is_some(), track.handler.0 == *b"soun");
        assert_eq!(minf.stbl.stsd.codecs.len(), 1);
        assert!(minf.stbl.stss.is_none());
    }
    assert_eq!(moov.trak[0].tkhd.width.integer(), 1280);
    assert_eq!(moov.trak[0].tkhd.height.integer(), 720);
}

#[test]
fn media_header_follows_the_handler() {
    let name = |handler: &[u8; 4]| {
        let mut track = audio();
        track.handler = FourCc(*handler);
        let written = init(&[track], &Brands::MUXED).unwrap();
        boxes(one(&written, &[b"moov", b"trak", b"mdia", b"minf"]))[0].0
    };
    assert_eq!(name(b"vide"), *b"vmhd");
    assert_eq!(name(b"soun"), *b"smhd");
    assert_eq!(name(b"subt"), *b"sthd");
    assert_eq!(name(b"text"), *b"nmhd");
    assert_eq!(name(b"meta"), *b"nmhd");
}

#[test]
fn sample_entries_are_kept_byte_for_byte() {
    let mut track = video();
    track.entries.push(write_support::entry(b"vvvv", 9));
    let written = init(std::slice::from_ref(&track), &Brands::MUXED).unwrap();
    let stsd = one(
        &written,
        &[b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd"],
    );
    assert_eq!(stsd[..8], [0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(stsd[8..], track.entries.concat());
}

#[test]
fn cmaf_brands_and_what_they_ask_for() {
    let written = init(&[video()], &Brands::CMAF).unwrap();
    let ftyp = Ftyp::decode_body(&mut one(&written, &[b"ftyp"])).unwrap();
    assert!(ftyp.compatible_brands.contains(&(*b"cmfc").into()));
    assert!(!ftyp.compatible_brands.contains(&(*b"cmf2").into()));
    assert_eq!(
        one(&written, &[b"moov", b"trak", b"tkhd"])[..4],
        [0, 0, 0, 7]
    );
    let stbl = [b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stss"];
    assert_eq!(one(&written, &stbl), [0; 8]);

    let sound = init(&[audio()], &Brands::CMAF).unwrap();
    assert_eq!(one(&sound, &[b"moov", b"trak", b"tkhd"])[..4], [0, 0, 0, 3]);
    assert!(all(&sound, &stbl).is_empty());

    let error = init(&[video(), audio()], &Brands::CMAF).unwrap_err();
    assert!(error.to_string().contains("cmfc"), "{error}");
}

#[test]
fn styp_is_a_styp() {
    let written = styp(&Brands::CMAF_SEGMENT).unwrap();
    assert_eq!(&written[..], b"\0\0\0\x1cstypmsdh\0\0\0\0msdhiso6cmfs");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let refused = |tracks: &[_]| match init(tracks, &Brands::MUXED) {
        Err(WriteError::Invalid { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[]), FourCc(*b"moov"));
    assert_eq!(refused(&[video(), video()]), FourCc(*b"tkhd"));
    let mut track = video();
    track.track_id = 0;
    assert_eq!(refused(&[track]), FourCc(*b"tkhd"));
    let mut track = video();
    track.timescale = 0;
    assert_eq!(refused(&[track]), FourCc(*b"mdhd"));
    let mut track = video();
    track.entries = Vec::new();
    assert_eq!(refused(&[track]), FourCc(*b"stsd"));
    for broken in [&b""[..], b"\0\0\0\x08avc1", b"\0\0\0\x15avc1............"] {
        let mut track = video();
        track.entries = vec![Bytes::from_static(broken)];
        assert_eq!(refused(&[track]), FourCc(*b"stsd"));
    }
}

/// Samples of one track went to two renditions.
#[test]
fn a_movie_with_one_track_id_twice_is_refused() {
    let mut written = init(&[video(), audio()], &Brands::MUXED).unwrap().to_vec();
    let moov = written.windows(4).position(|kind| kind == b"moov").unwrap() - 4;
    let parse = |bytes: &[u8]| {
        let bytes = bytes::Bytes::copy_from_slice(&bytes[moov..]);
        yeoul_isobmff::movie::Movie::parse(&bytes, 0, &yeoul_isobmff::Limits::DEFAULT)
    };
    assert_eq!(parse(&written).unwrap().tracks.len(), 2);
    let last = written
        .windows(4)
        .rposition(|kind| kind == b"tkhd")
        .unwrap();
    written[last + 16..last + 20].copy_from_slice(&video().track_id.to_be_bytes());
    let error = parse(&written).unwrap_err().to_string();
    assert!(error.contains("twice"), "{error}");
}
