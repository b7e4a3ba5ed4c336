//! Any bytes as a file: the box walker, `moov`, sample entries, sample tables, edit lists.

use bytes::Bytes;
use yeoul_isobmff::codec::{ParameterSets, SampleEntry};
use yeoul_isobmff::movie::{Movie, Track};
use yeoul_isobmff::tables::{self, SampleTable};
use yeoul_isobmff::walk::{BoxRef, Boxes};
use yeoul_isobmff::{FourCc, Limits};

use crate::LIMITS;

/// Checks one input.
pub fn check(data: &[u8]) {
    let file = Bytes::copy_from_slice(data);
    walk(&file, 0, 0, data.len() as u64);
    let movies = Boxes::new(&file, 0)
        .map_while(Result::ok)
        .filter(|found| found.kind == FourCc(*b"moov"));
    for found in movies {
        movie(
            &file.slice_ref(found.bytes),
            found.offset,
            file.len() as u64,
        );
    }
    sample_table(data, data.len() as u64);
    edit_list(data);
}

/// Boxes follow each other without a gap, within `bytes`, which begin at `offset` and end at `end` in the file.
fn walk(bytes: &[u8], offset: u64, depth: u32, end: u64) {
    assert_eq!(offset + bytes.len() as u64, end);
    let mut at = offset;
    for found in Boxes::new(bytes, offset) {
        let found: BoxRef<'_> = match found {
            Ok(found) => found,
            Err(error) => {
                assert_eq!(error.offset, at);
                let _ = error.to_string();
                return;
            }
        };
        assert_eq!(found.offset, at);
        at += found.bytes.len() as u64;
        assert!(at <= end && found.bytes.len() >= 8);
        assert_eq!(found.content_offset() + found.content.len() as u64, at);
        if depth < Limits::DEPTH {
            walk(found.content, found.content_offset(), depth + 1, at);
        }
    }
    assert!(end - at < 8, "{} bytes were passed over", end - at);
}

fn movie(moov: &Bytes, offset: u64, file_len: u64) {
    let Ok(movie) = Movie::parse(moov, offset, &LIMITS) else {
        return;
    };
    assert!(movie.tracks.len() as u64 <= u64::from(LIMITS.tracks));
    let sets: Vec<ParameterSets> = movie
        .tracks
        .iter()
        .flat_map(entries)
        .filter_map(|entry| entry.parameter_sets())
        .collect();
    for track in &movie.tracks {
        assert!(track.id != 0 && track.timescale != 0 && !track.entries.is_empty());
        assert_eq!(track.language_code().len(), 3);
        for entry in entries(track) {
            sample_entry(&entry, &sets);
        }
        sample_table(&track.table, file_len);
        if let Some(list) = &track.edit_list {
            edit_list(list);
        }
    }
}

fn entries(track: &Track) -> impl Iterator<Item = SampleEntry> + '_ {
    let entries = track.entries.iter();
    entries.filter_map(|entry| SampleEntry::new(entry, track.handler).ok())
}

/// The typed views of an entry, and the same entry with each of `sets`.
pub(crate) fn sample_entry(entry: &SampleEntry, sets: &[ParameterSets]) {
    let claimed = entry
        .bytes()
        .first_chunk()
        .map(|size| u32::from_be_bytes(*size));
    assert!(claimed.is_some());
    let _ = (
        entry.codec_name(),
        entry.channels_and_rate(),
        entry.dimensions(),
    );
    let _ = entry.allows_in_band_sets();
    let Some(own) = entry.parameter_sets() else {
        return;
    };
    for sets in sets.iter().filter(|sets| sets.codec == own.codec) {
        with_sets(entry, sets);
        let _ = own.changed_by(sets);
    }
}

/// An entry that can be rebuilt has the sets that it was given, is a whole box, and comes out the same when it is rebuilt
/// once more.
pub(crate) fn with_sets(entry: &SampleEntry, sets: &ParameterSets) {
    let Ok((rebuilt, dimensions)) = entry.with_parameter_sets(sets) else {
        return;
    };
    let size = rebuilt
        .bytes()
        .first_chunk()
        .map(|size| u32::from_be_bytes(*size));
    assert_eq!(size.map(u64::from), Some(rebuilt.bytes().len() as u64));
    assert_eq!(rebuilt.dimensions(), Some(dimensions));
    assert!(dimensions.0 > 0 && dimensions.1 > 0);
    let read = rebuilt.parameter_sets().expect("the entry had sets before");
    assert_eq!(
        (&read.vps, &read.sps, &read.pps),
        (&sets.vps, &sets.sps, &sets.pps)
    );
    let again = rebuilt
        .with_parameter_sets(&read)
        .expect("it could be rebuilt before");
    assert_eq!(again, (rebuilt, dimensions));
}

fn sample_table(stbl: &[u8], file_len: u64) {
    let limits = tables::Limits {
        samples: LIMITS.samples,
        edits: 64,
    };
    let Ok(table) = SampleTable::parse(stbl, &limits) else {
        return;
    };
    assert!(table.len() <= limits.samples);
    let (mut count, mut next) = (0, 0);
    for sample in table.iter(file_len) {
        let Ok(sample) = sample else { return };
        assert_eq!(sample.dts, next);
        next = sample.dts + u64::from(sample.duration);
        assert!(sample.offset + u64::from(sample.size) <= file_len);
        assert_ne!(sample.description_index, u32::MAX);
        count += 1;
    }
    assert_eq!(count, table.len());
}

fn edit_list(elst: &[u8]) {
    let limits = tables::Limits {
        samples: LIMITS.samples,
        edits: 64,
    };
    if let Ok(edits) = tables::edits(elst, &limits) {
        assert!(edits.len() <= 64);
        assert!(
            edits
                .iter()
                .all(|edit| edit.media_time.is_none_or(|time| time >= 0))
        );
    }
}
