//! `yeoul repack` as people run it: what they give it, where they let it write, and what goes wrong meanwhile.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

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
