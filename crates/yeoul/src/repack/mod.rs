//! `yeoul repack`: recordings to a folder that plays.
//!
//! ```text
//!  inputs ─► groups (a broadcast each) ─► catalogue ─► lanes ─► pack_lane ─► writers ─► staging folder ─► renamed
//! ```
//!
//! Everything is written into a staging folder beside the output and renamed into its place at the very end, so the output
//! is whole or as it was.

mod args;
mod inputs;
mod manifest;
mod progress;
mod staging;
mod summary;
mod writers;

pub use args::Args;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use yeoul_pack::{Catalogue, Input, Output, OutputFile, Warning, WarningKind};

use self::inputs::Group;
use self::progress::Progress;
use self::staging::Staging;
use self::summary::{Broadcast, Outcome};
use self::writers::{WriterError, Writers};

/// Runs `yeoul repack`. Exit code 0: done, though warnings may say what was left out.
///
/// # Errors
/// Nothing can be used, an input changed meanwhile, or the output cannot be written; then the output is as it was.
pub fn command(args: Args) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    let groups = inputs::groups(&args.inputs)?;
    let staging = Staging::new(&args.output)?;
    let sizes: u64 = groups.iter().map(Group::bytes).sum();
    let progress = Progress::new(sizes, args.quiet);
    let mut outcome = Outcome::new(&args);
    for group in &groups {
        repack_group(&args, group, &staging, &progress, &mut outcome)?;
    }
    progress.finish();
    let usable = outcome
        .broadcasts
        .iter()
        .any(|broadcast| broadcast.lane.segments > 0);
    if !usable {
        for warning in outcome
            .broadcasts
            .iter()
            .flat_map(|broadcast| &broadcast.lane.warnings)
        {
            eprintln!("warning: {warning}");
        }
        bail!("nothing to repack: none of the inputs has samples that can be kept");
    }
    manifest::write_index(&staging, &outcome.broadcasts, args.fsync)?;
    outcome.packed = began.elapsed();
    staging.publish(args.fsync)?;
    outcome.elapsed = began.elapsed();
    outcome.print(&args)?;
    Ok(ExitCode::SUCCESS)
}

/// Packs one broadcast: a lane for takes that follow one another, and one more for each set that ran beside it.
fn repack_group(
    args: &Args,
    group: &Group,
    staging: &Staging,
    progress: &Progress,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let options = args.options();
    let inputs = group
        .files
        .iter()
        .map(|file| Arc::clone(file) as Arc<dyn Input>);
    let began = Instant::now();
    let mut catalogue = Catalogue::read(inputs, &options.limits)?;
    outcome.catalogued += began.elapsed();
    apply_offsets(args, &mut catalogue)?;
    let mut warnings = std::mem::take(&mut catalogue.warnings);
    for error in &catalogue.refused {
        let message = error.to_string();
        let path = group
            .files
            .iter()
            .map(|file| file.name())
            .find(|name| message.starts_with(*name));
        let message = path
            .and_then(|path| message.strip_prefix(path))
            .map_or(message.as_str(), |rest| rest.trim_start_matches(": "));
        warnings.push(Warning {
            kind: WarningKind::Refused,
            path: path.map(str::to_owned),
            offset: None,
            message: format!("left out: {message}"),
        });
    }
    let mut takes = catalogue.takes;
    for lane in 1.. {
        let name = lane_name(&group.name, lane);
        let folder = staging.folder(&name);
        let mut sink = Sink {
            writers: Writers::new(folder, args),
            progress,
        };
        let packed = yeoul_pack::pack_lane(takes, &options, &mut sink);
        let written = sink.writers.finish();
        let mut report = packed?;
        let files = written?;
        outcome.add(&files);
        takes = std::mem::take(&mut report.beside);
        warnings.append(&mut report.warnings);
        report.warnings = std::mem::take(&mut warnings);
        manifest::write(staging, &name, args, &report, &files)
            .with_context(|| format!("{}: the manifest", staging.place(&name).display()))?;
        outcome.broadcasts.push(Broadcast { name, lane: report });
        if takes.is_empty() {
            break;
        }
    }
    Ok(())
}

fn lane_name(group: &str, lane: u32) -> String {
    match (group, lane) {
        (_, 1) => group.to_owned(),
        ("", lane) => format!("lane-{lane}"),
        (group, lane) => format!("{group}/lane-{lane}"),
    }
}

struct Sink<'a> {
    writers: Writers,
    progress: &'a Progress,
}

impl Output for Sink<'_> {
    type Error = WriterError;

    fn file(&mut self, file: OutputFile) -> Result<(), WriterError> {
        self.writers.write(file)
    }

    fn advanced(&mut self, bytes: u64) {
        self.progress.advance(bytes);
    }
}

/// `--offset TAKE=SECONDS`: TAKE is its number in order of time, from 1, or the beginning of its id.
fn apply_offsets(args: &Args, catalogue: &mut Catalogue) -> anyhow::Result<()> {
    let mut moves = Vec::new();
    for offset in &args.offsets {
        let ids: Vec<String> = catalogue
            .takes
            .iter()
            .map(|take| take.id.to_string())
            .collect();
        let by_number = offset
            .take
            .parse::<usize>()
            .ok()
            .filter(|n| *n > 0 && offset.take.len() <= 5);
        let fitting: Vec<usize> = match by_number {
            Some(number) => (number - 1..number)
                .filter(|index| *index < ids.len())
                .collect(),
            None => (0..ids.len())
                .filter(|index| ids[*index].starts_with(&offset.take))
                .collect(),
        };
        let takes = ids
            .iter()
            .map(|id| &id[..12])
            .collect::<Vec<_>>()
            .join(", ");
        ensure!(
            !fitting.is_empty(),
            "--offset {}: no such take; there are: {takes}",
            offset.take
        );
        ensure!(
            fitting.len() == 1,
            "--offset {}: more than one take fits: {takes}",
            offset.take
        );
        let take = &catalogue.takes[fitting[0]];
        ensure!(
            take.anchor_ns.is_some(),
            "--offset {}: the take has no wall clock that could be corrected",
            offset.take
        );
        moves.push((fitting[0], offset.ns));
    }
    for (take, by_ns) in moves {
        catalogue.shift(take, by_ns);
    }
    catalogue.sort();
    Ok(())
}

/// A path as it is best named from `from`: relative where both have a common root, else absolute.
fn relative(path: &Path, from: &Path) -> std::path::PathBuf {
    let (Ok(path), Ok(from)) = (std::path::absolute(path), std::path::absolute(from)) else {
        return path.to_owned();
    };
    let common = path
        .components()
        .zip(from.components())
        .take_while(|(a, b)| a == b)
        .count();
    if common <= 1 {
        return path;
    }
    let up = from
        .components()
        .skip(common)
        .map(|_| std::path::Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}
