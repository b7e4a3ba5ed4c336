//! Recordings to init and segments on one exact timeline, without touching payload.
