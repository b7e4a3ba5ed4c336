#![no_main]
//! See `yeoul_fuzz::boxes`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| yeoul_fuzz::boxes::check(data));
