use super::*;

fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let mut out = u32::try_from(content.len() + 8)
        .unwrap()
        .to_be_bytes()
        .to_vec();
    out.extend_from_slice(kind);
    out.extend_from_slice(content);
    out
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn traf(tfhd: &[u32], rest: &[Vec<u8>]) -> Vec<u8> {
    boxed(
        b"traf",
        &[boxed(b"tfhd", &words(tfhd)), rest.concat()].concat(),
    )
}

fn moof(trafs: &[Vec<u8>]) -> Vec<u8> {
    boxed(
        b"moof",
        &[boxed(b"mfhd", &words(&[0, 7])), trafs.concat()].concat(),
    )
}

fn parse(bytes: &[u8]) -> Result<Moof<'_>, BoxError> {
    let extends = TrackExtends {
        duration: 10,
        size: 20,
        flags: NON_SYNC,
    };
    Moof::parse(bytes, 1000, &Limits::DEFAULT, |id| {
        (id == 1).then_some(extends)
    })
}

#[test]
fn defaults_resolve_from_trun_to_tfhd_to_trex() {
    let bytes = moof(&[
        traf(&[0x02_0000, 1], &[boxed(b"trun", &words(&[1, 2, 50]))]),
        traf(
            &[0x02_0018, 1, 11, 21],
            &[boxed(b"trun", &words(&[0x205, 2, 60, 0, 5, 6]))],
        ),
        traf(&[0x02_0000, 2], &[boxed(b"trun", &words(&[1, 1, 0]))]),
    ]);
    let moof = parse(&bytes).unwrap();
    assert_eq!(moof.sequence, 7);
    let samples: Vec<_> = moof
        .fragments
        .iter()
        .flat_map(TrackFragment::samples)
        .collect();
    let sample = |offset, size, duration, flags| FragmentSample {
        offset,
        size,
        duration,
        flags,
        composition_offset: 0,
    };
    assert_eq!(
        samples,
        [
            sample(1050, 20, 10, NON_SYNC),
            sample(1070, 20, 10, NON_SYNC),
            sample(1060, 5, 11, 0),
            sample(1065, 6, 11, NON_SYNC),
            sample(1000, 0, 0, 0),
        ]
    );
}

#[test]
fn a_traf_without_base_follows_the_one_before() {
    let bytes = moof(&[
        traf(
            &[0, 1],
            &[
                boxed(b"trun", &words(&[1, 2, 100])),
                boxed(b"trun", &words(&[0, 1])),
            ],
        ),
        traf(&[0, 1], &[boxed(b"trun", &words(&[0, 1]))]),
        traf(&[1, 1, 0, 5], &[boxed(b"trun", &words(&[1, 1, 1]))]),
    ]);
    let moof = parse(&bytes).unwrap();
    let offsets: Vec<_> = moof
        .fragments
        .iter()
        .flat_map(TrackFragment::samples)
        .map(|s| s.offset)
        .collect();
    assert_eq!(offsets, [1100, 1120, 1140, 1160, 6]);
}

#[test]
fn decode_times_of_both_versions_and_signed_offsets() {
    let bytes = moof(&[
        traf(
            &[0x02_0000, 1],
            &[
                boxed(b"tfdt", &words(&[0x0100_0000, 1, 2])),
                boxed(b"trun", &words(&[0x800, 2, 3, u32::MAX])),
            ],
        ),
        traf(&[0x02_0000, 1], &[boxed(b"tfdt", &words(&[0, 9]))]),
    ]);
    let moof = parse(&bytes).unwrap();
    assert_eq!(moof.fragments[0].decode_time, Some((1 << 32) + 2));
    let offsets: Vec<_> = moof.fragments[0]
        .samples()
        .map(|s| s.composition_offset)
        .collect();
    assert_eq!(offsets, [3, -1]);
    assert_eq!(moof.fragments[1].decode_time, Some(9));
    assert_eq!(moof.fragments[1].sample_count, 0);
}

#[test]
fn a_count_in_the_billions_costs_nothing() {
    let bytes = moof(&[traf(
        &[0x02_0000, 1],
        &[boxed(b"trun", &words(&[0, u32::MAX]))],
    )]);
    let error = parse(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "box 'trun' at offset 1048: sample count is 4294967295, over the limit of 16777216"
    );
    let bytes = moof(&[traf(
        &[0x02_0000, 1],
        &[boxed(b"trun", &words(&[0x100, u32::MAX, 1]))],
    )]);
    assert!(matches!(
        parse(&bytes).unwrap_err().fault,
        Fault::Truncated { .. }
    ));
}

#[test]
fn a_data_offset_before_the_file_is_refused() {
    let bytes = moof(&[traf(
        &[0x02_0000, 1],
        &[boxed(b"trun", &words(&[1, 1, 0x8000_0000]))],
    )]);
    assert!(matches!(parse(&bytes).unwrap_err().fault, Fault::Value(_)));
    let bytes = moof(&[traf(
        &[1, 1, u32::MAX, u32::MAX],
        &[boxed(b"trun", &words(&[0, 1]))],
    )]);
    assert!(matches!(
        parse(&bytes).unwrap_err().fault,
        Fault::Overflow(_)
    ));
}

#[test]
fn every_prefix_is_refused_without_a_panic() {
    let bytes = moof(&[traf(
        &[0x02_0000, 1],
        &[
            boxed(b"tfdt", &words(&[0, 9])),
            boxed(b"trun", &words(&[0x301, 2, 100, 1, 2, 3, 4])),
        ],
    )]);
    for len in 0..bytes.len() {
        assert!(parse(&bytes[..len]).is_err(), "{len}");
    }
}
