//! The head of a recording: what its `ftyp` and `moov` say, read by `pread` and nothing else.

use std::sync::Arc;

use bytes::Bytes;
use yeoul_isobmff::movie::{Movie, Mtxi, Track};
use yeoul_isobmff::walk::{BoxHeader, HEADER_PROBE};
use yeoul_isobmff::{BoxError, FourCc, Limits};
use yeoul_spans::{Source, SourceError};

use crate::scan::max_time;
use crate::time::ticks_from_ns;

/// Top-level boxes that may stand before `moov`.
pub const MAX_BOXES_BEFORE_MOOV: u32 = 1024;

/// What a recording's head says. Small: the tracks are shared between recordings that have the same.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Tracks in the order of their `trak` boxes.
    pub tracks: Arc<[Track]>,
    /// Ticks a second of edit durations.
    pub movie_timescale: u32,
    /// Whether samples are in `moof`s.
    pub fragmented: bool,
    /// Whether the recorder closed it: `mvhd` has a duration. MediaMTX patches that last of all.
    pub closed: bool,
    /// MediaMTX's identification.
    pub mtxi: Option<Mtxi>,
    /// Where the first box behind `moov` begins.
    pub body: u64,
}

/// Why a recording cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It has no bytes.
    #[error("{name}: is empty: the recorder wrote nothing, or the disk was full")]
    Empty {
        /// The source's name.
        name: String,
    },
    /// It does not begin with a box that an MP4 can begin with.
    #[error("{name}: not an MP4: {}", beginning(*found))]
    NotMp4 {
        /// The source's name.
        name: String,
        /// What is there, as box type.
        found: FourCc,
    },
    /// No `moov`, or not all of it.
    #[error("{name}: no whole 'moov' in its {size} bytes (looked up to offset {offset}): {why}")]
    NoMovie {
        /// The source's name.
        name: String,
        /// Bytes in the file.
        size: u64,
        /// How far the search came.
        offset: u64,
        /// What ended it.
        why: String,
    },
    /// The `moov` is malformed.
    #[error("{name}: {error}")]
    Box {
        /// The source's name.
        name: String,
        /// What is wrong.
        #[source]
        error: BoxError,
    },
    /// A `moov` without tracks.
    #[error("{name}: its 'moov' has no tracks")]
    NoTracks {
        /// The source's name.
        name: String,
    },
    /// MediaMTX's DTS lies beyond what a clock can reach.
    #[error(
        "{name}: its 'mtxi' says that it begins at {dts_ns} ns, over the limit of 136 years either way: the box is damaged"
    )]
    Clock {
        /// The source's name.
        name: String,
        /// What it says.
        dts_ns: i64,
    },
    /// It cannot be read or changed meanwhile.
    #[error(transparent)]
    Source(#[from] SourceError),
}

fn beginning(found: FourCc) -> String {
    if found == BoxHeader::UNREADABLE {
        "too short for a box".to_owned()
    } else {
        format!("begins with {found} where 'ftyp' or 'moov' was expected")
    }
}

impl Recording {
    /// Reads the head of a recording.
    ///
    /// # Errors
    /// See [`RecordingError`]; each names the source.
    pub fn read(source: &dyn Source, limits: &Limits) -> Result<Self, RecordingError> {
        let name = source.name().to_owned();
        if source.is_empty() {
            return Err(RecordingError::Empty { name });
        }
        let (moov, offset) = find_moov(source, limits)?;
        let movie = Movie::parse(&moov, offset, limits).map_err(|error| RecordingError::Box {
            name: name.clone(),
            error,
        })?;
        if movie.tracks.is_empty() {
            return Err(RecordingError::NoTracks { name });
        }
        if let Some(dts_ns) = movie.mtxi.map(|mtxi| mtxi.dts_ns) {
            let reachable = movie.tracks.iter().all(|track| {
                let ticks = ticks_from_ns(dts_ns.into(), track.timescale);
                ticks.unsigned_abs() <= max_time(track.timescale)
            });
            if !reachable {
                return Err(RecordingError::Clock { name, dts_ns });
            }
        }
        Ok(Self {
            tracks: movie.tracks.into(),
            movie_timescale: movie.timescale.max(1),
            fragmented: movie.fragmented,
            closed: movie.duration != 0,
            mtxi: movie.mtxi,
            body: offset + moov.len() as u64,
        })
    }

    /// The track of an id.
    pub fn track(&self, id: u32) -> Option<&Track> {
        self.tracks.iter().find(|track| track.id == id)
    }

    /// Shares the tracks of another recording if they are the same.
    pub(crate) fn share_tracks(&mut self, other: &Self) {
        if self.tracks == other.tracks {
            self.tracks = Arc::clone(&other.tracks);
        }
    }
}

/// Boxes that an ISO base media file may have at its top level before or instead of `ftyp`.
fn is_top_level(kind: FourCc) -> bool {
    matches!(
        &kind.0,
        b"ftyp"
            | b"styp"
            | b"moov"
            | b"moof"
            | b"mdat"
            | b"free"
            | b"skip"
            | b"wide"
            | b"uuid"
            | b"pdin"
            | b"sidx"
    )
}

fn find_moov(source: &dyn Source, limits: &Limits) -> Result<(Bytes, u64), RecordingError> {
    let name = || source.name().to_owned();
    let size = source.len();
    let no_movie = |offset, why: String| RecordingError::NoMovie {
        name: name(),
        size,
        offset,
        why,
    };
    let mut at = 0;
    for index in 0..MAX_BOXES_BEFORE_MOOV {
        let header = match probe(source, at)? {
            Probe::Header(header) => header,
            Probe::End => return Err(no_movie(at, "the file ends".to_owned())),
            Probe::Malformed(error) if index > 0 => return Err(no_movie(at, error.to_string())),
            Probe::Malformed(error) => {
                return Err(RecordingError::NotMp4 {
                    name: name(),
                    found: error.kind,
                });
            }
        };
        if index == 0 && !is_top_level(header.kind) {
            return Err(RecordingError::NotMp4 {
                name: name(),
                found: header.kind,
            });
        }
        let left = size - at;
        let len = header.size.unwrap_or(left);
        if header.kind == FourCc(*b"moov") {
            if len > left {
                let why = format!("'moov' claims {len} bytes, {left} are there: torn");
                return Err(no_movie(at, why));
            }
            if len > limits.header_bytes {
                let limit = limits.header_bytes;
                let why =
                    format!("'moov' has {len} bytes, over the limit of {limit} (--max-header)");
                return Err(no_movie(at, why));
            }
            return Ok((read(source, at, len)?, at));
        }
        if len >= left {
            return Err(no_movie(
                at,
                format!("'{}' reaches to the end of the file", header.kind),
            ));
        }
        at += len;
    }
    Err(no_movie(
        at,
        format!("{MAX_BOXES_BEFORE_MOOV} other boxes come first, the limit"),
    ))
}

/// What stands at an offset.
pub(crate) enum Probe {
    Header(BoxHeader),
    Malformed(BoxError),
    End,
}

/// Reads a box header: eight bytes, and eight more only where the size has 64 bits.
pub(crate) fn probe(source: &dyn Source, at: u64) -> Result<Probe, SourceError> {
    const SHORT: u64 = 8;
    let left = source.len().saturating_sub(at);
    if left == 0 {
        return Ok(Probe::End);
    }
    let mut bytes = [0; HEADER_PROBE];
    let mut have = 0;
    for want in [SHORT, HEADER_PROBE as u64] {
        let len = usize::try_from(left.min(want)).unwrap_or(have);
        source.read_exact_at(&mut bytes[have..len], at + have as u64)?;
        have = len;
        if bytes[..4] != [0, 0, 0, 1] {
            break;
        }
    }
    Ok(match BoxHeader::parse(&bytes[..have], at) {
        Ok(header) => Probe::Header(header),
        Err(error) => Probe::Malformed(error),
    })
}

/// Reads a box that is known to lie within the source and the limits.
pub(crate) fn read(source: &dyn Source, at: u64, len: u64) -> Result<Bytes, SourceError> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    source.read_exact_at(&mut bytes, at)?;
    Ok(bytes.into())
}
