//! Runs inputs through a target without a fuzzer: `cargo run --manifest-path fuzz/Cargo.toml --example replay -- TARGET
//! FILE…`. Works with a stable compiler.

use std::{env, fs};

fn main() {
    let mut arguments = env::args().skip(1);
    let target = arguments.next().unwrap_or_default();
    let check = match target.as_str() {
        "boxes" => yeoul_fuzz::boxes::check,
        "moof" => yeoul_fuzz::moof::check,
        "access_unit" => yeoul_fuzz::access_unit::check,
        "repack_verify" => yeoul_fuzz::repack_verify::check,
        "scenario" => yeoul_fuzz::scenario::check,
        other => panic!("no target '{other}'"),
    };
    for file in arguments {
        println!("{file}");
        check(&fs::read(&file).expect("the file can be read"));
    }
}
