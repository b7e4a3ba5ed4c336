//! `yeoul bench`: figures that anyone can make again, side by side, over scopes that are checked.
//!
//! ```text
//!  repack            sides ──┐
//!  compare --a --b   commands┼─► yeoul-measure: Comparison ─► rows ─► folder (CSV, JSON) and tables (Markdown)
//!  compare --aa      series ─┘
//!  repack --levels   worker processes ─► yeoul-measure: Concurrency ─► knee
//! ```
//!
//! The engine is `yeoul-measure`; here is only what is compared.

mod call;
mod common;
mod compare;
mod folder;
mod format;
mod levels;
mod repack;
mod series;
mod sides;
mod tables;
mod worker;

use std::process::ExitCode;

/// Measure: repacking by different ways, many at once, or any two commands
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum What {
    Repack(repack::Args),
    Compare(compare::Args),
    #[command(hide = true)]
    Worker(worker::Args),
}

/// Runs `yeoul bench`. Exit code 0: measured; 1: measured, but a side failed or outputs differ.
///
/// # Errors
/// What was asked for cannot be measured, or a side is not what it declares. Rows up to then are in the report folder.
pub fn command(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Repack(args) => repack::command(args),
        What::Compare(args) => compare::command(args),
        What::Worker(args) => worker::command(args),
    }
}
