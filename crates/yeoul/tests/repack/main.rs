//! `yeoul repack` as people run it: what they give it, where they let it write, and what goes wrong meanwhile.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its input should stop there"
)]

mod changing;
mod full;
mod growing;
mod help;
mod hostile;
mod input;
mod names;
mod options;
mod output;
mod report;
mod runs;
mod support;
