use bytes::Bytes;

use super::error::{fit_u32, sum_u64};
use super::{BoxBuffer, Sample, WriteError};

/// The most bytes that `moof` and `mdat` of one fragment may have together: `trun`'s data offset is a signed 32-bit number.
pub const MAX_FRAGMENT_SIZE: u64 = 0x7fff_ffff;

/// The samples of one track in a fragment.
#[derive(Debug, Clone, Copy)]
pub struct FragmentTrack<'a> {
    /// As in the init segment.
    pub track_id: u32,
    /// Decode time of the first sample, in ticks of the track.
    pub base_decode_time: u64,
    /// In decode order; at least one.
    pub samples: &'a [Sample],
}

/// A `moof` and the 8-byte header of the `mdat` after it. The caller appends the payload: track by track in the order
/// given, each track's samples in order.
///
/// What all samples of a track share goes to `tfhd`, where that is shorter; nothing is left to `trex`, so that a fragment
/// can be read without its init segment. `tfdt` is version 1 and comes before `trun` (Safari insists); `trun` is
/// version 1 iff a composition offset is negative.
///
/// # Errors
///
/// [`WriteError::Invalid`] without tracks, for a track without samples and for a track id that is there twice;
/// [`WriteError::Overflow`] past [`MAX_FRAGMENT_SIZE`], or when decode times exceed 64 bits.
pub fn fragment(sequence: u32, tracks: &[FragmentTrack<'_>]) -> Result<Bytes, WriteError> {
    let plans = plan(tracks)?;
    let moof_size = sum_u64(
        b"moof",
        "size",
        plans.iter().map(|p| p.traf_size).chain([8 + 16]),
    )?;
    let payload = sum_u64(b"mdat", "size", plans.iter().map(|p| p.payload))?;
    let total = sum_u64(b"mdat", "size", [moof_size, 8, payload])?;
    if total > MAX_FRAGMENT_SIZE {
        return Err(WriteError::overflow(
            b"mdat",
            "fragment size",
            u128::from(total),
            MAX_FRAGMENT_SIZE,
        ));
    }

    let capacity = usize::try_from(moof_size + 8).unwrap_or(0);
    let mut b = BoxBuffer::with_capacity(capacity);
    b.boxed(b"moof", |b| {
        b.full_box(b"mfhd", 0, 0, |b| {
            b.u32(sequence);
            Ok(())
        })?;
        let mut data_offset = moof_size + 8;
        for (track, plan) in tracks.iter().zip(&plans) {
            let offset = fit_u32(b"trun", "data offset", data_offset)?;
            traf(b, track, plan, offset)?;
            data_offset += plan.payload;
        }
        Ok(())
    })?;
    debug_assert_eq!(u64::try_from(b.len()), Ok(moof_size));
    b.header(b"mdat", payload)?;
    Ok(b.finish())
}

/// Where a field of the samples is written.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    /// The same for all: in `tfhd`.
    Default(u32),
    /// In `trun`.
    PerSample,
}

impl Field {
    fn of(samples: &[Sample], value: impl Fn(&Sample) -> u32) -> Self {
        let first = samples.first().map_or(0, &value);
        if samples.len() > 1 && samples.iter().all(|s| value(s) == first) {
            Self::Default(first)
        } else {
            Self::PerSample
        }
    }

    /// A default of no bytes would be a count that nothing can deny: a reader may refuse it.
    fn of_sizes(samples: &[Sample]) -> Self {
        match Self::of(samples, |s| s.size) {
            Self::Default(0) => Self::PerSample,
            field => field,
        }
    }

    fn default(self) -> Option<u32> {
        match self {
            Self::Default(value) => Some(value),
            Self::PerSample => None,
        }
    }
}

/// How a track is written, and how long that is.
struct Plan {
    duration: Field,
    size: Field,
    flags: Field,
    has_offsets: bool,
    has_negative_offsets: bool,
    sample_count: u32,
    payload: u64,
    traf_size: u64,
}

fn plan(tracks: &[FragmentTrack<'_>]) -> Result<Vec<Plan>, WriteError> {
    if tracks.is_empty() {
        return Err(WriteError::invalid(b"moof", "there are no tracks"));
    }
    for (index, track) in tracks.iter().enumerate() {
        let id = track.track_id;
        if id == 0 || tracks[..index].iter().any(|t| t.track_id == id) {
            let problem = format!("track id {id} is 0 or there twice: give each track its own");
            return Err(WriteError::invalid(b"tfhd", problem));
        }
    }
    tracks.iter().map(Plan::new).collect()
}

impl Plan {
    fn new(track: &FragmentTrack<'_>) -> Result<Self, WriteError> {
        let samples = track.samples;
        if samples.is_empty() {
            let problem = format!("track {} has no samples: leave it out", track.track_id);
            return Err(WriteError::invalid(b"traf", problem));
        }
        let durations = samples.iter().map(|s| u64::from(s.duration));
        sum_u64(
            b"tfdt",
            "decode time",
            durations.chain([track.base_decode_time]),
        )?;
        let mut plan = Self {
            duration: Field::of(samples, |s| s.duration),
            size: Field::of_sizes(samples),
            flags: Field::of(samples, |s| s.flags),
            has_offsets: samples.iter().any(|s| s.composition_offset != 0),
            has_negative_offsets: samples.iter().any(|s| s.composition_offset < 0),
            sample_count: fit_u32(b"trun", "sample count", samples.len())?,
            payload: sum_u64(b"mdat", "size", samples.iter().map(|s| u64::from(s.size)))?,
            traf_size: 0,
        };
        let fields = [plan.duration, plan.size, plan.flags];
        let count = |wanted: fn(&Field) -> bool| {
            u64::try_from(fields.iter().filter(|f| wanted(f)).count()).unwrap_or(0)
        };
        let defaults = count(|f| matches!(f, Field::Default(_)));
        let per_sample = count(|f| *f == Field::PerSample) + u64::from(plan.has_offsets);
        let tfhd = 16 + 4 * defaults;
        let tfdt = 20;
        let trun = 20 + 4 * per_sample * u64::from(plan.sample_count);
        plan.traf_size = 8 + tfhd + tfdt + trun;
        Ok(plan)
    }

    fn tfhd_flags(&self) -> u32 {
        const DEFAULT_BASE_IS_MOOF: u32 = 0x02_0000;
        let fields = [(self.duration, 0x08), (self.size, 0x10), (self.flags, 0x20)];
        fields
            .iter()
            .filter(|(f, _)| f.default().is_some())
            .fold(DEFAULT_BASE_IS_MOOF, |flags, (_, bit)| flags | bit)
    }

    fn trun_flags(&self) -> u32 {
        const DATA_OFFSET: u32 = 0x01;
        let fields = [
            (self.duration == Field::PerSample, 0x100),
            (self.size == Field::PerSample, 0x200),
            (self.flags == Field::PerSample, 0x400),
            (self.has_offsets, 0x800),
        ];
        fields
            .iter()
            .filter(|(present, _)| *present)
            .fold(DATA_OFFSET, |flags, (_, bit)| flags | bit)
    }
}

fn traf(
    b: &mut BoxBuffer,
    track: &FragmentTrack<'_>,
    plan: &Plan,
    data_offset: u32,
) -> Result<(), WriteError> {
    b.boxed(b"traf", |b| {
        b.full_box(b"tfhd", 0, plan.tfhd_flags(), |b| {
            b.u32(track.track_id);
            for field in [plan.duration, plan.size, plan.flags] {
                if let Some(value) = field.default() {
                    b.u32(value);
                }
            }
            Ok(())
        })?;
        b.full_box(b"tfdt", 1, 0, |b| {
            b.u64(track.base_decode_time);
            Ok(())
        })?;
        let version = u8::from(plan.has_negative_offsets);
        b.full_box(b"trun", version, plan.trun_flags(), |b| {
            b.u32(plan.sample_count);
            b.u32(data_offset);
            samples(b, track.samples, plan);
            Ok(())
        })
    })
}

fn samples(b: &mut BoxBuffer, samples: &[Sample], plan: &Plan) {
    let duration = plan.duration == Field::PerSample;
    let size = plan.size == Field::PerSample;
    let flags = plan.flags == Field::PerSample;
    for sample in samples {
        if duration {
            b.u32(sample.duration);
        }
        if size {
            b.u32(sample.size);
        }
        if flags {
            b.u32(sample.flags);
        }
        if plan.has_offsets {
            b.i32(sample.composition_offset);
        }
    }
}
