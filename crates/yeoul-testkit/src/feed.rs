//! A track's samples as they reach the recorder: reordered, spaced, lost and delivered in bursts.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::clock::{ns_to_ticks, ticks_to_ns};
use crate::payload::{Body, Role};
use crate::rng::SplitMix64;
use crate::track::{Cadence, Content, Kind, Source, Track};

/// One sample on its way, its duration still unknown.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub(crate) dts: i64,
    pub(crate) cts: i32,
    pub(crate) sync: bool,
    pub(crate) size: u32,
    pub(crate) body: Body,
    /// Which of the track's sample entries was in force; set when it arrives.
    pub(crate) entry: usize,
}

/// Half-open stretches of the take's clock, in nanoseconds, in which a track sends nothing.
pub(crate) type Silence = Vec<(i64, i64)>;

#[derive(Debug)]
pub(crate) struct Feed {
    track: Arc<Track>,
    /// Ticks added to the track's own decode times.
    origin: i64,
    end_ns: i64,
    silence: Silence,
    rng: SplitMix64,
    index: u64,
    /// Decode time of the next real sample.
    clock: i64,
    queue: VecDeque<Incoming>,
    arrival_ns: i64,
    left_in_burst: u32,
}

impl Feed {
    /// `first_dts_ns`: what the take's clock reads at its start. `length_ns`: after it the publisher is gone.
    pub(crate) fn new(
        track: Arc<Track>,
        first_dts_ns: i64,
        length_ns: i64,
        silence: Silence,
        mut rng: SplitMix64,
    ) -> Self {
        let origin = ns_to_ticks(first_dts_ns, track.timescale) + track.start_ticks;
        let left_in_burst = 1 + rng.below(track.burst.max(1));
        let end_ns = first_dts_ns.saturating_add(length_ns);
        let silence = silence
            .iter()
            .map(|&(a, b)| {
                (
                    a.saturating_add(first_dts_ns),
                    b.saturating_add(first_dts_ns),
                )
            })
            .collect();
        let mut feed = Self {
            track,
            origin,
            end_ns,
            silence,
            rng,
            index: 0,
            clock: 0,
            queue: VecDeque::new(),
            arrival_ns: i64::MIN,
            left_in_burst,
        };
        feed.refill();
        feed
    }

    /// When the next sample arrives on the take's clock; `None` when the track has ended.
    pub(crate) fn arrival_ns(&self) -> Option<i64> {
        (!self.queue.is_empty()).then_some(self.arrival_ns)
    }

    pub(crate) fn take(&mut self) -> Option<Incoming> {
        let sample = self.queue.pop_front();
        if self.queue.is_empty() {
            self.refill();
        }
        sample
    }

    fn refill(&mut self) {
        while self.left_in_burst > 0 {
            let Some(sample) = self.next_sample() else {
                break;
            };
            let at = ticks_to_ns(sample.dts, self.track.timescale);
            if at >= self.end_ns {
                break;
            }
            self.left_in_burst -= 1;
            if !self.silence.iter().any(|&(from, to)| from <= at && at < to) {
                self.arrival_ns = self.arrival_ns.max(at + self.track.latency_ns);
                self.queue.push_back(sample);
            } else if self.left_in_burst == 0 && self.queue.is_empty() {
                self.left_in_burst = 1;
            }
        }
        self.left_in_burst = self.track.burst.max(1);
    }

    fn next_sample(&mut self) -> Option<Incoming> {
        let track = Arc::clone(&self.track);
        let index = self.index;
        self.index += 1;
        match &track.source {
            Source::Samples(samples) => {
                let content = samples.get(usize::try_from(index).ok()?)?;
                let dts = self.origin + self.clock;
                self.clock += i64::from(content.duration);
                Some(real(content, dts))
            }
            Source::Cadence(cadence) => Some(self.made(cadence, index, track.kind)),
        }
    }

    fn made(&mut self, cadence: &Cadence, index: u64, kind: Kind) -> Incoming {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        let (place, role) = presentation_place(cadence, index);
        let early = usize::try_from(index)
            .ok()
            .and_then(|i| cadence.opening.get(i))
            .copied()
            .unwrap_or(0);
        let dts = presentation_time(cadence, index - i64::from(cadence.delay)) + early;
        let mean = match role {
            Role::Idr | Role::Cra => cadence.sizes.sync,
            Role::Anchor => cadence.sizes.anchor,
            Role::Leaf | Role::Leading => cadence.sizes.leaf,
        };
        let size = mean - mean / 4 + self.rng.below(mean / 2 + 1);
        Incoming {
            dts: self.origin + dts,
            cts: i32::try_from(presentation_time(cadence, place) - dts).unwrap_or(0),
            sync: kind == Kind::Audio || matches!(role, Role::Idr | Role::Cra),
            size,
            body: Body::Made {
                codec: cadence.codec,
                role,
                seed: self.rng.next_u64(),
            },
            entry: 0,
        }
    }
}

fn real(content: &Content, dts: i64) -> Incoming {
    Incoming {
        dts,
        cts: content.cts,
        sync: content.sync,
        size: u32::try_from(content.payload.len()).unwrap_or(u32::MAX),
        body: Body::Real(content.payload.as_slice().into()),
        entry: 0,
    }
}

/// Presentation time in ticks of the picture at `place` (negative before the first).
fn presentation_time(cadence: &Cadence, place: i64) -> i64 {
    let cycle: i64 = cadence.durations.iter().map(|&d| i64::from(d)).sum();
    let count = i64::try_from(cadence.durations.len()).unwrap_or(1).max(1);
    let within = usize::try_from(place.rem_euclid(count)).unwrap_or(0);
    let rest: i64 = cadence
        .durations
        .iter()
        .take(within)
        .map(|&d| i64::from(d))
        .sum();
    place.div_euclid(count) * cycle + rest
}

/// Where in presentation order the `index`-th decoded picture is shown, and what it is.
fn presentation_place(cadence: &Cadence, index: i64) -> (i64, Role) {
    let gop = i64::from(cadence.gop.max(1));
    let mini = i64::try_from(cadence.mini_gop.len()).unwrap_or(1).max(1);
    let leading = if cadence.open_gop {
        (mini - 1).min(gop - 1)
    } else {
        0
    };
    // the first group of an open-GOP stream lacks the leading pictures that belong to the second
    let shifted = if index < gop - leading {
        index
    } else {
        index + leading
    };
    let (group, k) = (shifted / gop, shifted % gop);
    let start = group * gop;
    if k == 0 {
        return (
            start,
            if cadence.open_gop && group > 0 {
                Role::Cra
            } else {
                Role::Idr
            },
        );
    }
    if group > 0 && k <= leading {
        return (
            start - leading - 1 + place_in(&cadence.mini_gop, leading + 1, k),
            Role::Leading,
        );
    }
    let skipped = if group > 0 { leading } else { 0 };
    let (chunk, pos) = ((k - skipped - 1) / mini, (k - skipped - 1) % mini);
    let size = mini.min(gop - leading - 1 - chunk * mini);
    let place = place_in(&cadence.mini_gop, size, pos);
    (
        start + chunk * mini + place,
        if pos == 0 { Role::Anchor } else { Role::Leaf },
    )
}

/// Place (1-based) of the `pos`-th decoded picture of a mini-GOP cut to `size`: the anchor, then the rest in order.
fn place_in(order: &[u32], size: i64, pos: i64) -> i64 {
    if pos == 0 {
        return size;
    }
    let rest = order.iter().map(|&p| i64::from(p)).filter(|&p| p < size);
    usize::try_from(pos - 1)
        .ok()
        .and_then(|n| rest.clone().nth(n))
        .unwrap_or(pos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(track: Track, count: usize) -> Vec<(i64, i32, bool)> {
        let mut feed = Feed::new(Arc::new(track), 0, i64::MAX, Vec::new(), SplitMix64::new(1));
        (0..count)
            .filter_map(|_| feed.take())
            .map(|s| (s.dts, s.cts, s.sync))
            .collect()
    }

    #[test]
    fn h264_opens_and_repeats_as_in_the_real_recordings() {
        let samples = first(Track::h264_720p30(), 64);
        assert_eq!(
            &samples[..4],
            &[
                (0, 0, true),
                (90, 8910, false),
                (3000, 0, false),
                (6000, 0, false)
            ]
        );
        assert_eq!(samples[58].1, 6000, "the last mini-GOP is P, B");
        assert_eq!(
            &samples[60..62],
            &[(177_000, 3000, true), (180_000, 9000, false)]
        );
    }

    #[test]
    fn h265_has_one_idr_then_cras_with_leading_pictures() {
        let samples = first(Track::h265_720p30(), 62);
        assert_eq!(
            &samples[..4],
            &[
                (-6000, 6000, true),
                (-5910, 14_910, false),
                (-1940, 7940, false),
                (3000, 0, false)
            ]
        );
        assert_eq!(samples[58], (168_000, 12_000, true));
        let cra = samples[58].0 + i64::from(samples[58].1);
        assert!(samples[59..61].iter().all(|s| s.0 + i64::from(s.1) < cra));
        assert!(samples[61].0 + i64::from(samples[61].1) > cra);
    }

    #[test]
    fn every_picture_is_shown_once() {
        for track in [Track::h264_720p30(), Track::h265_720p30(), Track::vp9_30()] {
            let Source::Cadence(cadence) = track.source else {
                panic!("ready tracks have a cadence")
            };
            let mut places: Vec<i64> = (0..598)
                .map(|i| presentation_place(&cadence, i).0)
                .collect();
            places.sort_unstable();
            assert!(places.windows(2).all(|w| w[1] == w[0] + 1), "{places:?}");
        }
    }
}
