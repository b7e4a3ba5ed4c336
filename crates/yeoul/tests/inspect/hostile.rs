//! Bytes that nobody meant.

use proptest::prelude::*;
use yeoul::inspect::{Options, Verdict, inspect};
use yeoul_isobmff::Limits;
use yeoul_spans::{Source, SourceError};

use crate::world::{json as inspect_json, plain, recording, report, segment, top_level};

/// A change to a file.
#[derive(Debug, Clone)]
enum Mutation {
    Byte(usize, u8),
    /// A 32-bit field: sizes, counts, flags and offsets are such.
    Word(usize, u32),
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        if len == 0 {
            return;
        }
        match *self {
            Self::Byte(at, value) => bytes[at % len] = value,
            Self::Word(at, value) => {
                let at = at % len;
                for (to, from) in bytes[at..].iter_mut().zip(value.to_be_bytes()) {
                    *to = from;
                }
            }
            Self::Cut(at) => bytes.truncate(at % len),
            Self::Remove(at, count) => {
                let at = at % len;
                bytes.drain(at..(at + count).min(len));
            }
            Self::Repeat(at, count) => {
                let at = at % len;
                let again = bytes[at..(at + count).min(len)].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    // Headers are a good part of these files; half of the changes go to the first 1,500 bytes, where `moov` is.
    let at = || prop_oneof![0..1500usize, any::<usize>()];
    let word = prop_oneof![
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(0x7FFF_FFFF),
        Just(0x8000_0000),
        0..64u32,
        any::<u32>()
    ];
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, value)| Mutation::Byte(at, value)),
        (at(), word).prop_map(|(at, value)| Mutation::Word(at, value)),
        at().prop_map(Mutation::Cut),
        (at(), 1..300usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (at(), 1..300usize).prop_map(|(at, count)| Mutation::Repeat(at, count)),
    ]
}

/// Both reports are whole documents, agree, and list as many samples as they count.
fn check(bytes: &[u8]) {
    let (verdict, found) = inspect_json(bytes);
    assert_eq!(found["fault"].is_null(), verdict == Verdict::Whole);
    let lists = found["samples"].as_array().unwrap();
    let listed: usize = lists
        .iter()
        .map(|l| l["samples"].as_array().unwrap().len())
        .sum();
    let tracks = found["tracks"].as_array().unwrap();
    let counted: u64 = tracks.iter().map(|t| t["samples"].as_u64().unwrap()).sum();
    assert_eq!(listed as u64, counted);
    let (text_verdict, text) = report(bytes, &Options::default());
    assert_eq!(text_verdict, verdict);
    let last = text.lines().last().unwrap();
    assert_eq!(last.starts_with("fault: "), verdict == Verdict::Faulty);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn mutated_files_are_shown_up_to_their_fault(
        which in 0..3usize,
        mutations in prop::collection::vec(mutation(), 1..5),
    ) {
        let (recording, _) = recording();
        let mut bytes = match which {
            0 => recording,
            1 => plain(),
            _ => segment(&recording),
        };
        for mutation in &mutations {
            mutation.apply(&mut bytes);
        }
        check(&bytes);
    }

    #[test]
    fn any_bytes_are_shown(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
        let mut headed = b"\0\0\0\x08free".to_vec();
        headed.extend_from_slice(&bytes);
        check(&headed);
    }
}

fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len() + 8).unwrap();
    [&size.to_be_bytes()[..], kind, content].concat()
}

#[test]
fn nesting_has_a_limit() {
    let mut bytes = Vec::new();
    for _ in 0..1000 {
        bytes = boxed(b"meta", &[&[0; 4][..], &bytes].concat());
    }
    bytes = [boxed(b"free", &[]), bytes].concat();
    let (verdict, text) = report(&bytes, &Options::default());
    assert_eq!(verdict, Verdict::Faulty);
    assert!(
        text.ends_with("nesting depth is 17, over the limit of 16\n"),
        "{text}"
    );
}

#[test]
fn limits_are_named() {
    let (bytes, _) = recording();
    let with = |limits| {
        report(
            &bytes,
            &Options {
                limits,
                ..Options::default()
            },
        )
        .1
    };
    let text = with(Limits {
        boxes: 20,
        ..Limits::DEFAULT
    });
    assert!(
        text.contains("box count is 21, over the limit of 20"),
        "{text}"
    );
    let text = with(Limits {
        header_bytes: 100,
        ..Limits::DEFAULT
    });
    assert!(
        text.contains("box 'moov' at offset 32: its length in bytes is"),
        "{text}"
    );
    assert!(text.contains("over the limit of 100"), "{text}");
    let text = with(Limits {
        tracks: 1,
        ..Limits::DEFAULT
    });
    assert!(
        text.contains("track count is 2, over the limit of 1"),
        "{text}"
    );
}

/// A run without fields of its own may claim 2²⁴ samples in 20 bytes; thousands of those would take for ever.
#[test]
fn more_samples_than_bytes_are_refused() {
    let tfhd = boxed(b"tfhd", &[0, 2, 0, 0, 0, 0, 0, 1]);
    let trun = boxed(b"trun", &[0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF]);
    let moof = boxed(b"moof", &boxed(b"traf", &[tfhd, trun].concat()));
    let bytes = moof.repeat(1000);
    let (verdict, text) = report(&bytes, &Options::default());
    assert_eq!(verdict, Verdict::Faulty);
    let expected = format!(
        "tells of 16777215 samples, more than the {} bytes of the file",
        bytes.len()
    );
    assert!(text.contains(&expected), "{text}");
}

/// A source that remembers what was read of it.
#[derive(Debug)]
struct Watched {
    bytes: Vec<u8>,
    read: std::sync::Mutex<Vec<std::ops::Range<u64>>>,
}

impl Source for Watched {
    fn name(&self) -> &str {
        "watched.mp4"
    }
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<(), SourceError> {
        let start = usize::try_from(offset).unwrap();
        buf.copy_from_slice(&self.bytes[start..start + buf.len()]);
        let end = offset + buf.len() as u64;
        self.read.lock().unwrap().push(offset..end);
        Ok(())
    }
    fn check(&self) -> Result<(), SourceError> {
        Ok(())
    }
}

#[test]
fn no_byte_of_payload_is_read() {
    for bytes in [recording().0, plain(), segment(&recording().0)] {
        let payload: Vec<_> = top_level(&bytes)
            .into_iter()
            .filter(|(kind, ..)| kind == b"mdat")
            .map(|(_, start, end)| start as u64 + 8..end as u64)
            .collect();
        assert!(!payload.is_empty());
        let watched = Watched {
            bytes,
            read: Vec::new().into(),
        };
        let options = Options {
            samples: true,
            ..Options::default()
        };
        let verdict = inspect(&watched, &options, &mut std::io::sink()).unwrap();
        assert_eq!(verdict, Verdict::Whole);
        for read in watched.read.into_inner().unwrap() {
            for payload in &payload {
                let apart = read.end <= payload.start || payload.end <= read.start;
                assert!(apart, "{read:?} is in {payload:?}");
            }
        }
    }
}

#[test]
fn a_64_bit_size_is_read() {
    let (mut bytes, _) = recording();
    bytes.extend_from_slice(b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x14four");
    let (verdict, found) = inspect_json(&bytes);
    assert_eq!(verdict, Verdict::Whole);
    assert_eq!(
        found["boxes"].as_array().unwrap().last().unwrap()["size"],
        20
    );
    bytes.pop();
    let (_, found) = inspect_json(&bytes);
    assert_eq!(found["fault"]["message"], "needs 20 bytes, 19 are there");
}
