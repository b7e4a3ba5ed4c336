//! Same seed, same bytes: digests of names and contents of each preset's small form.

#![allow(clippy::unwrap_used)]

use sha2::{Digest, Sha256};
use yeoul_testkit::{Memory, Payload, Recorder, Scenario, presets};

fn digest(scenario: Scenario) -> String {
    let (files, _) = Recorder::new(scenario, Memory::default())
        .unwrap()
        .record()
        .unwrap();
    let mut hash = Sha256::new();
    for (name, bytes) in files.files() {
        hash.update(name);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn broadcast() {
    assert_eq!(
        digest(presets::broadcast_small(1)),
        "fbd147afbf9ef857ce52c0eb58d0c1f2da08f8f489df7b4728ac5073ae88cb28"
    );
    assert_ne!(
        digest(presets::broadcast_small(2)),
        digest(presets::broadcast_small(1))
    );
}

#[test]
fn long_file() {
    assert_eq!(
        digest(presets::long_file(1, 5, 3 << 20)),
        "d1ebe8c2f98910e5946e251f8243e5c5dc585cd6a5bf08e14e6397029df88db9"
    );
}

#[test]
fn long_file_with_noise() {
    let mut scenario = presets::long_file(1, 3, 1 << 20);
    scenario.payload = Payload::Noise;
    assert_eq!(
        digest(scenario),
        "728becc9628171d33f9b2218e248a41cab9d61845948b09d576347dad763c481"
    );
}

#[test]
fn simple() {
    assert_eq!(
        digest(presets::simple(1, 10)),
        "c7837cdbd02cb438da8f44921c0675480693e81b0dfdf81a887cedf22cd0c5d5"
    );
}
