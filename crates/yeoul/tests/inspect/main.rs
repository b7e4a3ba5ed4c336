//! `yeoul inspect` on generated recordings: whole, cut after every byte, and mutated.
#![allow(clippy::unwrap_used)]

mod golden;
mod hostile;
mod torn;
mod world;
