//! One take in progress: samples in order of arrival, pending ones, the switch from file to file.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::clock::{file_name, ns, ticks_to_ns};
use crate::error::Error;
use crate::feed::{Feed, Incoming, Silence};
use crate::rng::SplitMix64;
use crate::scenario::{End, Event, Scenario, Take};
use crate::segment::{Desk, Flushed, Segment};
use crate::sink::Sink;
use crate::track::{Kind, Track};
use crate::truth::{FileTruth, Presence, TakeTruth, TrackTruth};

/// Oldest pending sample that a new file still reaches back for, before the newest.
const REACH_NS: i64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct TakeState {
    feeds: Vec<Feed>,
    pending: Vec<Option<Incoming>>,
    has_video: bool,
    segment: Option<Segment>,
    entries: Vec<usize>,
    next_number: u64,
    /// Wall clock minus the take's clock, in the first file.
    wall_ns: i64,
    ntp_shift_ns: i64,
    pub(crate) wall_end_ns: i64,
}

impl TakeState {
    /// Starts a take whose first sample has wall clock `wall_start_ns`.
    pub(crate) fn new(
        scenario: &Scenario,
        take: &Take,
        tracks: &[Arc<Track>],
        wall_start_ns: i64,
        rng: &mut SplitMix64,
    ) -> (Self, TakeTruth) {
        let ntp_shift_ns = take
            .ntp_shift_ns
            .unwrap_or_else(|| 380_000_000 + i64::from(rng.below(220_000_000)));
        let length = ns(take.duration);
        let feeds = tracks.iter().enumerate().map(|(index, track)| {
            let rng = SplitMix64::new(rng.next_u64());
            Feed::new(
                Arc::clone(track),
                take.first_dts_ns,
                length,
                silence(take, index),
                rng,
            )
        });
        let state = Self {
            feeds: feeds.collect(),
            pending: vec![None; tracks.len()],
            has_video: false,
            segment: None,
            entries: vec![0; tracks.len()],
            next_number: 0,
            wall_ns: wall_start_ns.saturating_sub(take.first_dts_ns),
            ntp_shift_ns,
            wall_end_ns: wall_start_ns.saturating_add(length),
        };
        let tracks = scenario
            .tracks
            .iter()
            .zip(1..)
            .map(|(track, id)| TrackTruth {
                id,
                timescale: track.timescale,
                count: 0,
                start: None,
                total: 0,
                bytes: 0,
                dropped: 0,
                samples: Vec::new(),
            });
        let truth = TakeTruth {
            stream_id: uuid_v4(rng),
            files: Vec::new(),
            tracks: tracks.collect(),
        };
        (state, truth)
    }

    /// Takes in one sample; `false` at the take's end, when its last file has been closed.
    pub(crate) fn step<S: Sink>(
        &mut self,
        take: &Take,
        desk: &mut Bench<'_, S>,
        flushed: &mut VecDeque<(Flushed, bool)>,
    ) -> Result<bool, Error> {
        let next = (0..self.feeds.len())
            .filter_map(|t| Some((self.feeds[t].arrival_ns()?, t)))
            .min();
        let Some((_, track)) = next else {
            self.finish(take.end, desk, flushed)?;
            return Ok(false);
        };
        if let Some(sample) = self.feeds[track].take() {
            self.arrive(take, track, sample, desk, flushed)?;
        }
        Ok(true)
    }

    fn arrive<S: Sink>(
        &mut self,
        take: &Take,
        track: usize,
        mut next: Incoming,
        desk: &mut Bench<'_, S>,
        flushed: &mut VecDeque<(Flushed, bool)>,
    ) -> Result<(), Error> {
        let Track {
            kind, timescale, ..
        } = *desk.tracks[track];
        self.has_video |= kind == Kind::Video;
        let next_ns = ticks_to_ns(next.dts, timescale);
        if next.sync {
            self.change_parameters(take, track, next_ns);
        }
        next.entry = self.entries[track];
        let (next_dts, next_sync) = (next.dts, next.sync);
        let Some(sample) = self.pending[track].replace(next) else {
            return Ok(());
        };
        let duration = u32::try_from(next_dts - sample.dts).unwrap_or(0);
        let at = ticks_to_ns(sample.dts, timescale);
        if self.segment.is_none() {
            let start = self
                .oldest_pending_ns(desk.tracks)
                .map_or(at, |oldest| oldest.min(at));
            self.open_segment(take, start, desk);
        }
        let Some(mut segment) = self.segment.take() else {
            return Ok(());
        };
        // before the file's start: MediaMTX drops it too, `tfdt` cannot be negative
        if at >= segment.start_ns {
            let part = segment.write(&mut desk.with(&self.entries), track, sample, duration)?;
            flushed.extend(part.map(|part| (part, false)));
        } else {
            desk.truth.tracks[track].dropped += 1;
        }
        let cuts = next_sync && (!self.has_video || kind == Kind::Video);
        if !cuts || next_ns - segment.start_ns < ns(desk.scenario.segment_duration) {
            self.segment = Some(segment);
            return Ok(());
        }
        let part = segment.close(&mut desk.with(&self.entries))?;
        flushed.extend(part.map(|part| (part, true)));
        let start = self.oldest_pending_ns(desk.tracks).unwrap_or(next_ns);
        self.open_segment(take, start, desk);
        Ok(())
    }

    fn change_parameters(&mut self, take: &Take, track: usize, at_ns: i64) {
        for event in &take.events {
            if let Event::Parameters {
                track: t,
                at,
                entry,
            } = event
                && *t == track
                && at_ns - take.first_dts_ns >= ns(*at)
            {
                self.entries[track] = *entry;
            }
        }
    }

    fn oldest_pending_ns(&self, tracks: &[Arc<Track>]) -> Option<i64> {
        let times = || {
            self.pending
                .iter()
                .zip(tracks)
                .filter_map(|(p, t)| Some(ticks_to_ns(p.as_ref()?.dts, t.timescale)))
        };
        let newest = times().max()?;
        times().filter(|at| newest - at <= REACH_NS).min()
    }

    /// Notes a file whose bytes come with its first part.
    fn open_segment<S: Sink>(&mut self, take: &Take, start_ns: i64, desk: &mut Bench<'_, S>) {
        let number = self.next_number;
        self.next_number += 1;
        let mut file = FileTruth {
            name: String::new(),
            number,
            dts_ns: start_ns,
            ntp_ns: self.ntp_ns(take, start_ns, number, desk.rng),
            duration_ms: 0,
            parts: 0,
            size: 0,
            presence: Presence::Whole,
            duplicate: None,
        };
        file.ntp_ns = free_ntp_ns(desk.names, file.ntp_ns);
        file.name = file_name(file.ntp_ns);
        let mut duplicate_parts = 0;
        for event in &take.events {
            match *event {
                Event::Missing { file: n } if n == number => file.presence = Presence::Missing,
                Event::Empty { file: n } if n == number => file.presence = Presence::Empty,
                Event::Duplicate { file: n, parts } if n == number => {
                    file.duplicate = Some(file_name(free_ntp_ns(desk.names, file.ntp_ns)));
                    duplicate_parts = parts;
                }
                Event::ParametersAtFile {
                    track,
                    file: n,
                    entry,
                } if n == number => {
                    self.entries[track] = entry;
                    if let Some(sample) = &mut self.pending[track] {
                        sample.entry = entry;
                    }
                }
                _ => {}
            }
        }
        desk.truth.files.push(file);
        self.segment = Some(Segment::new(
            start_ns,
            desk.truth.files.len() - 1,
            duplicate_parts,
        ));
    }

    /// The wall clock of a file's first sample: shifted after the first file, and unsteady by up to 0.1 ms.
    fn ntp_ns(&self, take: &Take, start_ns: i64, number: u64, rng: &mut SplitMix64) -> i64 {
        let mut ntp = self.wall_ns.saturating_add(start_ns);
        if number > 0 {
            ntp -= self.ntp_shift_ns + i64::from(rng.below(100_000));
        }
        for event in &take.events {
            if let Event::ClockStep { at, by_ns } = event
                && start_ns - take.first_dts_ns >= ns(*at)
            {
                ntp = ntp.saturating_add(*by_ns);
            }
        }
        ntp
    }

    /// The pending sample of each track is lost, as in MediaMTX.
    pub(crate) fn finish<S: Sink>(
        &mut self,
        end: End,
        desk: &mut Bench<'_, S>,
        flushed: &mut VecDeque<(Flushed, bool)>,
    ) -> Result<(), Error> {
        if let Some(segment) = self.segment.take() {
            match end {
                End::Closed => {
                    let part = segment.close(&mut desk.with(&self.entries))?;
                    flushed.extend(part.map(|part| (part, true)));
                }
                End::Killed => segment.abandon(desk.sink),
            }
        }
        if desk.truth.files.last().is_some_and(|file| file.parts == 0) {
            desk.truth.files.pop();
        }
        Ok(())
    }
}

/// A [`Desk`] without the sample entries, which the take holds.
pub(crate) struct Bench<'a, S> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) tracks: &'a [Arc<Track>],
    pub(crate) sink: &'a mut S,
    pub(crate) rng: &'a mut SplitMix64,
    pub(crate) truth: &'a mut TakeTruth,
    /// File names of the whole session.
    pub(crate) names: &'a mut HashSet<String>,
}

impl<S> Bench<'_, S> {
    fn with<'b>(&'b mut self, entries: &'b [usize]) -> Desk<'b, S> {
        Desk {
            scenario: self.scenario,
            tracks: self.tracks,
            sink: self.sink,
            rng: self.rng,
            truth: self.truth,
            entries,
        }
    }
}

/// The first time from `ntp_ns` on, in steps of 1 µs, whose file name is not taken: a stalled track can be the oldest of two
/// files, and MediaMTX would overwrite the first.
fn free_ntp_ns(names: &mut HashSet<String>, mut ntp_ns: i64) -> i64 {
    while !names.insert(file_name(ntp_ns)) {
        ntp_ns += 1000;
    }
    ntp_ns
}

fn silence(take: &Take, index: usize) -> Silence {
    let stretches = take.events.iter().filter_map(|event| match *event {
        Event::Stall { track, at, length } if track == index => {
            Some((ns(at), ns(at.saturating_add(length))))
        }
        Event::Join { track, at } if track == index => Some((i64::MIN, ns(at))),
        Event::Leave { track, at } if track == index => Some((ns(at), i64::MAX)),
        _ => None,
    });
    stretches.collect()
}

fn uuid_v4(rng: &mut SplitMix64) -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&rng.next_u64().to_be_bytes());
    id[8..].copy_from_slice(&rng.next_u64().to_be_bytes());
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    id
}
