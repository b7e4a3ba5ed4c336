use std::iter::Peekable;

use yeoul_isobmff::Limits;
use yeoul_isobmff::moof::{FragmentSample, NON_SYNC};
use yeoul_isobmff::tables::{self, SampleTable, Samples, TableSample};

use super::{Run, max_time};
use crate::recording::Recording;
use crate::warning::{Warning, WarningKind};

/// Sync and dependent samples as `moof`s flag them (ISO/IEC 14496-12 §8.8.3.1).
const SYNC_FLAGS: u32 = 0x0200_0000;
const NON_SYNC_FLAGS: u32 = 0x0100_0000 | NON_SYNC;

/// Gives out sample tables a second at a time, so that tracks stay side by side as they do in parts.
#[derive(Debug)]
pub(super) struct TableScan<'a> {
    name: String,
    tracks: Vec<TableTrack<'a>>,
}

#[derive(Debug)]
struct TableTrack<'a> {
    slot: usize,
    timescale: u32,
    shift: i64,
    samples: Peekable<Samples<'a>>,
}

impl<'a> TableScan<'a> {
    pub(super) fn new(
        name: &str,
        recording: &'a Recording,
        wanted: &[(u32, i64)],
        usable: u64,
        limits: &Limits,
        warnings: &mut Vec<Warning>,
    ) -> Self {
        let limits = tables::Limits {
            samples: limits.samples,
            ..tables::Limits::default()
        };
        let mut tracks = Vec::new();
        for (slot, (id, shift)) in wanted.iter().enumerate() {
            let Some(track) = recording.track(*id) else {
                continue;
            };
            match SampleTable::parse(&track.table, &limits) {
                Ok(table) => {
                    if let Some(disagreement) = table.disagreement() {
                        let message = format!(
                            "sample tables of track {id} disagree: {} times, {} sizes, {} places; the least counts",
                            disagreement.timed, disagreement.sized, disagreement.placed
                        );
                        warnings.push(Warning::of(WarningKind::MalformedPart, name, message));
                    }
                    let samples = table.iter(usable).peekable();
                    tracks.push(TableTrack {
                        slot,
                        timescale: track.timescale,
                        shift: *shift,
                        samples,
                    });
                }
                // A fragmented file may leave its tables out altogether.
                Err(_) if recording.fragmented => {}
                Err(error) => {
                    let message = format!("sample tables of track {id} cannot be read: {error}");
                    warnings.push(Warning::of(WarningKind::MalformedPart, name, message));
                }
            }
        }
        Self {
            name: name.to_owned(),
            tracks,
        }
    }

    /// The next second that has samples; false when there are none left.
    pub(super) fn next(
        &mut self,
        buffer: &mut Vec<FragmentSample>,
        warnings: &mut Vec<Warning>,
        visit: &mut dyn FnMut(Run<'_>),
    ) -> bool {
        let second = self.tracks.iter_mut().filter_map(TableTrack::second).min();
        let Some(second) = second else {
            for track in &mut self.tracks {
                track.report_error(&self.name, warnings);
            }
            self.tracks.clear();
            return false;
        };
        for track in &mut self.tracks {
            while let Some((decode_time, description)) = track.run(second, buffer) {
                let decode_time = Some(decode_time);
                visit(Run {
                    slot: track.slot,
                    decode_time,
                    description,
                    samples: buffer,
                });
            }
        }
        true
    }
}

impl TableTrack<'_> {
    fn peek(&mut self) -> Option<&TableSample> {
        let max_time = max_time(self.timescale);
        match self.samples.peek() {
            Some(Ok(sample)) if sample.dts < max_time => Some(sample),
            _ => None,
        }
    }

    /// The second of its clock in which its next sample lies.
    fn second(&mut self) -> Option<u64> {
        let timescale = u64::from(self.timescale);
        self.peek().map(|sample| sample.dts / timescale)
    }

    /// Takes the samples up to the end of a second that share a sample entry.
    fn run(&mut self, second: u64, buffer: &mut Vec<FragmentSample>) -> Option<(i64, u32)> {
        buffer.clear();
        let end = (second + 1).saturating_mul(self.timescale.into());
        let mut first: Option<(i64, u32)> = None;
        let shift = self.shift;
        while let Some(sample) = self.peek().copied() {
            let same_entry = first.is_none_or(|(_, entry)| entry == sample.description_index);
            if sample.dts >= end || !same_entry {
                break;
            }
            // Offsets past 32 bits do not occur: `ctts` has 32-bit fields.
            let composition_offset = i32::try_from(sample.composition_offset).unwrap_or(0);
            first.get_or_insert((sample.dts.cast_signed() + shift, sample.description_index));
            buffer.push(FragmentSample {
                offset: sample.offset,
                size: sample.size,
                duration: sample.duration,
                flags: if sample.sync {
                    SYNC_FLAGS
                } else {
                    NON_SYNC_FLAGS
                },
                composition_offset,
            });
            self.samples.next();
        }
        first
    }

    fn report_error(&mut self, name: &str, warnings: &mut Vec<Warning>) {
        if let Some(Err(error)) = self.samples.peek() {
            let message = format!("the rest of a track is left out: {error}");
            warnings.push(Warning::of(WarningKind::OutsideFile, name, message));
        }
    }
}
