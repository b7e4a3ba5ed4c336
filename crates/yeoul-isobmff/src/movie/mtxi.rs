use crate::BoxError;
use crate::walk::BoxRef;

/// MediaMTX's `moov/udta/mtxi`: which recording of which take this is.
///
/// Layout after the full-box header: stream id (16 bytes), segment number (u64), DTS (i64, ns), NTP (i64, ns).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mtxi {
    /// Identifies one uninterrupted run of a recorder: a take.
    pub stream_id: [u8; 16],
    /// Counts the recordings of a take from 0.
    pub segment_number: u64,
    /// Decode time at which the recording begins, in nanoseconds; negative with B-frames.
    pub dts_ns: i64,
    /// Wall clock of the first sample, nanoseconds since the Unix epoch.
    pub ntp_ns: i64,
}

impl Mtxi {
    pub(super) fn parse(found: &BoxRef<'_>) -> Result<Self, BoxError> {
        let (_, _, mut fields) = found.full()?;
        Ok(Self {
            stream_id: fields.array()?,
            segment_number: fields.u64()?,
            dts_ns: fields.i64()?,
            ntp_ns: fields.i64()?,
        })
    }
}
