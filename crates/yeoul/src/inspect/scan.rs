//! The walk over the boxes at the top level of a file.

use std::collections::BTreeMap;

use bytes::Bytes;
use yeoul_isobmff::moof::Moof;
use yeoul_isobmff::movie::{Movie, TrackExtends};
use yeoul_isobmff::tables::{self, SampleTable};
use yeoul_isobmff::walk::{BoxHeader, HEADER_PROBE};
use yeoul_isobmff::{BoxError, Fault as BoxFault, FourCc, Limits};
use yeoul_spans::Source;

use super::Options;
use super::fault::{Fault, Stop};
use super::report::{FileKind, Node, Report, Row, Summary, Totals};
use super::tracks::{Measured, check_count, measure_table, outside, sample_count};
use super::tree::Tree;

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) movie: Option<Movie>,
    pub(super) fault: Option<Fault>,
    /// Where the walk ended: the end of the file, or the box at fault.
    pub(super) end: u64,
    totals: BTreeMap<u32, Totals>,
    parts: u64,
    /// Whether there is a segment index, which may be a file of its own.
    indexed: bool,
    /// Whether there is any box but `styp`.
    beyond_type: bool,
    counted: u64,
    torn: Option<u64>,
    missing_samples: u64,
    /// Payload past the end of the file; a torn box, which says the same better, comes later in the file.
    outside: Option<Fault>,
    notes: Vec<String>,
}

/// A box at the top level: its header, where it begins, and how many bytes are there.
#[derive(Debug)]
pub(super) struct TopBox {
    pub(super) header: BoxHeader,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) have: u64,
}

impl Scan {
    /// Walks `source` to its end or first fault, showing each box.
    pub(super) fn run(
        source: &dyn Source,
        options: &Options,
        report: &mut dyn Report,
    ) -> Result<Self, Stop> {
        let mut scan = Self::default();
        match scan.walk(source, options, report) {
            Ok(()) => {}
            Err(Stop::Fault(fault)) => scan.fault = Some(fault),
            Err(stop) => return Err(stop),
        }
        scan.fault = scan.fault.take().or_else(|| scan.outside.take());
        Ok(scan)
    }

    fn walk(
        &mut self,
        source: &dyn Source,
        options: &Options,
        report: &mut dyn Report,
    ) -> Result<(), Stop> {
        if source.is_empty() {
            let message = "is empty: 'ftyp', 'styp', 'moov' or 'moof' was expected";
            return Err(Fault::of_file(0, message).into());
        }
        while let Some(found) = next_box(source, self.end)? {
            check_kind(&found)?;
            self.top(source, &found, options, report)?;
            if found.size > found.have {
                self.torn = Some(found.offset);
                let fault = BoxFault::Truncated {
                    needed: found.size,
                    have: found.have,
                };
                return Err(found.error(fault).into());
            }
            self.end = found.offset + found.size;
            self.indexed |= found.header.kind == FourCc(*b"sidx");
            self.beyond_type |= found.header.kind != FourCc(*b"styp");
        }
        let says_where = self.movie.is_some() || self.parts > 0 || self.indexed;
        if self.beyond_type && !says_where {
            let message =
                "ends with neither 'moov' nor 'moof' in it: nothing here says where media is";
            return Err(Fault::of_file(self.end, message).into());
        }
        Ok(())
    }

    /// Shows one box and takes what it says.
    fn top(
        &mut self,
        source: &dyn Source,
        found: &TopBox,
        options: &Options,
        report: &mut dyn Report,
    ) -> Result<(), Stop> {
        let depth = match (options.tracks_only, options.depth) {
            (true, _) => 0,
            (false, depth) => depth.unwrap_or(Limits::DEPTH),
        };
        let limits = &options.limits;
        if !found.is_header_box() {
            if depth > 0 {
                let node = Node {
                    kind: found.header.kind,
                    offset: found.offset,
                    size: found.size,
                    fields: Vec::new(),
                };
                report.open(&node, 1)?;
                report.close()?;
            }
            return Ok(());
        }
        let bytes = found.read(source, limits)?;
        let torn = found.size > found.have;
        let mut tree = Tree::new(report, depth, limits);
        match &found.header.kind.0 {
            b"moof" if !torn => {
                let measured = self.moof(&bytes, found, source.len(), limits);
                let shown: Vec<_> = measured.iter().flatten().map(Measured::fields).collect();
                tree.fragments = shown.into_iter();
                tree.show(&found.header, &bytes, found.offset)?;
                self.part(found.offset, &measured?, source.len(), limits)
            }
            b"moov" if !torn => {
                let stbl = tree.show(&found.header, &bytes, found.offset)?;
                let movie = Movie::parse(&bytes, found.offset, limits)?;
                self.movie(movie, &stbl, source.len(), limits)
            }
            _ => tree.show(&found.header, &bytes, found.offset).map(|_| ()),
        }
    }

    fn movie(
        &mut self,
        movie: Movie,
        stbl: &[u64],
        file_len: u64,
        limits: &Limits,
    ) -> Result<(), Stop> {
        if self.movie.is_some() {
            self.notes.push("a second 'moov' is left out".to_owned());
            return Ok(());
        }
        let fragmented = movie.fragmented;
        let movie = self.movie.insert(movie);
        for (index, track) in movie.tracks.iter().enumerate() {
            let offset = stbl.get(index).copied().unwrap_or_default();
            let fault = |message: String| Fault::new(FourCc(*b"stbl"), offset, message);
            let table = match SampleTable::parse(&track.table, &table_limits(limits)) {
                Ok(table) => table,
                // A fragmented movie may leave its tables out altogether.
                Err(_) if fragmented => continue,
                Err(error) => return Err(fault(error.to_string()).into()),
            };
            check_count(table.len(), file_len).map_err(fault)?;
            if let Some(d) = table.disagreement() {
                self.notes.push(format!(
                    "sample tables of track {} disagree: {} times, {} sizes, {} places; the least counts",
                    track.id, d.timed, d.sized, d.placed
                ));
            }
            let (totals, ended) = measure_table(&table, file_len);
            if let Some(message) = ended {
                self.missing_samples += table.len() - totals.samples;
                self.outside.get_or_insert_with(|| fault(message));
            }
            self.totals.entry(track.id).or_default().join(&totals);
        }
        Ok(())
    }

    fn moof(
        &mut self,
        bytes: &[u8],
        found: &TopBox,
        file_len: u64,
        limits: &Limits,
    ) -> Result<Vec<Measured>, Fault> {
        let moof = parse_moof(bytes, found.offset, self.movie.as_ref(), limits)?;
        self.counted = self.counted.saturating_add(sample_count(&moof));
        check_count(self.counted, file_len)
            .map_err(|message| Fault::new(found.header.kind, found.offset, message))?;
        let fragments = moof.fragments.iter();
        Ok(fragments.map(|f| Measured::of(f, file_len)).collect())
    }

    fn part(
        &mut self,
        offset: u64,
        measured: &[Measured],
        file_len: u64,
        limits: &Limits,
    ) -> Result<(), Stop> {
        self.parts += 1;
        for fragment in measured {
            let missing = fragment.claimed.samples - fragment.whole.samples;
            self.missing_samples = self.missing_samples.saturating_add(missing);
            self.totals
                .entry(fragment.track)
                .or_default()
                .join(&fragment.whole);
            if self.totals.len() as u64 > u64::from(limits.tracks) {
                let fault = BoxFault::Limit {
                    what: "track count",
                    value: self.totals.len() as u64,
                    limit: limits.tracks.into(),
                };
                return Err(Fault::new(FourCc(*b"moof"), offset, fault).into());
            }
        }
        if self.outside.is_none() {
            self.outside = outside(offset, measured, file_len);
        }
        Ok(())
    }

    /// The tracks of the `moov` in its order, then those that only parts tell of.
    pub(super) fn rows(&self) -> Vec<Row> {
        let tracks = self.movie.as_ref().map_or(&[][..], |movie| &movie.tracks);
        let totals = |id| self.totals.get(&id).copied().unwrap_or_default();
        let known = tracks.iter().map(|track| Row::of(track, totals(track.id)));
        let unknown = self.totals.iter();
        let unknown = unknown.filter(|(id, _)| tracks.iter().all(|track| track.id != **id));
        known
            .chain(unknown.map(|(id, totals)| Row::unknown(*id, *totals)))
            .collect()
    }

    pub(super) fn summary(&self) -> Summary<'_> {
        let movie = self.movie.as_ref();
        let mtxi = movie.and_then(|movie| movie.mtxi);
        let kind = match movie {
            Some(movie) if !movie.fragmented => FileKind::Plain,
            Some(_) if self.parts > 0 || mtxi.is_some() => FileKind::Recording,
            Some(_) => FileKind::Init,
            None if self.parts > 0 => FileKind::Segment,
            None if self.end > 0 && !self.beyond_type => FileKind::EmptySegment,
            None => FileKind::Unknown,
        };
        Summary {
            kind,
            parts: self.parts,
            closed: movie
                .filter(|_| kind == FileKind::Recording)
                .map(|movie| movie.duration != 0),
            movie: movie.map(|movie| (movie.timescale, movie.duration)),
            mtxi,
            torn: self.torn,
            missing_samples: self.missing_samples,
            notes: &self.notes,
        }
    }
}

impl TopBox {
    /// Whether it is read whole: it says where media is and is none itself.
    fn is_header_box(&self) -> bool {
        matches!(
            &self.header.kind.0,
            b"ftyp" | b"styp" | b"moov" | b"moof" | b"sidx" | b"meta" | b"mfra"
        )
    }

    /// Reads what is there of it, within the limits.
    pub(super) fn read(&self, source: &dyn Source, limits: &Limits) -> Result<Bytes, Stop> {
        let len = usize::try_from(self.have).ok();
        let Some(len) = len.filter(|_| self.have <= limits.header_bytes) else {
            return Err(self
                .error(BoxFault::Limit {
                    what: "its length in bytes",
                    value: self.have,
                    limit: limits.header_bytes,
                })
                .into());
        };
        let mut bytes = vec![0; len];
        source.read_exact_at(&mut bytes, self.offset)?;
        Ok(bytes.into())
    }

    fn error(&self, fault: BoxFault) -> BoxError {
        BoxError {
            kind: self.header.kind,
            offset: self.offset,
            fault,
        }
    }
}

/// The box at `offset`, `None` at the end of the file.
pub(super) fn next_box(source: &dyn Source, offset: u64) -> Result<Option<TopBox>, Stop> {
    let left = source.len().saturating_sub(offset);
    if left == 0 {
        return Ok(None);
    }
    // A 64-bit size is read only where there is one: what follows a short header may be payload.
    let mut probe = [0; HEADER_PROBE];
    let short = left.min(8);
    let mut have = usize::try_from(short).unwrap_or(8);
    source.read_exact_at(&mut probe[..have], offset)?;
    if probe[..4] == [0, 0, 0, 1] && left > short {
        let end = usize::try_from(left).unwrap_or(HEADER_PROBE);
        let end = end.min(HEADER_PROBE);
        source.read_exact_at(&mut probe[have..end], offset + short)?;
        have = end;
    }
    let header = BoxHeader::parse(&probe[..have], offset)?;
    let size = header.size.unwrap_or(left).max(header.header_len);
    Ok(Some(TopBox {
        header,
        offset,
        size,
        have: size.min(left),
    }))
}

/// Refuses what is no box of an ISO base media file where the file begins, and zeros anywhere.
fn check_kind(found: &TopBox) -> Result<(), Fault> {
    let kind = found.header.kind;
    let first = matches!(
        &kind.0,
        b"ftyp"
            | b"styp"
            | b"moov"
            | b"moof"
            | b"mdat"
            | b"free"
            | b"skip"
            | b"wide"
            | b"uuid"
            | b"pdin"
            | b"sidx"
            | b"emsg"
            | b"prft"
    );
    if found.offset == 0 && !first {
        let message = "'ftyp', 'styp', 'moov' or 'moof' was expected: not an MP4";
        return Err(Fault::new(kind, 0, message));
    }
    if kind == FourCc([0; 4]) {
        let message = "zeros where a box was expected, as after a power cut";
        return Err(Fault::new(kind, found.offset, message));
    }
    Ok(())
}

pub(super) fn parse_moof<'a>(
    bytes: &'a [u8],
    offset: u64,
    movie: Option<&Movie>,
    limits: &Limits,
) -> Result<Moof<'a>, BoxError> {
    let extends = |id| -> Option<TrackExtends> { Some(movie?.track(id)?.extends) };
    Moof::parse(bytes, offset, limits, extends)
}

pub(super) fn table_limits(limits: &Limits) -> tables::Limits {
    tables::Limits {
        samples: limits.samples,
        ..tables::Limits::default()
    }
}
