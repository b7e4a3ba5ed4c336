use bytes::Bytes;

use super::brands::write_brands;
use super::track::{check_tracks, mdia, mvhd, next_track_id, tkhd};
use super::{BoxBuffer, Brands, InitTrack, WriteError};

/// Timescale of `mvhd` in an init segment, where it measures nothing.
const MOVIE_TIMESCALE: u32 = 1000;

/// The init segment of a fragmented movie: `ftyp`, and a `moov` with empty sample tables and a `trex` a track whose
/// defaults are all 0. Tracks are written in the order given.
///
/// # Errors
///
/// [`WriteError::Invalid`] without tracks, or if a track's id is 0 or there twice, its timescale is 0, or a sample entry
/// is not one whole box; [`WriteError::BoxTooLarge`] with over 4 GiB of sample entries.
pub fn init(tracks: &[InitTrack], brands: &Brands) -> Result<Bytes, WriteError> {
    check_tracks(tracks.iter())?;
    let mut b = BoxBuffer::with_capacity(256 + 1024 * tracks.len());
    write_brands(&mut b, b"ftyp", brands)?;
    b.boxed(b"moov", |b| {
        mvhd(b, MOVIE_TIMESCALE, 0, next_track_id(tracks.iter()))?;
        for track in tracks {
            b.boxed(b"trak", |b| {
                tkhd(b, track, 0)?;
                mdia(b, track, 0, empty_tables)
            })?;
        }
        b.boxed(b"mvex", |b| tracks.iter().try_for_each(|t| trex(b, t)))
    })?;
    Ok(b.finish())
}

fn empty_tables(b: &mut BoxBuffer) -> Result<(), WriteError> {
    for (name, zeros) in [(b"stts", 4), (b"stsc", 4), (b"stsz", 8), (b"stco", 4)] {
        b.full_box(name, 0, 0, |b| {
            b.zeros(zeros);
            Ok(())
        })?;
    }
    Ok(())
}

fn trex(b: &mut BoxBuffer, track: &InitTrack) -> Result<(), WriteError> {
    b.full_box(b"trex", 0, 0, |b| {
        b.u32(track.track_id);
        b.u32(1); // default sample description index
        b.zeros(12); // default duration, size and flags
        Ok(())
    })
}
