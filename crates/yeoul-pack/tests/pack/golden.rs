//! Same recordings, same bytes: on any machine, in debug and release.

use sha2::{Digest, Sha256};
use yeoul_pack::PackOptions;
use yeoul_testkit::{Scenario, presets};

use crate::world::*;

fn digest(scenario: Scenario, options: &PackOptions) -> String {
    let packed = pack_with(&record(scenario).files, options);
    let mut hash = Sha256::new();
    for (name, bytes) in &packed.files {
        hash.update(name);
        hash.update([0]);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn simple_muxed() {
    assert_eq!(
        digest(presets::simple(1, 10), &PackOptions::default()),
        "86504fc938ff2ae2b875a6d058d3632a0a282bb99f8cb9d8e226a892b34b9322"
    );
}

#[test]
fn simple_cmaf() {
    assert_eq!(
        digest(presets::simple(1, 10), &cmaf()),
        "047b73b476dc614c64f536a6541a23bbf299f48f0ab68da3b9da0119a4056615"
    );
}

#[test]
fn broadcast_muxed() {
    assert_eq!(
        digest(presets::broadcast_small(1), &PackOptions::default()),
        "13ade2044dd8214a10426250883ac32f47d5974bf875d22c4a8a19ea2c2a550b"
    );
}

#[test]
fn broadcast_cmaf() {
    assert_eq!(
        digest(presets::broadcast_small(1), &cmaf()),
        "72088f020a3911df1e7f38265d24cc3f236e7154f251228e0551bb1da0504844"
    );
}
