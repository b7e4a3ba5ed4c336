//! What the fuzz targets check. A target is one call of a module's `check`, so that a finding can be replayed from a test.
//!
//! | target | input | must hold |
//! |---|---|---|
//! | [`boxes`] | a file | boxes lie within their parents; tables stay within the file; an entry rebuilt has the sets it was given |
//! | [`moof`] | a `moof`, or samples | the same samples as `mp4-atom` reads; what is written is read back |
//! | [`access_unit`] | a sample, or parameter sets | sets lie within the sample; a new entry has the new sets |
//! | [`repack_verify`] | recordings, one behind another | `yeoul verify` accepts the output; its payload is the input's |
//! | [`scenario`] | a session of the test recorder | the same, and every sample lies where it was recorded |
//!
//! A finding of [`scenario`] is shown as the session that it stands for with `SHOW=1` in the environment.
#![forbid(unsafe_code)]

pub mod access_unit;
pub mod boxes;
pub mod moof;
pub mod output;
pub mod repack_verify;
pub mod scenario;

use yeoul_isobmff::Limits;

/// Low, so that a run is quick and that limits are met.
pub const LIMITS: Limits = Limits {
    header_bytes: 1 << 20,
    boxes: 1024,
    samples: 1024,
    tracks: 8,
};
