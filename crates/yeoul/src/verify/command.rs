//! The command line of `yeoul verify`.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Options, paths};

const EXAMPLES: &str = "\
Examples:
  Check what `yeoul repack` wrote, against the recordings that it was made of:
      yeoul verify out/

  The recordings have moved:
      yeoul verify out/ --recordings /mnt/archive/cam1

  The recordings are gone; check the output alone:
      yeoul verify out/ --no-recordings

  Compare every byte of payload too:
      yeoul verify out/ --deep

  Check recordings themselves, or any HLS playlist with fMP4 segments:
      yeoul verify recordings/cam1/*.mp4
      yeoul verify out/index.m3u8

  For a program: the boundaries that are off by more than a tick
      yeoul verify out/ --json | jq '.boundaries[] | select(.clock_ticks > 1)'

Exit status: 0 nothing is wrong, 1 something is wrong or cannot be read, 2 wrong usage.";

/// Check an output, a playlist or recordings
///
/// Reads boxes with a reader of its own, adds up durations itself, and compares each boundary between recordings with the
/// recordings' own clock: 2 ticks at most, and 0 ticks and 0 samples between one segment's end and the next one's start.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Folders that `yeoul repack` wrote, playlists, recordings, or folders of recordings
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Folder where the recordings are now, if they were moved
    #[arg(long, value_name = "DIR")]
    pub recordings: Option<PathBuf>,
    /// Check the output alone, without its recordings
    #[arg(long, conflicts_with = "recordings")]
    pub no_recordings: bool,
    /// Compare the payload of every sample with its recording too
    #[arg(long, conflicts_with = "no_recordings")]
    pub deep: bool,
}

/// Runs `yeoul verify` and prints the report. Exit code 0: nothing is wrong; 1: something is.
///
/// # Errors
/// A path cannot be read, or standard output cannot be written.
pub fn command(args: Args) -> anyhow::Result<ExitCode> {
    use std::io::Write as _;

    let options = Options {
        recordings: args.recordings,
        no_recordings: args.no_recordings,
        deep: args.deep,
    };
    let report = paths(&args.paths, &options)?;
    let mut text = if args.json {
        serde_json::to_string_pretty(&report)?
    } else {
        report.render()
    };
    if args.json {
        text.push('\n');
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(if report.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
