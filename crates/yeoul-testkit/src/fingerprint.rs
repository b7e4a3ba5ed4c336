//! A recording's structure without its content: what two recordings of the same tracks must have in common.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;

/// What stays the same whatever was filmed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// The header's boxes in order: path, size, and the bytes of the box where it holds no times, ids or numbers of takes.
    pub head: Vec<String>,
    /// A line for each shape of `moof`: boxes with sizes (but `trun`'s), versions and flags, a `traf` a track, sorted.
    pub parts: BTreeSet<String>,
    /// `trun` flags seen, a track.
    pub trun_flags: BTreeMap<u32, BTreeSet<u32>>,
    /// Ticks by which each `tfdt` is off the sum of durations since the track's first.
    pub drift: BTreeSet<i64>,
    /// `mfhd` sequence numbers in order.
    pub sequence: Vec<u32>,
    /// Whether each part's samples fill its `mdat` exactly, in the order of its `traf`s.
    pub payload_in_order: bool,
}

/// A track's samples in one part, as its `traf` tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// Track id.
    pub track: u32,
    /// `tfdt`.
    pub base_time: i64,
    /// Byte offset of the first sample in the recording, if the `mdat` is where it was.
    pub data_at: u64,
    /// The rows of its `trun`.
    pub samples: Vec<RunSample>,
}

/// A row of a `trun`, absent columns read as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSample {
    /// Ticks.
    pub duration: u32,
    /// Bytes.
    pub size: u32,
    /// Sample flags.
    pub flags: u32,
    /// Composition offset in ticks.
    pub cts: i32,
}

/// A box of a whole recording.
struct Found<'a> {
    kind: [u8; 4],
    start: usize,
    body: &'a [u8],
}

/// Reads the structure of a whole recording, or of one whose `mdat`s were all left out.
///
/// # Errors
/// When boxes do not nest, or a part lacks what MediaMTX always writes.
pub fn fingerprint(recording: &[u8]) -> Result<Fingerprint, Error> {
    let mut print = Fingerprint {
        payload_in_order: true,
        ..Fingerprint::default()
    };
    let mut ends = BTreeMap::new();
    let mut before = Vec::new();
    for found in children(recording, 0)? {
        match &found.kind {
            b"moof" => {
                before = part(&mut print, &found)?;
                for run in &before {
                    let duration: i64 = run.samples.iter().map(|s| i64::from(s.duration)).sum();
                    // against the sum from the first `tfdt`, not from the last one
                    let end = ends.entry(run.track).or_insert(run.base_time);
                    print.drift.insert(run.base_time - *end);
                    *end += duration;
                }
            }
            b"mdat" => print.payload_in_order &= fills(&before, &found),
            _ => head(&mut print.head, "", &found)?,
        }
    }
    Ok(print)
}

/// All runs of a recording, in file order.
///
/// # Errors
/// As [`fingerprint`].
pub fn runs(recording: &[u8]) -> Result<Vec<Run>, Error> {
    let mut print = Fingerprint::default();
    let moofs = children(recording, 0)?
        .into_iter()
        .filter(|found| found.kind == *b"moof");
    let parts = moofs
        .map(|moof| part(&mut print, &moof))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(parts.concat())
}

fn fills(runs: &[Run], mdat: &Found<'_>) -> bool {
    let mut at = mdat.start as u64 + 8;
    let end = at + mdat.body.len() as u64;
    for run in runs {
        if run.data_at != at {
            return false;
        }
        at += run.samples.iter().map(|s| u64::from(s.size)).sum::<u64>();
    }
    at == end
}

fn head(lines: &mut Vec<String>, parent: &str, found: &Found<'_>) -> Result<(), Error> {
    const CONTAINERS: [&[u8; 4]; 8] = [
        b"moov", b"trak", b"mdia", b"minf", b"dinf", b"stbl", b"mvex", b"udta",
    ];
    let path = format!("{parent}/{}", String::from_utf8_lossy(&found.kind));
    let mut line = format!("{path} {}", found.body.len() + 8);
    if CONTAINERS.contains(&&found.kind) {
        lines.push(line);
        for child in children(found.body, found.start + 8)? {
            head(lines, &path, &child)?;
        }
        return Ok(());
    }
    let kept = match &found.kind {
        b"mtxi" => &found.body[..found.body.len().min(4)],
        // the duration is a number, not structure
        b"mvhd" => &[
            &found.body[..found.body.len().min(16)],
            found.body.get(20..).unwrap_or(&[]),
        ]
        .concat(),
        _ => found.body,
    };
    line.push(' ');
    line.extend(kept.iter().map(|byte| format!("{byte:02x}")));
    lines.push(line);
    Ok(())
}

/// Notes a part and returns its runs in order.
fn part(print: &mut Fingerprint, moof: &Found<'_>) -> Result<Vec<Run>, Error> {
    let (mut trafs, mut runs) = (Vec::new(), Vec::new());
    let mut line = String::new();
    for child in children(moof.body, moof.start + 8)? {
        if child.kind == *b"traf" {
            let (text, mut run, flags) = traf(&child)?;
            run.data_at += moof.start as u64;
            print.trun_flags.entry(run.track).or_default().insert(flags);
            trafs.push(text);
            runs.push(run);
            continue;
        }
        if child.kind == *b"mfhd" {
            print.sequence.push(word(&child, 4)?);
        }
        line.push_str(&shape(&child)?);
    }
    trafs.sort();
    print.parts.insert(format!("{line}| {}", trafs.join("| ")));
    Ok(runs)
}

fn traf(traf: &Found<'_>) -> Result<(String, Run, u32), Error> {
    let (mut text, mut run, mut flags) = (String::new(), Run::default(), 0);
    for child in children(traf.body, traf.start + 8)? {
        if child.kind == *b"trun" {
            flags = word(&child, 0)? & 0xff_ffff;
            run.data_at = u64::from(word(&child, 8)?);
            run.samples = rows(&child, flags)?;
            text.push_str(&format!("trun v{} ", word(&child, 0)? >> 24));
            continue;
        }
        match &child.kind {
            b"tfhd" => run.track = word(&child, 4)?,
            b"tfdt" => {
                run.base_time = i64::from(word(&child, 4)?) << 32 | i64::from(word(&child, 8)?)
            }
            _ => {}
        }
        text.push_str(&shape(&child)?);
    }
    Ok((format!("track {}: {text}", run.track), run, flags))
}

fn rows(trun: &Found<'_>, flags: u32) -> Result<Vec<RunSample>, Error> {
    let columns = (flags >> 8 & 0xf).count_ones() as usize;
    let count = word(trun, 4)? as usize;
    if trun.body.len() != 12 + count * columns * 4 || flags & 0x301 != 0x301 {
        return Err(malformed(trun, "not the rows that its flags announce"));
    }
    let row = |index: usize| {
        let mut at = 12 + index * columns * 4;
        let mut next = |present: bool| {
            let value = if present { word(trun, at)? } else { 0 };
            at += usize::from(present) * 4;
            Ok(value)
        };
        let (duration, size) = (next(true)?, next(true)?);
        let (flags, cts) = (
            next(flags & 0x400 != 0)?,
            next(flags & 0x800 != 0)?.cast_signed(),
        );
        Ok(RunSample {
            duration,
            size,
            flags,
            cts,
        })
    };
    (0..count).map(row).collect()
}

fn shape(found: &Found<'_>) -> Result<String, Error> {
    let word = word(found, 0)?;
    let kind = String::from_utf8_lossy(&found.kind);
    Ok(format!(
        "{kind} {} v{} f{:06x} ",
        found.body.len() + 8,
        word >> 24,
        word & 0xff_ffff
    ))
}

fn word(found: &Found<'_>, at: usize) -> Result<u32, Error> {
    let bytes = found
        .body
        .get(at..at + 4)
        .and_then(|b| <[u8; 4]>::try_from(b).ok());
    bytes
        .map(u32::from_be_bytes)
        .ok_or_else(|| malformed(found, "too short"))
}

fn children(bytes: &[u8], offset: usize) -> Result<Vec<Found<'_>>, Error> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = Found {
            kind: *b"    ",
            start: offset + at,
            body: &bytes[at..],
        };
        let size = word(&rest, 0)? as usize;
        let kind = word(&rest, 4)?.to_be_bytes();
        let body = at.checked_add(size).and_then(|end| bytes.get(at + 8..end));
        let body =
            body.ok_or_else(|| malformed(&Found { kind, ..rest }, "size outside its parent"))?;
        found.push(Found {
            kind,
            start: offset + at,
            body,
        });
        at += size;
    }
    Ok(found)
}

fn malformed(found: &Found<'_>, problem: &'static str) -> Error {
    let kind = String::from_utf8_lossy(&found.kind).into_owned();
    Error::Malformed {
        kind,
        offset: found.start as u64,
        problem,
    }
}
