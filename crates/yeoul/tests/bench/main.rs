//! `yeoul bench` as people run it. What it measures depends on the machine; what it refuses and says does not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its input should stop there"
)]

mod compare;
mod levels;
mod repack;
#[path = "../repack/support.rs"]
#[allow(dead_code, reason = "shared with the tests of repack")]
mod support;
