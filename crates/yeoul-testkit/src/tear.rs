//! The shapes a crash leaves: files cut short or with a zeroed tail.

/// The first `length` bytes, as after a kill in the middle of a write.
#[must_use]
pub fn truncate(recording: &[u8], length: usize) -> &[u8] {
    &recording[..length.min(recording.len())]
}

/// The same length, with zeros from `from` on, as after a power cut.
#[must_use]
pub fn zero_tail(recording: &[u8], from: usize) -> Vec<u8> {
    let mut torn = truncate(recording, from).to_vec();
    torn.resize(recording.len(), 0);
    torn
}
