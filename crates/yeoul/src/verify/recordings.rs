//! Recordings by themselves: boxes, tails, time of each track, and how the files of a take go together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::CLOCK_LIMIT_TICKS;
use super::boxes::{BoxAt, MAX_BOXES, name};
use super::fragment::{Sample, read_moof};
use super::input::Fault;
use super::movie::Mtxi;
use super::recording::{Recording, TrackSamples};
use super::report::{Boundary, Report};
use super::segment::part_faults;
use super::timeline::{SECOND, ns, saturated, seconds, ticks_up};

/// What is remembered of a recording to put it beside its neighbours.
struct Known {
    name: String,
    mtxi: Option<Mtxi>,
    /// By track ID: timescale, own clock of the first sample in nanoticks, and the sum of all durations in ticks.
    tracks: BTreeMap<u32, (u32, i128, i128)>,
}

/// Checks recordings: see [`super::recordings()`].
pub(super) fn check(files: &[PathBuf]) -> Report {
    let mut report = Report {
        recordings: files.len(),
        ..Report::default()
    };
    let known: Vec<_> = files.iter().filter_map(|f| one(f, &mut report)).collect();
    takes(&known, &mut report);
    report.finished()
}

fn one(file: &Path, report: &mut Report) -> Option<Known> {
    let label = file
        .file_name()
        .unwrap_or(file.as_os_str())
        .to_string_lossy()
        .into_owned();
    let recording = match Recording::open(file) {
        Ok(recording) => Rc::new(recording),
        Err(fault) => {
            report.problem(label, fault.to_string());
            return None;
        }
    };
    let mtxi = recording.movie.mtxi;
    let mut known = Known {
        name: label,
        mtxi,
        tracks: BTreeMap::new(),
    };
    if recording.movie.fragmented {
        if mtxi.is_none() {
            report.note(
                &known.name,
                "has no mtxi: its place among others is not known",
            );
        }
        if recording.movie.duration == 0 {
            report.note(&known.name, "was never closed (mvhd has a duration of 0)");
        }
        parts(&recording, &mut known, report);
    } else {
        tables(&recording, &mut known, report);
    }
    Some(known)
}

/// Walks the parts. A tail that is not whole is a problem; what comes before it is checked all the same.
fn parts(recording: &Recording, known: &mut Known, report: &mut Report) {
    let mut times = BTreeMap::new();
    let mut at = 0;
    let (mut found, mut others) = (0_usize, 0_usize);
    while at < recording.input.len() {
        match part(recording, at, &mut times, known, report) {
            Ok((next, is_part)) => {
                at = next;
                found += usize::from(is_part);
                others += usize::from(!is_part);
                if others > MAX_BOXES {
                    report.problem(
                        &known.name,
                        format!("has more than {MAX_BOXES} boxes that are no parts, by byte {at}"),
                    );
                    break;
                }
            }
            Err(fault) => {
                let left = recording.input.len() - at;
                report.problem(
                    &known.name,
                    format!("{fault}; the last {left} bytes are not whole"),
                );
                break;
            }
        }
    }
    if found == 0 {
        report.problem(&known.name, "has no whole part");
    }
}

/// One top-level box, or a `moof` with its `mdat`. Gives where the next begins and whether this was a part.
fn part(
    recording: &Recording,
    at: u64,
    times: &mut BTreeMap<u32, Running>,
    known: &mut Known,
    report: &mut Report,
) -> Result<(u64, bool), Fault> {
    let input = &recording.input;
    let whole = |at: u64| -> Result<BoxAt, Fault> {
        let head = BoxAt::read(input, at)?;
        if head.end > input.len() {
            let what = format!(
                "box {} claims to end at {}, the file ends at {}",
                name(head.kind),
                head.end,
                input.len()
            );
            return Err(Fault::new(at, what));
        }
        Ok(head)
    };
    let head = whole(at)?;
    if head.kind != *b"moof" {
        return Ok((head.end, false));
    }
    let trafs = read_moof(input, &head, &recording.movie)?;
    let data = whole(head.end)?;
    if data.kind != *b"mdat" {
        return Err(Fault::new(
            data.start,
            format!("{} where the mdat of the moof should be", name(data.kind)),
        ));
    }
    for fault in part_faults(&trafs, &recording.movie, &data) {
        report.problem(&known.name, fault.to_string());
    }
    for traf in &trafs {
        let (Some(track), Some(first)) =
            (recording.movie.track(traf.track_id), traf.samples.first())
        else {
            continue;
        };
        let running = times.entry(traf.track_id).or_insert_with(|| Running {
            sum: first.dts,
            usual: u64::MAX / 10,
        });
        running.part(
            &known.name,
            traf.track_id,
            track.timescale,
            &traf.samples,
            report,
        );
        let base = known.mtxi.map_or(0, |m| i128::from(m.dts_ns)) * i128::from(track.timescale);
        let entry = known.tracks.entry(traf.track_id);
        entry
            .or_insert((track.timescale, base + first.dts * SECOND, 0))
            .2 += sum(&traf.samples);
    }
    Ok((data.end, true))
}

fn sum(samples: &[Sample]) -> i128 {
    samples.iter().map(|s| i128::from(s.duration)).sum()
}

/// Time of a track through the parts of one recording.
struct Running {
    /// First `tfdt` and all durations since, set anew at a jump.
    sum: i128,
    /// Smallest of the parts' median durations.
    usual: u64,
}

impl Running {
    fn part(
        &mut self,
        file: &str,
        id: u32,
        timescale: u32,
        samples: &[Sample],
        report: &mut Report,
    ) {
        let Some(first) = samples.first() else { return };
        let off = first.dts - self.sum;
        if off.unsigned_abs() > u128::from(CLOCK_LIMIT_TICKS) {
            let what = format!(
                "track {id}: tfdt {} is {off} ticks ({} s) off the running sum",
                first.dts,
                seconds(ns(off, timescale))
            );
            if off < 0 {
                report.problem(file, what);
            } else {
                report.note(file, what);
            }
            self.sum = first.dts;
        }
        self.usual = self.usual.min(middle(samples));
        let stall = |s: &&Sample| u64::from(s.duration) > u64::from(timescale).max(10 * self.usual);
        let stall = samples.iter().find(stall);
        if let Some(long) = stall {
            let length = seconds(ns(i128::from(long.duration), timescale));
            report.note(
                file,
                format!("track {id}: the sample at {} lasts {length} s", long.dts),
            );
        }
        self.sum += sum(samples);
    }
}

fn middle(samples: &[Sample]) -> u64 {
    let mut all: Vec<_> = samples.iter().map(|s| s.duration).collect();
    all.sort_unstable();
    all.get(all.len() / 2).map_or(0, |d| u64::from(*d))
}

/// A plain MP4: its tables agree with each other and with the file.
fn tables(recording: &Rc<Recording>, known: &mut Known, report: &mut Report) {
    let mut samples = 0_u64;
    for track in &recording.movie.tracks {
        let mut walk = TrackSamples::new(Rc::clone(recording), track.id);
        for sample in &mut walk {
            samples += 1;
            let entry =
                known
                    .tracks
                    .entry(track.id)
                    .or_insert((track.timescale, sample.dts * SECOND, 0));
            entry.2 += i128::from(sample.duration);
        }
        if let Some(fault) = walk.torn {
            report.problem(&known.name, format!("track {}: {fault}", track.id));
        }
    }
    if samples == 0 {
        report.problem(&known.name, "has no samples");
    }
}

/// Puts the recordings of each take side by side.
fn takes(known: &[Known], report: &mut Report) {
    let mut takes: BTreeMap<[u8; 16], Vec<(&Known, Mtxi)>> = BTreeMap::new();
    for (recording, mtxi) in known.iter().filter_map(|k| k.mtxi.map(|m| (k, m))) {
        takes
            .entry(mtxi.stream)
            .or_default()
            .push((recording, mtxi));
    }
    report.takes = takes.len();
    for rows in takes.values_mut() {
        rows.sort_by_key(|(_, m)| (m.number, m.dts_ns));
        for pair in rows.windows(2) {
            let [(a, before), (b, after)] = pair else {
                continue;
            };
            match after.number - before.number {
                0 => report.problem(
                    &b.name,
                    format!("has number {} of its take, as {} has", after.number, a.name),
                ),
                1 => meet(a, b, after, report),
                n => report.note(
                    &b.name,
                    format!("the {} recordings of the take before it are missing", n - 1),
                ),
            }
        }
    }
}

fn meet(a: &Known, b: &Known, mtxi: &Mtxi, report: &mut Report) {
    for (slot, (id, (timescale, clock, _))) in (0_u32..).zip(&b.tracks) {
        let Some((_, first, length)) = a.tracks.get(id).filter(|t| t.0 == *timescale) else {
            continue;
        };
        let off = clock - (first + length * SECOND);
        let ticks = ticks_up(off);
        let jump = ticks.unsigned_abs() > CLOCK_LIMIT_TICKS;
        if jump {
            let what = format!(
                "track {id}: begins {ticks} ticks after the end of {}",
                a.name
            );
            report.note(&b.name, what);
        }
        report.boundary(Boundary {
            take: mtxi.stream_hex(),
            from: a.name.clone(),
            to: b.name.clone(),
            slot,
            clock_ticks: Some(ticks),
            output_ticks: saturated(off.div_euclid(SECOND)),
            output_samples: 0,
            hole: jump,
        });
    }
}
