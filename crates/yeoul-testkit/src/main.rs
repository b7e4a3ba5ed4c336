//! Writes MediaMTX-shaped recordings: see `yeoul-testkit --help`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use yeoul_testkit::{Error, Folder, Payload, Recorder, Scenario, presets, shuffle};

const HELP: &str = "\
yeoul-testkit: write recordings shaped like MediaMTX's, for tests and load

Usage:
  yeoul-testkit broadcast150 DIR [--seed N]             about 150 files, three takes, seven tracks, under 60 MB
  yeoul-testkit hour DIR [--bytes 5G] [--seconds 3600] [--noise] [--seed N]
                                                        one long file; sparse unless --noise
  yeoul-testkit simple DIR [--seconds 20] [--seed N]    one H.264 and one AAC track
  yeoul-testkit shuffle-trafs IN OUT [--seed N]         the same recording, trafs of each moof in another order

Options:
  --seed N      same seed, same bytes (default 1)
  --seconds N   length
  --bytes SIZE  about how many bytes: a number with K, M or G (powers of 1024)
  --noise       write every byte instead of leaving holes
  -h, --help    this text

Examples:
  yeoul-testkit broadcast150 /tmp/broadcast --seed 7
  yeoul-testkit hour /tmp/hour --bytes 5G
  yeoul-testkit shuffle-trafs a.mp4 b.mp4 --seed 3
";

#[derive(Default)]
struct Options {
    positional: Vec<String>,
    seed: Option<u64>,
    seconds: Option<u64>,
    bytes: Option<u64>,
    noise: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|a| a == "-h" || a == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match parse(arguments).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("yeoul-testkit: {message}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: Vec<String>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            rest.next()
                .ok_or_else(|| format!("{argument} needs a value; see --help"))
        };
        match argument.as_str() {
            "--seed" => options.seed = Some(size(&value()?)?),
            "--seconds" => options.seconds = Some(size(&value()?)?),
            "--bytes" => options.bytes = Some(size(&value()?)?),
            "--noise" => options.noise = true,
            flag if flag.starts_with('-') => {
                return Err(format!("unknown option {flag}; see --help"));
            }
            _ => options.positional.push(argument),
        }
    }
    Ok(options)
}

fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (
            digits,
            1 << if text.ends_with('K') {
                10
            } else if text.ends_with('M') {
                20
            } else {
                30
            },
        ),
        None => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|n| n.checked_mul(unit))
        .ok_or_else(|| format!("{text:?} is no number; write 20 or 5G"))
}

fn run(options: &Options) -> Result<(), String> {
    let seed = options.seed.unwrap_or(1);
    let words: Vec<&str> = options.positional.iter().map(String::as_str).collect();
    match words[..] {
        ["broadcast150", dir] => record(presets::broadcast150(seed), dir),
        ["simple", dir] => record(presets::simple(seed, options.seconds.unwrap_or(20)), dir),
        ["hour", dir] => {
            let (seconds, bytes) = (
                options.seconds.unwrap_or(3600),
                options.bytes.unwrap_or(5 << 30),
            );
            let mut scenario = presets::long_file(seed, seconds, bytes);
            if options.noise {
                scenario.payload = Payload::Noise;
            }
            record(scenario, dir)
        }
        ["shuffle-trafs", input, output] => shuffle(input, output, seed),
        [] => Err("nothing to do; see --help".into()),
        _ => Err(format!("cannot make sense of {words:?}; see --help")),
    }
}

fn record(scenario: Scenario, dir: &str) -> Result<(), String> {
    let truth = Folder::new(dir)
        .and_then(|folder| Recorder::new(scenario, folder)?.record())
        .map(|(_, truth)| truth)
        .map_err(|error| error.to_string())?;
    let files = truth
        .takes
        .iter()
        .map(|take| take.files.len())
        .sum::<usize>();
    let bytes: u64 = truth
        .takes
        .iter()
        .flat_map(|take| &take.files)
        .map(|file| file.size)
        .sum();
    println!(
        "{files} recordings, {} takes, {bytes} bytes in {dir}",
        truth.takes.len()
    );
    Ok(())
}

fn shuffle(input: &str, output: &str, seed: u64) -> Result<(), String> {
    let io = |path: &str, source| {
        Error::Io {
            path: PathBuf::from(path),
            source,
        }
        .to_string()
    };
    let source = File::open(input).map_err(|e| io(input, e))?;
    let target = File::create_new(output).map_err(|e| io(output, e))?;
    let mut target = BufWriter::new(target);
    let moofs = shuffle::shuffle_trafs(BufReader::new(source), &mut target, seed)
        .map_err(|e| format!("{input}: {e}"))?;
    target.flush().map_err(|e| io(output, e))?;
    println!("{moofs} moofs shuffled into {output}");
    Ok(())
}
