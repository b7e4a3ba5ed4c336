//! What the packer gives out.

use yeoul_isobmff::codec::SampleEntry;
use yeoul_isobmff::movie::{Handler, Track};
use yeoul_isobmff::write::Sample;

use crate::time::Time;
use crate::warning::WarningKind;

/// What an init says of one kept track. Two that are equal make the same init, to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TrackInit {
    /// What it carries.
    pub handler: Handler,
    /// Ticks a second.
    pub timescale: u32,
    /// Packed language code.
    pub language: u16,
    /// Width, 16.16.
    pub width: u32,
    /// Height, 16.16.
    pub height: u32,
    /// The sample entry, without bit rate.
    pub entry: SampleEntry,
}

impl TrackInit {
    /// What an init says of a track that uses its sample entry `description` (from 1).
    pub(crate) fn new(track: &Track, description: u32) -> Option<Self> {
        let index = usize::try_from(description).ok()?.checked_sub(1)?;
        let entry = SampleEntry::new(track.entries.get(index)?, track.handler).ok()?;
        Some(Self {
            handler: track.handler,
            timescale: track.timescale,
            language: track.language,
            width: track.width,
            height: track.height,
            entry,
        })
    }
}

/// Samples of a track that follow one another without a gap.
#[derive(Debug, Clone, Default)]
pub struct Piece {
    /// Decode time of the first sample on the take's clock, in the track's ticks.
    pub decode_time: i64,
    /// The samples.
    pub samples: Vec<Sample>,
    /// Where their payload lies, neighbours merged.
    pub ranges: Vec<PayloadRange>,
}

impl Piece {
    /// Start and end of each sample's presentation on the take's clock, ticks, in decode order.
    pub fn presentations(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let mut dts = self.decode_time;
        self.samples.iter().map(move |sample| {
            let start = dts.saturating_add(sample.composition_offset.into());
            dts = dts.saturating_add(sample.duration.into());
            (start, start.saturating_add(sample.duration.into()))
        })
    }

    /// The sum of its samples' durations.
    pub fn ticks(&self) -> u64 {
        self.samples
            .iter()
            .map(|sample| u64::from(sample.duration))
            .sum()
    }

    /// Decode time at which the last sample ends.
    pub fn decode_end(&self) -> i64 {
        self.decode_time.saturating_add_unsigned(self.ticks())
    }
}

/// Bytes of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadRange {
    /// Which recording of the take.
    pub recording: u32,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
}

/// A segment on its take's clock. It depends on the take and the rendition only, not on what else is in a broadcast.
#[derive(Debug, Clone)]
pub struct Segment {
    /// floor(start / target) on the take's clock.
    pub number: i64,
    /// Counts segments with the same number from 0.
    pub suffix: u32,
    /// Presentation start.
    pub start: Time,
    /// Presentation end: the start of the next segment, or of a hole, or the end of what is presented.
    pub end: Time,
    /// A hole right before it, from … to.
    pub hole_before: Option<(Time, Time)>,
    /// Whether a player must begin anew: a hole, or another init. The first segment of a take always is one.
    pub discontinuity: bool,
    /// Whether nothing in it refers to anything before it.
    pub independent: bool,
    /// By slot: which of the take's track inits it needs.
    pub inits: Vec<u32>,
    /// By slot: its samples; empty where a track has none.
    pub tracks: Vec<Vec<Piece>>,
}

impl Segment {
    /// Payload bytes.
    pub fn payload(&self) -> u64 {
        let pieces = self.tracks.iter().flatten();
        pieces
            .flat_map(|piece| &piece.ranges)
            .map(|range| range.len)
            .sum()
    }

    /// The name's stem within its take: six digits of the number, and a letter for a further segment with the same.
    pub fn stem(&self) -> String {
        let number = if self.number < 0 {
            format!("m{:05}", self.number.unsigned_abs())
        } else {
            format!("{:06}", self.number)
        };
        match self.suffix {
            0 => number,
            n => format!("{number}-{}", letters(n)),
        }
    }
}

/// 1 → b, 25 → z, 26 → ba, …
fn letters(mut n: u32) -> String {
    let mut out = Vec::new();
    loop {
        out.push(b'a' + (n % 26) as u8);
        n /= 26;
        if n == 0 {
            break;
        }
    }
    out.iter().rev().map(|byte| char::from(*byte)).collect()
}

/// Samples that are whole and yet not in the output, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Which recording of the take.
    pub recording: u32,
    /// Which slot.
    pub slot: usize,
    /// Half-open range of indices among the track's whole samples in the recording.
    pub samples: (u64, u64),
    /// Why.
    pub kind: WarningKind,
}

/// Something that happened at a moment of a take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: WarningKind,
    /// Which slot.
    pub slot: usize,
    /// The recording in hand.
    pub recording: u32,
    /// When, on the take's clock.
    pub at: Time,
    /// By how much, where that says something.
    pub by: Option<Time>,
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn letters_count_on_past_z() {
        assert_eq!(
            [1, 2, 25, 26, 27, 26 * 26].map(letters),
            ["b", "c", "z", "ba", "bb", "baa"]
        );
    }
}
