//! What must not matter: the order of `traf`s, the order of inputs, and how they are named.

use yeoul_testkit::{SplitMix64, shuffle::shuffle_trafs};

use crate::world::*;

fn broadcast() -> Recorded {
    record(
        both(40)
            .track(audio())
            .take(lasting(11))
            .take(lasting(7).starting_at(-123_456_789)),
    )
}

#[test]
fn the_order_of_trafs_changes_no_byte() {
    let recorded = broadcast();
    for options in [cmaf(), yeoul_pack::PackOptions::default()] {
        let packed = pack_with(&recorded.files, &options);
        for seed in 1..4 {
            let mut changed = 0;
            let shuffled: Files = recorded
                .files
                .iter()
                .map(|(name, bytes)| {
                    let mut out = Vec::new();
                    shuffle_trafs(&bytes[..], &mut out, seed).unwrap();
                    changed += usize::from(&out != bytes);
                    (name.clone(), out)
                })
                .collect();
            assert_eq!(changed, recorded.files.len(), "there is another order");
            let again = pack_with(&shuffled, &options);
            assert!(again.files == packed.files, "seed {seed}");
            assert_eq!(again.order, packed.order);
        }
    }
}

#[test]
fn the_order_of_inputs_changes_no_byte() {
    let mut recorded = broadcast();
    let packed = pack(&recorded.files);
    for seed in 0..6 {
        SplitMix64::new(seed).shuffle(&mut recorded.files);
        let again = pack(&recorded.files);
        assert!(again.files == packed.files);
        assert_eq!(again.order, packed.order);
    }
}

#[test]
fn names_of_recordings_change_no_byte() {
    let mut recorded = broadcast();
    let packed = pack(&recorded.files);
    let count = recorded.files.len();
    for (index, (name, _)) in recorded.files.iter_mut().enumerate() {
        *name = format!("폴더/{}.mp4", count - index);
    }
    assert!(pack(&recorded.files).files == packed.files);
}
