#![no_main]
//! See `yeoul_fuzz::moof`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| yeoul_fuzz::moof::check(data));
