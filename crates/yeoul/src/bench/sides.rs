//! The ways of repacking that are compared.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use clap::ValueEnum;
use yeoul_measure::side::BoxError;
use yeoul_measure::{ClosureSide, CommandSide, Meter, Outputs, RunContext, Scope, Side};
use yeoul_pack::OutputFile;
use yeoul_spans::Span;

use super::call::{self, Described, ThroughMemory, ToFolder};

/// A way of repacking one recording into a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Way {
    /// Yeoul in a process that is there already: what `repack --watch` does for a recording
    Resident,
    /// One `ffmpeg -c copy` process a recording
    Ffmpeg,
    /// One `yeoul repack` process a recording
    Process,
    /// A resident repacker that reads the whole recording and puts its outputs together in memory
    Memory,
    /// Yeoul resident, described only: nothing of the payload is read or written
    Virtual,
    /// The same output bytes from the recording by copy_file_range, all known beforehand: the floor
    KernelCopy,
    /// The same output bytes from the recording by read and write through 256 KiB, all known beforehand
    ReadWrite,
    /// The finished output files copied whole by copy_file_range: one range a file, at equal offsets
    WholeCopy,
}

/// What an ffmpeg process makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FfmpegOutput {
    /// One fragmented MP4: the least that ffmpeg can do
    Mp4,
    /// A playlist, an init and segments of 4 s, as Yeoul makes
    Hls,
}

impl FfmpegOutput {
    /// The options behind the input, and the output's name in the folder in which ffmpeg runs.
    pub(super) fn options(self) -> &'static str {
        match self {
            Self::Mp4 => "-f mp4 -movflags +frag_keyframe+empty_moov+default_base_moof out.mp4",
            Self::Hls => {
                "-f hls -hls_time 4 -hls_playlist_type vod -hls_segment_type fmp4 \
                 -hls_segment_filename %05d.m4s index.m3u8"
            }
        }
    }
}

/// Options of ffmpeg that hold for both outputs.
pub(super) const FFMPEG_COMMON: &str = "-map 0:v:0? -map 0:a:0? -c copy";

/// What the sides need.
pub(super) struct Plan {
    pub(super) ffmpeg: PathBuf,
    pub(super) ffmpeg_output: FfmpegOutput,
    /// This program.
    pub(super) yeoul: PathBuf,
    /// What the resident side makes of the recording, for the bare copies: as a folder of files, and as spans.
    pub(super) reference: PathBuf,
    pub(super) described: Vec<OutputFile>,
    pub(super) outputs: Outputs,
}

impl Way {
    /// The first one is the baseline of each input's own report.
    pub(super) const ALL: [Self; 8] = [
        Self::Resident,
        Self::Ffmpeg,
        Self::Process,
        Self::Memory,
        Self::Virtual,
        Self::KernelCopy,
        Self::ReadWrite,
        Self::WholeCopy,
    ];

    /// How the side is named in rows and tables, and on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Resident => "resident",
            Self::Ffmpeg => "ffmpeg",
            Self::Process => "process",
            Self::Memory => "memory",
            Self::Virtual => "virtual",
            Self::KernelCopy => "kernel-copy",
            Self::ReadWrite => "read-write",
            Self::WholeCopy => "whole-copy",
        }
    }

    fn scope(self) -> Scope {
        let scope = |start, read, work, write| Scope {
            start,
            read,
            work,
            write,
            fsync: false,
        };
        match self {
            Self::Ffmpeg | Self::Process => scope(true, true, true, true),
            Self::Resident | Self::Memory => scope(false, true, true, true),
            Self::Virtual => scope(false, false, true, false),
            Self::KernelCopy | Self::ReadWrite | Self::WholeCopy => scope(false, true, false, true),
        }
    }

    pub(super) fn side<'a>(self, plan: &'a Plan) -> Box<dyn Side + 'a> {
        let (name, scope) = (self.name(), self.scope());
        let replace = plan.outputs == Outputs::Overwritten;
        match self {
            Self::Ffmpeg => Box::new(CommandSide::new(name, scope, |run| ffmpeg(plan, run))),
            Self::Process => Box::new(CommandSide::new(name, scope, |run| process(plan, run))),
            Self::Resident => Box::new(ClosureSide::new(name, scope, move |run, meter| {
                meter.stage("pack");
                let mut output = ToFolder {
                    folder: run.output,
                    replace,
                    meter: Some(meter),
                };
                call::pack(call::file(input(run)), &mut output)
            })),
            Self::Memory => Box::new(ClosureSide::new(name, scope, |run, meter| {
                meter.stage("read");
                let input = call::in_memory(input(run))?;
                meter.stage("pack and write");
                call::pack(input, &mut ThroughMemory { folder: run.output })
            })),
            Self::Virtual => Box::new(described(name, scope)),
            Self::KernelCopy => Box::new(ClosureSide::new(name, scope, |run, meter| {
                let from = File::open(input(run))?;
                each_file(plan, run, |span, to| match span {
                    Span::Inline(bytes) => Ok(to.write_all(&bytes)?),
                    Span::Range(range) => {
                        meter.kernel_copied(range.len);
                        kernel_copy(&from, range.offset, to, range.len)
                    }
                })
            })),
            Self::ReadWrite => Box::new(ClosureSide::new(name, scope, |run, _: &mut Meter| {
                let from = File::open(input(run))?;
                let mut buffer = vec![0; 256 << 10];
                each_file(plan, run, |span, to| match span {
                    Span::Inline(bytes) => Ok(to.write_all(&bytes)?),
                    Span::Range(range) => {
                        read_write(&from, range.offset, to, range.len, &mut buffer)
                    }
                })
            })),
            Self::WholeCopy => Box::new(ClosureSide::new(name, scope, |run, meter| {
                for file in &plan.described {
                    let from = File::open(plan.reference.join(&file.name))?;
                    let mut to = File::create(run.output.join(&file.name))?;
                    meter.kernel_copied(file.body.len());
                    kernel_copy(&from, 0, &mut to, file.body.len())?;
                }
                Ok(())
            })),
        }
    }
}

/// Each comparison has one input.
fn input<'r>(run: &RunContext<'r>) -> &'r Path {
    &run.inputs[0].path
}

fn ffmpeg(plan: &Plan, run: &RunContext<'_>) -> Command {
    let mut command = Command::new(&plan.ffmpeg);
    command
        .args(["-nostdin", "-v", "error", "-y", "-i"])
        .arg(input(run));
    command.args(FFMPEG_COMMON.split_whitespace());
    command.args(plan.ffmpeg_output.options().split_whitespace());
    command.current_dir(run.output);
    command
}

fn process(plan: &Plan, run: &RunContext<'_>) -> Command {
    let mut command = Command::new(&plan.yeoul);
    command.args(["repack", "--quiet"]).arg(input(run));
    command.arg("-o").arg(run.output.join("out"));
    command
}

/// What was described is written after the time, for the equivalence check alone.
fn described<'a>(name: &str, scope: Scope) -> ClosureSide<'a> {
    let made = Rc::new(RefCell::new(Described::default()));
    let timed = Rc::clone(&made);
    let side = ClosureSide::new(name, scope, move |run: &RunContext<'_>, _: &mut Meter| {
        let mut output = Described::default();
        call::pack(call::file(input(run)), &mut output)?;
        timed.replace(output);
        Ok(())
    });
    side.after(move |run| {
        let options = yeoul_spans::sink::file::FileOptions::default();
        for file in made.take().files {
            yeoul_spans::sink::file::write_new(run.check.join(&file.name), &file.body, &options)?;
        }
        Ok(())
    })
}

/// Makes the files that were described before the clock started: what is left when nothing is to be found out.
fn each_file(
    plan: &Plan,
    run: &RunContext<'_>,
    mut put: impl FnMut(Span, &mut File) -> Result<(), BoxError>,
) -> Result<(), BoxError> {
    for file in &plan.described {
        let mut to = File::create(run.output.join(&file.name))?;
        for span in &file.body {
            put(span, &mut to)?;
        }
    }
    Ok(())
}

fn kernel_copy(from: &File, mut at: u64, to: &mut File, len: u64) -> Result<(), BoxError> {
    const MOST: u64 = 16 << 20;
    let end = at + len;
    while at < end {
        let most = usize::try_from((end - at).min(MOST))?;
        if rustix::fs::copy_file_range(from, Some(&mut at), to.as_fd(), None, most)? == 0 {
            return Err("the recording is shorter than it was".into());
        }
    }
    Ok(())
}

fn read_write(
    from: &File,
    mut at: u64,
    to: &mut File,
    len: u64,
    buffer: &mut [u8],
) -> Result<(), BoxError> {
    let end = at + len;
    while at < end {
        let most = usize::try_from(end - at)?.min(buffer.len());
        from.read_exact_at(&mut buffer[..most], at)?;
        to.write_all(&buffer[..most])?;
        at += u64::try_from(most)?;
    }
    Ok(())
}
