//! Segment indexes, read back by a parser of the test's own.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

mod write_support;

use mp4_atom::ReadFrom;
use write_support::{boxes, sha256};
use yeoul_isobmff::write::{MAX_REFERENCES, SegmentIndex, Subsegment, WriteError, sidx};

#[derive(Debug, PartialEq)]
struct Reference {
    to_index: bool,
    size: u64,
    duration: u64,
    sap: u32,
}

#[derive(Debug)]
struct Index {
    /// Where the box ends: its offset counts from here.
    end: u64,
    len: u64,
    version: u8,
    time: u64,
    first_offset: u64,
    references: Vec<Reference>,
}

fn number(bytes: &mut &[u8], len: usize) -> u64 {
    let (head, tail) = bytes.split_at(len);
    *bytes = tail;
    head.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn parse(bytes: &[u8]) -> Vec<Index> {
    let mut end = 0;
    let parse_one = |(name, mut b): ([u8; 4], &[u8])| {
        assert_eq!(&name, b"sidx");
        let len = b.len() as u64 + 8;
        end += len;
        let version = u8::try_from(number(&mut b, 4) >> 24).unwrap();
        assert_eq!(number(&mut b, 4), 1);
        assert_eq!(number(&mut b, 4), 90_000);
        let width = if version == 0 { 4 } else { 8 };
        let time = number(&mut b, width);
        let first_offset = number(&mut b, width);
        assert_eq!(number(&mut b, 2), 0);
        let count = number(&mut b, 2);
        let references = (0..count)
            .map(|_| {
                let size = number(&mut b, 4);
                Reference {
                    to_index: size >> 31 == 1,
                    size: size & 0x7fff_ffff,
                    duration: number(&mut b, 4),
                    sap: u32::try_from(number(&mut b, 4)).unwrap(),
                }
            })
            .collect();
        assert!(b.is_empty());
        Index {
            end,
            len,
            version,
            time,
            first_offset,
            references,
        }
    };
    boxes(bytes).into_iter().map(parse_one).collect()
}

fn subsegment(n: u64) -> Subsegment {
    Subsegment {
        size: 1_000_000 + n,
        duration: 180_000 + n % 3,
        starts_with_sap: true,
        sap_type: if n == 0 { 1 } else { 3 },
        sap_delta: 3000,
    }
}

fn index(subsegments: &[Subsegment]) -> SegmentIndex<'_> {
    SegmentIndex {
        reference_id: 1,
        timescale: 90_000,
        earliest_presentation_time: 6000,
        first_offset: 12,
        subsegments,
    }
}

#[test]
fn golden_bytes() {
    let subsegments: Vec<_> = (0..5).map(subsegment).collect();
    let written = sidx(&index(&subsegments)).unwrap();
    assert_eq!(
        sha256(&written),
        "c9bf76eb22044878aa592d57ef2416ba2b1d801d525b8211c264fe3a38d960cc"
    );
}

#[test]
fn a_short_index_is_one_box() {
    let subsegments: Vec<_> = (0..5).map(subsegment).collect();
    let read = parse(&sidx(&index(&subsegments)).unwrap());
    assert_eq!(read.len(), 1);
    let read = &read[0];
    assert_eq!((read.version, read.time, read.first_offset), (0, 6000, 12));
    assert_eq!(read.references.len(), 5);
    for (reference, subsegment) in read.references.iter().zip(&subsegments) {
        assert!(!reference.to_index);
        assert_eq!(reference.size, subsegment.size);
        assert_eq!(reference.duration, subsegment.duration);
        let sap = 1 << 31 | u32::from(subsegment.sap_type) << 28 | 3000;
        assert_eq!(reference.sap, sap);
    }
    assert!(parse(&sidx(&index(&[])).unwrap())[0].references.is_empty());
}

#[test]
fn another_parser_reads_the_hierarchy() {
    let subsegments: Vec<_> = (0..70_000).map(subsegment).collect();
    let written = sidx(&index(&subsegments)).unwrap();
    let mut rest = &written[..];
    let mut boxes = Vec::new();
    while !rest.is_empty() {
        boxes.push(mp4_atom::Sidx::read_from(&mut rest).unwrap());
    }
    assert!(boxes[0].references.iter().all(|r| r.reference_type));
    assert_eq!(boxes[0].references.len(), boxes.len() - 1);
    let leaves: Vec<_> = boxes[1..].iter().flat_map(|b| &b.references).collect();
    assert_eq!(leaves.len(), subsegments.len());
    for (leaf, subsegment) in leaves.iter().zip(&subsegments) {
        assert_eq!(u64::from(leaf.referenced_size), subsegment.size);
        assert_eq!(leaf.sap_type, subsegment.sap_type);
        assert_eq!(leaf.sap_delta_time, 3000);
        assert!(leaf.starts_with_sap && !leaf.reference_type);
    }
}

#[test]
fn times_and_offsets_past_32_bits_make_version_1() {
    let subsegments = [subsegment(0)];
    let mut late = index(&subsegments);
    late.earliest_presentation_time = 1 << 32;
    let read = parse(&sidx(&late).unwrap());
    assert_eq!((read[0].version, read[0].time), (1, 1 << 32));
    let mut far = index(&subsegments);
    far.first_offset = 1 << 40;
    let read = parse(&sidx(&far).unwrap());
    assert_eq!((read[0].version, read[0].first_offset), (1, 1 << 40));
    let mut last = index(&subsegments);
    last.earliest_presentation_time = (1 << 32) - 1;
    assert_eq!(parse(&sidx(&last).unwrap())[0].version, 0);
}

/// Each subsegment of a hierarchy must be found at its byte and time.
fn check_hierarchy(input: &SegmentIndex<'_>) -> Vec<Index> {
    let read = parse(&sidx(input).unwrap());
    let (parent, children) = read.split_first().unwrap();
    let total: u64 = read.iter().map(|i| i.len).sum();
    assert_eq!(
        (parent.first_offset, parent.time),
        (0, input.earliest_presentation_time)
    );
    assert_eq!(parent.references.len(), children.len());

    let mut subsegments = input.subsegments.iter();
    let mut media = total + input.first_offset;
    let mut time = input.earliest_presentation_time;
    let mut child_begins = parent.end;
    for (reference, child) in parent.references.iter().zip(children) {
        assert!(reference.to_index);
        assert_eq!(reference.size, child.len);
        assert_eq!(child.end, child_begins + reference.size);
        child_begins += reference.size;
        assert_eq!(reference.sap, child.references[0].sap);
        assert_eq!(child.time, time);
        assert_eq!(child.end + child.first_offset, media);
        for leaf in &child.references {
            let subsegment = subsegments.next().unwrap();
            assert!(!leaf.to_index);
            assert_eq!(
                (leaf.size, leaf.duration),
                (subsegment.size, subsegment.duration)
            );
            media += leaf.size;
            time += leaf.duration;
        }
        assert_eq!(child.time + reference.duration, time);
    }
    assert!(subsegments.next().is_none());
    read
}

#[test]
fn more_than_65535_references_make_a_hierarchy() {
    let mut subsegments: Vec<_> = (0..MAX_REFERENCES as u64).map(subsegment).collect();
    assert_eq!(parse(&sidx(&index(&subsegments)).unwrap()).len(), 1);
    subsegments.push(subsegment(7));
    // 65,536 times 2 s are over 2³² ticks: no single reference holds that.
    let read = check_hierarchy(&index(&subsegments));
    assert!(read.len() > 3, "{}", read.len());
    assert!(
        read.last().unwrap().version == 1,
        "65 GB of media lie before it"
    );

    let short: Vec<_> = (0..140_000)
        .map(|n| Subsegment {
            size: 1000,
            duration: 1000,
            ..subsegment(n)
        })
        .collect();
    let read = check_hierarchy(&index(&short));
    let counts: Vec<_> = read.iter().map(|i| i.references.len()).collect();
    assert_eq!(counts, [3, 65_535, 65_535, 8_930]);
}

#[test]
fn a_field_that_does_not_fit_is_named() {
    let fault = |change: fn(&mut Subsegment)| {
        let mut subsegment = subsegment(0);
        change(&mut subsegment);
        match sidx(&index(&[subsegment])) {
            Err(WriteError::Overflow { field, limit, .. }) => (field, limit),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        fault(|s| s.size = 1 << 31),
        ("referenced size", 0x7fff_ffff)
    );
    assert_eq!(
        fault(|s| s.duration = 1 << 32),
        ("subsegment duration", 0xffff_ffff)
    );
    assert_eq!(fault(|s| s.sap_type = 7), ("SAP type", 6));
    assert_eq!(
        fault(|s| s.sap_delta = 1 << 28),
        ("SAP delta time", 0x0fff_ffff)
    );

    let mut many: Vec<_> = (0..70_000).map(subsegment).collect();
    many[69_000].duration = 1 << 32;
    assert!(sidx(&index(&many)).is_err());
    let mut late = index(&many[..65_540]);
    late.earliest_presentation_time = u64::MAX - 5;
    assert!(sidx(&late).is_err());
    let mut timeless = index(&[]);
    timeless.timescale = 0;
    assert!(sidx(&timeless).is_err());
}
