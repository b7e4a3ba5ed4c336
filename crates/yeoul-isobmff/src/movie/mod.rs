//! `moov` (ISO/IEC 14496-12 §8.2): the movie header, its tracks, and what MediaMTX adds.

mod mtxi;
mod track;

pub use mtxi::Mtxi;
pub use track::{Handler, Track, TrackExtends};

use bytes::Bytes;

use crate::walk::{BoxRef, Boxes};
use crate::{BoxError, Fault, FourCc, Limits};

/// A `moov`.
#[derive(Debug, Clone)]
pub struct Movie {
    /// Ticks a second of [`Movie::duration`].
    pub timescale: u32,
    /// Length in `timescale` ticks; 0 in a recording that is still open or whose recorder died.
    pub duration: u64,
    /// Tracks in the order of their `trak` boxes.
    pub tracks: Vec<Track>,
    /// Whether samples are in movie fragments (`mvex` is there).
    pub fragmented: bool,
    /// MediaMTX's identification, if it wrote the recording.
    pub mtxi: Option<Mtxi>,
}

impl Movie {
    /// Reads a whole `moov` box that begins at `offset` in its file. What is kept of it shares `bytes`.
    ///
    /// # Errors
    /// A malformed or missing box, or one over `limits`, by name and offset.
    pub fn parse(bytes: &Bytes, offset: u64, limits: &Limits) -> Result<Self, BoxError> {
        let moov = Boxes::new(bytes, offset).next().unwrap_or_else(|| {
            let fault = Fault::Truncated {
                needed: 8,
                have: bytes.len() as u64,
            };
            Err(BoxError::new(FourCc(*b"moov"), offset, fault))
        })?;
        if moov.kind != FourCc(*b"moov") {
            return Err(moov.error(Fault::Value("expected 'moov'")));
        }
        check_box_count(&moov, limits)?;

        let (timescale, duration) = movie_header(&moov.require(b"mvhd")?)?;
        let extends = moov.child(b"mvex")?;
        let mut tracks = Vec::new();
        let mut mtxi = None;
        for child in moov.children() {
            let child = child?;
            match &child.kind.0 {
                b"trak" => {
                    let limit = u64::from(limits.tracks);
                    if tracks.len() as u64 >= limit {
                        let value = limit + 1;
                        return Err(moov.error(Fault::Limit {
                            what: "track count",
                            value,
                            limit,
                        }));
                    }
                    let track = Track::parse(bytes, &child, extends.as_ref(), limits)?;
                    if tracks.iter().any(|known: &Track| known.id == track.id) {
                        return Err(child.error(Fault::Value("its track id is there twice")));
                    }
                    tracks.push(track);
                }
                b"udta" => {
                    // Foreign user data may not be a clean list of boxes; only ours must be readable.
                    if let Ok(Some(found)) = child.child(b"mtxi") {
                        mtxi = Some(Mtxi::parse(&found)?);
                    }
                }
                _ => {}
            }
        }
        Ok(Self {
            timescale,
            duration,
            tracks,
            fragmented: extends.is_some(),
            mtxi,
        })
    }

    /// The track of an id.
    pub fn track(&self, id: u32) -> Option<&Track> {
        self.tracks.iter().find(|track| track.id == id)
    }
}

fn movie_header(mvhd: &BoxRef<'_>) -> Result<(u32, u64), BoxError> {
    let (version, _, mut fields) = mvhd.full()?;
    fields.skip(if version == 1 { 16 } else { 8 })?;
    let timescale = fields.u32()?;
    Ok((timescale, fields.by_version(version)?))
}

/// Counts boxes level by level, so that a tree of millions is refused before it is searched again and again.
fn check_box_count(moov: &BoxRef<'_>, limits: &Limits) -> Result<(), BoxError> {
    let mut count = 0u32;
    for child in moov.children() {
        let child = child?;
        let inner = match &child.kind.0 {
            b"trak" | b"mvex" => child.children().count(),
            _ => 0,
        };
        count = count
            .saturating_add(1)
            .saturating_add(u32::try_from(inner).unwrap_or(u32::MAX));
        if count > limits.boxes {
            let (value, limit) = (u64::from(count), u64::from(limits.boxes));
            return Err(moov.error(Fault::Limit {
                what: "box count",
                value,
                limit,
            }));
        }
    }
    Ok(())
}
