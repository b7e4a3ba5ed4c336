//! The recordings of one slot as a row of samples, each with its own clock.
//!
//! The own clock of a sample is mtxi DTS + `tfdt` + durations within its `traf`, held exactly in *nanoticks*: ticks of the
//! track × 10⁹. Nothing here adds up durations across parts, so a fault in the packer's running sum shows.

use std::path::PathBuf;
use std::rc::Rc;

use super::fragment::Sample;
use super::manifest::{KeptTrack, Manifest};
use super::recording::{Recording, TrackSamples};
use super::report::Report;
use super::timeline::SECOND;

/// One recording's part in a slot.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) take: usize,
    /// As the manifest names it.
    pub(super) path: String,
    pub(super) name: String,
    /// Where it can be read; none when it is not at hand.
    pub(super) place: Option<PathBuf>,
    pub(super) track: KeptTrack,
}

/// A sample of a recording; `None`s when the recording is not at hand.
pub(super) struct Item {
    pub(super) line: usize,
    pub(super) index: u64,
    pub(super) known: Option<Known>,
}

#[derive(Clone)]
pub(super) struct Known {
    pub(super) sample: Sample,
    pub(super) timescale: u32,
    pub(super) clock: i128,
    /// The clock counts from an mtxi DTS, so it can be compared between recordings.
    pub(super) absolute: bool,
    pub(super) recording: Rc<Recording>,
}

pub(super) struct Source {
    pub(super) line: usize,
    pub(super) samples: Option<TrackSamples>,
    pub(super) index: u64,
    pub(super) given: u64,
    /// The kept range that `index` lies in or comes to next.
    pub(super) range: usize,
}

impl Source {
    /// The next sample of the recording, kept or not. When it is not at hand: `Some(None)` for each kept sample, without
    /// counting through what lies between, since then the counts are only claims.
    pub(super) fn step(&mut self, line: &Line) -> Option<Option<Known>> {
        let Some(samples) = &mut self.samples else {
            while line
                .track
                .kept
                .get(self.range)
                .is_some_and(|(_, to)| *to <= self.index)
            {
                self.range += 1;
            }
            let next = line.track.kept.get(self.range).map(|(from, _)| *from);
            self.index = self.index.max(next.unwrap_or(line.track.samples));
            return (self.index < line.track.samples).then_some(None);
        };
        let sample = samples.next()?;
        let recording = Rc::clone(&samples.recording);
        let timescale = recording.movie.track(line.track.track_id)?.timescale;
        let base = recording.movie.mtxi.map(|m| i128::from(m.dts_ns));
        let clock = base.unwrap_or(0) * i128::from(timescale) + sample.dts * SECOND;
        Some(Some(Known {
            sample,
            timescale,
            clock,
            absolute: base.is_some(),
            recording,
        }))
    }

    /// Goes to the end of a recording that is not at hand. Gives how many kept samples were left.
    pub(super) fn drain(&mut self, track: &KeptTrack) -> u64 {
        let left = promised(track).saturating_sub(self.given);
        (self.index, self.range, self.given) = (track.samples, track.kept.len(), promised(track));
        left
    }

    /// Ranges ascend, which the manifest's check has made sure of.
    pub(super) fn is_kept(&mut self, index: u64, kept: &[(u64, u64)]) -> bool {
        while kept.get(self.range).is_some_and(|(_, to)| *to <= index) {
            self.range += 1;
        }
        kept.get(self.range).is_some_and(|(from, _)| *from <= index)
    }

    /// Compares what was found in the recording with what the manifest says of it.
    pub(super) fn close(&self, line: &Line, manifest: &Manifest, label: &str, report: &mut Report) {
        let (name, track) = (&line.name, &line.track);
        if self.index != track.samples {
            let what = format!(
                "{label}: {} whole samples are here, yeoul.json says {}",
                self.index, track.samples
            );
            report.problem(name, what);
        }
        let promised = promised(track);
        if self.given != promised {
            let what = format!(
                "{label}: yeoul.json keeps {promised} samples, {} of them are here",
                self.given
            );
            report.problem(name, what);
        }
        let left = self.index.saturating_sub(self.given);
        if left > 0 && !manifest.warned(&line.path, &[]) {
            report.problem(
                name,
                format!("{label}: {left} samples are not in the output and no reason is given"),
            );
        }
    }
}

pub(super) fn open(line: &Line, label: &str, report: &mut Report) -> Option<TrackSamples> {
    let recording = match Recording::open(line.place.as_ref()?) {
        Ok(recording) => recording,
        Err(fault) => {
            report.problem(&line.name, fault.to_string());
            return None;
        }
    };
    if recording.movie.track(line.track.track_id).is_none() {
        report.problem(
            &line.name,
            format!("{label}: has no track {}", line.track.track_id),
        );
    }
    Some(TrackSamples::new(Rc::new(recording), line.track.track_id))
}

fn promised(track: &KeptTrack) -> u64 {
    let lengths = track.kept.iter().map(|(from, to)| to.saturating_sub(*from));
    lengths.fold(0, u64::saturating_add)
}
