//! One file being written: its current part, and the parts before it on disk.

use std::sync::Arc;

use crate::boxes::{self, InitTrack, Mtxi, Row, Traf};
use crate::clock::{ns_to_ticks, ticks_to_ns};
use crate::error::Error;
use crate::feed::Incoming;
use crate::payload::{self, Body, Role};
use crate::rng::SplitMix64;
use crate::scenario::{Payload, Scenario};
use crate::sink::Sink;
use crate::track::Track;
use crate::truth::{FileTruth, Presence, SampleTruth, TakeTruth};

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) start_ns: i64,
    end_ns: i64,
    index: usize,
    duplicate_parts: usize,
    outputs: Vec<Output>,
    sequence: u32,
    part: Option<Collected>,
}

#[derive(Debug)]
struct Output {
    file: usize,
    parts_left: usize,
}

#[derive(Debug)]
struct Collected {
    start_ns: i64,
    end_ns: i64,
    /// A run a track, in the order in which tracks came.
    runs: Vec<(usize, Vec<Outgoing>)>,
}

#[derive(Debug)]
struct Outgoing {
    sample: Incoming,
    duration: u32,
    head: Vec<u8>,
}

/// What writing needs besides the segment itself.
pub(crate) struct Desk<'a, S> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) tracks: &'a [Arc<Track>],
    pub(crate) sink: &'a mut S,
    pub(crate) rng: &'a mut SplitMix64,
    pub(crate) truth: &'a mut TakeTruth,
    /// The sample entry in force, a track.
    pub(crate) entries: &'a [usize],
}

/// A part that reached the output.
#[derive(Debug)]
pub(crate) struct Flushed {
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) end_ns: i64,
}

impl Segment {
    /// `index`: into the truth's files, where this one has just been noted. `duplicate_parts`: of its copy, if any.
    pub(crate) fn new(start_ns: i64, index: usize, duplicate_parts: usize) -> Self {
        Self {
            start_ns,
            end_ns: start_ns,
            index,
            duplicate_parts,
            outputs: Vec::new(),
            sequence: 0,
            part: None,
        }
    }

    /// Adds a sample; the part before it is written out when it is long enough.
    pub(crate) fn write<S: Sink>(
        &mut self,
        desk: &mut Desk<'_, S>,
        track: usize,
        sample: Incoming,
        duration: u32,
    ) -> Result<Option<Flushed>, Error> {
        let timescale = desk.tracks[track].timescale;
        let at = ticks_to_ns(sample.dts, timescale);
        let end = at + ticks_to_ns(i64::from(duration), timescale);
        let limit = crate::clock::ns(desk.scenario.part_duration);
        let full = self
            .part
            .as_ref()
            .is_some_and(|part| part.end_ns - part.start_ns >= limit);
        let flushed = if full { self.flush(desk)? } else { None };
        let part = self.part.get_or_insert_with(|| Collected {
            start_ns: at,
            end_ns: at,
            runs: Vec::new(),
        });
        part.end_ns = part.end_ns.max(end);
        self.end_ns = self.end_ns.max(end);
        let outgoing = outgoing(&desk.tracks[track], sample, duration);
        match part.runs.iter_mut().find(|(t, _)| *t == track) {
            Some((_, run)) => run.push(outgoing),
            None => part.runs.push((track, vec![outgoing])),
        }
        Ok(flushed)
    }

    /// Writes the last part and the duration.
    pub(crate) fn close<S: Sink>(
        mut self,
        desk: &mut Desk<'_, S>,
    ) -> Result<Option<Flushed>, Error> {
        let flushed = self.flush(desk)?;
        let duration = u32::try_from((self.end_ns - self.start_ns) / 1_000_000).unwrap_or(u32::MAX);
        desk.truth.files[self.index].duration_ms = duration;
        for output in &self.outputs {
            if desk.truth.files[self.index].presence == Presence::Whole {
                desk.sink.patch(
                    output.file,
                    boxes::MVHD_DURATION_AT,
                    &duration.to_be_bytes(),
                )?;
            }
            desk.sink.close(output.file);
        }
        Ok(flushed)
    }

    /// Leaves the file as it is.
    pub(crate) fn abandon<S: Sink>(self, sink: &mut S) {
        for output in &self.outputs {
            sink.close(output.file);
        }
    }

    fn flush<S: Sink>(&mut self, desk: &mut Desk<'_, S>) -> Result<Option<Flushed>, Error> {
        let Some(mut part) = self.part.take() else {
            return Ok(None);
        };
        if desk.truth.files[self.index].parts == 0 {
            self.open(desk)?;
        }
        part.runs.sort_by_key(|(track, _)| *track);
        if desk.scenario.shuffle_trafs {
            desk.rng.shuffle(&mut part.runs);
        }
        let trafs: Vec<Traf> = part
            .runs
            .iter()
            .map(|(track, run)| self.traf(desk.tracks, *track, run))
            .collect();
        let head = boxes::part_head(self.sequence, &trafs).ok_or_else(|| {
            Error::Scenario(format!(
                "part {} of a file exceeds 2 GiB; make samples or parts smaller",
                self.sequence
            ))
        })?;
        self.sequence += 1;

        let file = &mut desk.truth.files[self.index];
        let offset = file.size;
        let head_len = head.len() as u64;
        let payload: u64 = part
            .runs
            .iter()
            .flat_map(|(_, run)| run)
            .map(|o| u64::from(o.sample.size))
            .sum();
        file.size += head_len + payload;
        file.parts += 1;
        let present = file.presence == Presence::Whole;
        note(desk, self.index, offset + head_len, &part.runs);
        if present {
            for output in self
                .outputs
                .iter_mut()
                .filter(|output| output.parts_left > 0)
            {
                output.parts_left -= 1;
                desk.sink.append(output.file, &head)?;
                for (track, run) in &part.runs {
                    for outgoing in run {
                        put(
                            desk.sink,
                            output.file,
                            desk.scenario.payload,
                            outgoing,
                            *track,
                        )?;
                    }
                }
                desk.sink.settle(output.file)?;
            }
        }
        Ok(Some(Flushed {
            file: self.index,
            offset,
            size: head_len + payload,
            end_ns: part.end_ns,
        }))
    }

    fn traf(&self, tracks: &[Arc<Track>], track: usize, run: &[Outgoing]) -> Traf {
        let timescale = tracks[track].timescale;
        let first = run
            .first()
            .map_or(self.start_ns, |o| ticks_to_ns(o.sample.dts, timescale));
        let base_time = u64::try_from(ns_to_ticks(first - self.start_ns, timescale)).unwrap_or(0);
        let rows = run.iter().map(|o| Row {
            duration: o.duration,
            size: o.sample.size,
            sync: o.sample.sync,
            cts: o.sample.cts,
        });
        Traf {
            id: id(track),
            base_time,
            rows: rows.collect(),
        }
    }

    /// Creates the file with its first part, as MediaMTX does: what the header says is what is in force now.
    fn open<S: Sink>(&mut self, desk: &mut Desk<'_, S>) -> Result<(), Error> {
        let file = &mut desk.truth.files[self.index];
        let init = init(desk.tracks, desk.entries, desk.truth.stream_id, file);
        file.size = init.len() as u64;
        if file.presence != Presence::Missing {
            let whole = file.presence == Presence::Whole;
            let mut names = vec![(file.name.clone(), usize::MAX)];
            names.extend(
                file.duplicate
                    .clone()
                    .filter(|_| whole)
                    .map(|name| (name, self.duplicate_parts)),
            );
            for (name, parts_left) in names {
                let output = Output {
                    file: desk.sink.create(&name)?,
                    parts_left,
                };
                if whole {
                    desk.sink.append(output.file, &init)?;
                }
                self.outputs.push(output);
            }
        }
        Ok(())
    }
}

fn init(
    tracks: &[Arc<Track>],
    entries: &[usize],
    stream_id: [u8; 16],
    file: &FileTruth,
) -> Vec<u8> {
    let boxes: Vec<Vec<u8>> = tracks
        .iter()
        .zip(entries)
        .enumerate()
        .map(|(i, (t, &e))| entry_box(t, e, i))
        .collect();
    let header: Vec<InitTrack<'_>> = tracks
        .iter()
        .enumerate()
        .map(|(index, track)| InitTrack {
            id: id(index),
            kind: track.kind,
            timescale: track.timescale,
            language: track.language,
            width: track.entries[entries[index]].width,
            height: track.entries[entries[index]].height,
            entry: &boxes[index],
        })
        .collect();
    let mtxi = Mtxi {
        stream_id,
        number: file.number,
        dts_ns: file.dts_ns,
        ntp_ns: file.ntp_ns,
    };
    boxes::init(&header, &mtxi)
}

fn entry_box(track: &Track, entry: usize, index: usize) -> Vec<u8> {
    let entry = &track.entries[entry];
    let mut bytes = entry.bytes.clone();
    let es_id = u16::try_from(id(index)).unwrap_or(u16::MAX).to_be_bytes();
    if let Some(place) = entry
        .es_id_at
        .and_then(|start| bytes.get_mut(start..start + 2))
    {
        place.copy_from_slice(&es_id);
    }
    bytes
}

fn id(track: usize) -> u32 {
    u32::try_from(track + 1).unwrap_or(u32::MAX)
}

fn outgoing(track: &Track, mut sample: Incoming, duration: u32) -> Outgoing {
    let head = match &sample.body {
        Body::Real(_) => Vec::new(),
        Body::Made { codec, role, .. } => {
            let (head, size) =
                payload::head(*codec, *role, track.entries.get(sample.entry), sample.size);
            sample.size = size;
            head
        }
    };
    Outgoing {
        sample,
        duration,
        head,
    }
}

fn note<S>(desk: &mut Desk<'_, S>, file: usize, mut offset: u64, runs: &[(usize, Vec<Outgoing>)]) {
    for (track, run) in runs {
        let truth = &mut desk.truth.tracks[*track];
        for Outgoing {
            sample, duration, ..
        } in run
        {
            truth.start.get_or_insert(sample.dts);
            truth.count += 1;
            truth.total += u64::from(*duration);
            truth.bytes += u64::from(sample.size);
            if desk.scenario.list_samples {
                truth.samples.push(SampleTruth {
                    dts: sample.dts,
                    duration: *duration,
                    cts: sample.cts,
                    sync: sample.sync,
                    size: sample.size,
                    offset,
                    file: u32::try_from(file).unwrap_or(u32::MAX),
                    entry: u16::try_from(sample.entry).unwrap_or(u16::MAX),
                });
            }
            offset += u64::from(sample.size);
        }
    }
}

fn put<S: Sink>(
    sink: &mut S,
    file: usize,
    filler: Payload,
    outgoing: &Outgoing,
    track: usize,
) -> Result<(), Error> {
    let (role, seed) = match &outgoing.sample.body {
        Body::Real(bytes) => return sink.append(file, bytes),
        Body::Made { role, seed, .. } => (*role, *seed),
    };
    let size = u64::from(outgoing.sample.size);
    let rest = size - outgoing.head.len() as u64;
    if filler == Payload::Sparse {
        let random_access = matches!(role, Role::Idr | Role::Cra) && outgoing.head.len() > 8;
        if !random_access {
            return sink.skip(file, size);
        }
        sink.append(file, &outgoing.head)?;
        return sink.skip(file, rest);
    }
    sink.append(file, &outgoing.head)?;
    let mut rng = SplitMix64::new(seed ^ track as u64);
    let mut block = [0; 4096];
    let mut left = usize::try_from(rest).unwrap_or(usize::MAX);
    while left > 0 {
        let now = left.min(block.len());
        payload::noise(&mut rng, &mut block[..now]);
        sink.append(file, &block[..now])?;
        left -= now;
    }
    Ok(())
}
