//! `moof`: the samples of a part, resolved trun → tfhd → trex (ISO/IEC 14496-12, clauses 8.8.4 to 8.8.12).

use super::boxes::{BoxAt, Child, MAX_HEADER_BOX, children};
use super::input::{Fault, Fields, Input};
use super::movie::{Defaults, Movie};

/// Samples one `trun`, and one `moof` altogether, may claim.
pub(super) const MAX_TRUN_SAMPLES: u32 = 1_048_576;

/// `traf`s that a `moof` may have.
pub(super) const MAX_TRAFS: usize = 1024;

const NON_SYNC: u32 = 0x0001_0000;

/// One sample: decode time, duration and composition offset in ticks, and where its bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) dts: i128,
    pub(super) duration: u32,
    pub(super) cts: i64,
    pub(super) size: u32,
    pub(super) sync: bool,
    pub(super) offset: u64,
}

impl Sample {
    pub(super) fn pts(&self) -> i128 {
        self.dts + i128::from(self.cts)
    }

    pub(super) fn end(&self) -> i128 {
        self.dts + i128::from(self.duration)
    }
}

/// What one track has in a part.
#[derive(Debug)]
pub(super) struct Traf {
    pub(super) track_id: u32,
    pub(super) tfdt: Option<u64>,
    /// A `trun` came before the `tfdt`.
    pub(super) late_tfdt: bool,
    /// The samples whose bytes are all in the input.
    pub(super) samples: Vec<Sample>,
    /// Samples that the `trun`s claim.
    pub(super) claimed: u64,
    /// Byte ranges of the `trun`s, as claimed.
    pub(super) runs: Vec<(u64, u64)>,
}

/// Reads the `moof` at `head`. `trun`s of tracks that the movie does not have are read with defaults of zero.
pub(super) fn read_moof(
    input: &Input<'_>,
    head: &BoxAt,
    movie: &Movie,
) -> Result<Vec<Traf>, Fault> {
    let body = head.read_body(input, MAX_HEADER_BOX)?;
    let mut reader = Reader {
        movie,
        moof: head.start,
        input_end: input.len(),
        next_data: head.start,
        total: 0,
    };
    let mut trafs = Vec::new();
    for item in children(&body, head.body)?
        .iter()
        .filter(|c| c.kind == *b"traf")
    {
        if trafs.len() == MAX_TRAFS {
            return Err(Fault::new(
                item.at,
                format!("a moof has more than {MAX_TRAFS} trafs"),
            ));
        }
        trafs.push(reader.traf(item)?);
    }
    Ok(trafs)
}

struct Reader<'m> {
    movie: &'m Movie,
    moof: u64,
    input_end: u64,
    /// End of the data of the `traf` before: the base of one that names none.
    next_data: u64,
    total: u64,
}

impl Reader<'_> {
    fn traf(&mut self, item: &Child<'_>) -> Result<Traf, Fault> {
        let all = children(item.body, item.at + 8)?;
        let tfhd = all
            .iter()
            .find(|c| c.kind == *b"tfhd")
            .ok_or_else(|| Fault::new(item.at, "traf has no tfhd"))?;
        let mut fields = Fields::new(tfhd.body, tfhd.at, "tfhd");
        let (_, flags) = fields.version()?;
        let track_id = fields.u32()?;
        let mut defaults = self
            .movie
            .track(track_id)
            .map(|t| t.trex)
            .unwrap_or_default();
        let named_base = if flags & 1 != 0 {
            Some(fields.u64()?)
        } else {
            None
        };
        if flags & 2 != 0 {
            fields.u32()?;
        }
        for (bit, field) in [
            (8, &mut defaults.duration),
            (0x10, &mut defaults.size),
            (0x20, &mut defaults.flags),
        ] {
            if flags & bit != 0 {
                *field = fields.u32()?;
            }
        }
        let base = named_base.unwrap_or(if flags & 0x2_0000 != 0 {
            self.moof
        } else {
            self.next_data
        });
        let mut traf = Traf {
            track_id,
            tfdt: None,
            late_tfdt: false,
            samples: Vec::new(),
            claimed: 0,
            runs: Vec::new(),
        };
        if let Some(tfdt) = all.iter().find(|c| c.kind == *b"tfdt") {
            let mut fields = Fields::new(tfdt.body, tfdt.at, "tfdt");
            let (version, _) = fields.version()?;
            traf.tfdt = Some(fields.wide(version)?);
            traf.late_tfdt = all.iter().any(|c| c.kind == *b"trun" && c.at < tfdt.at);
        }
        let mut place = Place {
            base,
            data: base,
            dts: i128::from(traf.tfdt.unwrap_or(0)),
            cut: false,
        };
        for trun in all.iter().filter(|c| c.kind == *b"trun") {
            self.trun(trun, defaults, &mut place, &mut traf)?;
        }
        self.next_data = place.data;
        Ok(traf)
    }

    fn trun(
        &mut self,
        item: &Child<'_>,
        defaults: Defaults,
        place: &mut Place,
        traf: &mut Traf,
    ) -> Result<(), Fault> {
        let mut fields = Fields::new(item.body, item.at, "trun");
        let (version, flags) = fields.version()?;
        let count = fields.u32()?;
        self.total += u64::from(count);
        if count > MAX_TRUN_SAMPLES || self.total > u64::from(MAX_TRUN_SAMPLES) {
            let what = format!("trun claims {count} samples, a part may have {MAX_TRUN_SAMPLES}");
            return Err(Fault::new(item.at, what));
        }
        if flags & 1 != 0 {
            let start = i128::from(place.base) + i128::from(fields.i32()?);
            place.data = u64::try_from(start)
                .map_err(|_| Fault::new(item.at, "trun data lies before the file"))?;
        }
        let first_flags = if flags & 4 != 0 {
            Some(fields.u32()?)
        } else {
            None
        };
        let each = usize::try_from((flags >> 8 & 0xf).count_ones() * 4).unwrap_or(0);
        let need = usize::try_from(count)
            .ok()
            .and_then(|n| n.checked_mul(each));
        if need != Some(fields.rest().len()) {
            let what = format!(
                "trun claims {count} samples of {each} bytes and has {} bytes",
                fields.rest().len()
            );
            return Err(Fault::new(item.at, what));
        }
        if flags & 0x200 == 0 && defaults.size == 0 && count > 0 {
            return Err(Fault::new(
                item.at,
                format!("trun claims {count} samples and no sample size is given"),
            ));
        }
        traf.claimed += u64::from(count);
        let start = place.data;
        for index in 0..count {
            let duration = if flags & 0x100 != 0 {
                fields.u32()?
            } else {
                defaults.duration
            };
            let size = if flags & 0x200 != 0 {
                fields.u32()?
            } else {
                defaults.size
            };
            let own_flags = if flags & 0x400 != 0 {
                Some(fields.u32()?)
            } else {
                None
            };
            let cts = match (flags & 0x800 != 0, version) {
                (false, _) => 0,
                (true, 0) => i64::from(fields.u32()?),
                (true, _) => i64::from(fields.i32()?),
            };
            let bits = first_flags
                .filter(|_| index == 0)
                .or(own_flags)
                .unwrap_or(defaults.flags);
            let offset = place.data;
            let Some(end) = offset.checked_add(u64::from(size)) else {
                return Err(Fault::new(item.at, "sample bytes lie past 2^64"));
            };
            place.data = end;
            place.cut |= end > self.input_end;
            if place.cut && flags & 0x200 == 0 {
                // The rest is not there either, and its size need not be walked sample by sample.
                let left = u64::from(count - index - 1);
                place.data = left
                    .checked_mul(u64::from(size))
                    .and_then(|n| end.checked_add(n))
                    .unwrap_or(u64::MAX);
                break;
            }
            if !place.cut {
                let sync = bits & NON_SYNC == 0;
                traf.samples.push(Sample {
                    dts: place.dts,
                    duration,
                    cts,
                    size,
                    sync,
                    offset,
                });
                place.dts += i128::from(duration);
            }
        }
        traf.runs.push((start, place.data));
        Ok(())
    }
}

/// Where the next sample of a `traf` lies in bytes and in time.
struct Place {
    base: u64,
    data: u64,
    dts: i128,
    cut: bool,
}
