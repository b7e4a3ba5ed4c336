//! One media playlist and its segments: structure, decode time and independence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use super::boxes::{BoxAt, MAX_HEADER_BOX, name};
use super::input::{Fault, Input};
use super::movie::Movie;
use super::playlist::{Entry, Playlist, local_path};
use super::presentation::Shown;
use super::report::Report;
use super::segment::{self, Segment};
use super::timeline::SECOND;
use super::tracks::{Against, Feed, Span, Tracks};

/// What a media playlist turned out to be.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) discontinuities: usize,
    /// Files that it names, as paths from the folder of the broadcast where they can be read.
    pub(super) files: BTreeSet<std::path::PathBuf>,
    /// When each entry is presented.
    pub(super) shown: Vec<Option<Shown>>,
}

/// Digests of initialization segments.
pub(super) type Inits = BTreeSet<[u8; 32]>;

/// Checks a parsed media playlist. `label` is how problems name it.
pub(super) fn check(
    path: &Path,
    label: &str,
    list: &Playlist,
    against: Option<&mut Against<'_>>,
    inits: &mut Inits,
    report: &mut Report,
) -> Seen {
    header(list, label, against.is_some(), report);
    let mut pass = Pass {
        path,
        label,
        independent: list.independent,
        against,
        inits,
        report,
        movies: BTreeMap::new(),
        tracks: Tracks::default(),
        seen: Seen::default(),
        map: None,
        anew: false,
    };
    for (n, entry) in list.entries.iter().enumerate() {
        pass.entry(entry, n == 0);
    }
    pass.seen
}

fn header(list: &Playlist, label: &str, ours: bool, report: &mut Report) {
    for (line, what) in &list.faults {
        report.problem(format!("{label}:{line}"), what);
    }
    let longest = list
        .entries
        .iter()
        .map(|e| (e.duration + SECOND / 2) / SECOND)
        .max();
    match (list.target, longest) {
        (None, _) => report.problem(label, "has no EXT-X-TARGETDURATION"),
        (Some(target), Some(longest)) if i128::from(target) < longest => {
            report.problem(
                label,
                format!("TARGETDURATION is {target}, the longest EXTINF rounds to {longest}"),
            );
        }
        _ => {}
    }
    if list.entries.is_empty() {
        report.problem(label, "names no segments");
    }
    if ours && !list.ended {
        report.problem(label, "has no EXT-X-ENDLIST");
    }
}

struct Pass<'p, 'm> {
    path: &'p Path,
    label: &'p str,
    independent: bool,
    against: Option<&'p mut Against<'m>>,
    inits: &'p mut Inits,
    report: &'p mut Report,
    movies: BTreeMap<String, Option<Rc<Movie>>>,
    tracks: Tracks,
    seen: Seen,
    map: Option<String>,
    /// A DISCONTINUITY came since the last segment, with this one or with a GAP before it.
    anew: bool,
}

impl Pass<'_, '_> {
    fn entry(&mut self, entry: &Entry, first: bool) {
        self.seen.discontinuities += usize::from(entry.discontinuity && !first);
        self.anew |= entry.discontinuity;
        let mut shown = None;
        if !entry.gap {
            self.report.segments += 1;
            shown = self.segment(entry, &entry.place(self.label));
            self.anew = false;
        } else if let Some(file) = local_path(self.path, &entry.uri) {
            self.seen.files.insert(file);
        }
        self.seen.shown.push(shown);
    }

    fn segment(&mut self, entry: &Entry, place: &str) -> Option<Shown> {
        if self.map.is_some() && self.map != entry.map && !self.anew {
            self.report
                .problem(place, "a new EXT-X-MAP without a DISCONTINUITY");
        }
        self.map.clone_from(&entry.map);
        let movie = self.movie(entry, place)?;
        let Some(file) = local_path(self.path, &entry.uri) else {
            self.report.problem(
                place,
                "is not a file beside the playlist, it cannot be checked",
            );
            return None;
        };
        let opened = Input::open(&file);
        self.seen.files.insert(file);
        let input = match opened {
            Ok(input) => input,
            Err(e) => {
                self.report.problem(place, format!("cannot be read: {e}"));
                return None;
            }
        };
        let segment = segment::read(&input, &movie, place, self.report);
        let run = self.seen.discontinuities;
        let against = self.against.as_deref_mut();
        let mut feed = Feed {
            label: self.label,
            against,
        };
        let spans = self.tracks.push(
            &segment,
            &movie,
            &input,
            run,
            place,
            Some(&mut feed),
            self.report,
        );
        self.sidx(&segment, &spans, place);
        if self.independent && spans.iter().any(|s| s.video && !s.first.sync) {
            self.report.problem(
                place,
                "does not begin with a sync sample, INDEPENDENT-SEGMENTS promises so",
            );
        }
        Shown::of(&spans)
    }

    fn movie(&mut self, entry: &Entry, place: &str) -> Option<Rc<Movie>> {
        let Some(uri) = &entry.map else {
            self.report.problem(place, "has no EXT-X-MAP");
            return None;
        };
        if let Some(known) = self.movies.get(uri) {
            return known.clone();
        }
        let loaded = match local_path(self.path, uri) {
            None => Err(Fault::new(0, "is not a file beside the playlist")),
            Some(file) => {
                self.seen.files.insert(file.clone());
                load_init(&file, uri, self.against.is_some())
            }
        };
        let movie = match loaded {
            Ok((movie, digest)) => {
                self.inits.insert(digest);
                Some(Rc::new(movie))
            }
            Err(fault) => {
                self.report
                    .problem(format!("{uri} ({})", self.label), fault.to_string());
                None
            }
        };
        self.movies.insert(uri.clone(), movie.clone());
        movie
    }

    fn sidx(&mut self, segment: &Segment, spans: &[Span], place: &str) {
        if spans.is_empty() {
            return;
        }
        for index in &segment.indexes {
            let Some(span) = spans.iter().find(|s| s.track_id == index.reference) else {
                let what = format!(
                    "sidx is about track {}, which has no samples here",
                    index.reference
                );
                self.report.problem(place, what);
                continue;
            };
            let (said, is) = (i128::from(index.earliest), span.min.pts);
            if said * i128::from(span.timescale) != is * i128::from(index.timescale) {
                self.report.problem(
                    place,
                    format!("sidx says it begins at {said}, it begins at {is}"),
                );
            }
        }
    }
}

/// Reads and checks an initialization segment.
fn load_init(file: &Path, uri: &str, ours: bool) -> Result<(Movie, [u8; 32]), Fault> {
    let disk = Input::open(file).map_err(|e| Fault::new(0, format!("cannot be read: {e}")))?;
    let bytes = disk.take(0, disk.len(), MAX_HEADER_BOX, "an initialization segment")?;
    let movie = read_init(&bytes)?;
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    let named = uri
        .rsplit('/')
        .next()
        .and_then(|n| n.strip_prefix("init-")?.strip_suffix(".mp4"));
    let hex: String = digest.iter().take(4).map(|b| format!("{b:02x}")).collect();
    if ours && named.is_some_and(|n| n != hex) {
        return Err(Fault::new(
            0,
            format!("its SHA-256 begins with {hex}, its name says otherwise"),
        ));
    }
    Ok((movie, digest))
}

/// An initialization segment: whole boxes, a `moov` with tracks and `mvex`, no media.
pub(super) fn read_init(bytes: &[u8]) -> Result<Movie, Fault> {
    let input = Input::Memory(bytes);
    let (movie, _) = Movie::find(&input)?;
    let mut at = 0;
    while at < input.len() {
        let head = BoxAt::read(&input, at)?;
        if head.end > input.len() {
            return Err(Fault::new(
                at,
                format!(
                    "truncated: box {} should end at {}",
                    name(head.kind),
                    head.end
                ),
            ));
        }
        if matches!(&head.kind, b"moof" | b"mdat") {
            return Err(Fault::new(
                at,
                format!("{} in an initialization segment", name(head.kind)),
            ));
        }
        at = head.end;
    }
    if movie.tracks.is_empty() || !movie.fragmented {
        return Err(Fault::new(0, "the moov has no tracks or no mvex"));
    }
    Ok(movie)
}
