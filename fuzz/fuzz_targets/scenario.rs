#![no_main]
//! See `yeoul_fuzz::scenario`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| yeoul_fuzz::scenario::check(data));
