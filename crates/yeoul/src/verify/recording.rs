//! A recording, read for one track, header by header: its samples as they come, and where it is torn.

use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

use super::boxes::{BoxAt, MAX_BOXES, name};
use super::fragment::{Sample, read_moof};
use super::input::{Fault, Input};
use super::movie::Movie;
use super::table::TableWalk;

/// An opened recording. Only its `moov` has been read.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) input: Input<'static>,
    pub(super) movie: Movie,
    after_moov: u64,
    /// Where its data ends: before the zeros that a power cut left at the end of a recording that was never closed.
    data_end: u64,
}

/// So many zeros at the end, a sector, are no payload.
const ZERO_TAIL: u64 = 512;

impl Recording {
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let input = Input::open(path).map_err(|e| Fault::new(0, format!("cannot open: {e}")))?;
        let (movie, moov) = Movie::find(&input)?;
        let never_closed = movie.fragmented && movie.duration == 0;
        let data_end = if never_closed {
            data_end(&input, moov.end)?
        } else {
            input.len()
        };
        Ok(Self {
            input,
            movie,
            after_moov: moov.end,
            data_end,
        })
    }
}

/// The end of a file without the zeros that it ends in, if these are a sector or more.
fn data_end(input: &Input<'_>, floor: u64) -> Result<u64, Fault> {
    let mut block = [0; 4096];
    let mut end = input.len();
    while end > floor {
        let start = end.saturating_sub(4096).max(floor);
        let bytes = &mut block[..usize::try_from(end - start).unwrap_or(4096)];
        input.read_at(start, bytes)?;
        if let Some(zeros) = bytes.iter().rev().position(|byte| *byte != 0) {
            end -= super::input::to_u64(zeros);
            break;
        }
        end = start;
    }
    Ok(if input.len() - end >= ZERO_TAIL {
        end
    } else {
        input.len()
    })
}

/// The samples of one track in file order. Ends at the end of the file, or where it is torn.
#[derive(Debug)]
pub(super) struct TrackSamples {
    pub(super) recording: Rc<Recording>,
    track_id: u32,
    at: u64,
    table: TableWalk,
    ready: VecDeque<Sample>,
    /// Boxes passed that are neither `moof` nor `mdat`.
    others: usize,
    /// Where and why reading ended before the end of the file.
    pub(super) torn: Option<Fault>,
    ended: bool,
}

impl TrackSamples {
    pub(super) fn new(recording: Rc<Recording>, track_id: u32) -> Self {
        let at = recording.after_moov;
        Self {
            recording,
            track_id,
            at,
            table: TableWalk::default(),
            ready: VecDeque::new(),
            others: 0,
            torn: None,
            ended: false,
        }
    }

    fn next_in_tables(&mut self) -> Option<Sample> {
        let tables = &self.recording.movie.track(self.track_id)?.tables;
        match self.table.next(tables)? {
            Ok(sample)
                if sample.offset.saturating_add(u64::from(sample.size))
                    <= self.recording.input.len() =>
            {
                Some(sample)
            }
            Ok(sample) => {
                let what = format!(
                    "sample data goes past the end at {}",
                    self.recording.input.len()
                );
                self.end(Some(Fault::new(sample.offset, what)))
            }
            Err(fault) => self.end(Some(fault)),
        }
    }

    fn end(&mut self, torn: Option<Fault>) -> Option<Sample> {
        self.torn = torn;
        self.ended = true;
        None
    }

    /// Reads boxes up to and with the next part that has samples of the track.
    fn fill(&mut self) -> Result<(), Fault> {
        let recording = Rc::clone(&self.recording);
        let input = &recording.input;
        while self.ready.is_empty() && !self.ended {
            if self.at >= input.len() {
                self.ended = true;
                break;
            }
            let head = BoxAt::read(input, self.at)?;
            if head.kind == *b"moof" {
                // A part that cannot be read costs itself only; where the next one begins is known.
                let trafs = read_moof(input, &head, &recording.movie).unwrap_or_default();
                for traf in trafs {
                    if traf.track_id == self.track_id {
                        let there = |s: &Sample| s.offset + u64::from(s.size) <= recording.data_end;
                        self.ready
                            .extend(traf.samples.into_iter().take_while(there));
                    }
                }
                if self.ready.iter().any(|s| s.offset < head.end) {
                    return Err(Fault::new(
                        head.start,
                        "sample data lies before the end of its moof",
                    ));
                }
            } else if head.end > input.len() && self.ready.is_empty() {
                let what = format!(
                    "box {} claims to end at {}, the file ends at {}",
                    name(head.kind),
                    head.end,
                    input.len()
                );
                return Err(Fault::new(self.at, what));
            }
            self.others += usize::from(!matches!(&head.kind, b"moof" | b"mdat"));
            if self.others > MAX_BOXES {
                return Err(Fault::new(
                    self.at,
                    format!("there are more than {MAX_BOXES} boxes that are no parts"),
                ));
            }
            self.at = head.end;
        }
        Ok(())
    }
}

impl Iterator for TrackSamples {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        if !self.recording.movie.fragmented {
            return if self.ended {
                None
            } else {
                self.next_in_tables()
            };
        }
        if self.ready.is_empty()
            && !self.ended
            && let Err(fault) = self.fill()
        {
            return self.end(Some(fault));
        }
        self.ready.pop_front()
    }
}
