//! A recorder that writes MediaMTX-shaped recordings for tests and load.
//!
//! Describe a [`Scenario`] (tracks, takes, what goes wrong), run a [`Recorder`] over it into a [`Folder`] or [`Memory`],
//! and get fragmented MP4 files with the structure of MediaMTX 1.20 together with the [`Truth`]: every sample with its
//! exact ticks. The same seed gives the same bytes. This crate shares no code with the readers it tests.
//!
//! ```
//! use std::time::Duration;
//! use yeoul_testkit::{Memory, Recorder, Scenario, Take, Track};
//!
//! let scenario = Scenario::new(7)
//!     .track(Track::h264_720p30())
//!     .track(Track::aac_mono_48k())
//!     .take(Take::lasting(Duration::from_secs(9)));
//! let (files, truth) = Recorder::new(scenario, Memory::default())?.record()?;
//! assert_eq!(files.into_files().len(), 2);
//! assert_eq!(truth.takes[0].tracks[0].timescale, 90_000);
//! # Ok::<(), yeoul_testkit::Error>(())
//! ```

mod boxes;
mod clock;
mod codec;
mod error;
mod feed;
pub mod fingerprint;
mod payload;
pub mod presets;
mod recorder;
mod rng;
mod scenario;
mod segment;
pub mod shuffle;
mod sink;
mod take;
pub mod tear;
mod track;
mod truth;

pub use clock::file_name;
pub use codec::{Codec, SampleEntry};
pub use error::Error;
pub use recorder::{Part, Recorder};
pub use rng::SplitMix64;
pub use scenario::{End, Event, Payload, Scenario, Take};
pub use sink::{Folder, Memory, Sink};
pub use track::{Cadence, Content, Kind, Sizes, Track};
pub use truth::{FileTruth, Presence, SampleTruth, TakeTruth, TrackTruth, Truth};
