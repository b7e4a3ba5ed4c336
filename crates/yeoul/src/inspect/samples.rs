//! The list of samples, a track at a time: headers are read once a track, nothing is kept.

use yeoul_isobmff::tables::SampleTable;
use yeoul_isobmff::{FourCc, Limits};
use yeoul_spans::Source;

use super::fault::Stop;
use super::report::{Report, Row, Sample};
use super::scan::{Scan, next_box, parse_moof, table_limits};

/// Lists the samples of each track that are wholly in the file and lie before its fault.
pub(super) fn list(
    source: &dyn Source,
    scan: &Scan,
    limits: &Limits,
    report: &mut dyn Report,
) -> Result<(), Stop> {
    report.begin_samples()?;
    for row in scan.rows().iter().filter(|row| row.totals.samples > 0) {
        report.begin_track(row)?;
        let next = table_samples(source, scan, limits, row, report)?;
        fragment_samples(source, scan, limits, row, next, report)?;
        report.end_track()?;
    }
    report.end_samples()?;
    Ok(())
}

/// Samples of the `moov`'s own tables; returns the decode time behind the last.
fn table_samples(
    source: &dyn Source,
    scan: &Scan,
    limits: &Limits,
    row: &Row,
    report: &mut dyn Report,
) -> Result<u64, Stop> {
    let mut next = 0;
    let track = scan.movie.as_ref().and_then(|movie| movie.track(row.id));
    let table =
        track.and_then(|track| SampleTable::parse(&track.table, &table_limits(limits)).ok());
    let samples = table.iter().flat_map(|table| table.iter(source.len()));
    for sample in samples.map_while(Result::ok) {
        next = sample.dts.saturating_add(sample.duration.into());
        report.sample(&Sample {
            dts: sample.dts,
            pts: i128::from(sample.dts) + i128::from(sample.composition_offset),
            duration: sample.duration,
            size: sample.size,
            sync: sample.sync,
            offset: sample.offset,
        })?;
    }
    Ok(next)
}

fn fragment_samples(
    source: &dyn Source,
    scan: &Scan,
    limits: &Limits,
    row: &Row,
    mut next: u64,
    report: &mut dyn Report,
) -> Result<(), Stop> {
    let mut at = 0;
    while at < scan.end {
        let Some(found) = next_box(source, at)? else {
            break;
        };
        at = found.offset.saturating_add(found.size);
        if found.header.kind != FourCc(*b"moof") {
            continue;
        }
        let bytes = found.read(source, limits)?;
        let moof = parse_moof(&bytes, found.offset, scan.movie.as_ref(), limits)?;
        for fragment in moof.fragments.iter().filter(|f| f.track_id == row.id) {
            let mut dts = fragment.decode_time.unwrap_or(next);
            for sample in fragment.samples() {
                let end = sample.offset.saturating_add(sample.size.into());
                if end <= source.len() {
                    report.sample(&Sample {
                        dts,
                        pts: i128::from(dts) + i128::from(sample.composition_offset),
                        duration: sample.duration,
                        size: sample.size,
                        sync: sample.is_sync(),
                        offset: sample.offset,
                    })?;
                }
                dts = dts.saturating_add(sample.duration.into());
            }
            next = dts;
        }
    }
    Ok(())
}
