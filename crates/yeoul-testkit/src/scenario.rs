use std::time::Duration;

use crate::error::Error;
use crate::track::Track;

/// Everything a recording session is: the same scenario always gives the same bytes.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Seed of all that varies: stream ids, `traf` orders, sizes, filler, wall-clock shifts.
    pub seed: u64,
    /// The tracks, in `trak` order; ids count from 1.
    pub tracks: Vec<Track>,
    /// The takes, in order.
    pub takes: Vec<Take>,
    /// `recordPartDuration`.
    pub part_duration: Duration,
    /// `recordSegmentDuration`: a file ends at the first video sync sample at least this long after its start.
    pub segment_duration: Duration,
    /// Wall clock of the first take's first sample, nanoseconds since 1970.
    pub start_ntp_ns: i64,
    /// Whether the `traf`s of each part come in another order, as from MediaMTX; else by track id.
    pub shuffle_trafs: bool,
    /// What stands between the heads of made samples.
    pub payload: Payload,
    /// Whether the truth lists each sample; else only counts and totals, for files of hours.
    pub list_samples: bool,
}

/// Filler of made samples. Real samples are always written whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Seeded bytes, never 0.
    Noise,
    /// Holes: only the heads of video sync samples are written, so that gigabytes cost kilobytes.
    Sparse,
}

/// One uninterrupted run of a publisher.
#[derive(Debug, Clone)]
pub struct Take {
    /// How long the publisher sends.
    pub duration: Duration,
    /// Nanoseconds of wall clock from the end of the previous take; negative to overlap it.
    pub gap_ns: i64,
    /// The take's clock at its start, nanoseconds: the first file's mtxi DTS but for reordering.
    pub first_dts_ns: i64,
    /// Nanoseconds by which the wall clock of later files is behind the first file's; `None`: 380–600 ms, seeded.
    pub ntp_shift_ns: Option<i64>,
    /// How it ends.
    pub end: End,
    /// What happens meanwhile.
    pub events: Vec<Event>,
}

/// How a take ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The last part is written and `mvhd` gets its duration.
    Closed,
    /// As by SIGKILL: the part being collected is lost and `mvhd` keeps 0.
    Killed,
}

/// Something out of the ordinary. `track` is an index into [`Scenario::tracks`], `file` a segment number of the take, `at`
/// a time since the take's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The track sends nothing for a while: the sample before gets long.
    Stall {
        /// Which track.
        track: usize,
        /// From when.
        at: Duration,
        /// For how long.
        length: Duration,
    },
    /// The track is silent until `at`.
    Join {
        /// Which track.
        track: usize,
        /// From when it sends.
        at: Duration,
    },
    /// The track is silent from `at` on.
    Leave {
        /// Which track.
        track: usize,
        /// From when it is silent.
        at: Duration,
    },
    /// Other parameter sets from the first sync sample at or after `at`; `moov` says so only from the next file on.
    Parameters {
        /// Which track.
        track: usize,
        /// From when.
        at: Duration,
        /// Index into [`Track::entries`].
        entry: usize,
    },
    /// Other parameter sets exactly from the start of a file.
    ParametersAtFile {
        /// Which track.
        track: usize,
        /// Which file begins with them.
        file: u64,
        /// Index into [`Track::entries`].
        entry: usize,
    },
    /// The recorder's wall clock jumps.
    ClockStep {
        /// When.
        at: Duration,
        /// Nanoseconds, either way.
        by_ns: i64,
    },
    /// The file is never there.
    Missing {
        /// Which file.
        file: u64,
    },
    /// The file is there with no bytes in it.
    Empty {
        /// Which file.
        file: u64,
    },
    /// A second file, named 1 µs later, has the same id and number and only the first `parts` parts.
    Duplicate {
        /// Which file.
        file: u64,
        /// How many parts the copy has.
        parts: usize,
    },
}

impl Scenario {
    /// No tracks, no takes; parts of 1 s, files of 4 s, from 2026-11-30 19:47:55.613655312 UTC.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            tracks: Vec::new(),
            takes: Vec::new(),
            part_duration: Duration::from_secs(1),
            segment_duration: Duration::from_secs(4),
            start_ntp_ns: 1_796_068_075_613_655_312,
            shuffle_trafs: true,
            payload: Payload::Noise,
            list_samples: true,
        }
    }

    /// The same scenario with one more track.
    #[must_use]
    pub fn track(mut self, track: Track) -> Self {
        self.tracks.push(track);
        self
    }

    /// The same scenario with one more take.
    #[must_use]
    pub fn take(mut self, take: Take) -> Self {
        self.takes.push(take);
        self
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::Scenario(what));
        if self.tracks.is_empty() {
            return refuse("no tracks; add one with `Scenario::track`".into());
        }
        for (index, track) in self.tracks.iter().enumerate() {
            if track.entries.is_empty() || track.timescale == 0 {
                return refuse(format!(
                    "track {index} needs a sample entry and a timescale above 0"
                ));
            }
            if let crate::track::Source::Cadence(c) = &track.source
                && (c.durations.iter().all(|&d| d == 0) || c.mini_gop.is_empty())
            {
                return refuse(format!(
                    "track {index}: frame durations are all 0, or the mini-GOP is empty"
                ));
            }
        }
        for event in self.takes.iter().flat_map(|take| &take.events) {
            if let Some((track, entry)) = event.names()
                && self
                    .tracks
                    .get(track)
                    .is_none_or(|t| entry >= t.entries.len())
            {
                return refuse(format!(
                    "{event:?} names a track or sample entry that is not there"
                ));
            }
        }
        Ok(())
    }
}

impl Event {
    fn names(&self) -> Option<(usize, usize)> {
        match *self {
            Self::Stall { track, .. } | Self::Join { track, .. } | Self::Leave { track, .. } => {
                Some((track, 0))
            }
            Self::Parameters { track, entry, .. } | Self::ParametersAtFile { track, entry, .. } => {
                Some((track, entry))
            }
            _ => None,
        }
    }
}

impl Take {
    /// A take of this length, 3 s after the previous one, closed in order.
    #[must_use]
    pub fn lasting(duration: Duration) -> Self {
        Self {
            duration,
            gap_ns: 3_000_000_000,
            first_dts_ns: 0,
            ntp_shift_ns: None,
            end: End::Closed,
            events: Vec::new(),
        }
    }

    /// The same take with another gap before it (negative: overlap), in nanoseconds.
    #[must_use]
    pub fn after(self, gap_ns: i64) -> Self {
        Self { gap_ns, ..self }
    }

    /// The same take, killed at its end.
    #[must_use]
    pub fn killed(self) -> Self {
        Self {
            end: End::Killed,
            ..self
        }
    }

    /// The same take with its clock starting elsewhere, in nanoseconds.
    #[must_use]
    pub fn starting_at(self, first_dts_ns: i64) -> Self {
        Self {
            first_dts_ns,
            ..self
        }
    }

    /// The same take with one more event.
    #[must_use]
    pub fn with(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}
