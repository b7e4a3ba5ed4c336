//! Help that is right, and completions.

use clap::Args as _;

use crate::support::World;

/// The lines of a help text that are commands.
fn examples(help: &str) -> Vec<Vec<String>> {
    let lines = help.lines().map(str::trim);
    let lines = lines.filter(|line| line.starts_with("yeoul "));
    lines
        .map(|line| words(line.split(" | ").next().unwrap()))
        .collect()
}

/// Words as a shell sees them, with single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn examples_of_the_help_parse() {
    let world = World::new();
    for (args, count) in [(&["--help"][..], 3), (&["repack", "--help"], 6)] {
        let help = world.yeoul(args).ended(0).out;
        let examples = examples(&help);
        assert_eq!(examples.len(), count, "{help}");
        for example in examples {
            // What is wrong usage ends with 2 before anything is looked for; nothing that the examples name is here.
            let args: Vec<&str> = example.iter().skip(1).map(String::as_str).collect();
            world.yeoul(&args).ended(1);
        }
    }
    assert!(world.names("").is_empty());
}

#[test]
fn options_are_put_together_right() {
    let command = yeoul::repack::Args::augment_args(clap::Command::new("repack"));
    command.debug_assert();
}

#[test]
fn completions_know_the_options() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = world.yeoul(&["completions", shell]).ended(0);
        for word in ["repack", "segment", "layout", "inspect", "verify"] {
            assert!(said.out.contains(word), "{shell}: {word}");
        }
        assert_eq!(said.err, "");
    }
}

#[test]
fn version() {
    let said = World::new().yeoul(&["--version"]).ended(0);
    assert_eq!(said.out, concat!("yeoul ", env!("CARGO_PKG_VERSION"), "\n"));
}
