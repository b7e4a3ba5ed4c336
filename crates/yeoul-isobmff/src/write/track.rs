//! The boxes of `trak` that fragmented and progressive movies share.

use bytes::Bytes;

use super::error::fit_u32;
use super::{BoxBuffer, FourCc, WriteError};

/// What a `moov` says of a track, apart from its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitTrack {
    /// Not 0; unique in the file.
    pub track_id: u32,
    /// `vide`, `soun`, `subt`, `text`, `meta`, …
    pub handler: FourCc,
    /// Ticks a second; not 0.
    pub timescale: u32,
    /// Packed ISO 639-2 code as in `mdhd`; see [`InitTrack::UNDETERMINED`].
    pub language: u16,
    /// As in `tkhd`: 16.16 fixed point; 0 for sound.
    pub width: u32,
    /// As in `tkhd`: 16.16 fixed point; 0 for sound.
    pub height: u32,
    /// Whole sample entry boxes (`avc1`, `mp4a`, …) with their headers, written byte for byte; at least one.
    pub entries: Vec<Bytes>,
}

impl InitTrack {
    /// The language code `und`.
    pub const UNDETERMINED: u16 = 0x55c4;
}

/// Checks what no single box can: ids, timescales and sample entries.
pub(super) fn check_tracks<'a>(
    tracks: impl Iterator<Item = &'a InitTrack> + Clone,
) -> Result<(), WriteError> {
    let mut ids = Vec::new();
    for track in tracks {
        let id = track.track_id;
        if id == 0 || ids.contains(&id) {
            let problem = format!("track id {id} is 0 or there twice: give each track its own");
            return Err(WriteError::invalid(b"tkhd", problem));
        }
        ids.push(id);
        if track.timescale == 0 {
            let problem = format!("the timescale of track {id} is 0");
            return Err(WriteError::invalid(b"mdhd", problem));
        }
        if track.entries.is_empty() {
            let problem = format!("track {id} has no sample entry");
            return Err(WriteError::invalid(b"stsd", problem));
        }
        for (index, entry) in track.entries.iter().enumerate() {
            let claimed = entry.first_chunk::<4>().map(|s| u32::from_be_bytes(*s));
            if entry.len() < 16 || claimed != u32::try_from(entry.len()).ok() {
                let problem = format!(
                    "sample entry {} of track {id} has {} bytes and claims {}: a whole box was expected",
                    index + 1,
                    entry.len(),
                    claimed.unwrap_or(0),
                );
                return Err(WriteError::invalid(b"stsd", problem));
            }
        }
    }
    if ids.is_empty() {
        return Err(WriteError::invalid(b"moov", "there are no tracks"));
    }
    Ok(())
}

/// One more than the highest track id; all ones where there is none (ISO/IEC 14496-12 §8.2.2.3).
pub(super) fn next_track_id<'a>(tracks: impl Iterator<Item = &'a InitTrack>) -> u32 {
    let highest = tracks.map(|t| t.track_id).max().unwrap_or(0);
    highest.saturating_add(1)
}

/// Whether `duration` needs a version 1 header: 32 bits of ones mean "unknown".
const fn is_long(duration: u64) -> bool {
    duration >= u32::MAX as u64
}

/// Creation and modification time, 0, then what lies between them and the duration, then the duration.
fn times(b: &mut BoxBuffer, duration: u64, between: &[u32]) {
    let long = is_long(duration);
    b.zeros(if long { 16 } else { 8 });
    for &field in between {
        b.u32(field);
    }
    match u32::try_from(duration) {
        Ok(short) if !long => b.u32(short),
        _ => b.u64(duration),
    }
}

/// The identity matrix: 16.16, the last column 2.30.
const MATRIX: [u32; 9] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000];

pub(super) fn mvhd(
    b: &mut BoxBuffer,
    timescale: u32,
    duration: u64,
    next_track_id: u32,
) -> Result<(), WriteError> {
    b.full_box(b"mvhd", u8::from(is_long(duration)), 0, |b| {
        times(b, duration, &[timescale]);
        b.u32(0x0001_0000); // rate 1
        b.u16(0x0100); // volume 1
        b.zeros(10);
        MATRIX.iter().for_each(|&m| b.u32(m));
        b.zeros(24);
        b.u32(next_track_id);
        Ok(())
    })
}

/// `tkhd` flags: enabled, and in the movie.
pub(super) const ENABLED_IN_MOVIE: u32 = 3;

/// `duration` is in ticks of the movie.
pub(super) fn tkhd(
    b: &mut BoxBuffer,
    track: &InitTrack,
    flags: u32,
    duration: u64,
) -> Result<(), WriteError> {
    b.full_box(b"tkhd", u8::from(is_long(duration)), flags, |b| {
        times(b, duration, &[track.track_id, 0]);
        b.zeros(8);
        b.zeros(4); // layer, alternate group
        b.u16(if track.handler.0 == *b"soun" {
            0x0100
        } else {
            0
        });
        b.zeros(2);
        MATRIX.iter().for_each(|&m| b.u32(m));
        b.u32(track.width);
        b.u32(track.height);
        Ok(())
    })
}

/// `mdia` with the tables that `tables` writes after `stsd`. `duration` is in ticks of the track.
pub(super) fn mdia(
    b: &mut BoxBuffer,
    track: &InitTrack,
    duration: u64,
    tables: impl FnOnce(&mut BoxBuffer) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    b.boxed(b"mdia", |b| {
        b.full_box(b"mdhd", u8::from(is_long(duration)), 0, |b| {
            times(b, duration, &[track.timescale]);
            b.u16(track.language);
            b.u16(0);
            Ok(())
        })?;
        b.full_box(b"hdlr", 0, 0, |b| {
            b.u32(0);
            b.raw(&track.handler.0);
            b.zeros(12);
            b.u8(0); // an empty name
            Ok(())
        })?;
        b.boxed(b"minf", |b| {
            media_header(b, track.handler)?;
            data_information(b)?;
            b.boxed(b"stbl", |b| {
                stsd(b, &track.entries)?;
                tables(b)
            })
        })
    })
}

/// The media header that the handler calls for (ISO/IEC 14496-12 §12).
fn media_header(b: &mut BoxBuffer, handler: FourCc) -> Result<(), WriteError> {
    match &handler.0 {
        b"vide" => b.full_box(b"vmhd", 0, 1, |b| {
            b.zeros(8);
            Ok(())
        }),
        b"soun" => b.full_box(b"smhd", 0, 0, |b| {
            b.zeros(4);
            Ok(())
        }),
        b"subt" => b.full_box(b"sthd", 0, 0, |_| Ok(())),
        _ => b.full_box(b"nmhd", 0, 0, |_| Ok(())),
    }
}

/// `dinf`: the payload is in this file.
fn data_information(b: &mut BoxBuffer) -> Result<(), WriteError> {
    const SELF_CONTAINED: u32 = 1;
    b.boxed(b"dinf", |b| {
        b.full_box(b"dref", 0, 0, |b| {
            b.u32(1);
            b.full_box(b"url ", 0, SELF_CONTAINED, |_| Ok(()))
        })
    })
}

fn stsd(b: &mut BoxBuffer, entries: &[Bytes]) -> Result<(), WriteError> {
    b.full_box(b"stsd", 0, 0, |b| {
        b.u32(fit_u32(b"stsd", "entry count", entries.len())?);
        for entry in entries {
            b.raw(entry);
        }
        Ok(())
    })
}
