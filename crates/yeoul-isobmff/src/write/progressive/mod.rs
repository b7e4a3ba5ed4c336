mod order;
mod tables;

use bytes::Bytes;

use super::brands::write_brands;
use super::buffer::header_len;
use super::error::{fit_u32, sum_u64};
use super::track::{ENABLED_IN_MOVIE, check_tracks, mdia, mvhd, next_track_id, tkhd};
use super::{BoxBuffer, Brands, InitTrack, Sample, WriteError};
use crate::tables::Edit;
use tables::{ChunkOffsets, SampleTables};

/// An ordinary MP4, `moov` first, whose payload is appended by the caller.
///
/// ```text
/// ftyp · moov · mdat header · chunk · chunk · …
/// └──── Layout::header ───┘   └ Layout::order ┘
/// ```
#[derive(Debug, Clone)]
pub struct Progressive {
    /// [`Brands::PROGRESSIVE`] unless something else is wanted.
    pub brands: Brands,
    /// At least one.
    pub tracks: Vec<ProgressiveTrack>,
    /// The order of chunks in the file.
    pub interleave: Interleave,
}

/// One track and all its samples.
#[derive(Debug, Clone)]
pub struct ProgressiveTrack {
    /// What `moov` says of it; several sample entries where parameters change.
    pub init: InitTrack,
    /// In ticks of the movie ([`movie_timescale`]); empty: the track is presented from its first sample on, whole.
    pub edits: Vec<Edit>,
    /// In decode order.
    pub samples: Vec<Sample>,
    /// Cuts `samples` into runs that lie together in the file: in order, and adding up to all of them.
    pub chunks: Vec<Chunk>,
}

/// Consecutive samples of a track that lie together in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// How many; not 0.
    pub samples: u32,
    /// Which of the track's sample entries they use, from 1.
    pub description: u32,
}

/// A chunk by the index of its track and its own index there, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkRef {
    /// Index in [`Progressive::tracks`].
    pub track: usize,
    /// Index in [`ProgressiveTrack::chunks`].
    pub chunk: usize,
}

/// How the chunks of the tracks follow each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Interleave {
    /// By the movie time at which the first sample of each is decoded; at equal times in the order of tracks.
    #[default]
    ByTime,
    /// As listed: each chunk of each track once.
    Listed(Vec<ChunkRef>),
}

/// Everything of a progressive MP4 but its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// `ftyp`, `moov` and the header of `mdat`.
    pub header: Bytes,
    /// The payload that the caller appends: chunk by chunk, the samples of each in order.
    pub order: Vec<ChunkRef>,
    /// Bytes of payload: what the chunks add up to, without the header of `mdat`.
    pub mdat_len: u64,
}

/// The timescale of a movie with tracks of these timescales: their least common multiple, so that a time of any track is a
/// whole number of ticks (720,000 for 90,000 and 48,000).
///
/// Where that exceeds 32 bits it is the greatest of them, and durations are rounded to the nearest tick of it.
#[must_use]
pub fn movie_timescale(timescales: impl IntoIterator<Item = u32> + Clone) -> u32 {
    let greatest = timescales.clone().into_iter().max().unwrap_or(1).max(1);
    timescales
        .into_iter()
        .filter(|&t| t != 0)
        .try_fold(1u32, |lcm, t| (lcm / gcd(lcm, t)).checked_mul(t))
        .unwrap_or(greatest)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Progressive {
    /// The timescale of `mvhd`, of `tkhd` durations and of edits; see [`movie_timescale`].
    #[must_use]
    pub fn movie_timescale(&self) -> u32 {
        movie_timescale(self.tracks.iter().map(|t| t.init.timescale))
    }

    /// The header of the file, and the order in which payload follows it.
    ///
    /// Versions and widths are chosen by need: `co64` for a track with an offset past 32 bits, a 64-bit `mdat`, version
    /// 1 of `mvhd`, `tkhd`, `mdhd` and `elst`, signed `ctts`. `stss` is absent when every sample is a sync sample, `ctts`
    /// when every offset is 0.
    ///
    /// # Errors
    ///
    /// As [`init`](super::init); [`WriteError::Invalid`] if chunks do not add up to the samples, name a sample entry that
    /// is not there, or are not listed once each; [`WriteError::Overflow`] and [`WriteError::BoxTooLarge`] past 64-bit
    /// sizes and times, 2³² samples, or 4 GiB of `moov`.
    pub fn layout(&self) -> Result<Layout, WriteError> {
        check_tracks(self.tracks.iter().map(|t| &t.init))?;
        self.tracks.iter().try_for_each(ProgressiveTrack::check)?;
        let timescale = self.movie_timescale();
        let order = match &self.interleave {
            Interleave::ByTime => order::by_time(&self.tracks, timescale),
            Interleave::Listed(listed) => order::check(&self.tracks, listed)?,
        };

        let tables = self
            .tracks
            .iter()
            .map(SampleTables::new)
            .collect::<Result<Vec<_>, _>>()?;
        let (mut offsets, mdat_len) = self.place(&order)?;

        let mut ftyp = BoxBuffer::new();
        write_brands(&mut ftyp, b"ftyp", &self.brands)?;
        let before_moov = len(&ftyp);
        let skeleton = self.skeleton_len(timescale, &tables)?;
        let contents = tables.iter().map(SampleTables::len).sum::<u64>();
        let fixed = before_moov + skeleton + contents + header_len(mdat_len);
        let moved = widen(&mut offsets, fixed)?;
        for track in &mut offsets {
            track.move_by(moved)?;
        }

        let capacity = usize::try_from(moved).unwrap_or(0);
        let mut b = BoxBuffer::with_capacity(capacity);
        b.raw(&ftyp.finish());
        self.moov(&mut b, timescale, &tables, &offsets)?;
        b.header(b"mdat", mdat_len)?;
        debug_assert_eq!(len(&b), moved);
        Ok(Layout {
            header: b.finish(),
            order,
            mdat_len,
        })
    }

    /// Offsets of the chunks of each track from the start of the payload, and the payload's length.
    fn place(&self, order: &[ChunkRef]) -> Result<(Vec<ChunkOffsets>, u64), WriteError> {
        let mut sizes = Vec::with_capacity(self.tracks.len());
        for track in &self.tracks {
            sizes.push(track.chunk_sizes()?);
        }
        let mut position = 0u64;
        for at in order {
            let slot = &mut sizes[at.track][at.chunk];
            let size = std::mem::replace(slot, position);
            position = sum_u64(b"mdat", "size", [position, size])?;
        }
        let offsets = sizes.into_iter().map(ChunkOffsets::new).collect();
        Ok((offsets, position))
    }

    /// Length of `moov` with neither sample tables nor chunk offsets: they add their lengths and change nothing else.
    fn skeleton_len(&self, timescale: u32, tables: &[SampleTables]) -> Result<u64, WriteError> {
        let bare: Vec<_> = tables.iter().map(SampleTables::without_content).collect();
        let none: Vec<_> = tables
            .iter()
            .map(|_| ChunkOffsets::new(Vec::new()))
            .collect();
        let mut b = BoxBuffer::new();
        self.moov(&mut b, timescale, &bare, &none)?;
        Ok(len(&b))
    }

    fn moov(
        &self,
        b: &mut BoxBuffer,
        timescale: u32,
        tables: &[SampleTables],
        offsets: &[ChunkOffsets],
    ) -> Result<(), WriteError> {
        let durations = self
            .tracks
            .iter()
            .zip(tables)
            .map(|(track, tables)| track.movie_duration(tables.duration(), timescale))
            .collect::<Result<Vec<_>, _>>()?;
        let duration = durations.iter().copied().max().unwrap_or(0);
        let inits = self.tracks.iter().map(|t| &t.init);
        b.boxed(b"moov", |b| {
            mvhd(b, timescale, duration, next_track_id(inits))?;
            let parts = self.tracks.iter().zip(tables).zip(offsets).zip(&durations);
            for (((track, tables), offsets), &duration) in parts {
                b.boxed(b"trak", |b| {
                    tkhd(b, &track.init, ENABLED_IN_MOVIE, duration)?;
                    edts(b, &track.edits)?;
                    mdia(b, &track.init, tables.duration(), |b| {
                        tables.write(b);
                        offsets.write(b)
                    })
                })?;
            }
            Ok(())
        })
    }
}

impl ProgressiveTrack {
    fn check(&self) -> Result<(), WriteError> {
        let id = self.init.track_id;
        let samples = fit_u32(b"stsz", "sample count", self.samples.len())?;
        let held = sum_u64(
            b"stsc",
            "sample count",
            self.chunks.iter().map(|c| u64::from(c.samples)),
        )?;
        if held != u64::from(samples) {
            let problem = format!("the chunks of track {id} hold {held} samples of {samples}");
            return Err(WriteError::invalid(b"stsc", problem));
        }
        for (index, chunk) in self.chunks.iter().enumerate() {
            let entries = self.init.entries.len();
            let described =
                usize::try_from(chunk.description).is_ok_and(|d| d >= 1 && d <= entries);
            if chunk.samples == 0 || !described {
                let problem = format!(
                    "chunk {index} of track {id} has {} samples of sample entry {}: \
                     at least one sample and an entry from 1 to {entries} were expected",
                    chunk.samples, chunk.description,
                );
                return Err(WriteError::invalid(b"stsc", problem));
            }
        }
        if self
            .edits
            .iter()
            .any(|e| e.media_time.is_some_and(|t| t < 0))
        {
            let problem = format!("an edit of track {id} begins before its media");
            return Err(WriteError::invalid(b"elst", problem));
        }
        Ok(())
    }

    /// The samples of each chunk, in order.
    fn chunk_samples(&self) -> impl Iterator<Item = &[Sample]> {
        let mut rest = self.samples.as_slice();
        self.chunks.iter().map(move |chunk| {
            let count = usize::try_from(chunk.samples).unwrap_or(usize::MAX);
            let (samples, tail) = rest.split_at(count.min(rest.len()));
            rest = tail;
            samples
        })
    }

    fn chunk_sizes(&self) -> Result<Vec<u64>, WriteError> {
        self.chunk_samples()
            .map(|s| sum_u64(b"mdat", "size", s.iter().map(|s| u64::from(s.size))))
            .collect()
    }

    /// How long the track is presented, in ticks of the movie.
    fn movie_duration(&self, media: u64, movie_timescale: u32) -> Result<u64, WriteError> {
        if !self.edits.is_empty() {
            let durations = self.edits.iter().map(|e| e.segment_duration);
            return sum_u64(b"elst", "duration", durations);
        }
        let timescale = u128::from(self.init.timescale);
        let ticks = (u128::from(media) * u128::from(movie_timescale) + timescale / 2) / timescale;
        u64::try_from(ticks).map_err(|_| WriteError::overflow(b"tkhd", "duration", ticks, u64::MAX))
    }
}

/// Gives `co64` to each track that needs it, and returns the offset of the payload. `fixed`: all bytes before the payload
/// but chunk offset entries. A wide table moves the payload, which can push another track past 32 bits.
fn widen(offsets: &mut [ChunkOffsets], fixed: u64) -> Result<u64, WriteError> {
    loop {
        let tables = offsets.iter().map(ChunkOffsets::entries_len);
        let moved = sum_u64(b"moov", "size", tables.chain([fixed]))?;
        let mut changed = false;
        for track in offsets.iter_mut() {
            changed |= track.widen(moved);
        }
        if !changed {
            return Ok(moved);
        }
    }
}

fn edts(b: &mut BoxBuffer, edits: &[Edit]) -> Result<(), WriteError> {
    if edits.is_empty() {
        return Ok(());
    }
    let long = edits.iter().any(|e| {
        u32::try_from(e.segment_duration).is_err()
            || i32::try_from(e.media_time.unwrap_or(-1)).is_err()
    });
    b.boxed(b"edts", |b| {
        b.full_box(b"elst", u8::from(long), 0, |b| {
            b.u32(fit_u32(b"elst", "entry count", edits.len())?);
            for edit in edits {
                let media_time = edit.media_time.unwrap_or(-1);
                match (
                    u32::try_from(edit.segment_duration),
                    i32::try_from(media_time),
                ) {
                    (Ok(duration), Ok(media_time)) if !long => {
                        b.u32(duration);
                        b.i32(media_time);
                    }
                    _ => {
                        b.u64(edit.segment_duration);
                        b.i64(media_time);
                    }
                }
                b.i32(edit.rate);
            }
            Ok(())
        })
    })
}

fn len(b: &BoxBuffer) -> u64 {
    u64::try_from(b.len()).unwrap_or(u64::MAX)
}
