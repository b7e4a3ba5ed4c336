//! The boxes of `stbl` after `stsd`.

use bytes::Bytes;

use super::{Chunk, ProgressiveTrack};
use crate::write::error::{fit_u32, sum_u64};
use crate::write::{BoxBuffer, Sample, WriteError};

/// `stts`, `ctts`, `stss`, `stsc` and `stsz` of a track, written; chunk offsets come after them.
pub(super) struct SampleTables {
    written: Bytes,
    duration: u64,
}

impl SampleTables {
    pub(super) fn new(track: &ProgressiveTrack) -> Result<Self, WriteError> {
        let samples = &track.samples;
        let mut b = BoxBuffer::with_capacity(128 + 4 * samples.len());
        stts(&mut b, samples)?;
        ctts(&mut b, samples)?;
        stss(&mut b, samples)?;
        stsc(&mut b, &track.chunks)?;
        stsz(&mut b, samples)?;
        let durations = samples.iter().map(|s| u64::from(s.duration));
        Ok(Self {
            written: b.finish(),
            duration: sum_u64(b"mdhd", "duration", durations)?,
        })
    }

    /// Of the media, in ticks of the track.
    pub(super) fn duration(&self) -> u64 {
        self.duration
    }

    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.written.len()).unwrap_or(u64::MAX)
    }

    pub(super) fn without_content(&self) -> Self {
        Self {
            written: Bytes::new(),
            duration: self.duration,
        }
    }

    pub(super) fn write(&self, b: &mut BoxBuffer) {
        b.raw(&self.written);
    }
}

/// Equal values that follow each other, as (count, value).
fn runs<T: PartialEq + Copy>(values: impl Iterator<Item = T>) -> impl Iterator<Item = (u32, T)> {
    let mut values = values.peekable();
    std::iter::from_fn(move || {
        let value = values.next()?;
        let mut count = 1;
        while values.next_if(|v| *v == value).is_some() {
            count += 1;
        }
        Some((count, value))
    })
}

fn stts(b: &mut BoxBuffer, samples: &[Sample]) -> Result<(), WriteError> {
    let runs = || runs(samples.iter().map(|s| s.duration));
    b.full_box(b"stts", 0, 0, |b| {
        b.u32(fit_u32(b"stts", "entry count", runs().count())?);
        for (count, duration) in runs() {
            b.u32(count);
            b.u32(duration);
        }
        Ok(())
    })
}

fn ctts(b: &mut BoxBuffer, samples: &[Sample]) -> Result<(), WriteError> {
    if samples.iter().all(|s| s.composition_offset == 0) {
        return Ok(());
    }
    let signed = samples.iter().any(|s| s.composition_offset < 0);
    let runs = || runs(samples.iter().map(|s| s.composition_offset));
    b.full_box(b"ctts", u8::from(signed), 0, |b| {
        b.u32(fit_u32(b"ctts", "entry count", runs().count())?);
        for (count, offset) in runs() {
            b.u32(count);
            b.i32(offset);
        }
        Ok(())
    })
}

fn stss(b: &mut BoxBuffer, samples: &[Sample]) -> Result<(), WriteError> {
    if samples.iter().all(Sample::is_sync) {
        return Ok(());
    }
    b.full_box(b"stss", 0, 0, |b| {
        let sync = samples.iter().filter(|s| s.is_sync()).count();
        b.u32(fit_u32(b"stss", "entry count", sync)?);
        for (number, sample) in (1..).zip(samples) {
            if sample.is_sync() {
                b.u32(number);
            }
        }
        Ok(())
    })
}

fn stsc(b: &mut BoxBuffer, chunks: &[Chunk]) -> Result<(), WriteError> {
    b.full_box(b"stsc", 0, 0, |b| {
        b.u32(fit_u32(
            b"stsc",
            "entry count",
            runs(chunks.iter().copied()).count(),
        )?);
        let mut first_chunk = 1u32;
        for (count, chunk) in runs(chunks.iter().copied()) {
            b.u32(first_chunk);
            b.u32(chunk.samples);
            b.u32(chunk.description);
            first_chunk = first_chunk.saturating_add(count);
        }
        Ok(())
    })
}

fn stsz(b: &mut BoxBuffer, samples: &[Sample]) -> Result<(), WriteError> {
    // A common size of 0 would mean that a list follows.
    let common = samples
        .first()
        .map(|s| s.size)
        .filter(|&size| size != 0 && samples.iter().all(|s| s.size == size));
    b.full_box(b"stsz", 0, 0, |b| {
        b.u32(common.unwrap_or(0));
        b.u32(fit_u32(b"stsz", "sample count", samples.len())?);
        if common.is_none() {
            for sample in samples {
                b.u32(sample.size);
            }
        }
        Ok(())
    })
}

/// `stco`, or `co64` once an offset needs it.
pub(super) struct ChunkOffsets {
    offsets: Vec<u64>,
    wide: bool,
}

impl ChunkOffsets {
    pub(super) fn new(offsets: Vec<u64>) -> Self {
        Self {
            offsets,
            wide: false,
        }
    }

    /// Bytes of the entries.
    pub(super) fn entries_len(&self) -> u64 {
        let entry = if self.wide { 8 } else { 4 };
        u64::try_from(self.offsets.len())
            .unwrap_or(u64::MAX)
            .saturating_mul(entry)
    }

    /// Widens the entries if an offset moved by `by` exceeds 32 bits; whether that changed anything.
    pub(super) fn widen(&mut self, by: u64) -> bool {
        let last = self.offsets.iter().max().copied().unwrap_or(0);
        let changed = !self.wide && last.saturating_add(by) > u64::from(u32::MAX);
        self.wide |= changed;
        changed
    }

    pub(super) fn move_by(&mut self, by: u64) -> Result<(), WriteError> {
        for offset in &mut self.offsets {
            *offset = sum_u64(b"co64", "chunk offset", [*offset, by])?;
        }
        Ok(())
    }

    pub(super) fn write(&self, b: &mut BoxBuffer) -> Result<(), WriteError> {
        let name = if self.wide { b"co64" } else { b"stco" };
        b.full_box(name, 0, 0, |b| {
            b.u32(fit_u32(name, "entry count", self.offsets.len())?);
            for &offset in &self.offsets {
                if self.wide {
                    b.u64(offset);
                } else {
                    b.u32(fit_u32(name, "chunk offset", offset)?);
                }
            }
            Ok(())
        })
    }
}
