use crate::catalogue::{Take, TakeId};
use crate::time::Time;
use crate::warning::Warning;

/// What was made of a lane's takes.
#[derive(Debug, Default)]
pub struct LaneReport {
    /// The rendition's tracks by slot.
    pub tracks: Vec<TrackReport>,
    /// The takes in order.
    pub takes: Vec<TakeReport>,
    /// Media playlists, then the multivariant one if there is one; the first to open is `index.m3u8`.
    pub playlists: Vec<String>,
    /// Inits.
    pub inits: Vec<String>,
    /// Segments.
    pub segments: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// Broadcast time from the first segment's start to the last one's end.
    pub duration: Option<Time>,
    /// What a person should know.
    pub warnings: Vec<Warning>,
    /// Takes that ran beside another.
    pub beside: Vec<Take>,
    /// Left out so far: take, recording, slot, index range.
    pub(super) dropped: Vec<(usize, usize, usize, (u64, u64))>,
}

/// A track of the rendition.
#[derive(Debug, Clone)]
pub struct TrackReport {
    /// Its slot: 0 the video, 1 the first audio, …
    pub slot: usize,
    /// `video` or `audio`.
    pub kind: &'static str,
    /// Its track id in every file.
    pub track_id: u32,
    /// Its media playlist.
    pub playlist: String,
    /// RFC 6381 name, or the sample entry's type.
    pub codec: String,
    /// Ticks a second.
    pub timescale: u32,
    /// Three letters.
    pub language: String,
}

/// A take.
#[derive(Debug, Clone)]
pub struct TakeReport {
    /// Its identity.
    pub id: TakeId,
    /// Wall clock less the take's clock, nanoseconds.
    pub anchor_ns: Option<i64>,
    /// Broadcast time at which its first segment begins.
    pub start: Time,
    /// Broadcast time at which its last segment ends.
    pub end: Time,
    /// Its recordings in order.
    pub recordings: Vec<RecordingReport>,
    /// Where one recording goes over into the next.
    pub boundaries: Vec<Boundary>,
}

/// A recording.
#[derive(Debug, Clone)]
pub struct RecordingReport {
    /// Its name.
    pub name: String,
    /// Number in the take.
    pub number: u64,
    /// Begin on the take's clock, nanoseconds; 0 for foreign files, whose decode times are the clock.
    pub dts_ns: i64,
    /// Wall clock, nanoseconds.
    pub ntp_ns: Option<i64>,
    /// Bytes.
    pub size: u64,
    /// Bytes up to the end of what could be used.
    pub used: u64,
    /// Parts.
    pub parts: u64,
    /// Kept tracks.
    pub tracks: Vec<TrackKept>,
}

/// A track of a recording in the rendition.
#[derive(Debug, Clone)]
pub struct TrackKept {
    /// Its slot.
    pub slot: usize,
    /// Its id in the recording.
    pub track_id: u32,
    /// Whole samples in the recording.
    pub samples: u64,
    /// Index ranges left out, half-open, in order.
    pub dropped: Vec<(u64, u64)>,
}

impl TrackKept {
    /// Index ranges that are in the output, half-open, in order.
    pub fn kept(&self) -> Vec<(u64, u64)> {
        let mut kept = Vec::with_capacity(self.dropped.len() + 1);
        let mut at = 0;
        for (from, to) in &self.dropped {
            if *from > at {
                kept.push((at, *from));
            }
            at = *to;
        }
        if self.samples > at {
            kept.push((at, self.samples));
        }
        kept
    }
}

/// Where a recording follows another in a take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// Index of the later recording.
    pub recording: usize,
    /// Which track.
    pub slot: usize,
    /// The recordings' clock less the sum of durations, ticks.
    pub clock_ticks: i64,
    /// The track's timescale.
    pub timescale: u32,
}
