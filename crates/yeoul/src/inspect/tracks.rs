//! What there is of each track.

use yeoul_isobmff::codec::SampleEntry;
use yeoul_isobmff::moof::{Moof, TrackFragment};
use yeoul_isobmff::movie::{Handler, Track};
use yeoul_isobmff::tables::SampleTable;

use super::fault::Fault;
use super::fields::Field;
use super::report::{Row, Totals};

/// One `traf`, measured.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) track: u32,
    /// All that it tells of.
    pub(super) claimed: Totals,
    /// What is wholly in the file of that.
    pub(super) whole: Totals,
    /// Where its last byte of payload lies, plus one.
    pub(super) end: u64,
}

impl Measured {
    pub(super) fn of(fragment: &TrackFragment<'_>, file_len: u64) -> Self {
        let start = fragment.decode_time;
        let mut claimed = Totals {
            start,
            ..Totals::default()
        };
        let mut whole = claimed;
        let mut end = 0;
        for sample in fragment.samples() {
            let sample_end = sample.offset.saturating_add(sample.size.into());
            end = end.max(sample_end);
            claimed.add(sample.duration, sample.size, sample.is_sync());
            if sample_end <= file_len {
                whole.add(sample.duration, sample.size, sample.is_sync());
            }
        }
        Self {
            track: fragment.track_id,
            claimed,
            whole,
            end,
        }
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let mut fields = vec![("track", self.track.into())];
        if let Some(start) = self.claimed.start {
            fields.push(("decode_time", start.into()));
        }
        fields.extend([
            ("samples", self.claimed.samples.into()),
            ("duration", self.claimed.duration.into()),
            ("bytes", self.claimed.bytes.into()),
            ("sync", self.claimed.sync.into()),
        ]);
        fields
    }
}

/// Samples that a `moof` tells of.
pub(super) fn sample_count(moof: &Moof<'_>) -> u64 {
    let counts = moof.fragments.iter().map(|f| f.sample_count);
    counts.fold(0, u64::saturating_add)
}

impl Totals {
    pub(super) fn add(&mut self, duration: u32, size: u32, sync: bool) {
        self.samples += 1;
        self.duration = self.duration.saturating_add(duration.into());
        self.bytes = self.bytes.saturating_add(size.into());
        self.sync += u64::from(sync);
    }

    pub(super) fn join(&mut self, next: &Self) {
        self.start = self.start.or(next.start);
        self.samples = self.samples.saturating_add(next.samples);
        self.duration = self.duration.saturating_add(next.duration);
        self.bytes = self.bytes.saturating_add(next.bytes);
        self.sync = self.sync.saturating_add(next.sync);
    }
}

/// Adds up a sample table; the second part is what ended it early.
pub(super) fn measure_table(table: &SampleTable<'_>, file_len: u64) -> (Totals, Option<String>) {
    let mut totals = Totals::default();
    for sample in table.iter(file_len) {
        match sample {
            Ok(sample) => {
                totals.start.get_or_insert(sample.dts);
                totals.add(sample.duration, sample.size, sample.sync);
            }
            Err(error) => return (totals, Some(error.to_string())),
        }
    }
    (totals, None)
}

/// More samples than the file has bytes are a lie that only costs time.
pub(super) fn check_count(count: u64, file_len: u64) -> Result<(), String> {
    if count > file_len {
        return Err(format!(
            "tells of {count} samples, more than the {file_len} bytes of the file"
        ));
    }
    Ok(())
}

impl Row {
    pub(super) fn of(track: &Track, totals: Totals) -> Self {
        let kind = match track.handler {
            Handler::Video => "video".to_owned(),
            Handler::Audio => "audio".to_owned(),
            Handler::Other(code) => code.to_string(),
        };
        let entries = track.entries.iter();
        let entries: Vec<_> = entries
            .filter_map(|entry| SampleEntry::new(entry, track.handler).ok())
            .collect();
        let codecs: Vec<String> = entries
            .iter()
            .map(|entry| {
                entry
                    .codec_name()
                    .unwrap_or_else(|| entry.kind().to_string())
            })
            .collect();
        let audio = track.handler == Handler::Audio;
        Self {
            id: track.id,
            kind,
            codec: (!codecs.is_empty()).then(|| codecs.join("+")),
            timescale: Some(track.timescale),
            language: Some(track.language_code()),
            picture: entries.first().and_then(SampleEntry::dimensions),
            sound: entries
                .first()
                .filter(|_| audio)
                .and_then(SampleEntry::channels_and_rate),
            totals,
        }
    }

    /// A track that only `traf`s tell of.
    pub(super) fn unknown(id: u32, totals: Totals) -> Self {
        Self {
            id,
            kind: "unknown".to_owned(),
            codec: None,
            timescale: None,
            language: None,
            picture: None,
            sound: None,
            totals,
        }
    }
}

/// The fault of payload that a `moof` places past the end of the file, if it does.
pub(super) fn outside(moof_offset: u64, measured: &[Measured], file_len: u64) -> Option<Fault> {
    let end = measured.iter().map(|m| m.end).max()?;
    (end > file_len).then(|| {
        let kind = yeoul_isobmff::FourCc(*b"moof");
        let message = format!("its samples reach to {end}, the file ends at {file_len}");
        Fault::new(kind, moof_offset, message)
    })
}
