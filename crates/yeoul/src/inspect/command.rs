use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use yeoul_spans::SealedFile;

use super::{InspectError, Options, Verdict, inspect};

/// Output is gathered up to so many bytes.
const BUFFER: usize = 64 << 10;

const EXAMPLES: &str = "\
Examples:
  yeoul inspect rec.mp4                     boxes, tracks, and whether it is closed or torn
  yeoul inspect --tracks rec.mp4            what is in it, in one table
  yeoul inspect --depth 1 rec.mp4           only the boxes at the top level
  yeoul inspect --tracks --samples rec.mp4  every sample, without the boxes
  yeoul inspect --json rec.mp4 | jq .fault  null, or the box at fault, its offset and what is wrong

Exit status:
  0  the file is whole
  1  it is torn or malformed: everything before the fault is shown, and the fault last
  2  wrong usage";

/// Show what is in a recording, an MP4, an init or a segment
///
/// Prints the tree of boxes (offset, size, type and the fields that matter), a table of the tracks, and what the file is
/// as a whole: parts, MediaMTX's identification, closed or not, torn where. Only headers are read, never payload: a file
/// of gigabytes takes as long as its headers do. Times are in ticks of the track, before any edit list.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Show only the table of tracks (and the fault, if there is one).
    #[arg(long)]
    pub tracks: bool,

    /// List every sample of each track too: dts, pts, duration, size, sync, offset.
    #[arg(long)]
    pub samples: bool,

    /// Show so many levels of boxes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "tracks")]
    pub depth: Option<u32>,

    /// Write one JSON document. Numbers above 2^53, and all nanoseconds, are strings in it.
    #[arg(long)]
    pub json: bool,
}

/// Runs `yeoul inspect`: the report goes to standard output. The code is 0 for a whole file and 1 for a faulty one.
///
/// A reader that goes away (`| head`) ends it silently with 0.
///
/// # Errors
/// The file cannot be opened or read, or the report cannot be written.
pub fn command(args: &Args) -> anyhow::Result<ExitCode> {
    let stdout = io::stdout().lock();
    Ok(match write_report(args, stdout)? {
        Verdict::Whole => ExitCode::SUCCESS,
        Verdict::Faulty => ExitCode::FAILURE,
    })
}

fn write_report(args: &Args, out: impl Write) -> anyhow::Result<Verdict> {
    let file = SealedFile::open(&args.file)?;
    let options = Options {
        tracks_only: args.tracks,
        samples: args.samples,
        depth: args.depth,
        json: args.json,
        ..Options::default()
    };
    let mut out = BufWriter::with_capacity(BUFFER, out);
    let written = inspect(&file, &options, &mut out)
        .and_then(|verdict| out.flush().map(|()| verdict).map_err(InspectError::Write));
    match written {
        Err(InspectError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(Verdict::Whole)
        }
        written => Ok(written?),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn args(file: PathBuf, json: bool) -> Args {
        Args {
            file,
            tracks: false,
            samples: true,
            depth: None,
            json,
        }
    }

    fn faulty_file(folder: &std::path::Path) -> PathBuf {
        let path = folder.join("녹화.mp4");
        let mut bytes = Vec::new();
        for _ in 0..50_000 {
            bytes.extend_from_slice(b"\0\0\0\x08free");
        }
        bytes.extend_from_slice(b"\0\0\0\x04mdat");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// `yeoul inspect … | head`: longer than a pipe holds, and the reader is gone before the end.
    #[test]
    fn a_reader_that_goes_away_ends_it_silently() {
        let folder = tempfile::tempdir().unwrap();
        let path = faulty_file(folder.path());
        for json in [false, true] {
            let (mut reader, writer) = io::pipe().unwrap();
            let args = args(path.clone(), json);
            let running = std::thread::spawn(move || write_report(&args, writer));
            reader.read_exact(&mut [0; 10]).unwrap();
            drop(reader);
            assert_eq!(running.join().unwrap().unwrap(), Verdict::Whole);
        }
    }

    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let error = write_report(&args(faulty_file(folder.path()), false), Full).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the report cannot be written")
        );
    }

    #[test]
    fn a_korean_file_name_is_shown_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut out = Vec::new();
        let path = faulty_file(folder.path());
        let verdict = write_report(&args(path, false), &mut out).unwrap();
        assert_eq!(verdict, Verdict::Faulty);
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.lines()
                .next()
                .unwrap()
                .contains("/녹화.mp4: 400008 bytes")
        );
        let gone = write_report(&args(folder.path().join("없음.mp4"), false), io::sink());
        assert!(
            gone.unwrap_err()
                .to_string()
                .contains("없음.mp4: cannot open")
        );
    }

    #[test]
    fn usage_is_checked() {
        use clap::Parser;
        #[derive(Debug, Parser)]
        struct Cli {
            #[command(flatten)]
            args: Args,
        }
        let parsed = Cli::try_parse_from(["inspect", "--depth", "2", "a.mp4"]).unwrap();
        assert_eq!(parsed.args.depth, Some(2));
        assert!(Cli::try_parse_from(["inspect", "--depth", "0", "a.mp4"]).is_err());
        assert!(Cli::try_parse_from(["inspect", "--depth", "2", "--tracks", "a.mp4"]).is_err());
        assert!(Cli::try_parse_from(["inspect"]).is_err());
    }
}
