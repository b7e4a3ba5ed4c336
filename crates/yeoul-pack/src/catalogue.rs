//! Recordings sorted into takes, and takes put in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use yeoul_isobmff::Limits;
use yeoul_spans::{Source, SourceError};

use crate::input::Input;
use crate::recording::{Probe, Recording, RecordingError, probe, read};
use crate::scan::Parts;
use crate::time::NANOS;
use crate::warning::{Warning, WarningKind};

/// Identifies a take: MediaMTX's stream id, or the digest of a foreign file's head.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TakeId(pub [u8; 16]);

impl TakeId {
    /// Reads an id of 32 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digit = |at: usize| text.get(2 * at..2 * at + 2);
        let mut id = [0; 16];
        for (at, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digit(at)?, 16).ok()?;
        }
        (text.len() == 32).then_some(Self(id))
    }
}

impl std::fmt::Display for TakeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for TakeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// A recording in its take.
#[derive(Debug, Clone)]
pub struct TakeRecording {
    /// Where its bytes are.
    pub input: Arc<dyn Input>,
    /// What its head says.
    pub recording: Recording,
    /// Bytes when it was looked at.
    pub size: u64,
    /// Its number in the take.
    pub number: u64,
    /// Decode time at which it begins on the take's clock, nanoseconds.
    pub dts_ns: i64,
    /// Wall clock of its first sample, nanoseconds since the Unix epoch; not known of foreign files.
    pub ntp_ns: Option<i64>,
    /// Whether numbers are missing between it and the recording before.
    pub after_missing: bool,
}

/// One uninterrupted run of a recorder.
#[derive(Debug, Clone)]
pub struct Take {
    /// Its identity.
    pub id: TakeId,
    /// Wall clock less the take's clock, nanoseconds (rule 2); `None` without a wall clock.
    pub anchor_ns: Option<i64>,
    /// Its recordings by number.
    pub recordings: Vec<TakeRecording>,
}

impl Take {
    /// The take's clock at its begin, nanoseconds: no sample is decoded earlier.
    pub fn start_ns(&self) -> i64 {
        self.recordings.first().map_or(0, |first| first.dts_ns)
    }

    /// Wall clock at its begin.
    pub fn wall_start_ns(&self) -> Option<i128> {
        self.anchor_ns
            .map(|anchor| i128::from(anchor) + i128::from(self.start_ns()))
    }
}

/// Everything that was found, in order.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Takes by wall clock; those without one behind the rest, in the order of their inputs.
    pub takes: Vec<Take>,
    /// Recordings that cannot be used.
    pub refused: Vec<RecordingError>,
    /// What else there is to say.
    pub warnings: Vec<Warning>,
}

impl Catalogue {
    /// Reads the heads of all inputs. A recording that cannot be used costs itself only.
    ///
    /// # Errors
    /// A source fails while duplicates are compared.
    pub fn read(
        inputs: impl IntoIterator<Item = Arc<dyn Input>>,
        limits: &Limits,
    ) -> Result<Self, SourceError> {
        let mut catalogue = Self::default();
        let mut order: Vec<TakeId> = Vec::new();
        let mut takes: BTreeMap<TakeId, Vec<TakeRecording>> = BTreeMap::new();
        for input in inputs {
            match head(&input, limits) {
                Ok((id, mut found)) => {
                    let recordings = takes.entry(id).or_insert_with(|| {
                        order.push(id);
                        Vec::new()
                    });
                    if let Some(last) = recordings.last() {
                        found.recording.share_tracks(&last.recording);
                    }
                    recordings.push(found);
                }
                Err(error) => catalogue.refused.push(error),
            }
        }
        for id in order {
            let recordings = takes.remove(&id).unwrap_or_default();
            let take = catalogue.take(id, recordings, limits)?;
            catalogue.takes.push(take);
        }
        catalogue.sort();
        Ok(catalogue)
    }

    /// Moves a take on the wall clock by a correction, and puts the takes in order again.
    pub fn shift(&mut self, take: usize, by_ns: i64) {
        if let Some(anchor) = self
            .takes
            .get_mut(take)
            .and_then(|take| take.anchor_ns.as_mut())
        {
            *anchor = anchor.saturating_add(by_ns);
        }
    }

    /// Puts the takes in order by wall clock.
    pub fn sort(&mut self) {
        self.takes.sort_by_key(|take| match take.wall_start_ns() {
            Some(start) => (0, start, take.id),
            None => (1, 0, TakeId([0; 16])),
        });
        let anchored = self
            .takes
            .iter()
            .filter(|take| take.anchor_ns.is_some())
            .count();
        let clockless = self.takes.len() - anchored;
        let said = self
            .warnings
            .iter()
            .any(|warning| warning.kind == WarningKind::NoClock);
        if anchored > 0 && clockless > 0 && !said {
            let message =
                format!("{clockless} recordings without a wall clock are placed behind the rest");
            self.warnings
                .push(Warning::new(WarningKind::NoClock, message));
        }
    }

    fn take(
        &mut self,
        id: TakeId,
        mut recordings: Vec<TakeRecording>,
        limits: &Limits,
    ) -> Result<Take, SourceError> {
        recordings.sort_by(|a, b| {
            (a.number, a.dts_ns, a.input.name()).cmp(&(b.number, b.dts_ns, b.input.name()))
        });
        let mut kept: Vec<TakeRecording> = Vec::with_capacity(recordings.len());
        for recording in recordings {
            match kept.last_mut() {
                Some(last) if last.number == recording.number => {
                    self.choose(last, recording, limits)?;
                }
                _ => kept.push(recording),
            }
        }
        for index in 1..kept.len() {
            let missing = kept[index].number - kept[index - 1].number - 1;
            if missing > 0 {
                kept[index].after_missing = true;
                let message = format!(
                    "{missing} recordings are missing before this one (numbers {} to {} of take {})",
                    kept[index - 1].number + 1,
                    kept[index].number - 1,
                    short(id)
                );
                let name = kept[index].input.name();
                self.warnings
                    .push(Warning::of(WarningKind::MissingNumber, name, message));
            }
        }
        Ok(Take {
            id,
            anchor_ns: anchor(&kept),
            recordings: kept,
        })
    }

    /// Two recordings with one id and number (rule 11): the one with more whole parts is kept; of equals the first by path.
    fn choose(
        &mut self,
        kept: &mut TakeRecording,
        mut other: TakeRecording,
        limits: &Limits,
    ) -> Result<(), SourceError> {
        let (kept_parts, other_parts) = (whole_parts(kept, limits)?, whole_parts(&other, limits)?);
        if (other_parts, kept.input.name()) > (kept_parts, other.input.name()) {
            std::mem::swap(kept, &mut other);
        }
        let message = format!(
            "left out: has the stream id and number ({}) of {}, which has {} whole parts against {}",
            other.number,
            kept.input.name(),
            kept_parts.max(other_parts),
            kept_parts.min(other_parts)
        );
        self.warnings.push(Warning::of(
            WarningKind::Duplicate,
            other.input.name(),
            message,
        ));
        Ok(())
    }
}

/// Wall clock less the take's clock (rule 2): by the lowest recording after the first if it is there, else by the first,
/// whose wall clock MediaMTX takes half a second late.
pub fn anchor(recordings: &[TakeRecording]) -> Option<i64> {
    let after_first = recordings.iter().find(|recording| recording.number > 0);
    let anchored = after_first.or(recordings.first())?;
    anchored
        .ntp_ns
        .map(|ntp| ntp.saturating_sub(anchored.dts_ns))
}

/// The first twelve hex digits of a take's id: how files and messages name it.
pub(crate) fn short(id: TakeId) -> String {
    id.to_string()[..12].to_owned()
}

fn whole_parts(found: &TakeRecording, limits: &Limits) -> Result<u64, SourceError> {
    let source = found.input.open(!found.recording.closed)?;
    let mut parts = Parts::new(&*source, &found.recording, &[], limits)?;
    while parts.next(&mut |_| {})? {}
    Ok(parts.whole())
}

impl TakeRecording {
    /// Reads the head of an input: its take, and its place in it.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn read(input: &Arc<dyn Input>, limits: &Limits) -> Result<(TakeId, Self), RecordingError> {
        head(input, limits)
    }
}

fn head(
    input: &Arc<dyn Input>,
    limits: &Limits,
) -> Result<(TakeId, TakeRecording), RecordingError> {
    let source = input.open(false)?;
    let recording = Recording::read(&*source, limits)?;
    let (id, number, dts_ns, ntp_ns) = match recording.mtxi {
        Some(mtxi) => (
            TakeId(mtxi.stream_id),
            mtxi.segment_number,
            mtxi.dts_ns,
            Some(mtxi.ntp_ns),
        ),
        None => (
            foreign_id(&*source, &recording, limits)?,
            0,
            foreign_start(&*source, &recording, limits)?,
            None,
        ),
    };
    let found = TakeRecording {
        input: Arc::clone(input),
        size: source.len(),
        recording,
        number,
        dts_ns,
        ntp_ns,
        after_missing: false,
    };
    Ok((id, found))
}

/// A file that no MediaMTX wrote is a take of its own, known by its header, its first part's header and its size.
fn foreign_id(
    source: &dyn Source,
    recording: &Recording,
    limits: &Limits,
) -> Result<TakeId, SourceError> {
    let mut hash = Sha256::new();
    hash.update(b"yeoul foreign take 1");
    hash.update(source.len().to_be_bytes());
    for track in recording.tracks.iter() {
        hash.update(track.id.to_be_bytes());
        hash.update(&track.table);
    }
    let mut at = recording.body;
    while let Probe::Header(header) = probe(source, at)? {
        let left = source.len() - at;
        let len = header.size.unwrap_or(left).min(left);
        if &header.kind.0 == b"moof" && len <= limits.header_bytes {
            hash.update(read(source, at, len)?);
            break;
        }
        if len == left {
            break;
        }
        at += len;
    }
    let digest = hash.finalize();
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    Ok(TakeId(id))
}

/// The earliest decode time of a foreign file's first part, in nanoseconds rounded down: its clock may begin anywhere.
fn foreign_start(
    source: &dyn Source,
    recording: &Recording,
    limits: &Limits,
) -> Result<i64, SourceError> {
    let ids: Vec<u32> = recording.tracks.iter().map(|track| track.id).collect();
    let mut parts = Parts::new(source, recording, &ids, limits)?;
    let mut earliest: Option<i128> = None;
    parts.next(&mut |run| {
        let timescale = i128::from(recording.tracks[run.slot].timescale);
        let start = i128::from(run.decode_time.unwrap_or(0)) * NANOS;
        let start = start.div_euclid(timescale);
        earliest = Some(earliest.map_or(start, |earliest| earliest.min(start)));
    })?;
    Ok(i64::try_from(earliest.unwrap_or(0)).unwrap_or(0))
}
