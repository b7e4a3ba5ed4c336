use bytes::Bytes;

use super::error::{fit_u32, sum_u64};
use super::{BoxBuffer, WriteError};

/// The most references that one `sidx` holds: its count has 16 bits.
pub const MAX_REFERENCES: usize = 0xffff;

const MAX_REFERENCED_SIZE: u64 = 0x7fff_ffff;
const MAX_SAP_TYPE: u64 = 6;
const MAX_SAP_DELTA: u64 = 0x0fff_ffff;

/// One indexed range of media: whole fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subsegment {
    /// Bytes; under 2³¹.
    pub size: u64,
    /// From its earliest presentation time to the next subsegment's, in ticks; under 2³².
    pub duration: u64,
    /// Whether it begins with a stream access point.
    pub starts_with_sap: bool,
    /// 0 (unknown) to 6; 1 or 2 for closed GOPs, 3 for an open GOP (ISO/IEC 14496-12 Annex I).
    pub sap_type: u8,
    /// From the earliest presentation time to the access point's, in ticks; under 2²⁸.
    pub sap_delta: u32,
}

/// What a `sidx` says (ISO/IEC 14496-12 §8.16.3).
#[derive(Debug, Clone, Copy)]
pub struct SegmentIndex<'a> {
    /// Track id of the indexed stream.
    pub reference_id: u32,
    /// Ticks a second of every time here; the track's.
    pub timescale: u32,
    /// Earliest presentation time of the first subsegment.
    pub earliest_presentation_time: u64,
    /// Bytes between the end of the index and the first subsegment.
    pub first_offset: u64,
    /// In order, without bytes between them.
    pub subsegments: &'a [Subsegment],
}

/// A segment index. Up to [`MAX_REFERENCES`] subsegments make one `sidx`; more make one that refers to others
/// (reference type 1), which follow it directly:
///
/// ```text
/// sidx ─► sidx 1 · sidx 2 · … · (first_offset bytes) · media of 1 · media of 2 · …
/// ```
///
/// Each box is version 1 iff its time or its offset exceeds 32 bits.
///
/// # Errors
///
/// [`WriteError::Overflow`] if a size, duration or access point does not fit, or more references are needed than two
/// levels hold; [`WriteError::Invalid`] if the timescale is 0.
pub fn sidx(index: &SegmentIndex<'_>) -> Result<Bytes, WriteError> {
    if index.timescale == 0 {
        return Err(WriteError::invalid(b"sidx", "the timescale is 0"));
    }
    let subsegments = index.subsegments;
    if subsegments.len() <= MAX_REFERENCES {
        let mut b = BoxBuffer::with_capacity(40 + 12 * subsegments.len());
        write_box(&mut b, index, false)?;
        return Ok(b.finish());
    }

    let groups = group(subsegments)?;
    let mut references = Vec::with_capacity(groups.len());
    let mut time = index.earliest_presentation_time;
    let mut media = index.first_offset;
    let mut children = Vec::with_capacity(groups.len());
    for subsegments in groups {
        let duration = sum_u64(b"sidx", "duration", subsegments.iter().map(|s| s.duration))?;
        let size = sum_u64(b"sidx", "size", subsegments.iter().map(|s| s.size))?;
        references.push(Subsegment {
            size: 0,
            duration,
            ..subsegments[0]
        });
        children.push(SegmentIndex {
            earliest_presentation_time: time,
            first_offset: media,
            subsegments,
            ..*index
        });
        time = sum_u64(b"sidx", "earliest presentation time", [time, duration])?;
        media = sum_u64(b"sidx", "first offset", [media, size])?;
    }

    // A child's offset spans the children after it, so lengths are known from the last to the first.
    let mut after = 0;
    for (child, reference) in children.iter_mut().zip(&mut references).rev() {
        child.first_offset = sum_u64(b"sidx", "first offset", [child.first_offset, after])?;
        reference.size = child.box_size();
        after += reference.size;
    }

    let parent = SegmentIndex {
        first_offset: 0,
        subsegments: &references,
        ..*index
    };
    let total = parent.box_size() + after;
    let mut b = BoxBuffer::with_capacity(usize::try_from(total).unwrap_or(0));
    write_box(&mut b, &parent, true)?;
    for child in &children {
        write_box(&mut b, child, false)?;
    }
    Ok(b.finish())
}

/// Cuts `subsegments` into runs that one reference each can describe.
fn group(subsegments: &[Subsegment]) -> Result<Vec<&[Subsegment]>, WriteError> {
    let mut groups = Vec::new();
    let mut rest = subsegments;
    while !rest.is_empty() {
        let mut duration = 0u64;
        let fits = |s: &&Subsegment| {
            duration = duration.saturating_add(s.duration);
            duration <= u64::from(u32::MAX)
        };
        let count = rest.iter().take(MAX_REFERENCES).take_while(fits).count();
        // A subsegment too long by itself is reported when it is written.
        let (run, tail) = rest.split_at(count.max(1));
        groups.push(run);
        rest = tail;
        if groups.len() > MAX_REFERENCES {
            let count = u128::try_from(subsegments.len()).unwrap_or(u128::MAX);
            return Err(WriteError::overflow(
                b"sidx",
                "number of subsegments in two levels",
                count,
                u64::try_from(subsegments.len() - rest.len()).unwrap_or(u64::MAX),
            ));
        }
    }
    Ok(groups)
}

impl SegmentIndex<'_> {
    fn version(&self) -> u8 {
        let long = self.earliest_presentation_time.max(self.first_offset) > u64::from(u32::MAX);
        u8::from(long)
    }

    fn box_size(&self) -> u64 {
        let references = u64::try_from(self.subsegments.len()).unwrap_or(u64::MAX);
        let head = if self.version() == 0 { 32 } else { 40 };
        references.saturating_mul(12).saturating_add(head)
    }
}

fn write_box(
    b: &mut BoxBuffer,
    index: &SegmentIndex<'_>,
    to_indexes: bool,
) -> Result<(), WriteError> {
    let version = index.version();
    b.full_box(b"sidx", version, 0, |b| {
        b.u32(index.reference_id);
        b.u32(index.timescale);
        let time = index.earliest_presentation_time;
        if version == 0 {
            b.u32(fit_u32(b"sidx", "earliest presentation time", time)?);
            b.u32(fit_u32(b"sidx", "first offset", index.first_offset)?);
        } else {
            b.u64(time);
            b.u64(index.first_offset);
        }
        b.u16(0);
        let count = index.subsegments.len();
        b.u16(u16::try_from(count).map_err(|_| {
            let count = u128::try_from(count).unwrap_or(u128::MAX);
            WriteError::overflow(b"sidx", "reference count", count, 0xffff)
        })?);
        for subsegment in index.subsegments {
            reference(b, subsegment, to_indexes)?;
        }
        Ok(())
    })
}

fn reference(b: &mut BoxBuffer, subsegment: &Subsegment, to_index: bool) -> Result<(), WriteError> {
    let size = bounded("referenced size", subsegment.size, MAX_REFERENCED_SIZE)?;
    let sap_type = bounded("SAP type", u64::from(subsegment.sap_type), MAX_SAP_TYPE)?;
    let sap_delta = bounded(
        "SAP delta time",
        u64::from(subsegment.sap_delta),
        MAX_SAP_DELTA,
    )?;
    b.u32(u32::from(to_index) << 31 | size);
    b.u32(fit_u32(
        b"sidx",
        "subsegment duration",
        subsegment.duration,
    )?);
    b.u32(u32::from(subsegment.starts_with_sap) << 31 | sap_type << 28 | sap_delta);
    Ok(())
}

fn bounded(field: &'static str, value: u64, limit: u64) -> Result<u32, WriteError> {
    u32::try_from(value)
        .ok()
        .filter(|_| value <= limit)
        .ok_or_else(|| WriteError::overflow(b"sidx", field, u128::from(value), limit))
}
