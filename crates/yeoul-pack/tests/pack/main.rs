//! What a stranger can trust of packing: each rule of the timeline by its number, torn and hostile recordings, what holds of
//! any scenario, and the digests of everything that comes out.
//!
//! Recordings come from `yeoul-testkit`, which shares no code with what reads them here; what comes out is read by
//! [`reader`], which shares none either.

#![allow(clippy::unwrap_used)]

mod economy;
mod found;
mod golden;
mod hostile;
mod order;
mod properties;
mod reader;
mod rules_cuts;
mod rules_takes;
mod rules_time;
mod rules_tracks;
mod torn;
mod world;
mod writer;
