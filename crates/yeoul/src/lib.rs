//! A media engine: repack recordings into HLS, CMAF and MP4 without re-encoding.

pub mod inspect;
