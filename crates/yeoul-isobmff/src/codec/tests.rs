use super::*;

fn hex(text: &str) -> Bytes {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_box(&mut out, kind, content);
    out
}

fn visual(kind: &[u8; 4], width: u16, height: u16, children: &[Vec<u8>]) -> Bytes {
    let mut content = vec![0; 78];
    content[7] = 1;
    content[24..26].copy_from_slice(&width.to_be_bytes());
    content[26..28].copy_from_slice(&height.to_be_bytes());
    content[41] = 1;
    content[74..78].copy_from_slice(&[0, 24, 0xFF, 0xFF]);
    content.extend(children.concat());
    boxed(kind, &content).into()
}

/// What a recorder wrote for 1280×720 and, after the encoder restarted, for 640×480.
const AVCC_720: &str =
    "014d401fffe10019674d401feca02802dd8088000003000800000301e078c18cb001000468ce3c80";
const AVCC_480: &str =
    "014d401effe10017674d401eeca0501ed80880000003008000001e078b16cb01000468ce3c80";
const HVCC: &str = "0101600000000300900000035df000fcfdf8f800001303200001001840010c01ffff01600000030090000003000003005d959009210001002b42010101600000030090000003000003005da00280802d16595912930bc05a020000030002000003003c1022000100064401c073c189";

fn avc1(avcc: &str, width: u16, height: u16) -> SampleEntry {
    let children = [boxed(b"avcC", &hex(avcc)), boxed(b"btrt", &[1; 12])];
    SampleEntry::new(&visual(b"avc1", width, height, &children), Handler::Video).unwrap()
}

fn length_prefixed(units: &[&[u8]]) -> Bytes {
    let mut out = Vec::new();
    for unit in units {
        out.extend_from_slice(&u32::try_from(unit.len()).unwrap().to_be_bytes());
        out.extend_from_slice(unit);
    }
    out.into()
}

#[test]
fn the_bit_rate_is_dropped_and_nothing_else() {
    let with = avc1(AVCC_720, 1280, 720);
    let bare = visual(b"avc1", 1280, 720, &[boxed(b"avcC", &hex(AVCC_720))]);
    assert_eq!(*with.bytes(), bare);
    let unknown = visual(b"zzzz", 1, 1, &[b"\0\0\0\x07junkjunk".to_vec()]);
    assert_eq!(
        *SampleEntry::new(&unknown, Handler::Video).unwrap().bytes(),
        unknown
    );
}

#[test]
fn in_band_sets_give_the_entry_that_the_next_recording_has() {
    let old = avc1(AVCC_720, 1280, 720);
    let new = avc1(AVCC_480, 640, 480);
    let wanted = new.parameter_sets().unwrap();
    let head = length_prefixed(&[&[9, 0xF0], &wanted.sps[0], &wanted.pps[0], &[0x65, 0x88]]);
    let unit = AccessUnit::read(&head, NalCodec::Avc, 4);
    assert_eq!(unit.picture, Some(Picture::Instant));
    let sets = old
        .parameter_sets()
        .unwrap()
        .changed_by(&unit.sets)
        .unwrap();
    let (rebuilt, size) = old.with_parameter_sets(&sets).unwrap();
    assert_eq!(size, (640, 480));
    assert_eq!(rebuilt, new);
    assert_eq!(sets.changed_by(&unit.sets), None);
}

#[test]
fn a_set_with_a_new_id_changes_nothing() {
    let sets = avc1(AVCC_720, 1280, 720).parameter_sets().unwrap();
    // pic_parameter_set_id 1 instead of 0: the code 010.
    let head = length_prefixed(&[&[0x68, 0x5E, 0x3C, 0x80], &[0x65]]);
    assert_eq!(
        sets.changed_by(&AccessUnit::read(&head, NalCodec::Avc, 4).sets),
        None
    );
    // The same id with other bytes.
    let head = length_prefixed(&[&[0x68, 0xCF, 0x3C, 0x80], &[0x65]]);
    assert!(
        sets.changed_by(&AccessUnit::read(&head, NalCodec::Avc, 4).sets)
            .is_some()
    );
}

#[test]
fn hevc_sets_are_read_and_rebuilt_in_place() {
    let children = [boxed(b"hvcC", &hex(HVCC))];
    let entry = SampleEntry::new(&visual(b"hvc1", 1280, 720, &children), Handler::Video).unwrap();
    let sets = entry.parameter_sets().unwrap();
    assert_eq!((sets.vps.len(), sets.sps.len(), sets.pps.len()), (1, 1, 1));
    let (rebuilt, size) = entry.with_parameter_sets(&sets).unwrap();
    assert_eq!(size, (1280, 720));
    assert_eq!(rebuilt, entry);
    let head = length_prefixed(&[&sets.vps[0], &sets.sps[0], &sets.pps[0], &[0x2A, 1, 0x80]]);
    let unit = AccessUnit::read(&head, NalCodec::Hevc, 4);
    assert_eq!(unit.picture, Some(Picture::Open));
    assert_eq!(unit.sets, sets);
    assert_eq!(sets.changed_by(&unit.sets), None);
}

#[test]
fn names_of_codecs() {
    assert_eq!(
        avc1(AVCC_720, 1280, 720).codec_name().unwrap(),
        "avc1.4d401f"
    );
    let children = [boxed(b"hvcC", &hex(HVCC))];
    let entry = SampleEntry::new(&visual(b"hvc1", 1, 1, &children), Handler::Video).unwrap();
    assert_eq!(entry.codec_name().unwrap(), "hvc1.1.6.L93.90");
    let entry = SampleEntry::new(&visual(b"abcd", 1, 1, &[]), Handler::Video).unwrap();
    assert_eq!(entry.codec_name().unwrap(), "abcd");
}

#[test]
fn a_set_cut_at_the_end_of_the_head_is_left_out() {
    let sets = avc1(AVCC_720, 1280, 720).parameter_sets().unwrap();
    let head = length_prefixed(&[&sets.sps[0], &sets.pps[0], &[0x65]]);
    for len in 0..head.len() {
        let unit = AccessUnit::read(&head.slice(..len), NalCodec::Avc, 4);
        assert_eq!(unit.sets.changed_by(&sets), None);
        assert_eq!(sets.changed_by(&unit.sets), None, "{len}");
    }
}

/// The size that an entry gets with another sequence parameter set.
fn rebuilt_with(entry: &SampleEntry, sps: &[u8]) -> Option<(u16, u16)> {
    let sets = ParameterSets {
        sps: vec![Bytes::copy_from_slice(sps)],
        ..entry.parameter_sets().unwrap()
    };
    entry.with_parameter_sets(&sets).ok().map(|(_, size)| size)
}

fn hvc1() -> SampleEntry {
    let children = [boxed(b"hvcC", &hex(HVCC))];
    SampleEntry::new(&visual(b"hvc1", 1280, 720, &children), Handler::Video).unwrap()
}

/// Made by x265: 10 bits and cropped, 4:2:2 with two temporal layers, 4:4:4 of odd size, grey.
const HEVC_SPS: [(&str, (u16, u16), [u8; 3]); 4] = [
    (
        "420101022000000300900000030000030078a003c08010e4d96566924caf016808000003000800000300f040",
        (1920, 1080),
        [1, 2, 2],
    ),
    (
        "4201010408000003009d0800000300003fb00502016965959a4932bc05a020000003002000000303c1",
        (640, 360),
        [2, 0, 0],
    ),
    (
        "4201010408000003009e0800000300003f9000a0402d3bbcb2b349265780b404000003000400000300782",
        (638, 358),
        [3, 0, 0],
    ),
    (
        "4201010408000003009fc800000300003fc0140805a596566924caf016c080000003008000000f04",
        (640, 360),
        [0, 0, 0],
    ),
];

#[test]
fn hevc_sets_of_every_chroma_format_give_size_and_depth() {
    for (sps, size, [chroma, luma_depth, chroma_depth]) in HEVC_SPS {
        let sps = hex(sps);
        assert_eq!(rebuilt_with(&hvc1(), &sps), Some(size));
        let (config, _) = hevc::rebuild(
            &hex(HVCC),
            &ParameterSets {
                sps: vec![sps],
                ..hvc1().parameter_sets().unwrap()
            },
        )
        .unwrap();
        assert_eq!(
            config[16..19],
            [0xFC | chroma, 0xF8 | luma_depth, 0xF8 | chroma_depth]
        );
    }
}

/// Both parsers of others that were used here panicked: one on no bytes, one on counts below zero.
#[test]
fn parameter_sets_that_are_cut_or_lie_are_refused_and_never_panic() {
    let avc = avc1(AVCC_720, 1280, 720);
    for (entry, sps) in [
        (&avc, avc.parameter_sets().unwrap().sps[0].clone()),
        (&hvc1(), hvc1().parameter_sets().unwrap().sps[0].clone()),
        (&hvc1(), hex(HEVC_SPS[1].0)),
    ] {
        assert_eq!(rebuilt_with(entry, &[]), None);
        for at in 0..sps.len() {
            let _ = rebuilt_with(entry, &sps[..at]);
            for byte in [0, 1, 0x40, 0x80, 0xFE, 0xFF] {
                let mut lie = sps.to_vec();
                lie[at] = byte;
                let _ = rebuilt_with(entry, &lie);
                lie[at..].fill(byte);
                let _ = rebuilt_with(entry, &lie);
            }
        }
    }
    assert_eq!(rebuilt_with(&avc, &[0x67, 0x4d, 0x40]), None);
    assert_eq!(rebuilt_with(&hvc1(), &[0; 4096]), None);
}

#[test]
fn hevc_sets_in_several_arrays_or_in_none_are_rebuilt_once() {
    let sets = hvc1().parameter_sets().unwrap();
    let one = hex(HVCC);
    let (fixed, arrays) = one.split_at(23);
    let vps_len = 3 + 2 + sets.vps[0].len();
    let twice = [fixed, arrays, arrays].concat();
    let without_vps = [fixed, &arrays[vps_len..]].concat();
    for (mut config, count) in [(twice, 6), (without_vps, 2)] {
        config[22] = count;
        let (rebuilt, _) = hevc::rebuild(&config, &sets).unwrap();
        assert_eq!(hevc::parameter_sets(&rebuilt), Some(sets.clone()));
    }
}

/// The typed view made 2³² entries of a group description that has no bytes.
#[test]
fn a_child_that_claims_billions_of_empty_entries_costs_nothing() {
    for version in 0..4 {
        for kind in [b"roll", b"seig", b"abcd"] {
            let claim = [&[version, 0, 0, 0][..], kind, &[0; 4], &[0xFF; 8]].concat();
            let lie = boxed(b"sgpd", &claim);
            let children = [boxed(b"avcC", &hex(AVCC_720)), lie.clone(), lie];
            let bytes = visual(b"avc1", 1280, 720, &children);
            let named = |handler| SampleEntry::new(&bytes, handler).unwrap().codec_name();
            assert_eq!(named(Handler::Video).as_deref(), Some("avc1.4d401f"));
            assert_eq!(named(Handler::Other(FourCc(*b"text"))), None);
            let entry = boxed(b"sgpd", &[claim, vec![0; 78]].concat()).into();
            let entry = SampleEntry::new(&entry, Handler::Video).unwrap();
            assert_eq!(entry.codec_name().as_deref(), Some("sgpd"));
            assert_eq!(entry.channels_and_rate(), None);
        }
    }
}

#[test]
fn parameter_sets_of_a_picture_without_area_are_refused() {
    let (entry, sets) = (hvc1(), hvc1().parameter_sets().unwrap());
    // A width of 0: the code 1 where 1280 was; everything behind it is read anew and does not matter.
    let mut sps = without_emulation(&sets.sps[0]);
    sps[17] = 0xFF;
    sps[18..].fill(0xFF);
    assert_eq!(rebuilt_with(&entry, &sps), None);
}

fn without_emulation(nal: &[u8]) -> Vec<u8> {
    bits::without_emulation_prevention(nal)
}
