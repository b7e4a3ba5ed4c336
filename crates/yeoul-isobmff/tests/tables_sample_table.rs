//! Sample tables as real and hostile files have them.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

use std::time::{Duration, Instant};

use yeoul_isobmff::tables::{
    Edit, Limits, MAX_SAMPLES, SampleTable, TableError, TableSample, edits,
};
use yeoul_isobmff::write::{BoxBuffer, FourCc};

/// A full box of 32-bit numbers.
fn table(name: &[u8; 4], version: u8, numbers: &[u32]) -> Vec<u8> {
    let mut b = BoxBuffer::new();
    b.full_box(name, version, 0, |b| {
        numbers.iter().for_each(|&n| b.u32(n));
        Ok(())
    })
    .unwrap();
    b.finish().to_vec()
}

/// Four samples in two chunks at 100 and 200: sizes 10, 20, 30, 40; two sync.
fn usual() -> Vec<Vec<u8>> {
    vec![
        table(b"stts", 0, &[2, 3, 3000, 1, 1500]),
        table(b"ctts", 0, &[2, 1, 6000, 3, 0xffff_f448]),
        table(b"stss", 0, &[2, 1, 3]),
        table(b"stsc", 0, &[2, 1, 3, 1, 2, 1, 2]),
        table(b"stsz", 0, &[0, 4, 10, 20, 30, 40]),
        table(b"stco", 0, &[2, 100, 200]),
    ]
}

/// `usual` with the boxes of the same names replaced, or those added.
fn with(changed: &[Vec<u8>]) -> Vec<u8> {
    let mut boxes = usual();
    for new in changed {
        boxes.retain(|b| b[4..8] != new[4..8]);
        boxes.push(new.clone());
    }
    boxes.concat()
}

fn without(name: &[u8; 4]) -> Vec<u8> {
    let mut boxes = usual();
    boxes.retain(|b| b[4..8] != *name);
    boxes.concat()
}

fn read(stbl: &[u8]) -> Vec<TableSample> {
    let table = SampleTable::parse(stbl, &Limits::default()).unwrap();
    table.iter(u64::MAX).collect::<Result<_, _>>().unwrap()
}

fn fault(stbl: &[u8]) -> TableError {
    SampleTable::parse(stbl, &Limits::default()).unwrap_err()
}

#[test]
fn every_field_of_a_sample() {
    let stbl = usual().concat();
    let parsed = SampleTable::parse(&stbl, &Limits::default()).unwrap();
    assert_eq!((parsed.len(), parsed.disagreement()), (4, None));
    let expected = [
        (0, 3000, 6000, 100, 10, true, 1),
        (3000, 3000, -3000, 110, 20, false, 1),
        (6000, 3000, -3000, 130, 30, true, 1),
        (9000, 1500, -3000, 200, 40, false, 2),
    ];
    let expected = expected.map(
        |(dts, duration, composition_offset, offset, size, sync, description_index)| TableSample {
            dts,
            duration,
            composition_offset,
            offset,
            size,
            sync,
            description_index,
        },
    );
    assert_eq!(read(&stbl), expected);
}

#[test]
fn offsets_of_version_1_are_signed_and_of_version_0_alike() {
    let numbers = [1, 4, 0x8000_0000];
    for version in [0, 1] {
        let stbl = with(&[table(b"ctts", version, &numbers)]);
        assert_eq!(read(&stbl)[3].composition_offset, i64::from(i32::MIN));
    }
}

#[test]
fn without_stss_all_are_sync_and_with_an_empty_one_none() {
    assert!(read(&without(b"stss")).iter().all(|s| s.sync));
    let stbl = with(&[table(b"stss", 0, &[0])]);
    assert!(read(&stbl).iter().all(|s| !s.sync));
}

#[test]
fn compact_sizes_and_wide_offsets() {
    let sizes = |stbl: &[u8]| read(stbl).iter().map(|s| s.size).collect::<Vec<_>>();
    let compact = |width, content: u32| {
        let mut boxes = vec![table(b"stz2", 0, &[width, 4, content, content])];
        boxes.extend(usual());
        boxes.retain(|b| b[4..8] != *b"stsz");
        boxes.concat()
    };
    assert_eq!(sizes(&compact(4, 0x1234_5678)), [1, 2, 3, 4]);
    assert_eq!(sizes(&compact(8, 0x1234_5678)), [0x12, 0x34, 0x56, 0x78]);
    assert_eq!(
        sizes(&compact(16, 0x1234_5678)),
        [0x1234, 0x5678, 0x1234, 0x5678]
    );
    assert!(matches!(
        fault(&compact(32, 0)),
        TableError::Unknown {
            field: "field size",
            value: 32,
            ..
        }
    ));

    let mut wide = vec![table(b"co64", 0, &[2, 1, 0, 2, 0])];
    wide.extend(usual());
    wide.retain(|b| b[4..8] != *b"stco");
    let samples = read(&wide.concat());
    assert_eq!((samples[0].offset, samples[3].offset), (1 << 32, 2 << 32));
}

/// Counts of 2³² − 1 in boxes of a few bytes: refused, or believed only as far as the other tables go, at once.
#[test]
fn counts_in_the_billions_cost_nothing() {
    let started = Instant::now();
    let huge = u32::MAX;
    let fixed = with(&[table(b"stsz", 0, &[7, huge])]);
    let parsed = SampleTable::parse(&fixed, &Limits::default()).unwrap();
    assert_eq!(parsed.len(), 4);
    assert_eq!(parsed.disagreement().unwrap().sized, u64::from(huge));

    let all = with(&[
        table(b"stsz", 0, &[7, huge]),
        table(b"stts", 0, &[1, huge, 1]),
        table(b"stsc", 0, &[1, 1, huge, 1]),
    ]);
    let expected = TableError::TooMany {
        name: FourCc(*b"stsz"),
        count: u64::from(huge),
        limit: MAX_SAMPLES,
    };
    assert_eq!(fault(&all), expected);
    let limits = Limits {
        samples: u64::MAX,
        ..Limits::default()
    };
    let parsed = SampleTable::parse(&all, &limits).unwrap();
    assert_eq!(parsed.len(), u64::from(huge));
    let first = parsed.iter(300).position(|s| s.is_err());
    assert_eq!(first, Some(28), "200 bytes hold 28 samples of 7");

    for name in [b"stts", b"ctts", b"stsc", b"stco", b"stss"] {
        let error = fault(&with(&[table(name, 0, &[huge, 1, 1])]));
        assert!(matches!(error, TableError::Truncated { .. }), "{error}");
    }
    let error = fault(&with(&[table(b"stsz", 0, &[0, huge, 1])]));
    assert!(matches!(error, TableError::Truncated { .. }), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn tables_that_disagree_are_cut_to_the_shortest_and_say_so() {
    let cut = |changed: Vec<u8>| {
        let stbl = with(&[changed]);
        let parsed = SampleTable::parse(&stbl, &Limits::default()).unwrap();
        let samples = parsed
            .iter(u64::MAX)
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        assert_eq!(samples.len() as u64, parsed.len());
        (parsed.len(), parsed.disagreement().copied().unwrap())
    };
    let (len, counts) = cut(table(b"stts", 0, &[1, 3, 3000]));
    assert_eq!(
        (len, counts.timed, counts.sized, counts.placed),
        (3, 3, 4, 4)
    );
    let (len, _) = cut(table(b"stsz", 0, &[0, 2, 10, 20]));
    assert_eq!(len, 2);
    let (len, counts) = cut(table(b"stco", 0, &[1, 100]));
    assert_eq!((len, counts.placed, counts.dropped_runs), (3, 3, 1));
    let (len, counts) = cut(table(b"ctts", 0, &[1, 2, 5]));
    assert_eq!((len, counts.offset), (4, Some(2)));
    let (len, _) = cut(table(b"stsc", 0, &[0]));
    assert_eq!(len, 0);
}

#[test]
fn chunks_without_samples_are_passed_over() {
    let stbl = with(&[
        table(b"stsc", 0, &[3, 1, 3, 1, 2, 0, 9, 4, 1, 2]),
        table(b"stco", 0, &[4, 100, 500, 600, 200]),
    ]);
    let offsets: Vec<_> = read(&stbl).iter().map(|s| s.offset).collect();
    assert_eq!(offsets, [100, 110, 130, 200]);
}

#[test]
fn a_sample_outside_the_file_ends_the_iteration_and_is_named() {
    let stbl = usual().concat();
    let parsed = SampleTable::parse(&stbl, &Limits::default()).unwrap();
    let mut samples = parsed.iter(239);
    assert_eq!(samples.by_ref().take(3).filter(Result::is_ok).count(), 3);
    let expected = TableError::OutsideFile {
        sample: 3,
        offset: 200,
        size: 40,
        file_len: 239,
    };
    assert_eq!(samples.next(), Some(Err(expected)));
    assert_eq!(samples.next(), None);
    assert_eq!(parsed.iter(240).filter(Result::is_ok).count(), 4);

    let mut wide = vec![table(b"co64", 0, &[2, 0, 100, u32::MAX, u32::MAX])];
    wide.extend(usual());
    wide.retain(|b| b[4..8] != *b"stco");
    let wide = wide.concat();
    let parsed = SampleTable::parse(&wide, &Limits::default()).unwrap();
    let last = parsed.iter(u64::MAX).last().unwrap();
    assert!(matches!(
        last,
        Err(TableError::OutsideFile { sample: 3, .. })
    ));
}

#[test]
fn malformed_tables_are_refused_with_box_and_place() {
    for name in [b"stts", b"stsc", b"stsz", b"stco"] {
        let expected = TableError::Missing {
            name: FourCc(*name),
        };
        assert_eq!(fault(&without(name)), expected);
    }
    let mut twice = usual();
    twice.push(table(b"stts", 0, &[0]));
    let offset = usual().concat().len();
    let expected = TableError::Duplicate {
        name: FourCc(*b"stts"),
        offset,
    };
    assert_eq!(fault(&twice.concat()), expected);

    let order = |changed| match fault(&with(&[changed])) {
        TableError::Order { name, entry, .. } => (name.0, entry),
        other => panic!("{other}"),
    };
    assert_eq!(order(table(b"stsc", 0, &[1, 2, 1, 1])), (*b"stsc", 0));
    assert_eq!(order(table(b"stsc", 0, &[1, 0, 1, 1])), (*b"stsc", 0));
    assert_eq!(
        order(table(b"stsc", 0, &[2, 1, 1, 1, 1, 1, 1])),
        (*b"stsc", 1)
    );
    assert_eq!(order(table(b"stss", 0, &[2, 3, 1])), (*b"stss", 1));
}

/// Every prefix of a table, and every byte of it set to each of some values: an error or samples, never a panic.
#[test]
fn no_prefix_and_no_changed_byte_panics() {
    let stbl = usual().concat();
    let try_one = |bytes: &[u8]| {
        if let Ok(parsed) = SampleTable::parse(bytes, &Limits::default()) {
            let read = parsed.iter(1000).take(1000).filter(Result::is_ok).count();
            assert!(read as u64 <= parsed.len());
        }
    };
    for end in 0..stbl.len() {
        try_one(&stbl[..end]);
    }
    for at in 0..stbl.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = stbl.clone();
            changed[at] = value;
            try_one(&changed);
        }
    }
}

#[test]
fn edits_of_both_versions() {
    let limits = Limits::default();
    let list = |version: u32, numbers: &[u32]| {
        let mut content = (version << 24).to_be_bytes().to_vec();
        content.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
        content
    };
    let short = list(0, &[2, 720, u32::MAX, 0x1_0000, 900, 1024, 0]);
    let mut dwell = Edit::media(900, 1024);
    dwell.rate = 0;
    assert_eq!(edits(&short, &limits).unwrap(), [Edit::empty(720), dwell]);
    let long = list(1, &[1, 1, 0, 2, 5, 0x1_0000]);
    let expected = [Edit::media(1 << 32, (2 << 32) + 5)];
    assert_eq!(edits(&long, &limits).unwrap(), expected);

    let fault = |version, numbers: &[u32]| edits(&list(version, numbers), &limits).unwrap_err();
    assert!(matches!(fault(0, &[1, 0, 0]), TableError::Truncated { .. }));
    assert!(matches!(fault(0, &[]), TableError::Truncated { .. }));
    assert!(matches!(fault(0, &[u32::MAX]), TableError::TooMany { .. }));
    assert!(matches!(
        fault(2, &[0]),
        TableError::Unknown { value: 2, .. }
    ));
    let expected = TableError::MediaTime {
        edit: 0,
        media_time: -2,
    };
    assert_eq!(fault(0, &[1, 0, u32::MAX - 1, 0]), expected);
}
