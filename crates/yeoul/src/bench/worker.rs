//! The process in which calls run at once; started by `bench repack --levels`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use yeoul_measure::concurrency::work;

use super::call::{self, ThroughFolder, ToDigest};
use super::levels::Disk;

/// Make calls as the environment says, and print what each took
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    input: PathBuf,
    #[arg(long)]
    disk: Disk,
    /// Where files are written
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn command(args: &Args) -> anyhow::Result<ExitCode> {
    let call = |number: usize| {
        if args.disk == Disk::Out {
            let mut digest = ToDigest::default();
            call::pack(call::file(&args.input), &mut digest)?;
            return Ok(digest.finish());
        }
        let folder = args
            .folder
            .join(format!("call-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let mut output = ThroughFolder {
            folder: &folder,
            digest: ToDigest::default(),
        };
        let packed = call::pack(call::file(&args.input), &mut output);
        fs::remove_dir_all(&folder)?;
        packed?;
        Ok(output.digest.finish())
    };
    work(call, Ok)?;
    Ok(ExitCode::SUCCESS)
}
