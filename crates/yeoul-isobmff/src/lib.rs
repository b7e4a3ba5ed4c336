//! ISO base media file format boxes: read with bounds, write deterministically.

pub mod tables;
pub mod write;
