//! Sample entries.
