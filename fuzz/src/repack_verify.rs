//! Any bytes as recordings: whatever the packer makes of them must pass `yeoul verify`, and its payload must be theirs.

use std::collections::HashMap;
use std::sync::Arc;

use yeoul_pack::{Catalogue, FileKind, Input, MemoryInput, Parts, Recording};
use yeoul_spans::Source;

use crate::LIMITS;
use crate::output::{MOST, Packed, options, pack, verify};

/// Parts recordings in an input.
pub const MARKER: &[u8] = b"\nnext recording\n";

/// Checks one input: recordings parted by [`MARKER`]; the last byte says how they are packed.
pub fn check(data: &[u8]) {
    let Some((how, data)) = data.split_last() else {
        return;
    };
    let inputs: Vec<Arc<dyn Input>> = split(data)
        .into_iter()
        .enumerate()
        .map(|(n, bytes)| Arc::new(MemoryInput::new(format!("{n:03}.mp4"), bytes.to_vec())) as _)
        .collect();
    let Some(payloads) = payloads(&inputs) else {
        return;
    };
    let options = options(*how);
    if inputs.len() == 1 {
        let _ = yeoul_pack::pack_recording(Arc::clone(&inputs[0]), &options);
    }
    let catalogue = Catalogue::read(inputs, &LIMITS).expect("memory can be read");
    for error in &catalogue.refused {
        let _ = error.to_string();
    }
    let Some(lanes) = pack(catalogue.takes, &options) else {
        return;
    };
    for packed in lanes.iter().filter(|packed| packed.is_small()) {
        verify(packed, excused);
        payload_is_the_inputs(packed, payloads.clone());
    }
}

/// What is the input's fault: two samples that it shows at one time.
pub(crate) fn excused(what: &str) -> bool {
    what.contains("is there twice")
}

fn split(data: &[u8]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(MARKER.len()).position(|w| w == MARKER) {
        out.push(&rest[..at]);
        rest = &rest[at + MARKER.len()..];
    }
    out.push(rest);
    out.truncate(8);
    out
}

type Payloads = HashMap<Vec<u8>, u32>;

/// Every whole sample of every track; `None` if that is too much.
fn payloads(inputs: &[Arc<dyn Input>]) -> Option<Payloads> {
    let mut payloads = Payloads::new();
    let (mut total, mut count) = (0, 0);
    for input in inputs {
        let source: Arc<dyn Source> = input.open(false).expect("memory can be opened");
        let Ok(recording) = Recording::read(&*source, &LIMITS) else {
            continue;
        };
        let ids: Vec<u32> = recording.tracks.iter().map(|track| track.id).collect();
        let mut parts =
            Parts::new(&*source, &recording, &ids, &LIMITS).expect("memory can be read");
        while parts
            .next(&mut |run| {
                for sample in run.samples {
                    total += u64::from(sample.size);
                    count += 1;
                    assert!(sample.offset + u64::from(sample.size) <= source.len());
                    if total > MOST || count > 20_000 {
                        continue;
                    }
                    let mut payload = vec![0; sample.size as usize];
                    source
                        .read_exact_at(&mut payload, sample.offset)
                        .expect("it is whole");
                    *payloads.entry(payload).or_default() += 1;
                }
            })
            .expect("memory can be read")
        {
            if total > MOST || count > 20_000 {
                return None;
            }
        }
        for warning in parts.take_warnings() {
            let _ = warning.to_string();
        }
        assert!(parts.used() <= source.len());
    }
    (total <= MOST && count <= 20_000).then_some(payloads)
}

/// Each sample of the output is one of the input, and none is used twice.
fn payload_is_the_inputs(packed: &Packed, mut payloads: Payloads) {
    let mut kept = 0;
    for (name, file) in &packed.files {
        if !matches!(file.kind, FileKind::Segment { .. }) {
            continue;
        }
        for sample in packed.samples(name) {
            kept += 1;
            let left = payloads.get_mut(&sample.payload);
            let left = left.unwrap_or_else(|| panic!("{name}: {sample:?} is not in the input"));
            assert!(*left > 0, "{name}: {sample:?} is there too often");
            *left -= 1;
        }
    }
    let tracks = packed.report.takes.iter().flat_map(|take| &take.recordings);
    let said = tracks.flat_map(|recording| &recording.tracks).map(|track| {
        let kept = track.kept();
        assert!(
            kept.windows(2).all(|pair| pair[0].1 <= pair[1].0),
            "{kept:?}"
        );
        kept.iter().map(|(from, to)| to - from).sum::<u64>()
    });
    assert_eq!(said.sum::<u64>(), kept, "the report counts what is kept");
}
