use super::entries::{ChildBox, field};
use super::{Limits, TableError};
use crate::write::FourCc;

/// One entry of `elst`: what is presented next (ISO/IEC 14496-12 §8.6.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edit {
    /// For how long, in ticks of the *movie*.
    pub segment_duration: u64,
    /// From where in the media, in ticks of the *track*; `None`: nothing is presented.
    pub media_time: Option<i64>,
    /// 16.16 fixed point; [`Edit::NORMAL_RATE`], or 0 to dwell on one picture.
    pub rate: i32,
}

impl Edit {
    /// Playback at the media's own speed.
    pub const NORMAL_RATE: i32 = 0x0001_0000;

    /// Nothing for `segment_duration` ticks of the movie.
    #[must_use]
    pub const fn empty(segment_duration: u64) -> Self {
        Self {
            segment_duration,
            media_time: None,
            rate: Self::NORMAL_RATE,
        }
    }

    /// The media from `media_time` (ticks of the track) on, for `segment_duration` ticks of the movie.
    #[must_use]
    pub const fn media(segment_duration: u64, media_time: i64) -> Self {
        Self {
            segment_duration,
            media_time: Some(media_time),
            rate: Self::NORMAL_RATE,
        }
    }
}

/// The edits in the content of an `elst` box (without its header; its version comes first).
///
/// # Errors
///
/// [`TableError::Truncated`] if there are fewer bytes than the count claims, [`TableError::TooMany`] over
/// [`Limits::edits`], [`TableError::Unknown`] for a version over 1, [`TableError::MediaTime`] for a time under −1.
pub fn edits(elst: &[u8], limits: &Limits) -> Result<Vec<Edit>, TableError> {
    let elst = ChildBox {
        name: FourCc(*b"elst"),
        offset: 0,
        content: elst,
    };
    let (version, rest) = elst.versioned()?;
    let (count, rest) = elst.number(rest)?;
    if count > limits.edits {
        return Err(TableError::TooMany {
            name: elst.name,
            count: u64::from(count),
            limit: u64::from(limits.edits),
        });
    }
    match version {
        0 => {
            let entries = elst.entries::<12>(count, rest)?;
            let edit = |(index, e): (u32, &[u8; 12])| {
                let media_time = i64::from(field(e, 1).cast_signed());
                checked(index, u64::from(field(e, 0)), media_time, field(e, 2))
            };
            (0..).zip(entries).map(edit).collect()
        }
        1 => {
            let entries = elst.entries::<20>(count, rest)?;
            let wide =
                |e: &[u8; 20], at| u64::from(field(e, at)) << 32 | u64::from(field(e, at + 1));
            let edit = |(index, e): (u32, &[u8; 20])| {
                checked(index, wide(e, 0), wide(e, 2).cast_signed(), field(e, 4))
            };
            (0..).zip(entries).map(edit).collect()
        }
        version => Err(TableError::Unknown {
            name: elst.name,
            offset: 0,
            field: "version",
            value: u32::from(version),
        }),
    }
}

fn checked(
    edit: u32,
    segment_duration: u64,
    media_time: i64,
    rate: u32,
) -> Result<Edit, TableError> {
    if media_time < -1 {
        return Err(TableError::MediaTime { edit, media_time });
    }
    Ok(Edit {
        segment_duration,
        media_time: (media_time != -1).then_some(media_time),
        rate: rate.cast_signed(),
    })
}
