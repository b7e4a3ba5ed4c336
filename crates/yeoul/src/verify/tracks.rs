//! What the tracks of a segment are in time: decode time goes on, and where the segment begins.

use std::collections::BTreeMap;

use super::compare::{Fed, Out, SlotCheck};
use super::input::Input;
use super::manifest::Manifest;
use super::movie::Movie;
use super::report::Report;
use super::segment::Segment;
use super::timeline::{Cursor, SECOND, Step, ns, seconds};

/// A track that pauses at least this long without a DISCONTINUITY is noted; less is a problem.
const PAUSE_NS: i128 = SECOND;

/// The recordings' side of a broadcast: its manifest and a check for each of the manifest's `tracks`, in their order.
pub(super) struct Against<'m> {
    pub(super) manifest: &'m Manifest,
    pub(super) slots: Vec<SlotCheck<'m>>,
}

/// Where samples of a segment go besides the check of their time.
pub(super) struct Feed<'f, 'm> {
    pub(super) label: &'f str,
    pub(super) against: Option<&'f mut Against<'m>>,
}

/// Decode time of every track, from segment to segment.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    /// By track ID; and the run that the track's last sample lies in.
    cursors: BTreeMap<u32, (Cursor, usize)>,
}

/// What one track has in one segment. Times are nanoseconds but for `pts` in points, which are ticks.
pub(super) struct Span {
    pub(super) track_id: u32,
    pub(super) timescale: u32,
    pub(super) video: bool,
    pub(super) first: Point,
    pub(super) min: Point,
    pub(super) end: i128,
    pub(super) frame: i128,
}

#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) pts: i128,
    pub(super) sync: bool,
    pub(super) fed: Fed,
}

impl Tracks {
    /// Takes in the samples of a segment in file order.
    #[expect(
        clippy::too_many_arguments,
        reason = "one call, each a plain fact about the segment"
    )]
    pub(super) fn push(
        &mut self,
        segment: &Segment,
        movie: &Movie,
        input: &Input<'_>,
        run: usize,
        place: &str,
        mut feed: Option<&mut Feed<'_, '_>>,
        report: &mut Report,
    ) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for traf in &segment.trafs {
            let Some(track) = movie.track(traf.track_id) else {
                continue;
            };
            let scale = track.timescale;
            for sample in &traf.samples {
                let out = Out {
                    sample: *sample,
                    timescale: scale,
                    run,
                    place,
                    input,
                };
                let fed = feed
                    .as_deref_mut()
                    .map(|f| f.sample(traf.track_id, &out, report))
                    .unwrap_or_default();
                self.step(traf.track_id, &out, fed.explained, report);
                let point = Point {
                    pts: sample.pts(),
                    sync: sample.sync,
                    fed,
                };
                let end = ns(sample.pts() + i128::from(sample.duration), scale);
                let frame = ns(i128::from(sample.duration), scale);
                match spans.iter_mut().find(|s| s.track_id == traf.track_id) {
                    Some(span) => {
                        if point.pts < span.min.pts {
                            span.min = point;
                        }
                        span.end = span.end.max(end);
                        span.frame = span.frame.max(frame);
                    }
                    None => spans.push(Span {
                        track_id: traf.track_id,
                        timescale: scale,
                        video: track.is_video(),
                        first: point,
                        min: point,
                        end,
                        frame,
                    }),
                }
            }
        }
        spans
    }

    fn step(&mut self, id: u32, out: &Out<'_>, explained: bool, report: &mut Report) {
        let (cursor, run) = self
            .cursors
            .entry(id)
            .or_insert_with(|| (Cursor::new(out.timescale), out.run));
        cursor.rescale(out.timescale);
        let new_run = std::mem::replace(run, out.run) != out.run;
        match cursor.step(&out.sample) {
            Step::Joined => {}
            Step::Overlap(ticks) => {
                report.problem(
                    out.place,
                    format!(
                        "track {id}: decode time goes back by {ticks} ticks at {}",
                        out.sample.dts
                    ),
                );
            }
            Step::Gap(_) if new_run => {}
            Step::Gap(ticks) => {
                let length = ns(ticks, out.timescale);
                let what = format!(
                    "track {id}: {ticks} ticks ({} s) without samples before {}",
                    seconds(length),
                    out.sample.dts
                );
                if explained || length >= PAUSE_NS {
                    report.note(out.place, what);
                } else {
                    report.problem(out.place, what + ", and no DISCONTINUITY");
                }
            }
        }
        if !cursor.push(&out.sample) {
            report.problem(
                out.place,
                format!(
                    "track {id}: presentation time {} is there twice",
                    out.sample.pts()
                ),
            );
        }
    }
}

impl Feed<'_, '_> {
    fn sample(&mut self, track_id: u32, out: &Out<'_>, report: &mut Report) -> Fed {
        let Some(against) = &mut self.against else {
            return Fed::default();
        };
        let slot = against
            .manifest
            .tracks
            .iter()
            .position(|t| t.track_id == track_id && t.playlist == self.label);
        match slot.and_then(|n| against.slots.get_mut(n)) {
            Some(slot) => slot.feed(out, report),
            None => Fed::default(),
        }
    }
}
