use super::entries::field;
use super::{SampleTable, TableError};

/// One sample of an ordinary MP4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSample {
    /// Decode time: the durations before it, in ticks of the track.
    pub dts: u64,
    /// Ticks until the next sample's decode time.
    pub duration: u32,
    /// Presentation time less decode time, in ticks. Values of 2³¹ and more in a version 0 `ctts` are negative: muxers
    /// write them so.
    pub composition_offset: i64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u32,
    /// Whether decoding can begin here.
    pub sync: bool,
    /// Which sample entry it uses, from 1.
    pub description_index: u32,
}

/// The samples of a [`SampleTable`] in decode order; ends after the first error.
#[derive(Debug, Clone)]
pub struct Samples<'a> {
    table: SampleTable<'a>,
    file_len: u64,
    next: u64,
    dts: u64,
    times: Runs<'a>,
    compositions: Runs<'a>,
    syncs: &'a [[u8; 4]],
    chunks: Chunks,
    offset: u64,
    failed: bool,
}

impl<'a> Samples<'a> {
    pub(super) fn new(table: &SampleTable<'a>, file_len: u64) -> Self {
        Self {
            file_len,
            next: 0,
            dts: 0,
            times: Runs::new(table.stts),
            compositions: Runs::new(table.ctts),
            syncs: table.stss.unwrap_or_default(),
            chunks: Chunks::default(),
            offset: 0,
            failed: false,
            table: table.clone(),
        }
    }

    fn sample(&mut self) -> Result<TableSample, TableError> {
        let index = self.next;
        if self.chunks.left == 0 {
            self.offset = self.chunks.open(&self.table);
        }
        self.chunks.left = self.chunks.left.saturating_sub(1);
        let size = self.table.sizes.size(index);
        let offset = self.offset;
        let end = offset.checked_add(u64::from(size));
        let end = end.filter(|&end| end <= self.file_len);
        self.offset = end.ok_or(TableError::OutsideFile {
            sample: index,
            offset,
            size,
            file_len: self.file_len,
        })?;

        let duration = self.times.value();
        let dts = self.dts;
        self.dts = dts
            .checked_add(u64::from(duration))
            .ok_or(TableError::DecodeTime { sample: index })?;
        self.next += 1;
        Ok(TableSample {
            dts,
            duration,
            composition_offset: i64::from(self.compositions.value().cast_signed()),
            offset,
            size,
            sync: self.is_sync(index + 1),
            description_index: self.chunks.description,
        })
    }

    /// Whether sample `number`, from 1, is in `stss`.
    fn is_sync(&mut self, number: u64) -> bool {
        if self.table.stss.is_none() {
            return true;
        }
        while let Some((first, rest)) = self.syncs.split_first() {
            let listed = u64::from(field(first, 0));
            if listed > number {
                return false;
            }
            self.syncs = rest;
            if listed == number {
                return true;
            }
        }
        false
    }
}

impl Iterator for Samples<'_> {
    type Item = Result<TableSample, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.next >= self.table.len() {
            return None;
        }
        let sample = self.sample();
        self.failed = sample.is_err();
        Some(sample)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.table.len() - self.next).unwrap_or(usize::MAX);
        (0, Some(if self.failed { 0 } else { left }))
    }
}

/// Values that each stand for a run of samples: `stts` or `ctts`. 0 after the last.
#[derive(Debug, Clone)]
struct Runs<'a> {
    rest: &'a [[u8; 8]],
    left: u32,
    value: u32,
}

impl<'a> Runs<'a> {
    fn new(entries: &'a [[u8; 8]]) -> Self {
        Self {
            rest: entries,
            left: 0,
            value: 0,
        }
    }

    fn value(&mut self) -> u32 {
        while self.left == 0 {
            let Some((entry, rest)) = self.rest.split_first() else {
                return 0;
            };
            self.rest = rest;
            self.left = field(entry, 0);
            self.value = field(entry, 1);
        }
        self.left -= 1;
        self.value
    }
}

/// Where in `stsc` and in the list of chunks the iteration is.
#[derive(Debug, Clone, Default)]
struct Chunks {
    /// Index of the next chunk, from 0.
    next: usize,
    /// Index in `stsc` of the run of the open chunk.
    run: usize,
    /// Samples of the open chunk not given yet.
    left: u32,
    description: u32,
}

impl Chunks {
    /// Goes to the next chunk that has samples and returns its offset. The table's length ends the iteration before
    /// there is none.
    fn open(&mut self, table: &SampleTable<'_>) -> u64 {
        while let Some(offset) = table.offsets.at(self.next) {
            self.next += 1;
            let begins = |run: &[u8; 12]| usize::try_from(field(run, 0)) == Ok(self.next);
            if table.stsc.get(self.run + 1).is_some_and(begins) {
                self.run += 1;
            }
            let run = table.stsc.get(self.run);
            self.left = run.map_or(0, |r| field(r, 1));
            self.description = run.map_or(0, |r| field(r, 2));
            if self.left > 0 {
                return offset;
            }
        }
        u64::MAX
    }
}
