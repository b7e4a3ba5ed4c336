use bytes::Bytes;

use super::brands::write_brands;
use super::track::{ENABLED_IN_MOVIE, check_tracks, mdia, mvhd, next_track_id, tkhd};
use super::{BoxBuffer, Brands, InitTrack, WriteError};

/// Timescale of `mvhd` in an init segment, where it measures nothing.
const MOVIE_TIMESCALE: u32 = 1000;

/// `tkhd` flags of a CMAF video track (ISO/IEC 23000-19 §9.2): in the preview too.
const CMAF_VIDEO: u32 = ENABLED_IN_MOVIE | 4;

/// The init segment of a fragmented movie: `ftyp`, and a `moov` with empty sample tables and a `trex` a track whose
/// defaults are all 0. Tracks are written in the order given.
///
/// Under a CMAF brand, video has the track flags and the empty `stss` that CMAF asks for.
///
/// # Errors
///
/// [`WriteError::Invalid`] without tracks, with several under a CMAF brand, or if a track's id is 0 or there twice, its
/// timescale is 0, or a sample entry is not one whole box; [`WriteError::BoxTooLarge`] with over 4 GiB of sample entries.
pub fn init(tracks: &[InitTrack], brands: &Brands) -> Result<Bytes, WriteError> {
    check_tracks(tracks.iter())?;
    if brands.is_cmaf() && tracks.len() > 1 {
        let problem = format!(
            "{} tracks under the brand cmfc: CMAF has one a file",
            tracks.len()
        );
        return Err(WriteError::invalid(b"ftyp", problem));
    }
    let mut b = BoxBuffer::with_capacity(256 + 1024 * tracks.len());
    write_brands(&mut b, b"ftyp", brands)?;
    b.boxed(b"moov", |b| {
        mvhd(b, MOVIE_TIMESCALE, 0, next_track_id(tracks.iter()))?;
        for track in tracks {
            let cmaf_video = brands.is_cmaf() && track.handler.0 == *b"vide";
            let flags = if cmaf_video {
                CMAF_VIDEO
            } else {
                ENABLED_IN_MOVIE
            };
            b.boxed(b"trak", |b| {
                tkhd(b, track, flags, 0)?;
                mdia(b, track, 0, |b| empty_tables(b, cmaf_video))
            })?;
        }
        b.boxed(b"mvex", |b| tracks.iter().try_for_each(|t| trex(b, t)))
    })?;
    Ok(b.finish())
}

fn empty_tables(b: &mut BoxBuffer, sync_table: bool) -> Result<(), WriteError> {
    let mut empty = |name, bytes| {
        b.full_box(name, 0, 0, |b| {
            b.zeros(bytes);
            Ok(())
        })
    };
    empty(b"stts", 4)?;
    if sync_table {
        empty(b"stss", 4)?;
    }
    empty(b"stsc", 4)?;
    empty(b"stsz", 8)?;
    empty(b"stco", 4)
}

fn trex(b: &mut BoxBuffer, track: &InitTrack) -> Result<(), WriteError> {
    b.full_box(b"trex", 0, 0, |b| {
        b.u32(track.track_id);
        b.u32(1); // default sample description index
        b.zeros(12); // default duration, size and flags
        Ok(())
    })
}
