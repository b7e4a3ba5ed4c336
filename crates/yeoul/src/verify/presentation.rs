//! Playlists against presentation: EXTINF, and PROGRAM-DATE-TIME against the recordings' wall clock.
//!
//! Renditions that are cut together tell one time for all of them: that of the earliest track at each cut. Our own
//! playlists do so; another's may also tell its own time.

use super::CLOCK_LIMIT_TICKS;
use super::manifest::Manifest;
use super::playlist::{Entry, Playlist};
use super::report::Report;
use super::timeline::{ns, seconds};
use super::tracks::Span;

/// How far the sum of EXTINF since the first segment may be from presentation time.
const EXTINF_LIMIT_NS: i128 = 1_000_000;

/// How far PROGRAM-DATE-TIME may be from anchor + own clock: it may be cut to milliseconds.
const DATE_LIMIT_NS: i128 = 1_000_000;

/// A media playlist, and for each of its entries what is presented; none for a GAP and for what cannot be read.
pub(super) struct Timed {
    pub(super) label: String,
    pub(super) list: Playlist,
    pub(super) shown: Vec<Option<Shown>>,
}

/// When a segment is presented. All times are nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    /// Earliest presentation of its tracks.
    start: i128,
    /// The same on the take's own clock, how exact that is, and which take.
    own: Option<i128>,
    slack: i128,
    take: Option<usize>,
    video: bool,
    /// Longest sample.
    frame: i128,
    /// When its tracks end: the first to end, and the last.
    ends: (i128, i128),
}

impl Shown {
    /// A video track begins with its first sample in decode order when that is a sync sample: leading pictures of an open
    /// GOP are presented before the cut.
    pub(super) fn of(spans: &[Span]) -> Option<Self> {
        let one = |s: &Span| {
            let point = if s.video && s.first.sync {
                s.first
            } else {
                s.min
            };
            Self {
                start: ns(point.pts, s.timescale),
                own: point.fed.own_pts,
                slack: ns(i128::from(CLOCK_LIMIT_TICKS), s.timescale) + 1,
                take: point.fed.take,
                video: s.video,
                frame: s.frame,
                ends: (s.end, s.end),
            }
        };
        spans.iter().map(one).reduce(Self::and)
    }

    fn and(self, other: Self) -> Self {
        let first = if other.start < self.start {
            other
        } else {
            self
        };
        Self {
            video: self.video || other.video,
            frame: self.frame.max(other.frame),
            ends: (self.ends.0.min(other.ends.0), self.ends.1.max(other.ends.1)),
            ..first
        }
    }
}

/// Checks the playlists of a broadcast together. Without a manifest, time may begin anew at a DISCONTINUITY.
pub(super) fn check(playlists: &[Timed], manifest: Option<&Manifest>, report: &mut Report) {
    let common = common(playlists);
    if playlists.len() > 1 && common.is_none() && manifest.is_some() {
        let counts: Vec<_> = playlists.iter().map(|t| t.shown.len()).collect();
        report.problem(
            "playlists",
            format!("are not cut alike: they have {counts:?} entries"),
        );
    }
    for timed in playlists {
        let checks = [extinf, dates];
        for check in checks {
            let faults = match &common {
                None => check(timed, &timed.shown, manifest),
                Some(shown) if manifest.is_some() => check(timed, shown, manifest),
                Some(shown) => {
                    let own = check(timed, &timed.shown, manifest);
                    if own.is_empty() {
                        own
                    } else {
                        check(timed, shown, manifest)
                    }
                }
            };
            for (place, what) in faults {
                report.problem(place, what);
            }
        }
    }
}

/// What all playlists present together, entry by entry; none when there is but one, or they are not cut alike.
fn common(playlists: &[Timed]) -> Option<Vec<Option<Shown>>> {
    let (first, rest) = playlists.split_first()?;
    if rest.is_empty() || rest.iter().any(|t| t.shown.len() != first.shown.len()) {
        return None;
    }
    let mut all = first.shown.clone();
    for timed in rest {
        for (sum, own) in all.iter_mut().zip(&timed.shown) {
            *sum = match (*sum, *own) {
                (Some(sum), Some(own)) => Some(sum.and(own)),
                (sum, own) => sum.or(own),
            };
        }
    }
    Some(all)
}

type Faults = Vec<(String, String)>;

/// Where a sum of EXTINF began: then, and at which presentation time.
#[derive(Clone, Copy)]
struct Base {
    elapsed: i128,
    start: i128,
}

fn extinf(timed: &Timed, shown: &[Option<Shown>], manifest: Option<&Manifest>) -> Faults {
    let mut faults = Vec::new();
    let mut base: Option<Base> = None;
    let mut elapsed = 0;
    // Any other entry ends where the next begins, which may be later than its own pictures: leading ones come behind.
    let last = timed.list.entries.len().checked_sub(1);
    for (n, (entry, shown)) in timed.list.entries.iter().zip(shown).enumerate() {
        if entry.discontinuity && manifest.is_none() {
            base = None;
        }
        if let Some(shown) = shown.filter(|_| !entry.gap) {
            let fresh = Base {
                elapsed,
                start: shown.start,
            };
            let since = *base.get_or_insert(fresh);
            // Without video a segment begins with the first frame at or after the cut, up to a frame late.
            let limit = EXTINF_LIMIT_NS + if shown.video { 0 } else { shown.frame };
            let (said, is) = (elapsed - since.elapsed, shown.start - since.start);
            if (said - is).abs() > limit {
                let what = format!(
                    "EXTINF up to here make {} s, it is presented at {} s",
                    seconds(said),
                    seconds(is)
                );
                faults.push((entry.place(&timed.label), what));
                base = Some(fresh);
            }
            let (least, most) = (shown.ends.0 - shown.start, shown.ends.1 - shown.start);
            if Some(n) == last && (entry.duration < least - limit || entry.duration > most + limit)
            {
                let what = format!(
                    "EXTINF is {} s, the segment lasts {} s",
                    seconds(entry.duration),
                    seconds(most)
                );
                faults.push((entry.place(&timed.label), what));
            }
        }
        elapsed += entry.duration;
    }
    faults
}

fn dates(timed: &Timed, shown: &[Option<Shown>], manifest: Option<&Manifest>) -> Faults {
    let mut faults = Vec::new();
    let Some(manifest) = manifest else {
        return faults;
    };
    for (n, (entry, shown)) in timed.list.entries.iter().zip(shown).enumerate() {
        let Some(shown) = shown.filter(|_| !entry.gap) else {
            continue;
        };
        let Some(anchor) = shown.take.and_then(|t| manifest.takes[t].anchor_ns) else {
            continue;
        };
        if let Some(what) = date(entry, n == 0 || entry.discontinuity, anchor, &shown) {
            faults.push((entry.place(&timed.label), what));
        }
    }
    faults
}

fn date(entry: &Entry, new_run: bool, anchor: i128, shown: &Shown) -> Option<String> {
    match (entry.date, shown.own) {
        (None, _) if new_run => {
            Some("has no PROGRAM-DATE-TIME, though its take has an anchor".to_owned())
        }
        (Some(date), Some(own)) => {
            let off = date - anchor - own;
            let wrong = off.abs() > DATE_LIMIT_NS + shown.slack;
            wrong.then(|| {
                format!(
                    "PROGRAM-DATE-TIME is {} s after anchor + own clock",
                    seconds(off)
                )
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i128 = 1_000_000;

    fn timed(label: &str, entries: &str, shown: Vec<Option<Shown>>) -> Timed {
        let text = format!(
            "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXT-X-MAP:URI=\"i.mp4\"\n{entries}#EXT-X-ENDLIST\n"
        );
        Timed {
            label: label.to_owned(),
            list: Playlist::parse(&text),
            shown,
        }
    }

    fn shown(video: bool, start: i128, end: i128) -> Option<Shown> {
        Some(Shown {
            start: start * MS,
            own: None,
            slack: 0,
            take: None,
            video,
            frame: 33 * MS,
            ends: (end * MS, end * MS),
        })
    }

    /// The last pictures before the cut are leading ones of the next segment, and sound left before it.
    #[test]
    fn sound_that_leaves_is_not_held_against_the_end_of_an_open_gop() {
        let video = timed(
            "video",
            "#EXTINF:4.067,\na.m4s\n#EXTINF:1.0,\nb.m4s\n",
            vec![shown(true, 0, 3933), shown(true, 4067, 5067)],
        );
        let sound = timed(
            "audio",
            "#EXTINF:4.067,\na.m4s\n#EXTINF:1.0,\n#EXT-X-GAP\ngap.m4s\n",
            vec![shown(false, 0, 2300), None],
        );
        let mut report = Report::default();
        check(&[video, sound], None, &mut report);
        assert_eq!(report.problems, []);
    }

    #[test]
    fn the_last_entry_must_end_with_what_it_shows() {
        let shown = vec![shown(true, 0, 3933)];
        let video = timed("video", "#EXTINF:4.067,\na.m4s\n", shown);
        let mut report = Report::default();
        check(&[video], None, &mut report);
        assert_eq!(report.problems.len(), 1);
    }
}
