//! A recording's samples, part by part: each `moof` is read whole, nothing of any `mdat`.
//!
//! Samples that are not wholly in the file are never given out: a torn last part yields every whole sample of it. A plain
//! MP4 is given out as if it were parts of a second, from its sample tables.

mod tables;
mod tail;

use yeoul_isobmff::moof::{FragmentSample, Moof};
use yeoul_isobmff::tables::Edit;
use yeoul_isobmff::{FourCc, Limits, tables as isobmff_tables};
use yeoul_spans::{Source, SourceError};

use self::tables::TableScan;
use crate::recording::{Probe, Recording, probe, read};
use crate::time::scale;
use crate::warning::{Warning, WarningKind};

/// Times beyond this are refused: no clock of a recording comes near 2³² seconds (136 years), and within them its
/// nanoseconds fit 64 bits.
pub(crate) fn max_time(timescale: u32) -> u64 {
    const LARGEST: u64 = 1 << 60;
    (u64::from(timescale) << 32).min(LARGEST)
}

/// Samples of one track that stand together in a part, in decode order.
#[derive(Debug)]
pub struct Run<'a> {
    /// The track, by its place in the list of wanted tracks.
    pub slot: usize,
    /// Decode time of the first sample on the recording's own clock, in the track's ticks, shifted as the track's edit
    /// list says; `None`: it goes on from the run before.
    pub decode_time: Option<i64>,
    /// Which sample entry of the track, from 1.
    pub description: u32,
    /// The samples, each wholly in the file.
    pub samples: &'a [FragmentSample],
}

/// Walks the parts of a recording.
#[derive(Debug)]
pub struct Parts<'a> {
    source: &'a dyn Source,
    recording: &'a Recording,
    limits: Limits,
    wanted: Vec<Wanted>,
    tables: TableScan<'a>,
    position: u64,
    usable: u64,
    parts: u64,
    /// No whole `mdat` has come since the last `moof`.
    awaits_data: bool,
    dropped: u64,
    samples: Vec<FragmentSample>,
    warnings: Vec<Warning>,
    ended: bool,
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    track_id: u32,
    shift: i64,
    max_time: u64,
}

impl<'a> Parts<'a> {
    /// Begins at the first part. `wanted` are the track ids to give out, in this order within a part, whatever the
    /// order of the `traf`s.
    ///
    /// # Errors
    /// The source cannot be read (only the end of a recording that was not closed is looked at here).
    pub fn new(
        source: &'a dyn Source,
        recording: &'a Recording,
        wanted: &[u32],
        limits: &Limits,
    ) -> Result<Self, SourceError> {
        let mut warnings = Vec::new();
        let usable = tail::usable(source, recording, &mut warnings)?;
        let wanted: Vec<_> = wanted
            .iter()
            .map(|id| Wanted {
                track_id: *id,
                shift: edit_shift(recording, *id, source, &mut warnings),
                max_time: recording
                    .track(*id)
                    .map_or(0, |track| max_time(track.timescale)),
            })
            .collect();
        let ids: Vec<_> = wanted.iter().map(|w| (w.track_id, w.shift)).collect();
        let tables = TableScan::new(
            source.name(),
            recording,
            &ids,
            usable,
            limits,
            &mut warnings,
        );
        Ok(Self {
            source,
            recording,
            limits: *limits,
            wanted,
            tables,
            position: recording.body,
            usable,
            parts: 0,
            awaits_data: false,
            dropped: 0,
            samples: Vec::new(),
            warnings,
            ended: !recording.fragmented,
        })
    }

    /// Gives out the next part's runs; `false` at the end.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn next(&mut self, visit: &mut dyn FnMut(Run<'_>)) -> Result<bool, SourceError> {
        if self
            .tables
            .next(&mut self.samples, &mut self.warnings, visit)
        {
            self.parts += 1;
            return Ok(true);
        }
        while !self.ended {
            if self.next_box(visit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Parts given out so far.
    pub fn count(&self) -> u64 {
        self.parts
    }

    /// Parts that are there to the last byte.
    pub fn whole(&self) -> u64 {
        self.parts - u64::from(self.awaits_data)
    }

    /// Bytes of the recording: of one that grows, when it was opened.
    pub fn size(&self) -> u64 {
        self.source.len()
    }

    /// Bytes up to the end of what can be used: less than the file when it is torn or ends in zeros.
    pub fn used(&self) -> u64 {
        if self.recording.fragmented {
            self.position.min(self.usable)
        } else {
            self.usable
        }
    }

    /// What there is to say about the recording, so far.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// One box further; true if it was a part.
    fn next_box(&mut self, visit: &mut dyn FnMut(Run<'_>)) -> Result<bool, SourceError> {
        let at = self.position;
        if at >= self.usable {
            self.end(at);
            return Ok(false);
        }
        let header = match probe(self.source, at)? {
            Probe::Header(header) => header,
            Probe::Malformed(_) | Probe::End => {
                self.torn(at, "what follows is not a box");
                return Ok(false);
            }
        };
        let left = self.usable - at;
        let len = header.size.unwrap_or(left);
        if header.kind.0 == [0; 4] {
            self.torn(at, "what follows is not a box");
            return Ok(false);
        }
        if len > left {
            let what = format!("'{}' claims {len} bytes, {left} are there", header.kind);
            self.torn(at, &what);
            return Ok(false);
        }
        self.position = at + len;
        if header.kind != FourCc(*b"moof") {
            self.awaits_data &= header.kind != FourCc(*b"mdat");
            return Ok(false);
        }
        self.report_outside(at);
        if len > self.limits.header_bytes {
            let limit = self.limits.header_bytes;
            let what = format!("'moof' has {len} bytes, over the limit of {limit}: skipped");
            self.warn(WarningKind::MalformedPart, at, what);
            return Ok(false);
        }
        let bytes = read(self.source, at, len)?;
        self.part(&bytes, at, visit);
        Ok(true)
    }

    fn part(&mut self, bytes: &[u8], at: u64, visit: &mut dyn FnMut(Run<'_>)) {
        let recording = self.recording;
        let extends = |id| recording.track(id).map(|track| track.extends);
        let moof = match Moof::parse(bytes, at, &self.limits, extends) {
            Ok(moof) => moof,
            Err(error) => {
                self.warn(
                    WarningKind::MalformedPart,
                    at,
                    format!("part skipped: {error}"),
                );
                return;
            }
        };
        self.parts += 1;
        self.awaits_data = true;
        for (slot, wanted) in self.wanted.clone().into_iter().enumerate() {
            for fragment in moof
                .fragments
                .iter()
                .filter(|f| f.track_id == wanted.track_id)
            {
                let decode_time = match fragment.decode_time {
                    Some(time) if time > wanted.max_time => {
                        let what = format!(
                            "decode time {time} of track {} is beyond reason: skipped",
                            wanted.track_id
                        );
                        self.warn(WarningKind::MalformedPart, at, what);
                        continue;
                    }
                    Some(time) => Some(time.cast_signed() + wanted.shift),
                    None => None,
                };
                self.samples.clear();
                self.samples.extend(
                    fragment
                        .samples()
                        .take_while(|s| s.offset.saturating_add(s.size.into()) <= self.usable),
                );
                self.dropped += fragment.sample_count - self.samples.len() as u64;
                if !self.samples.is_empty() {
                    visit(Run {
                        slot,
                        decode_time,
                        description: 1,
                        samples: &self.samples,
                    });
                }
            }
        }
    }

    fn torn(&mut self, at: u64, what: &str) {
        let size = self.source.len();
        let mut message = format!("torn here: {what}; the file has {size} bytes");
        if self.dropped > 0 {
            message.push_str(&format!(
                "; {} samples of the kept tracks in its last part are not wholly there and are left out",
                self.dropped
            ));
        }
        if !self.recording.closed {
            message.push_str("; its recorder did not close it: killed, or still writing");
        }
        self.dropped = 0;
        self.warn(WarningKind::Torn, at, message);
        self.ended = true;
    }

    fn end(&mut self, at: u64) {
        self.report_outside(at);
        if self.parts == 0 {
            let message = "has a header and no part: nothing to keep";
            self.warnings.push(Warning::of(
                WarningKind::NoParts,
                self.source.name(),
                message,
            ));
        }
        self.ended = true;
    }

    /// Samples of the part before that were not in the file although its boxes are whole.
    fn report_outside(&mut self, at: u64) {
        if self.dropped > 0 {
            let message = format!(
                "{} samples of the part before lie outside the file: left out",
                self.dropped
            );
            self.dropped = 0;
            self.warn(WarningKind::OutsideFile, at, message);
        }
    }

    fn warn(&mut self, kind: WarningKind, at: u64, message: String) {
        self.warnings
            .push(Warning::at(kind, self.source.name(), at, message));
    }
}

/// Ticks to add to a track's decode times for its edit list (ISO/IEC 14496-12 §8.6.6): the empty time before its
/// first presented sample, less that sample's media time.
fn edit_shift(
    recording: &Recording,
    id: u32,
    source: &dyn Source,
    warnings: &mut Vec<Warning>,
) -> i64 {
    let Some((track, list)) = recording
        .track(id)
        .and_then(|t| t.edit_list.as_ref().map(|l| (t, l)))
    else {
        return 0;
    };
    let mut warn = |message: String| {
        warnings.push(Warning::of(WarningKind::EditList, source.name(), message));
    };
    let edits = match isobmff_tables::edits(list, &isobmff_tables::Limits::default()) {
        Ok(edits) => edits,
        Err(error) => {
            warn(format!("edit list of track {id} ignored: {error}"));
            return 0;
        }
    };
    let empty = edits.iter().take_while(|edit| edit.media_time.is_none());
    let empty = empty.fold(0u64, |sum, edit| sum.saturating_add(edit.segment_duration));
    let media: Vec<&Edit> = edits
        .iter()
        .filter(|edit| edit.media_time.is_some())
        .collect();
    if media.len() > 1 {
        let count = media.len();
        warn(format!(
            "edit list of track {id} has {count} edits: the first is kept as an offset, no cut is made"
        ));
    }
    let start = media.first().and_then(|edit| edit.media_time).unwrap_or(0);
    let empty = scale(
        empty.into(),
        track.timescale.into(),
        recording.movie_timescale.into(),
    );
    let shift = empty.saturating_sub(start);
    if shift.unsigned_abs() > max_time(track.timescale) {
        warn(format!(
            "edit list of track {id} shifts by {shift} ticks, beyond reason: ignored"
        ));
        return 0;
    }
    shift
}
