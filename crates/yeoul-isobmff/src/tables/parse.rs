use super::entries::{ChildBox, children, field};
use super::iter::Samples;
use super::sizes::Sizes;
use super::{Limits, TableError};
use crate::write::FourCc;

/// The sample tables of one track, borrowed from the content of its `stbl` (ISO/IEC 14496-12 §8.6–8.7).
///
/// `stts`, `ctts`, `stsc`, `stsz` or `stz2`, `stco` or `co64` and `stss` are read; anything else is left alone.
#[derive(Debug, Clone)]
pub struct SampleTable<'a> {
    /// (count, duration)
    pub(super) stts: &'a [[u8; 8]],
    /// (count, offset)
    pub(super) ctts: &'a [[u8; 8]],
    /// (first chunk, samples a chunk, description); only entries within the chunks.
    pub(super) stsc: &'a [[u8; 12]],
    pub(super) sizes: Sizes<'a>,
    pub(super) offsets: Offsets<'a>,
    /// Absent: all are sync samples.
    pub(super) stss: Option<&'a [[u8; 4]]>,
    len: u64,
    disagreement: Option<Disagreement>,
}

/// How many samples each table describes, where they differ: the table has the least of the first three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disagreement {
    /// Sum of `stts`.
    pub timed: u64,
    /// Count of `stsz` or `stz2`.
    pub sized: u64,
    /// What `stsc` puts into the chunks that there are.
    pub placed: u64,
    /// Sum of `ctts`, if there is one: missing offsets are 0.
    pub offset: Option<u64>,
    /// Entries of `stsc` that begin past the last chunk and were dropped.
    pub dropped_runs: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Offsets<'a> {
    Bits32(&'a [[u8; 4]]),
    Bits64(&'a [[u8; 8]]),
}

impl Offsets<'_> {
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Bits32(entries) => entries.len(),
            Self::Bits64(entries) => entries.len(),
        }
    }

    /// Where chunk `index` begins in the file, from 0.
    pub(super) fn at(&self, index: usize) -> Option<u64> {
        match self {
            Self::Bits32(entries) => entries.get(index).map(|e| u64::from(field(e, 0))),
            Self::Bits64(entries) => entries.get(index).map(|e| u64::from_be_bytes(*e)),
        }
    }
}

impl<'a> SampleTable<'a> {
    /// Reads the tables in the content of an `stbl` box.
    ///
    /// Tables that describe different numbers of samples are cut to the shortest, and [`SampleTable::disagreement`] says
    /// so. Nothing is allocated, and the time taken is in proportion to `stbl`, not to what it claims.
    ///
    /// # Errors
    ///
    /// [`TableError::Missing`], [`TableError::Duplicate`] and [`TableError::Truncated`] boxes, entries out of
    /// [`TableError::Order`], [`TableError::Unknown`] widths, and [`TableError::TooMany`] over [`Limits::samples`].
    pub fn parse(stbl: &'a [u8], limits: &Limits) -> Result<Self, TableError> {
        let boxes = Boxes::find(stbl)?;
        let sizes = match (boxes.stsz, boxes.stz2) {
            (Some(stsz), _) => Sizes::stsz(&stsz)?,
            (None, Some(stz2)) => Sizes::stz2(&stz2)?,
            (None, None) => return Err(missing(b"stsz")),
        };
        let offsets = match (boxes.stco, boxes.co64) {
            (Some(stco), _) => Offsets::Bits32(table(&stco)?),
            (None, Some(co64)) => Offsets::Bits64(table(&co64)?),
            (None, None) => return Err(missing(b"stco")),
        };
        let stts = table::<8>(&boxes.stts.ok_or(missing(b"stts"))?)?;
        let stsc = table::<12>(&boxes.stsc.ok_or(missing(b"stsc"))?)?;
        let ctts = boxes.ctts.as_ref().map(table::<8>).transpose()?;
        let stss = boxes.stss.as_ref().map(table::<4>).transpose()?;
        check_sync_order(stss.unwrap_or_default())?;
        let (stsc, dropped_runs) = runs_within(stsc, offsets.count())?;

        let counts = Disagreement {
            timed: sum(stts),
            sized: sizes.count(),
            placed: placed(stsc, offsets.count()),
            offset: ctts.map(sum),
            dropped_runs,
        };
        let len = counts.timed.min(counts.sized).min(counts.placed);
        if len > limits.samples {
            return Err(TableError::TooMany {
                name: FourCc(*b"stsz"),
                count: len,
                limit: limits.samples,
            });
        }
        Ok(Self {
            stts,
            ctts: ctts.unwrap_or_default(),
            stsc,
            sizes,
            offsets,
            stss,
            len,
            disagreement: counts.is_real(len).then_some(counts),
        })
    }

    /// How many samples there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no sample, as in a fragmented movie.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Set if the tables describe different numbers of samples; worth a warning.
    #[must_use]
    pub fn disagreement(&self) -> Option<&Disagreement> {
        self.disagreement.as_ref()
    }

    /// The samples in decode order. `file_len` is the length of the file that they lie in (`u64::MAX` if unknown): the
    /// first sample that ends past it ends the iteration with [`TableError::OutsideFile`].
    #[must_use]
    pub fn iter(&self, file_len: u64) -> Samples<'a> {
        Samples::new(self, file_len)
    }
}

impl Disagreement {
    fn is_real(&self, len: u64) -> bool {
        let tables = [self.timed, self.sized, self.placed];
        tables.iter().any(|&count| count != len)
            || self.offset.is_some_and(|count| count != len)
            || self.dropped_runs > 0
    }
}

#[derive(Default)]
struct Boxes<'a> {
    stts: Option<ChildBox<'a>>,
    ctts: Option<ChildBox<'a>>,
    stsc: Option<ChildBox<'a>>,
    stsz: Option<ChildBox<'a>>,
    stz2: Option<ChildBox<'a>>,
    stco: Option<ChildBox<'a>>,
    co64: Option<ChildBox<'a>>,
    stss: Option<ChildBox<'a>>,
}

impl<'a> Boxes<'a> {
    fn find(stbl: &'a [u8]) -> Result<Self, TableError> {
        let mut boxes = Self::default();
        for child in children(stbl) {
            let child = child?;
            let slot = match &child.name.0 {
                b"stts" => &mut boxes.stts,
                b"ctts" => &mut boxes.ctts,
                b"stsc" => &mut boxes.stsc,
                b"stsz" => &mut boxes.stsz,
                b"stz2" => &mut boxes.stz2,
                b"stco" => &mut boxes.stco,
                b"co64" => &mut boxes.co64,
                b"stss" => &mut boxes.stss,
                _ => continue,
            };
            if slot.replace(child).is_some() {
                return Err(TableError::Duplicate {
                    name: child.name,
                    offset: child.offset,
                });
            }
        }
        Ok(boxes)
    }
}

fn missing(name: &[u8; 4]) -> TableError {
    TableError::Missing {
        name: FourCc(*name),
    }
}

/// The entries of a full box that is a count and entries of `N` bytes.
fn table<'a, const N: usize>(of: &ChildBox<'a>) -> Result<&'a [[u8; N]], TableError> {
    let (_, rest) = of.versioned()?;
    of.counted(rest)
}

/// Sum of the counts of `stts` or `ctts`; cannot overflow, as a box has under 2³² entries.
fn sum(entries: &[[u8; 8]]) -> u64 {
    entries
        .iter()
        .fold(0, |sum, e| u64::saturating_add(sum, u64::from(field(e, 0))))
}

fn check_sync_order(stss: &[[u8; 4]]) -> Result<(), TableError> {
    let mut previous = 0;
    for (entry, number) in stss.iter().enumerate() {
        let value = field(number, 0);
        if value < previous {
            return Err(TableError::Order {
                name: FourCc(*b"stss"),
                entry,
                previous,
                value,
            });
        }
        previous = value;
    }
    Ok(())
}

/// The runs of `stsc` that begin within `chunks` chunks, and how many do not. First chunks must ascend from 1.
fn runs_within(stsc: &[[u8; 12]], chunks: usize) -> Result<(&[[u8; 12]], usize), TableError> {
    let mut previous = 0;
    let mut within = 0;
    for (entry, run) in stsc.iter().enumerate() {
        let value = field(run, 0);
        if value <= previous || (entry == 0 && value != 1) {
            return Err(TableError::Order {
                name: FourCc(*b"stsc"),
                entry,
                previous,
                value,
            });
        }
        previous = value;
        if usize::try_from(value).is_ok_and(|first| first <= chunks) {
            within = entry + 1;
        }
    }
    Ok((&stsc[..within], stsc.len() - within))
}

/// How many samples the runs put into the chunks that there are.
fn placed(stsc: &[[u8; 12]], chunks: usize) -> u64 {
    let end = u64::try_from(chunks).unwrap_or(u64::MAX).saturating_add(1);
    let mut placed = 0u64;
    for (index, run) in stsc.iter().enumerate() {
        let next = stsc.get(index + 1).map_or(end, |r| u64::from(field(r, 0)));
        let chunks = next.saturating_sub(u64::from(field(run, 0)));
        placed = placed.saturating_add(chunks.saturating_mul(u64::from(field(run, 1))));
    }
    placed
}
