use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail, ensure};
use serde_json::json;
use yeoul_measure::equivalence::Named;
use yeoul_measure::{Comparison, Input, Outputs, Report, Side};

use super::call::{self, Described, ToFolder};
use super::common::{Common, compare, complaints, ended, find_program, own_command, print};
use super::folder::ReportFolder;
use super::levels;
use super::sides::{FFMPEG_COMMON, FfmpegOutput, Plan, Way};
use super::tables::Section;

const EXAMPLES: &str = "\
Examples:
  All ways side by side, with the report kept:
      yeoul bench repack recordings/cam1/*.mp4 --report figures

  Yeoul resident against the bare copy alone:
      yeoul bench repack recordings/cam1/*.mp4 --side resident --side kernel-copy

  How many at once are worth it on this machine, without its disk:
      yeoul bench repack recordings/cam1/*.mp4 --levels 1,2,4,8 --disk out

In each round every side repacks the same recording once, in random order. What a side declares its time to include is
held against /proc/PID/io and the files that it left; sides that do not include the same are named in the titles. New
files and overwritten ones are two sections. Packet payload of all outputs is compared.

Exit status: 0 measured, 1 a side failed, outputs differ or nothing could be measured, 2 wrong usage.";

/// Measure repacking: ffmpeg, Yeoul as a process, resident, in memory, virtual, and bare copies
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
    /// Timed calls of each side, for each input and section
    #[arg(long, value_name = "N", default_value_t = 200)]
    runs: usize,
    /// Calls of each side before those
    #[arg(long, value_name = "N", default_value_t = 10)]
    warm_ups: usize,
    /// The ffmpeg to compare with: a path, or a name in PATH
    #[arg(long, value_name = "PATH", default_value = "ffmpeg")]
    ffmpeg: PathBuf,
    /// What ffmpeg makes
    #[arg(long, value_name = "KIND", default_value = "mp4")]
    ffmpeg_output: FfmpegOutput,
    /// Leave out all other sides (may be given more than once)
    #[arg(long = "side", value_name = "SIDE")]
    sides: Vec<Way>,
    /// Leave out the section of overwritten files
    #[arg(long)]
    fresh_only: bool,
    /// Measure calls at once instead, at each of these levels
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with_all = ["runs", "warm_ups", "ffmpeg", "sides"])]
    levels: Option<Vec<usize>>,
    #[command(flatten)]
    at_once: levels::AtOnce,
}

pub(super) fn command(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(levels) = &args.levels {
        return levels::run(&args.common, levels, &args.at_once);
    }
    Bench::new(args)?.run()
}

struct Bench<'a> {
    args: &'a Args,
    ways: Vec<Way>,
    ffmpeg: Option<Ffmpeg>,
    yeoul: PathBuf,
    inputs: Vec<Input>,
    folder: ReportFolder,
    complaints: Vec<String>,
}

struct Ffmpeg {
    path: PathBuf,
    version: String,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args) -> anyhow::Result<Self> {
        ensure!(
            args.runs > 0,
            "0 runs show nothing; ask for at least 1 (--runs)"
        );
        let wanted = |way: &Way| args.sides.is_empty() || args.sides.contains(way);
        let ways: Vec<Way> = Way::ALL.into_iter().filter(wanted).collect();
        let ffmpeg = ways
            .contains(&Way::Ffmpeg)
            .then(|| Ffmpeg::find(&args.ffmpeg))
            .transpose()?;
        Ok(Self {
            ways,
            ffmpeg,
            yeoul: std::env::current_exe().context("this program's own path")?,
            inputs: args.common.inputs()?,
            folder: args.common.report()?,
            complaints: Vec::new(),
            args,
        })
    }

    fn run(mut self) -> anyhow::Result<ExitCode> {
        let work = self.args.common.work()?;
        let mut kinds = vec![(Outputs::Fresh, "fresh", "New files")];
        if !self.args.fresh_only {
            kinds.push((
                Outputs::Overwritten,
                "overwritten",
                "Overwritten files: each output replaces the one of the call before",
            ));
        }
        let mut sections = Vec::new();
        for (outputs, name, heading) in kinds {
            let mut section = Section {
                name,
                heading,
                reports: Vec::new(),
            };
            for index in 0..self.inputs.len() {
                let report = self.one(work.path(), outputs, name, index)?;
                section.reports.extend(report);
            }
            sections.push(section);
        }
        self.finish(&sections)
    }

    /// Compares all sides on one input. `None` when a side was refused: what there is of the report is kept as a file.
    fn one(
        &mut self,
        work: &Path,
        outputs: Outputs,
        section: &str,
        index: usize,
    ) -> anyhow::Result<Option<Report>> {
        let input = self.inputs[index].clone();
        let shown = self.args.common.inputs[index].display().to_string();
        self.args.common.tell(&format!(
            "{section} files, recording {} of {}: {shown}",
            index + 1,
            self.inputs.len()
        ));
        let reference = work.join("reference");
        let described = make_reference(&input.path, &reference).with_context(|| shown.clone())?;
        let payload = described.payload();
        let plan = Plan {
            ffmpeg: self
                .ffmpeg
                .as_ref()
                .map_or_else(PathBuf::new, |ffmpeg| ffmpeg.path.clone()),
            ffmpeg_output: self.args.ffmpeg_output,
            yeoul: self.yeoul.clone(),
            reference,
            described: described.files,
            outputs,
        };
        let scratch = work.join("stream.mp4");
        let payloads = Named::new("packet payload (SHA-256 a track)", |made: &Path| {
            Ok(crate::verify::payload_digest(made, &scratch)?)
        });
        let comparison = Comparison {
            runs: self.args.runs,
            warm_ups: self.args.warm_ups,
            outputs,
            // Whoever reads the recording needs at least the payload of the kept tracks.
            read_floor: Some(payload),
            equivalence: Some(&payloads),
            unequal_scope: true,
            bootstrap: self.args.common.bootstrap(),
            ..Comparison::new(
                format!("repack {shown}, {section} files"),
                vec![input],
                work.join("runs"),
            )
        };
        let mut sides: Vec<Box<dyn Side + '_>> =
            self.ways.iter().map(|way| way.side(&plan)).collect();
        let name = format!("{section}-{}", index + 1);
        let done = compare(&comparison, &mut sides, &self.folder, &name)?;
        let (report, refused) = match done {
            Ok(report) => (Some(report), None),
            Err(stopped) => (stopped.report.map(|report| *report), Some(stopped.error)),
        };
        if let Some(report) = &report {
            self.folder
                .write(&format!("{name}.json"), &report.to_json()?)?;
            self.folder
                .write(&format!("{name}.md"), &report.to_markdown())?;
            let of_report = complaints(report);
            let told = of_report
                .into_iter()
                .map(|what| format!("{shown}, {section} files: {what}"));
            self.complaints.extend(told);
        }
        if let Some(error) = refused {
            self.complaints
                .push(format!("{shown}, {section} files: {error}"));
            return Ok(None);
        }
        Ok(report)
    }

    fn finish(&self, sections: &[Section]) -> anyhow::Result<ExitCode> {
        let bootstrap = self.args.common.bootstrap();
        let markdown = self.markdown(sections);
        let ffmpeg = self
            .ffmpeg
            .as_ref()
            .map(|ffmpeg| json!({ "version": ffmpeg.version, "options": self.ffmpeg_options() }));
        let json = json!({
            "format": yeoul_measure::report::FORMAT,
            "title": self.title(),
            "command": own_command(),
            "version": env!("CARGO_PKG_VERSION"),
            "ffmpeg": ffmpeg,
            "inputs": self.inputs,
            "complaints": self.complaints,
            "sections": sections.iter().map(|section| section.json(bootstrap)).collect::<Vec<_>>(),
        });
        let json = serde_json::to_string_pretty(&json)?;
        self.folder.write("summary.md", &markdown)?;
        self.folder.write("summary.json", &json)?;
        print(if self.args.common.json {
            &json
        } else {
            &markdown
        })?;
        Ok(ended(&self.complaints))
    }

    /// Sides of unequal scope stand beside each other on purpose; each table's title says how they differ.
    fn title(&self) -> String {
        let names: Vec<&str> = self.ways.iter().map(|way| way.name()).collect();
        format!("Repacking: {}", names.join(", "))
    }

    fn ffmpeg_options(&self) -> String {
        format!("{FFMPEG_COMMON} {}", self.args.ffmpeg_output.options())
    }

    fn markdown(&self, sections: &[Section]) -> String {
        let mut text = format!("# {}\n\n", self.title());
        for complaint in &self.complaints {
            text.push_str(&format!("- **{complaint}**\n"));
        }
        text.push_str(&format!("- Again: `{}`\n", own_command()));
        text.push_str(&format!(
            "- {} timed calls of each side for each recording and section, after {} warm-ups; sides in random order within a round (seed {})\n",
            self.args.runs, self.args.warm_ups, self.args.common.seed
        ));
        if let Some(ffmpeg) = &self.ffmpeg {
            let options = self.ffmpeg_options();
            text.push_str(&format!("- ffmpeg: {}: `{options}`\n", ffmpeg.version));
        }
        for input in &self.inputs {
            text.push_str(&format!(
                "- `{}`, {} bytes, SHA-256 {}\n",
                input.path.display(),
                input.bytes,
                input.sha256
            ));
        }
        text.push_str(&surroundings(sections));
        text.push('\n');
        for section in sections {
            text.push_str(&section.markdown(self.args.common.bootstrap()));
        }
        text
    }
}

/// The machine, and what was not quiet, of each comparison.
fn surroundings(sections: &[Section]) -> String {
    let mut text = String::new();
    let reports = sections
        .iter()
        .flat_map(|section| section.reports.iter().map(|report| (section.name, report)));
    for (index, (section, report)) in reports.enumerate() {
        let environment = &report.environment;
        if index == 0 {
            text.push_str(&format!("- Machine: {}\n", environment.machine));
        }
        for noise in &environment.noise {
            text.push_str(&format!("- **NOISY** ({section} files): {noise}\n"));
        }
    }
    text
}

/// Makes what the resident side makes, once, and describes it.
fn make_reference(recording: &Path, folder: &Path) -> anyhow::Result<Described> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut described = Described::default();
    let boxed = |error| anyhow::anyhow!("{error}");
    call::pack(call::file(recording), &mut described).map_err(boxed)?;
    let mut output = ToFolder {
        folder,
        replace: false,
        meter: None,
    };
    call::pack(call::file(recording), &mut output).map_err(boxed)?;
    Ok(described)
}

impl Ffmpeg {
    /// Finds the program and asks which one it is, before anything is measured.
    fn find(program: &Path) -> anyhow::Result<Self> {
        const HINT: &str = "install it or give a path (--ffmpeg PATH), or name the other sides (--side resident --side process …)";
        let shown = program.display();
        let Some(path) = find_program(program) else {
            bail!("ffmpeg: {shown}: is not there; {HINT}");
        };
        let said = Command::new(&path)
            .arg("-version")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("ffmpeg: {shown}: cannot be started; {HINT}"))?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = text.lines().next().unwrap_or_default();
        ensure!(
            said.status.success() && version.starts_with("ffmpeg"),
            "ffmpeg: {shown}: does not say what version of ffmpeg it is ({}); {HINT}",
            said.status
        );
        Ok(Self {
            path,
            version: version.to_owned(),
        })
    }
}
