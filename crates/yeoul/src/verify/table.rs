//! Sample tables of a plain MP4 (ISO/IEC 14496-12, clauses 8.6 and 8.7), walked in place. Edit lists are not applied.

use super::boxes::Child;
use super::fragment::Sample;
use super::input::{Fault, Fields, to_u64};

/// The tables as they lie in the file, and the sample count, which is checked against them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) count: u64,
    /// One size for all samples; 0: `sizes` has one each.
    uniform: u32,
    sizes: Vec<u8>,
    stts: Vec<u8>,
    ctts: Vec<u8>,
    ctts_signed: bool,
    stsc: Vec<u8>,
    chunks: Vec<u8>,
    wide_chunks: bool,
    /// Sample numbers, from 1; none: every sample is a sync sample.
    stss: Option<Vec<u8>>,
}

impl Tables {
    pub(super) fn parse(stbl: &[Child<'_>], file_len: u64) -> Result<Self, Fault> {
        let mut tables = Self::default();
        for item in stbl {
            let mut fields = Fields::new(item.body, item.at, "a sample table");
            let mut rows = |width: u64| -> Result<(u8, Vec<u8>), Fault> {
                let (version, _) = fields.version()?;
                let count = u64::from(fields.u32()?);
                let need = usize::try_from(count * width).ok();
                let body = need.and_then(|n| fields.rest().get(..n));
                let body = body.ok_or_else(|| {
                    Fault::new(
                        item.at,
                        format!("a table of {count} rows is larger than its box"),
                    )
                })?;
                Ok((version, body.to_vec()))
            };
            match &item.kind {
                b"stts" => tables.stts = rows(8)?.1,
                b"ctts" => {
                    let (version, body) = rows(8)?;
                    tables.ctts_signed = version != 0;
                    tables.ctts = body;
                }
                b"stsc" => tables.stsc = rows(12)?.1,
                b"stco" => tables.chunks = rows(4)?.1,
                b"co64" => {
                    tables.wide_chunks = true;
                    tables.chunks = rows(8)?.1;
                }
                b"stss" => tables.stss = Some(rows(4)?.1),
                b"stsz" => tables.read_sizes(item, file_len)?,
                b"stz2" => {
                    return Err(Fault::new(
                        item.at,
                        "stz2 (compact sample sizes) cannot be read here",
                    ));
                }
                _ => {}
            }
        }
        Ok(tables)
    }

    fn read_sizes(&mut self, item: &Child<'_>, file_len: u64) -> Result<(), Fault> {
        let mut fields = Fields::new(item.body, item.at, "stsz");
        fields.version()?;
        self.uniform = fields.u32()?;
        self.count = u64::from(fields.u32()?);
        let (room, unit) = match self.uniform {
            0 => (to_u64(fields.rest().len()), 4),
            size => (file_len, u64::from(size)),
        };
        if self.count * unit > room {
            let what = format!(
                "stsz claims {} samples, there is room for {}",
                self.count,
                room / unit
            );
            return Err(Fault::new(item.at, what));
        }
        if self.uniform == 0 {
            self.sizes = fields.rest().to_vec();
        }
        Ok(())
    }
}

fn word(table: &[u8], row: usize, width: usize, column: usize) -> Option<u32> {
    let at = row.checked_mul(width)?.checked_add(column * 4)?;
    table
        .get(at..at + 4)?
        .try_into()
        .ok()
        .map(u32::from_be_bytes)
}

/// Where a walk through the tables stands. The tables themselves stay with the movie.
#[derive(Debug, Default)]
pub(super) struct TableWalk {
    index: u64,
    dts: i128,
    stts: (usize, u32),
    ctts: (usize, u32),
    stss: usize,
    stsc: usize,
    chunk: usize,
    in_chunk: u32,
    offset: u64,
}

impl TableWalk {
    /// The next sample; an error when the tables contradict each other.
    pub(super) fn next(&mut self, tables: &Tables) -> Option<Result<Sample, Fault>> {
        (self.index < tables.count).then(|| {
            let index = self.index;
            self.step(tables).ok_or_else(|| {
                Fault::new(
                    0,
                    format!(
                        "the sample tables end at sample {index} of {}",
                        tables.count
                    ),
                )
            })
        })
    }

    fn step(&mut self, tables: &Tables) -> Option<Sample> {
        let row = usize::try_from(self.index).ok()?;
        let size = if tables.uniform == 0 {
            word(&tables.sizes, row, 4, 0)?
        } else {
            tables.uniform
        };
        let duration = run_value(&tables.stts, &mut self.stts)?;
        let cts = if tables.ctts.is_empty() {
            0
        } else {
            run_value(&tables.ctts, &mut self.ctts)?
        };
        let cts = if tables.ctts_signed {
            i64::from(cts.cast_signed())
        } else {
            i64::from(cts)
        };
        let sync = self.is_sync(tables);
        if self.in_chunk == 0 {
            self.enter_chunk(tables)?;
        }
        let sample = Sample {
            dts: self.dts,
            duration,
            cts,
            size,
            sync,
            offset: self.offset,
        };
        self.offset = self.offset.checked_add(u64::from(size))?;
        self.dts += i128::from(duration);
        self.index += 1;
        self.in_chunk -= 1;
        Some(sample)
    }

    fn is_sync(&mut self, tables: &Tables) -> bool {
        let Some(stss) = &tables.stss else {
            return true;
        };
        let hit = word(stss, self.stss, 4, 0).is_some_and(|n| u64::from(n) == self.index + 1);
        self.stss += usize::from(hit);
        hit
    }

    fn enter_chunk(&mut self, tables: &Tables) -> Option<()> {
        let number = u64::try_from(self.chunk).ok()? + 1;
        while word(&tables.stsc, self.stsc + 1, 12, 0)
            .is_some_and(|first| u64::from(first) <= number)
        {
            self.stsc += 1;
        }
        self.in_chunk = word(&tables.stsc, self.stsc, 12, 1).filter(|n| *n > 0)?;
        self.offset = if tables.wide_chunks {
            u64::from(word(&tables.chunks, self.chunk, 8, 0)?) << 32
                | u64::from(word(&tables.chunks, self.chunk, 8, 1)?)
        } else {
            u64::from(word(&tables.chunks, self.chunk, 4, 0)?)
        };
        self.chunk += 1;
        Some(())
    }
}

/// The value for one more sample of a table of (count, value) rows; `place` is the row and how much of it is used.
fn run_value(table: &[u8], place: &mut (usize, u32)) -> Option<u32> {
    while word(table, place.0, 8, 0)? <= place.1 {
        *place = (place.0 + 1, 0);
    }
    place.1 += 1;
    word(table, place.0, 8, 1)
}
