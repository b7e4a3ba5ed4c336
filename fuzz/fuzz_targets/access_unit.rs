#![no_main]
//! See `yeoul_fuzz::access_unit`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| yeoul_fuzz::access_unit::check(data));
