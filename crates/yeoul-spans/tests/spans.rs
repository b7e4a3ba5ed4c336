//! Bodies against a model: a plain vector of bytes.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;
use yeoul_spans::{
    INLINE_MERGE_LIMIT, Memory, Source, SourceError, Span, Spans, SpansBuilder, SpansError, sink,
};

/// One call of the builder.
#[derive(Clone, Debug)]
enum Call {
    Inline(Vec<u8>),
    Range {
        source: usize,
        offset: u64,
        len: u64,
    },
}

const SOURCES: [(&str, u8); 2] = [("a", 0), ("b", 128)];
const SOURCE_LEN: u64 = 100;

fn source_byte(source: usize, at: u64) -> u8 {
    SOURCES[source].1.wrapping_add(u8::try_from(at).unwrap())
}

fn sources() -> Vec<Arc<dyn Source>> {
    let make = |source: usize| -> Arc<dyn Source> {
        let bytes: Vec<u8> = (0..SOURCE_LEN).map(|at| source_byte(source, at)).collect();
        Arc::new(Memory::new(SOURCES[source].0, bytes))
    };
    vec![make(0), make(1)]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        2 => proptest::collection::vec(any::<u8>(), 0..6).prop_map(Call::Inline),
        1 => (INLINE_MERGE_LIMIT - 3..INLINE_MERGE_LIMIT + 3, any::<u8>())
            .prop_map(|(len, byte)| Call::Inline(vec![byte; len])),
        // Few distinct offsets, so that neighbours meet.
        4 => (0..2usize, 0..6u64, 0..3u64)
            .prop_map(|(source, offset, len)| Call::Range { source, offset: offset * 10, len: len * 10 }),
    ]
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    proptest::collection::vec(call(), 0..24)
}

fn build(calls: &[Call], sources: &[Arc<dyn Source>]) -> (Spans, Vec<u8>) {
    let (mut builder, mut model) = (SpansBuilder::new(), Vec::new());
    for call in calls {
        match call {
            Call::Inline(bytes) => {
                builder.inline(bytes.clone());
                model.extend_from_slice(bytes);
            }
            &Call::Range {
                source,
                offset,
                len,
            } => {
                builder.range(&sources[source], offset, len).unwrap();
                model.extend((offset..offset + len).map(|at| source_byte(source, at)));
            }
        }
        assert_eq!(builder.len(), model.len() as u64);
    }
    (builder.build().unwrap(), model)
}

/// The bytes of a body, gathered from its spans alone.
fn bytes(spans: &Spans) -> Vec<u8> {
    let mut all = Vec::new();
    for span in spans {
        match span {
            Span::Inline(bytes) => all.extend_from_slice(&bytes),
            Span::Range(range) => {
                let mut part = vec![0; usize::try_from(range.len).unwrap()];
                range.source.read_exact_at(&mut part, range.offset).unwrap();
                all.extend(part);
            }
        }
    }
    all
}

/// Bodies go to the writers of a pool.
const _: fn() = || {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Spans>();
    shared::<SpansBuilder>();
};

/// No span is empty, and no two neighbours could be one.
fn require_merged(spans: &Spans) {
    let list: Vec<Span> = spans.iter().collect();
    assert!(list.iter().all(|span| !span.is_empty()));
    for pair in list.windows(2) {
        match (&pair[0], &pair[1]) {
            (Span::Inline(a), Span::Inline(b)) => assert!(a.len() + b.len() > INLINE_MERGE_LIMIT),
            (Span::Range(a), Span::Range(b)) => {
                assert!(
                    !Arc::ptr_eq(&a.source, &b.source) || a.offset + a.len != b.offset,
                    "{a:?} then {b:?}"
                );
            }
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn a_body_is_what_was_put_in(calls in calls()) {
        let (body, model) = build(&calls, &sources());
        prop_assert_eq!(body.len(), model.len() as u64);
        prop_assert_eq!(body.is_empty(), model.is_empty());
        prop_assert_eq!(body.iter().map(|span| span.len()).sum::<u64>(), body.len());
        prop_assert_eq!(body.iter().len(), body.iter().count());
        prop_assert!(bytes(&body) == model);
        require_merged(&body);
    }

    #[test]
    fn a_slice_of_a_slice_is_the_models(calls in calls(), cuts in proptest::array::uniform4(0.0..=1.0f64)) {
        let (body, model) = build(&calls, &sources());
        let (mut view, mut expected) = (body, &model[..]);
        for pair in cuts.chunks(2) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let at = |share: f64| (share * expected.len() as f64) as usize;
            let (start, end) = (at(pair[0]).min(at(pair[1])), at(pair[0]).max(at(pair[1])));
            view = view.slice(start as u64..end as u64).unwrap();
            expected = &expected[start..end];
            prop_assert_eq!(view.len(), expected.len() as u64);
            prop_assert!(bytes(&view) == expected);
            prop_assert!(view.iter().all(|span| !span.is_empty()));
        }
    }

    #[test]
    fn cutting_and_joining_gives_the_same_spans(calls in calls(), share in 0.0..=1.0f64) {
        let (body, model) = build(&calls, &sources());
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let cut = (share * model.len() as f64) as u64;
        let (left, right) = (body.slice(0..cut).unwrap(), body.slice(cut..body.len()).unwrap());
        let joined = Spans::concat([&left, &right]).unwrap();
        prop_assert!(bytes(&joined) == model);
        require_merged(&joined);
        // Cut inside a range, it is whole again.
        let ranges = |spans: &Spans| spans.iter().filter(|span| matches!(span, Span::Range(_))).count();
        prop_assert_eq!(ranges(&joined), ranges(&body));
    }

    #[test]
    fn every_sink_gives_the_models_bytes(calls in calls()) {
        let (body, model) = build(&calls, &sources());
        let mut written = Vec::new();
        prop_assert_eq!(sink::write::write_to(&body, &mut written, "a vector").unwrap(), model.len() as u64);
        prop_assert!(written == model);
        prop_assert!(sink::memory::to_vec(&body, body.len()).unwrap() == model);
        prop_assert_eq!(sink::digest::sha256(&body).unwrap(), sink::digest::Sha256::of(&model));
    }
}

#[test]
fn neighbouring_ranges_are_one_only_of_the_same_source() {
    let [a, b] = <[_; 2]>::try_from(sources()).unwrap();
    let mut body = SpansBuilder::new();
    body.range(&a, 0, 10)
        .unwrap()
        .range(&a, 10, 10)
        .unwrap()
        .range(&b, 20, 10)
        .unwrap();
    body.range(&b, 0, 0)
        .unwrap()
        .range(&b, 30, 5)
        .unwrap()
        .inline(&b""[..])
        .range(&b, 0, 1)
        .unwrap();
    let body = body.build().unwrap();
    assert_eq!(format!("{body:?}"), "[a 0+20, b 20+15, b 0+1]");
    assert_eq!(
        body.sources()
            .iter()
            .map(|source| source.name().to_owned())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(body.slice(20..35).unwrap().sources().len(), 1);
    assert_eq!(body.slice(20..20).unwrap().sources().len(), 0);
}

#[test]
fn large_inline_pieces_are_not_copied() {
    let large = bytes::Bytes::from(vec![7; INLINE_MERGE_LIMIT]);
    let mut body = SpansBuilder::new();
    body.inline(&b"head"[..])
        .inline(large.clone())
        .inline(&b"tail"[..]);
    let spans: Vec<Span> = body.build().unwrap().iter().collect();
    assert_eq!(spans.len(), 3);
    let Span::Inline(kept) = &spans[1] else {
        panic!("{spans:?}")
    };
    assert_eq!(kept.as_ptr(), large.as_ptr());
}

#[test]
fn a_range_beyond_its_source_is_refused() {
    let [a, _] = <[_; 2]>::try_from(sources()).unwrap();
    let mut body = SpansBuilder::new();
    for (offset, len) in [(0, 101), (100, 1), (101, 0), (u64::MAX, 1), (1, u64::MAX)] {
        let error = body.range(&a, offset, len).unwrap_err();
        assert_eq!(
            error,
            SpansError::OutOfBounds {
                name: "a".to_owned(),
                offset,
                len,
                size: 100
            }
        );
    }
    assert!(body.is_empty());
    body.range(&a, 100, 0).unwrap();
    assert!(body.build().unwrap().is_empty());
}

#[test]
fn a_slice_beyond_the_end_is_refused() {
    let [a, _] = <[_; 2]>::try_from(sources()).unwrap();
    let mut body = SpansBuilder::new();
    body.range(&a, 0, 10).unwrap();
    let view = body.build().unwrap().slice(2..8).unwrap();
    #[allow(clippy::reversed_empty_ranges)]
    for range in [0..7, 7..7, 3..2, 0..u64::MAX] {
        let error = view.slice(range.clone()).unwrap_err();
        assert_eq!(
            error,
            SpansError::Slice {
                start: range.start,
                end: range.end,
                len: 6
            }
        );
    }
    assert!(view.slice(6..6).unwrap().is_empty());
    assert!(
        Spans::default()
            .slice(0..0)
            .unwrap()
            .iter()
            .next()
            .is_none()
    );
}

/// A source that claims to be as long as can be.
#[derive(Debug)]
struct Endless;

impl Source for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn len(&self) -> u64 {
        u64::MAX
    }

    fn read_exact_at(&self, buf: &mut [u8], _: u64) -> Result<(), SourceError> {
        buf.fill(1);
        Ok(())
    }

    fn check(&self) -> Result<(), SourceError> {
        Ok(())
    }
}

#[test]
fn a_body_over_64_bits_is_refused() {
    let endless: Arc<dyn Source> = Arc::new(Endless);
    let over = SpansError::TooLong { total: 1 << 64 };
    let mut body = SpansBuilder::new();
    body.range(&endless, 0, u64::MAX).unwrap();
    assert_eq!(body.range(&endless, 0, 1).unwrap_err(), over);
    assert_eq!(body.len(), u64::MAX, "as it was");
    let longest = body.build().unwrap();
    assert_eq!(longest.slice(u64::MAX - 1..u64::MAX).unwrap().len(), 1);

    let mut body = SpansBuilder::new();
    body.inline(&b"x"[..]);
    assert_eq!(body.append(&longest).unwrap_err(), over);
    let mut body = SpansBuilder::new();
    body.append(&longest).unwrap().inline(&b"x"[..]);
    assert_eq!(body.build().unwrap_err(), over);
    assert_eq!(
        Spans::concat([&longest, &longest]).unwrap_err(),
        SpansError::TooLong {
            total: (1 << 65) - 2
        }
    );
}

#[test]
fn a_body_too_long_for_memory_is_refused_before_anything_is_taken() {
    let endless: Arc<dyn Source> = Arc::new(Endless);
    let mut body = SpansBuilder::new();
    body.range(&endless, 0, u64::MAX).unwrap();
    let body = body.build().unwrap();
    let error = sink::memory::to_vec(&body, 1000).unwrap_err();
    assert!(
        matches!(
            error,
            sink::SinkError::Limit {
                len: u64::MAX,
                limit: 1000
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("the limit of 1000 bytes"),
        "{error}"
    );
    let error = sink::memory::to_vec(&body, u64::MAX).unwrap_err();
    assert!(matches!(error, sink::SinkError::NoSpace { .. }), "{error}");
    assert_eq!(
        sink::memory::to_vec(&body.slice(9..12).unwrap(), 3).unwrap(),
        [1, 1, 1]
    );
}
