//! `moof` (ISO/IEC 14496-12 §8.8): a scanner that borrows the box and allocates nothing a sample.
//!
//! A [`Moof`] holds its `traf`s in the order of the file; each gives its samples by [`TrackFragment::samples`] with
//! every default resolved (`trun` → `tfhd` → `trex`) and with the sample's place in the file by the base-offset rules
//! of §8.8.7 and §8.8.8: an explicit base, else the `moof` (`default-base-is-moof`), else the end of the data of the
//! `traf` before (for the first, the `moof`); a run without a data offset follows the run before it.

use crate::movie::TrackExtends;
use crate::walk::{BoxRef, Boxes, be32};
use crate::{BoxError, Fault, FourCc, Limits};

/// `sample_is_non_sync_sample` in a sample's flags (§8.8.3.1).
pub const NON_SYNC: u32 = 0x0001_0000;

const DATA_OFFSET: u32 = 0x01;
const FIRST_FLAGS: u32 = 0x04;
const DURATION: u32 = 0x100;
const SIZE: u32 = 0x200;
const FLAGS: u32 = 0x400;
const COMPOSITION: u32 = 0x800;

/// A movie fragment's header.
#[derive(Debug, Clone)]
pub struct Moof<'a> {
    /// `mfhd`'s sequence number, 0 without one.
    pub sequence: u32,
    /// The track fragments in the order of the file. A track may have more than one.
    pub fragments: Vec<TrackFragment<'a>>,
}

/// A `traf`.
#[derive(Debug, Clone)]
pub struct TrackFragment<'a> {
    /// The track it belongs to.
    pub track_id: u32,
    /// `tfdt`: decode time of the first sample in the track's ticks; `None` when absent: it goes on from the
    /// fragment before.
    pub decode_time: Option<u64>,
    /// Samples in all its runs.
    pub sample_count: u64,
    runs: Vec<Run<'a>>,
}

/// A sample of a movie fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentSample {
    /// Where its payload begins in the file.
    pub offset: u64,
    /// Payload bytes.
    pub size: u32,
    /// Ticks.
    pub duration: u32,
    /// Sample flags (§8.8.3.1).
    pub flags: u32,
    /// Presentation time − decode time, ticks; signed whatever the version, because files in the field have negative
    /// values in version 0.
    pub composition_offset: i32,
}

impl FragmentSample {
    /// Whether decoding can begin here.
    pub fn is_sync(&self) -> bool {
        self.flags & NON_SYNC == 0
    }
}

impl<'a> Moof<'a> {
    /// Reads a whole `moof` box that begins at `offset` in its file. `extends` gives a track's `trex`.
    ///
    /// # Errors
    /// A malformed box, a count over `limits` or over the bytes that are there, or a data range past 2⁶⁴.
    pub fn parse(
        bytes: &'a [u8],
        offset: u64,
        limits: &Limits,
        extends: impl Fn(u32) -> Option<TrackExtends>,
    ) -> Result<Self, BoxError> {
        let moof = Boxes::new(bytes, offset).next().unwrap_or_else(|| {
            let fault = Fault::Truncated {
                needed: 8,
                have: bytes.len() as u64,
            };
            Err(BoxError::new(FourCc(*b"moof"), offset, fault))
        })?;
        let mut scan = Scan {
            moof_offset: offset,
            previous_end: offset,
            boxes: 0,
            samples: 0,
            limits,
        };
        let mut sequence = 0;
        let mut fragments = Vec::new();
        for child in moof.children() {
            let child = child?;
            scan.count_box(&child)?;
            match &child.kind.0 {
                b"mfhd" => {
                    let (_, _, mut fields) = child.full()?;
                    sequence = fields.u32()?;
                }
                b"traf" => {
                    fragments.push(scan.track_fragment(&child, &extends)?);
                }
                _ => {}
            }
        }
        Ok(Self {
            sequence,
            fragments,
        })
    }
}

impl<'a> TrackFragment<'a> {
    /// The samples in decode order.
    pub fn samples(&self) -> impl Iterator<Item = FragmentSample> + '_ {
        self.runs.iter().flat_map(Run::samples)
    }

    /// The sum of the samples' durations, ticks. Cannot overflow: at most 2²⁴ samples under 2³² each by default.
    pub fn duration(&self) -> u64 {
        self.samples().fold(0u64, |sum, sample| {
            sum.saturating_add(u64::from(sample.duration))
        })
    }
}

/// What runs over the `traf`s of a `moof`.
struct Scan<'l> {
    moof_offset: u64,
    previous_end: u64,
    boxes: u32,
    samples: u64,
    limits: &'l Limits,
}

impl Scan<'_> {
    fn count_box(&mut self, found: &BoxRef<'_>) -> Result<(), BoxError> {
        self.boxes = self.boxes.saturating_add(1);
        if self.boxes > self.limits.boxes {
            let (value, limit) = (u64::from(self.boxes), u64::from(self.limits.boxes));
            return Err(found.error(Fault::Limit {
                what: "box count",
                value,
                limit,
            }));
        }
        Ok(())
    }

    fn track_fragment<'a>(
        &mut self,
        traf: &BoxRef<'a>,
        extends: impl Fn(u32) -> Option<TrackExtends>,
    ) -> Result<TrackFragment<'a>, BoxError> {
        let header = FragmentHeader::parse(&traf.require(b"tfhd")?, &extends)?;
        let base = match header.base {
            Base::Explicit(base) => base,
            Base::Moof => self.moof_offset,
            Base::Previous => self.previous_end,
        };
        let mut fragment = TrackFragment {
            track_id: header.track_id,
            decode_time: None,
            sample_count: 0,
            runs: Vec::new(),
        };
        let mut end = base;
        for child in traf.children() {
            let child = child?;
            self.count_box(&child)?;
            match &child.kind.0 {
                b"tfdt" => {
                    let (version, _, mut fields) = child.full()?;
                    fragment.decode_time = Some(fields.by_version(version)?);
                }
                b"trun" => {
                    let run = Run::parse(&child, &header.defaults, base, end)?;
                    self.samples = self.samples.saturating_add(u64::from(run.count));
                    let limit = self.limits.samples;
                    if self.samples > limit {
                        let value = self.samples;
                        return Err(child.error(Fault::Limit {
                            what: "sample count",
                            value,
                            limit,
                        }));
                    }
                    end = run
                        .end()
                        .ok_or_else(|| child.error(Fault::Overflow("the data range")))?;
                    fragment.sample_count += u64::from(run.count);
                    fragment.runs.push(run);
                }
                _ => {}
            }
        }
        self.previous_end = end;
        Ok(fragment)
    }
}

enum Base {
    Explicit(u64),
    Moof,
    Previous,
}

struct FragmentHeader {
    track_id: u32,
    base: Base,
    defaults: TrackExtends,
}

impl FragmentHeader {
    fn parse(
        tfhd: &BoxRef<'_>,
        extends: impl Fn(u32) -> Option<TrackExtends>,
    ) -> Result<Self, BoxError> {
        let (_, flags, mut fields) = tfhd.full()?;
        let track_id = fields.u32()?;
        let base = if flags & 0x01 != 0 {
            Base::Explicit(fields.u64()?)
        } else if flags & 0x02_0000 != 0 {
            Base::Moof
        } else {
            Base::Previous
        };
        if flags & 0x02 != 0 {
            fields.skip(4)?;
        }
        let mut defaults = extends(track_id).unwrap_or_default();
        for (bit, field) in [
            (0x08, &mut defaults.duration),
            (0x10, &mut defaults.size),
            (0x20, &mut defaults.flags),
        ] {
            if flags & bit != 0 {
                *field = fields.u32()?;
            }
        }
        Ok(Self {
            track_id,
            base,
            defaults,
        })
    }
}

/// A `trun`, its entries left where they are.
#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    count: u32,
    start: u64,
    flags: u32,
    first_flags: Option<u32>,
    defaults: TrackExtends,
    entries: &'a [u8],
}

impl<'a> Run<'a> {
    fn parse(
        trun: &BoxRef<'a>,
        defaults: &TrackExtends,
        base: u64,
        previous_end: u64,
    ) -> Result<Self, BoxError> {
        let (_, flags, mut fields) = trun.full()?;
        let count = fields.u32()?;
        let start = if flags & DATA_OFFSET != 0 {
            let offset = i32::from_be_bytes(fields.array()?);
            base.checked_add_signed(i64::from(offset))
                .ok_or_else(|| trun.error(Fault::Value("its data offset points before the file")))?
        } else {
            previous_end
        };
        let first_flags = if flags & FIRST_FLAGS != 0 {
            Some(fields.u32()?)
        } else {
            None
        };
        let entries = fields.rest();
        let needed = u64::from(count) * stride(flags) as u64;
        if needed > entries.len() as u64 {
            return Err(trun.error(Fault::Truncated {
                needed,
                have: entries.len() as u64,
            }));
        }
        Ok(Self {
            count,
            start,
            flags,
            first_flags,
            defaults: *defaults,
            entries,
        })
    }

    /// Where its data ends.
    fn end(&self) -> Option<u64> {
        let size = if self.flags & SIZE == 0 {
            u64::from(self.count) * u64::from(self.defaults.size)
        } else {
            let at = if self.flags & DURATION == 0 { 0 } else { 4 };
            let entries = self
                .entries
                .chunks_exact(stride(self.flags).max(4))
                .take(self.count as usize);
            entries
                .map(|entry| u64::from(be32(entry, at).unwrap_or(0)))
                .sum()
        };
        self.start.checked_add(size)
    }

    fn samples(&self) -> impl Iterator<Item = FragmentSample> + 'a {
        let run = *self;
        let mut offset = run.start;
        let mut at = 0usize;
        (0..run.count).map(move |index| {
            let mut field = |bit: u32, default: u32| {
                if run.flags & bit == 0 {
                    return default;
                }
                // In bounds: `parse` checked the count against the entries.
                let value = be32(run.entries, at).unwrap_or(default);
                at += 4;
                value
            };
            let duration = field(DURATION, run.defaults.duration);
            let size = field(SIZE, run.defaults.size);
            let own_flags = field(FLAGS, run.defaults.flags);
            let composition = field(COMPOSITION, 0);
            let flags = match run.first_flags {
                Some(first) if index == 0 => first,
                _ => own_flags,
            };
            let sample = FragmentSample {
                offset,
                size,
                duration,
                flags,
                composition_offset: composition.cast_signed(),
            };
            offset += u64::from(size);
            sample
        })
    }
}

/// Bytes of one entry.
fn stride(flags: u32) -> usize {
    4 * (flags & (DURATION | SIZE | FLAGS | COMPOSITION)).count_ones() as usize
}

#[cfg(test)]
mod tests;
