//! One media segment: `[styp] [sidx]* (moof mdat)+`, whole, with every byte of `mdat` in one sample.

use std::collections::BTreeSet;

use super::boxes::{BoxAt, MAX_BOXES, name};
use super::fragment::{Traf, read_moof};
use super::input::{Fault, Fields, Input};
use super::movie::Movie;
use super::report::Report;

/// A `sidx` larger than this is refused: 65,535 references and the fields before them.
const MAX_SIDX: u64 = 1 << 20;

/// The `traf`s of a segment in file order, and its `sidx` boxes: at most one a track.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) trafs: Vec<Traf>,
    pub(super) indexes: Vec<Index>,
}

/// What a `sidx` says about the segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Index {
    pub(super) reference: u32,
    pub(super) timescale: u32,
    pub(super) earliest: u64,
}

/// Reads a segment. What is wrong goes to the report; what could be read before it is returned.
pub(super) fn read(input: &Input<'_>, movie: &Movie, place: &str, report: &mut Report) -> Segment {
    let mut segment = Segment::default();
    if let Err(fault) = walk(input, movie, place, report, &mut segment) {
        report.problem(place, fault.to_string());
    }
    segment
}

fn walk(
    input: &Input<'_>,
    movie: &Movie,
    place: &str,
    report: &mut Report,
    segment: &mut Segment,
) -> Result<(), Fault> {
    let mut at = 0;
    let (mut parts, mut others) = (0_usize, 0_usize);
    while at < input.len() {
        let head = whole_box(input, at)?;
        match &head.kind {
            b"styp" if at == 0 => {}
            b"sidx" if parts == 0 && segment.indexes.len() < movie.tracks.len() => {
                segment.indexes.push(sidx(input, &head)?);
            }
            b"emsg" | b"prft" if others < MAX_BOXES => others += 1,
            b"moof" => {
                let trafs = read_moof(input, &head, movie)?;
                if head.end >= input.len() {
                    return Err(Fault::new(head.end, "no mdat after the moof"));
                }
                let data = whole_box(input, head.end)?;
                if data.kind != *b"mdat" {
                    return Err(Fault::new(
                        data.start,
                        format!("{} where the mdat of the moof should be", name(data.kind)),
                    ));
                }
                for fault in part_faults(&trafs, movie, &data) {
                    report.problem(place, fault.to_string());
                }
                parts += 1;
                segment.trafs.extend(trafs);
                at = data.end;
                continue;
            }
            _ => {
                let what = format!(
                    "box {} has no place here: [styp] [sidx] (moof mdat)+ is expected",
                    name(head.kind)
                );
                return Err(Fault::new(at, what));
            }
        }
        at = head.end;
    }
    if parts == 0 {
        return Err(Fault::new(input.len(), "the segment has no moof"));
    }
    Ok(())
}

fn whole_box(input: &Input<'_>, at: u64) -> Result<BoxAt, Fault> {
    let head = BoxAt::read(input, at)?;
    if head.end > input.len() {
        let what = format!(
            "truncated: box {} should end at {}, the file ends at {}",
            name(head.kind),
            head.end,
            input.len()
        );
        return Err(Fault::new(at, what));
    }
    Ok(head)
}

/// What is wrong between a `moof` and its `mdat`: unknown tracks, no or late `tfdt`, bytes outside, shared or unused.
pub(super) fn part_faults(trafs: &[Traf], movie: &Movie, data: &BoxAt) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut runs = Vec::new();
    let mut seen = BTreeSet::new();
    for traf in trafs {
        let mut fault = |what: String| {
            faults.push(Fault::new(
                data.start,
                format!("track {}: {what}", traf.track_id),
            ))
        };
        if movie.track(traf.track_id).is_none() {
            fault("is not in the initialization segment".to_owned());
        }
        if traf.tfdt.is_none() {
            fault("the part before has no tfdt for it".to_owned());
        }
        if traf.late_tfdt {
            fault("tfdt comes after trun".to_owned());
        }
        if !seen.insert(traf.track_id) {
            fault("has more than one traf in a part".to_owned());
        }
        if let Some((start, end)) = traf.runs.iter().find(|r| r.0 < data.body || r.1 > data.end) {
            fault(format!(
                "samples at {start}..{end} lie outside the mdat at {}..{}",
                data.body, data.end
            ));
        }
        runs.extend(&traf.runs);
    }
    runs.sort_unstable();
    let mut at = data.body;
    for (start, end) in runs {
        if start < at {
            faults.push(Fault::new(
                start,
                format!("samples overlap the ones before, which end at {at}"),
            ));
        } else if start > at {
            faults.push(Fault::new(
                at,
                format!("{} bytes of the mdat belong to no sample", start - at),
            ));
        }
        at = at.max(end);
    }
    if at < data.end {
        faults.push(Fault::new(
            at,
            format!("{} bytes of the mdat belong to no sample", data.end - at),
        ));
    }
    faults
}

/// Reads a `sidx` (clause 8.16.3) and checks that its references fill the rest of the file.
fn sidx(input: &Input<'_>, head: &BoxAt) -> Result<Index, Fault> {
    let body = head.read_body(input, MAX_SIDX)?;
    let mut fields = Fields::new(&body, head.start, "sidx");
    let (version, _) = fields.version()?;
    let (reference, timescale) = (fields.u32()?, fields.u32()?);
    let (earliest, first) = (fields.wide(version)?, fields.wide(version)?);
    fields.u16()?;
    let count = fields.u16()?;
    let mut end = head
        .end
        .checked_add(first)
        .ok_or_else(|| Fault::new(head.start, "sidx points past 2^64"))?;
    for _ in 0..count {
        end = end.saturating_add(u64::from(fields.u32()? & 0x7fff_ffff));
        fields.u32()?;
        fields.u32()?;
    }
    if end != input.len() {
        return Err(Fault::new(
            head.start,
            format!(
                "sidx describes bytes up to {end}, the file ends at {}",
                input.len()
            ),
        ));
    }
    if timescale == 0 {
        return Err(Fault::new(head.start, "sidx has a timescale of 0"));
    }
    Ok(Index {
        reference,
        timescale,
        earliest,
    })
}
