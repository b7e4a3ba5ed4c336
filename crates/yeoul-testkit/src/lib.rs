//! A recorder that writes MediaMTX-shaped recordings for tests.
