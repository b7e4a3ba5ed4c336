use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use yeoul_measure::ratio::Bootstrap;
use yeoul_measure::record::Csv;
use yeoul_measure::{CompareError, Comparison, End, Input, Report, Side, Verdict};

use super::folder::{ReportFolder, WorkFolder};

/// What every kind of measurement is given.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Common {
    /// Files to work on, each in calls of its own
    #[arg(required = true, value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,
    /// Folder for the report (raw CSV, JSON, Markdown); new or empty [default: Markdown to standard output only]
    #[arg(long, value_name = "DIR")]
    pub(super) report: Option<PathBuf>,
    /// Where outputs are written while it runs; removed at the end [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(super) folder: Option<PathBuf>,
    /// Of the random order and the bootstrap: the same gives the same order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Print JSON with every row instead of Markdown
    #[arg(long)]
    pub(super) json: bool,
    /// Do not say on standard error how far it is
    #[arg(short, long)]
    pub(super) quiet: bool,
}

impl Common {
    /// The inputs, read and hashed, by their absolute paths.
    pub(super) fn inputs(&self) -> anyhow::Result<Vec<Input>> {
        let input = |path: &PathBuf| {
            let absolute = fs::canonicalize(path).with_context(|| path.display().to_string())?;
            if !absolute.is_file() {
                bail!("{}: is no file; give recordings one by one", path.display());
            }
            Ok(Input::of(absolute)?)
        };
        self.inputs.iter().map(input).collect()
    }

    pub(super) fn work(&self) -> anyhow::Result<WorkFolder> {
        WorkFolder::new(self.folder.as_deref())
    }

    pub(super) fn report(&self) -> anyhow::Result<ReportFolder> {
        ReportFolder::new(self.report.as_deref())
    }

    pub(super) fn bootstrap(&self) -> Bootstrap {
        Bootstrap {
            seed: self.seed,
            ..Bootstrap::default()
        }
    }

    pub(super) fn tell(&self, line: &str) {
        if !self.quiet {
            crate::say(line);
        }
    }
}

/// Prints a report to standard output.
pub(super) fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    out.flush()
}

/// The command that repeats what runs, as a shell takes it.
pub(super) fn own_command() -> String {
    let words: Vec<String> = std::env::args_os()
        .map(|word| shell_word(&word.to_string_lossy()))
        .collect();
    words.join(" ")
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Why there is no whole report; what there is of it is kept.
pub(super) struct Stopped {
    pub(super) error: CompareError,
    pub(super) report: Option<Box<Report>>,
}

/// Runs a comparison; each row goes to `NAME.csv` of the report folder as soon as it is there.
pub(super) fn compare(
    comparison: &Comparison<'_>,
    sides: &mut [Box<dyn Side + '_>],
    folder: &ReportFolder,
    name: &str,
) -> anyhow::Result<Result<Report, Stopped>> {
    let title = match comparison.full_title(sides) {
        Ok(title) => title,
        Err(error) => {
            return Ok(Err(Stopped {
                error,
                report: None,
            }));
        }
    };
    let mut csv: Option<Csv<File>> = folder
        .create(&format!("{name}.csv"))?
        .map(|file| Csv::begin(file, &title))
        .transpose()?;
    let mut unwritten = None;
    let done = comparison.run(sides, &mut |row| {
        if let Some(Err(error)) = csv.as_mut().map(|csv| csv.row(row)) {
            unwritten.get_or_insert(error);
        }
    });
    if let Some(error) = unwritten {
        return Err(error).with_context(|| format!("{name}.csv in the report folder"));
    }
    Ok(done.map_err(|mut error| {
        let report = match &mut error {
            CompareError::Refused { report, .. } => Some(report.clone()),
            _ => None,
        };
        Stopped { error, report }
    }))
}

/// Says what went wrong, a line each, and gives the exit code.
pub(super) fn ended(wrong: &[String]) -> ExitCode {
    for line in wrong {
        crate::say_error(line);
    }
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What is wrong with a report, in a line each.
pub(super) fn complaints(report: &Report) -> Vec<String> {
    let failed = report.sides.iter().filter_map(|side| match &side.end {
        // Whose fault it was is said of the side that was refused.
        End::Completed | End::Stopped { .. } => None,
        end => Some(format!(
            "side \"{}\" {end} ({} rows are kept)",
            side.name,
            side.rows.len()
        )),
    });
    let mut complaints: Vec<String> = failed.collect();
    if let Verdict::Different { .. } = &report.equivalence {
        complaints.push(report.equivalence.sentence());
    }
    complaints
}

/// An executable: a path, or a name that is looked for in `PATH`.
pub(super) fn find_program(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return fs::canonicalize(program).ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|place| place.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("--runs"), "--runs");
        assert_eq!(shell_word("녹화.mp4"), "녹화.mp4");
        assert_eq!(shell_word("a b'c"), "'a b'\\''c'");
        assert_eq!(shell_word(""), "''");
    }
}
