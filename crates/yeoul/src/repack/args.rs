use std::num::NonZeroUsize;
use std::path::PathBuf;

use yeoul_isobmff::Limits;
use yeoul_pack::{CutOptions, Gaps, Layout, PackOptions, Rendition, Selector, Time};

const EXAMPLES: &str = "\
Examples:
  A folder of recordings as HLS, with the first video and the first audio track:
      yeoul repack recordings/cam1 -o out

  One broadcast whose recordings lie in one folder per day:
      yeoul repack 'recordings/cam1/**/*.mp4' -o out

  One file per track (CMAF), the Korean audio, six-second segments, nothing between takes:
      yeoul repack cam1 -o out --layout cmaf --audio lang:kor --segment 6s --gaps close

  The second take's clock was 1.5 s fast:
      yeoul repack recordings/cam1 -o out --offset 2=-1.5

  As recordings are closed, until it is stopped:
      yeoul repack --watch /srv/recordings -o /srv/hls

  For a program: how far the recordings' clock is off at each boundary
      yeoul repack cam1 -o out --json | jq '.broadcasts[].takes[].boundaries'

A folder is one broadcast; a folder with subfolders is one for each, in a subfolder of DIR with its name. Files and \
patterns that are given one by one are one broadcast. A broken recording costs only itself: a warning says what was \
left out. DIR is replaced if yeoul wrote it and nothing else is in it; anything else is refused.

Exit status: 0 done, 1 nothing could be used or DIR could not be written (then it is as it was), 2 wrong usage.";

/// Repack recordings into HLS without re-encoding: one video and one audio on one continuous timeline
///
/// Samples are never touched: the kernel copies them from the recordings into the segments.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Recordings: files, folders, or patterns such as 'cam1/**/*.mp4'
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Folder to write
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Video track to keep: first (with samples), a number from 1, lang:kor, all or none
    #[arg(long, value_name = "TRACK", default_value = "first")]
    pub video: Selector,
    /// Audio track to keep: first (with samples), a number from 1, lang:kor, all or none
    #[arg(long, value_name = "TRACK", default_value = "first")]
    pub audio: Selector,
    /// Length that segments aim at: a cut falls on the first sync sample in each multiple of it
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = duration)]
    pub segment: Time,
    /// Tracks to files: muxed (one file a segment) or cmaf (a file a track)
    #[arg(long, value_name = "LAYOUT", default_value = "muxed")]
    pub layout: Layout,
    /// Time between takes, and holes: keep (GAP entries) or close
    #[arg(long, value_name = "GAPS", default_value = "keep", value_parser = gaps)]
    pub gaps: Gaps,
    /// Correct a take's wall clock: TAKE is its number from 1 or the beginning of its id
    #[arg(long = "offset", value_name = "TAKE=SECONDS", value_parser = offset)]
    pub offsets: Vec<Offset>,
    /// Files written at once: a number, or auto (one a core)
    ///
    /// More at once than there are cores gives no more output, but longer waits and more memory: `yeoul bench repack
    /// RECORDINGS --levels 1,2,4,8 --disk in` finds the number from which on that is so on this machine.
    #[arg(short, long, value_name = "N", default_value = "auto", value_parser = jobs)]
    pub jobs: NonZeroUsize,
    /// Wait until everything is on the disk
    #[arg(long)]
    pub fsync: bool,
    /// Say what was done as JSON
    #[arg(long)]
    pub json: bool,
    /// Add SHA-256 of inputs and outputs to yeoul.json and the report (reads everything)
    #[arg(long)]
    pub digest: bool,
    /// No progress bar and no summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Stay and pack recordings as they are closed: INPUT is one folder, DIR keeps growing playlists
    #[arg(long, conflicts_with_all = ["digest", "offsets"])]
    pub watch: bool,
    /// With --watch: pack what is there, end takes and playlists, and return
    #[arg(long, requires = "watch")]
    pub finish: bool,
    /// With --watch: time between two looks at everything, for folders without events (network file systems)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait, requires = "watch")]
    pub rescan: Time,
    /// With --watch: a recording that was never closed counts as closed when nothing was written to it for so long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = wait, requires = "watch")]
    pub idle: Time,
    /// Refuse recordings larger than this, in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_input: Option<u64>,
    /// Largest header (moov or moof) that is read, in MiB
    #[arg(long, value_name = "MIB", default_value_t = Limits::DEFAULT.header_bytes >> 20, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub max_header: u64,
}

/// A correction of a take's wall clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offset {
    /// Number from 1, or the beginning of the id.
    pub take: String,
    /// Nanoseconds to add.
    pub ns: i64,
}

impl Args {
    pub(super) fn options(&self) -> PackOptions {
        PackOptions {
            cut: CutOptions::new(self.segment),
            layout: self.layout,
            gaps: self.gaps,
            rendition: Rendition {
                video: self.video.clone(),
                audio: self.audio.clone(),
            },
            limits: Limits {
                header_bytes: self.max_header << 20,
                ..Limits::DEFAULT
            },
        }
    }
}

impl Args {
    /// What to watch.
    ///
    /// # Errors
    /// More than one input.
    pub(super) fn watch_options(&self) -> anyhow::Result<crate::watch::Options> {
        let [folder] = &self.inputs[..] else {
            anyhow::bail!("--watch takes one folder; give the folder above them");
        };
        let time = |time: Time| {
            std::time::Duration::from_micros(u64::try_from(time.nearest(1_000_000)).unwrap_or(0))
        };
        Ok(crate::watch::Options {
            folder: folder.clone(),
            output: self.output.clone(),
            pack: self.options(),
            jobs: self.jobs.get(),
            rescan: time(self.rescan),
            idle: time(self.idle),
            max_input: self.max_input.map(|mib| mib << 20),
            fsync: self.fsync,
            finish: self.finish,
            json: self.json,
            quiet: self.quiet,
            headers_awaited: std::sync::Arc::default(),
        })
    }
}

const SHORTEST_SEGMENT: i64 = 100_000;
const LONGEST_SEGMENT: i64 = 3600 * 1_000_000;

const LONGEST_WAIT: i64 = 24 * 3600 * 1_000_000;

/// `10s`, `500ms`, `5m` or `1h`.
fn wait(text: &str) -> Result<Time, String> {
    let scaled = |number: &str, seconds: i64| decimal(number, 6)?.checked_mul(seconds);
    let us = match (
        text.strip_suffix("ms"),
        text.strip_suffix('m'),
        text.strip_suffix('h'),
    ) {
        (Some(number), _, _) => decimal(number, 3),
        (None, Some(number), _) => scaled(number, 60),
        (None, None, Some(number)) => scaled(number, 3600),
        (None, None, None) => scaled(text.strip_suffix('s').unwrap_or(text), 1),
    };
    us.filter(|us| (1_000..=LONGEST_WAIT).contains(us))
        .map(|us| Time::new(us, 1_000_000))
        .ok_or_else(|| "use a time from 1ms to 24h, such as 500ms, 10s, 5m or 1h".to_owned())
}

/// `4s`, `2.5s`, `500ms` or `4`, exact to the microsecond.
fn duration(text: &str) -> Result<Time, String> {
    let (number, places) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 3),
        (None, Some(number)) => (number, 6),
        (None, None) => (text, 6),
    };
    let us =
        decimal(number, places).ok_or_else(|| "use a time such as 4s, 2.5s or 500ms".to_owned())?;
    if !(SHORTEST_SEGMENT..=LONGEST_SEGMENT).contains(&us) {
        return Err("a segment has at least 100ms and at most 3600s".to_owned());
    }
    let common = gcd(us, 1_000_000);
    let timescale = u32::try_from(1_000_000 / common).map_err(|error| error.to_string())?;
    Ok(Time::new(us / common, timescale))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A decimal number as an integer of 10^-places, exactly; more digits are refused.
fn decimal(text: &str, places: usize) -> Option<i64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > places || !digits(whole) || !digits(fraction) {
        return None;
    }
    let value: i64 = format!("{whole}{fraction:0<places$}").parse().ok()?;
    Some(if negative { -value } else { value })
}

fn gaps(text: &str) -> Result<Gaps, String> {
    match text {
        "keep" => Ok(Gaps::Keep),
        "close" => Ok(Gaps::Close),
        _ => Err("use keep or close".to_owned()),
    }
}

fn offset(text: &str) -> Result<Offset, String> {
    let wrong = || "use TAKE=SECONDS, such as 2=-1.5 or a22084c9=3".to_owned();
    let (take, seconds) = text.split_once('=').ok_or_else(wrong)?;
    let take = take.to_ascii_lowercase().replace('-', "");
    if take.is_empty() || !take.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let ns = decimal(seconds.strip_suffix('s').unwrap_or(seconds), 9).ok_or_else(wrong)?;
    Ok(Offset { take, ns })
}

const MOST_JOBS: usize = 256;

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    // One a core: the knee that `bench repack --levels` looks for. A writer does nothing but copy within the kernel, so it
    // is bound by a core; a second one on the same core only waits.
    if text == "auto" {
        return Ok(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    }
    let wrong = || format!("use auto or a number from 1 to {MOST_JOBS}");
    text.parse()
        .ok()
        .filter(|n: &NonZeroUsize| n.get() <= MOST_JOBS)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(duration("4s"), Ok(Time::new(4, 1)));
        assert_eq!(
            duration("2.002s").map(|t| (t.ticks, t.timescale)),
            Ok((1001, 500))
        );
        assert_eq!(
            duration("500ms").map(|t| (t.ticks, t.timescale)),
            Ok((1, 2))
        );
        for wrong in [
            "",
            "s",
            "-4s",
            "0",
            "4 s",
            "1e3",
            "0.0000001s",
            "3601s",
            "99ms",
            ".5",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn offsets_are_exact_and_may_be_negative() {
        let offset = |text| offset(text).map(|o| (o.take, o.ns));
        assert_eq!(offset("2=-1.5"), Ok(("2".to_owned(), -1_500_000_000)));
        assert_eq!(
            offset("A22084C9-2ac9=0.000000001"),
            Ok(("a22084c92ac9".to_owned(), 1))
        );
        for wrong in ["2", "=1", "x=1", "2=", "2=1h", "2=99999999999"] {
            assert!(offset(wrong).is_err(), "{wrong}");
        }
    }
}
