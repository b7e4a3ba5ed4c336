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
    /// Ticks by which each `tfdt` but a track's first is off the sum of durations so far.
    pub drift: BTreeSet<i64>,
    /// `mfhd` sequence numbers in order.
    pub sequence: Vec<u32>,
    /// Whether each part's samples fill its `mdat` exactly, in the order of its `traf`s.
    pub payload_in_order: bool,
}

/// A box of a whole recording.
struct Found<'a> {
    kind: [u8; 4],
    start: usize,
    body: &'a [u8],
}

/// Reads the structure of a whole recording.
///
/// # Errors
/// When boxes do not nest, or a part lacks what MediaMTX always writes.
pub fn fingerprint(recording: &[u8]) -> Result<Fingerprint, Error> {
    let mut print = Fingerprint {
        payload_in_order: true,
        ..Fingerprint::default()
    };
    let mut ends = BTreeMap::new();
    let mut moof = None;
    for found in children(recording, 0)? {
        match &found.kind {
            b"moof" => {
                let payload = part(&mut print, &found, &mut ends)?;
                moof = Some((found.start, payload));
            }
            b"mdat" => {
                let expected = moof
                    .take()
                    .map(|(start, runs)| (found.start + 8 - start, runs));
                print.payload_in_order &=
                    expected.is_some_and(|(first, runs)| in_order(first, &runs, found.body.len()));
            }
            _ => head(&mut print.head, "", &found)?,
        }
    }
    Ok(print)
}

fn in_order(mut offset: usize, runs: &[(u32, usize)], payload: usize) -> bool {
    let end = offset + payload;
    for (data_offset, bytes) in runs {
        if *data_offset as usize != offset {
            return false;
        }
        offset += bytes;
    }
    offset == end
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

/// Notes a part and returns the data offset and bytes of each run, in order.
fn part(
    print: &mut Fingerprint,
    moof: &Found<'_>,
    ends: &mut BTreeMap<u32, i64>,
) -> Result<Vec<(u32, usize)>, Error> {
    let (mut trafs, mut runs) = (Vec::new(), Vec::new());
    let mut line = String::new();
    for child in children(moof.body, moof.start + 8)? {
        if child.kind == *b"mfhd" {
            print.sequence.push(word(&child, 4)?);
            line = shape(&child)?;
        } else if child.kind == *b"traf" {
            let (text, run) = traf(print, &child, ends)?;
            trafs.push(text);
            runs.push(run);
        } else {
            line.push_str(&shape(&child)?);
        }
    }
    trafs.sort();
    print.parts.insert(format!("{line} {}", trafs.join(" ")));
    Ok(runs)
}

fn traf(
    print: &mut Fingerprint,
    traf: &Found<'_>,
    ends: &mut BTreeMap<u32, i64>,
) -> Result<(String, (u32, usize)), Error> {
    let (mut id, mut time, mut text, mut run) = (0, 0, String::new(), (0, 0));
    for child in children(traf.body, traf.start + 8)? {
        match &child.kind {
            b"tfhd" => {
                id = word(&child, 4)?;
                text.push_str(&format!("track {id}: "));
                text.push_str(&shape(&child)?);
            }
            b"tfdt" => {
                time = i64::from(word(&child, 4)?) << 32 | i64::from(word(&child, 8)?);
                text.push_str(&shape(&child)?);
            }
            b"trun" => {
                let flags = word(&child, 0)? & 0xff_ffff;
                print.trun_flags.entry(id).or_default().insert(flags);
                let (duration, bytes) = sums(&child, flags)?;
                if let Some(end) = ends.get(&id) {
                    print.drift.insert(time - end);
                }
                // against the sum from the first `tfdt`, not from the last one
                let end = ends.entry(id).or_insert(time);
                *end += duration;
                run = (word(&child, 8)?, bytes);
                text.push_str(&format!("trun v{} ", child.body[0]));
            }
            _ => text.push_str(&shape(&child)?),
        }
    }
    Ok((text, run))
}

fn sums(trun: &Found<'_>, flags: u32) -> Result<(i64, usize), Error> {
    let columns = (flags >> 8 & 0xf).count_ones() as usize;
    let count = word(trun, 4)? as usize;
    let rows = 12;
    if trun.body.len() != rows + count * columns * 4 || flags & 0x301 != 0x301 {
        return Err(malformed(trun, "not the rows that its flags announce"));
    }
    let (mut duration, mut bytes) = (0, 0);
    for row in 0..count {
        duration += i64::from(word(trun, rows + row * columns * 4)?);
        bytes += word(trun, rows + row * columns * 4 + 4)? as usize;
    }
    Ok((duration, bytes))
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
