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
mod interrupt;
mod manifest;
mod offsets;
mod own;
mod progress;
mod relative;
mod staging;
mod summary;
mod writers;

pub use args::Args;
pub(crate) use inputs::is_recording;
pub use interrupt::Interrupt;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use yeoul_pack::{
    Catalogue, Input, LaneReport, Output, OutputFile, PackOptions, RecordingError, Selector, Take,
    Warning, WarningKind,
};
use yeoul_spans::SpansBuilder;
use yeoul_spans::sink::digest::sha256;

use self::inputs::Group;
use self::offsets::Offsets;
use self::progress::Progress;
use self::staging::Staging;
use self::summary::{Broadcast, Outcome};
use self::writers::{Digests, WriterError, Writers};

/// Runs `yeoul repack`. Exit code 0: done, though warnings may say what was left out.
///
/// # Errors
/// Nothing can be used, an input changed meanwhile, or the output cannot be written; then the output is as it was.
pub fn command(args: Args) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch().context("signals")?;
    run(&args, &interrupt).inspect_err(|_| interrupt.die())
}

fn run(args: &Args, interrupt: &Interrupt) -> anyhow::Result<ExitCode> {
    if args.watch {
        return crate::watch::run(&args.watch_options()?, interrupt);
    }
    let began = Instant::now();
    let groups = inputs::groups(&args.inputs)?;
    inputs::refuse_inside(&groups, &args.output)?;
    let staging = Staging::new(&args.output)?;
    let sizes: u64 = groups.iter().map(Group::bytes).sum();
    let progress = Progress::new(sizes, args.quiet);
    let mut run = Run {
        args,
        interrupt,
        staging: &staging,
        progress: &progress,
        offsets: Offsets::new(&args.offsets, groups.len() > 1),
        outcome: Outcome::default(),
    };
    for group in &groups {
        run.group(group)?;
    }
    run.offsets.check()?;
    let mut outcome = run.outcome;
    progress.finish();
    if outcome.segments() == 0 {
        outcome.print_warnings();
        bail!("nothing to repack: none of the inputs has samples that can be kept");
    }
    require_selected(args, &outcome)?;
    manifest::write_index(&staging, &outcome.broadcasts, args.fsync)?;
    outcome.packed = began.elapsed();
    interrupt.check()?;
    let left = staging.publish(args.fsync)?;
    outcome.elapsed = began.elapsed();
    if let Some(left) = left {
        crate::say(&format!(
            "warning: {}: the old output, which cannot be removed",
            left.display()
        ));
    }
    outcome.print(args).with_context(|| {
        format!(
            "the output is in its place ({}), but what was done cannot be printed",
            args.output.display()
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

struct Run<'a> {
    args: &'a Args,
    interrupt: &'a Interrupt,
    staging: &'a Staging,
    progress: &'a Progress,
    offsets: Offsets<'a>,
    outcome: Outcome,
}

impl Run<'_> {
    /// Packs one broadcast: a lane for takes that follow one another, and one more for each set that ran beside it.
    fn group(&mut self, group: &Group) -> anyhow::Result<()> {
        let options = self.args.options();
        let limit = self.args.max_input.map(|mib| mib << 20);
        let (files, too_large) = group.within(limit);
        let inputs = files.into_iter().map(|file| file as Arc<dyn Input>);
        let began = Instant::now();
        let mut catalogue = Catalogue::read(inputs, &options.limits)?;
        self.outcome.catalogued += began.elapsed();
        self.offsets.apply(&mut catalogue)?;
        let mut warnings = std::mem::take(&mut catalogue.warnings);
        warnings.extend(group.refused());
        warnings.extend(too_large);
        warnings.extend(catalogue.refused.iter().map(|error| refused(group, error)));
        let indexed = indexed(&catalogue);
        let mut takes = catalogue.takes;
        for lane in 1.. {
            let name = lane_name(&group.name, lane);
            let mut broadcast = self.lane(takes, &options, &indexed, name)?;
            takes = std::mem::take(&mut broadcast.lane.beside);
            warnings.append(&mut broadcast.lane.warnings);
            broadcast.lane.warnings = std::mem::take(&mut warnings);
            let place = self.staging.place(&broadcast.name);
            manifest::write(self.staging, self.args, &broadcast)
                .with_context(|| format!("{}: the manifest", place.display()))?;
            self.outcome.broadcasts.push(broadcast);
            if takes.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn lane(
        &mut self,
        takes: Vec<Take>,
        options: &PackOptions,
        indexed: &Indexed,
        name: String,
    ) -> anyhow::Result<Broadcast> {
        let folder = self.staging.folder(&name);
        let mut sink = Sink {
            writers: Writers::new(folder, self.args, self.interrupt),
            progress: self.progress,
        };
        let packed = yeoul_pack::pack_lane(takes, options, &mut sink);
        let files = sink.writers.finish();
        let (lane, files) = (packed?, files?);
        self.outcome.add(&files);
        let digests = if self.args.digest {
            digests(indexed, &lane, self.interrupt)?
        } else {
            Digests::new()
        };
        Ok(Broadcast {
            name,
            lane,
            files,
            digests,
        })
    }
}

/// Inputs by name, and whether each still grew when it was looked at.
type Indexed = BTreeMap<String, (Arc<dyn Input>, bool)>;

fn indexed(catalogue: &Catalogue) -> Indexed {
    let all = catalogue.takes.iter().flat_map(|take| &take.recordings);
    all.map(|found| {
        let name = found.input.name().to_owned();
        (name, (Arc::clone(&found.input), !found.recording.closed))
    })
    .collect()
}

/// SHA-256 of each recording: of the bytes that were there when it was indexed.
fn digests(indexed: &Indexed, lane: &LaneReport, interrupt: &Interrupt) -> anyhow::Result<Digests> {
    let mut digests = Digests::new();
    for recording in lane.takes.iter().flat_map(|take| &take.recordings) {
        interrupt.check()?;
        if let Some((input, growing)) = indexed.get(&recording.name) {
            let source = input.open(*growing)?;
            let mut body = SpansBuilder::new();
            body.range(&source, 0, recording.size)?;
            digests.insert(recording.name.clone(), sha256(&body.build()?)?);
        }
    }
    Ok(digests)
}

/// A recording that cannot be used costs itself only.
fn refused(group: &Group, error: &RecordingError) -> Warning {
    let message = error.to_string();
    let names = group.files.iter().map(|file| file.name());
    let named = names
        .filter_map(|name| Some((name, message.strip_prefix(name)?.strip_prefix(": ")?)))
        .max_by_key(|(name, _)| name.len());
    Warning {
        kind: WarningKind::Refused,
        path: named.map(|(name, _)| name.to_owned()),
        offset: None,
        message: format!("left out: {}", named.map_or(&*message, |(_, why)| why)),
    }
}

/// A track that was asked for by number or language must be somewhere.
fn require_selected(args: &Args, outcome: &Outcome) -> anyhow::Result<()> {
    for (kind, selector) in [("video", &args.video), ("audio", &args.audio)] {
        let asked = matches!(selector, Selector::Number(_) | Selector::Language(_));
        let tracks = outcome.broadcasts.iter().flat_map(|b| &b.lane.tracks);
        let there = tracks.into_iter().any(|track| track.kind == kind);
        ensure!(
            there || !asked,
            "--{kind} {selector}: no recording has such a track with samples; `yeoul inspect FILE` lists what is there"
        );
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
