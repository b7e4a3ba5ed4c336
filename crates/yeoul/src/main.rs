//! The command line.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use yeoul::{bench, inspect, repack, verify, watch};

const EXAMPLES: &str = "\
Examples:
  Make HLS of a folder of recordings:
      yeoul repack recordings/cam1 -o out
  Check the result against the recordings' own clock:
      yeoul verify out
  Look into a recording:
      yeoul inspect recordings/cam1/2026-11-30_19-47-55-613655.mp4

Exit status: 0 done, 1 input refused or check failed, 2 wrong usage.";

/// Repack recordings into HLS and CMAF without re-encoding and without copying payload
#[derive(Debug, Parser)]
#[command(name = "yeoul", version, after_long_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Repack(repack::Args),
    Inspect(inspect::Args),
    Verify(verify::Args),
    Notify(watch::NotifyArgs),
    Bench(bench::Args),
    /// Print shell completions
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Repack(args) => repack::command(args),
        Command::Inspect(args) => inspect::command(&args),
        Command::Verify(args) => verify::command(args),
        Command::Notify(args) => watch::notify_command(&args),
        Command::Bench(args) => bench::command(&args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "yeoul", &mut text);
            std::io::stdout()
                .write_all(&text)
                .map(|()| ExitCode::SUCCESS)
                .map_err(Into::into)
        }
    };
    done.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        yeoul::say_error(&yeoul::with_causes(&error));
        ExitCode::FAILURE
    })
}

/// Whoever read our output has had enough: no fault of ours or theirs.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_options_are_put_together_right() {
        Cli::command().debug_assert();
    }
}
