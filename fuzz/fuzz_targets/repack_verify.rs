#![no_main]
//! See `yeoul_fuzz::repack_verify`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| yeoul_fuzz::repack_verify::check(data));
