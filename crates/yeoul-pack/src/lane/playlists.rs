use std::collections::BTreeMap;

use bytes::Bytes;
use yeoul_isobmff::movie::{Handler, Track};
use yeoul_isobmff::write::{Brands, WriteError, styp};

use super::{
    FileKind, Lane, LanePacker, Output, PackError, PlacedSegment, TrackReport, TrackSummary,
    folder, inline, join,
};
use crate::layout::{Layout, track_id};
use crate::playlist::{
    AudioRendition, GAP_URI, PlaylistEntry, PlaylistKind, Variant, media_playlist,
    multivariant_playlist,
};
use crate::time::Time;

impl<O: Output> Lane<'_, O> {
    /// Writes the playlists: all segments are there by now.
    pub(super) fn finish(&mut self) -> Result<(), PackError<O::Error>> {
        self.report.segments = self.segments.len();
        if let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) {
            self.report.duration = Some(last.end.minus(first.start));
        }
        self.apply_dropped();
        if self.segments.is_empty() {
            return Ok(());
        }
        self.describe_tracks(self.options.layout);
        for (name, text) in self.view().playlists(PlaylistKind::Vod)? {
            if name.ends_with("index.m3u8") && !self.is_multivariant(&name) {
                self.report.playlists.push(name.clone());
            }
            self.write(name, inline(text)?, FileKind::Playlist)?;
        }
        Ok(())
    }

    fn is_multivariant(&self, name: &str) -> bool {
        self.options.layout == Layout::Cmaf && name == "index.m3u8"
    }

    fn view(&self) -> View<'_> {
        View {
            layout: self.options.layout,
            segments: self.segments,
            tracks: self.tracks,
        }
    }

    /// Tells each recording's report which of its samples were left out.
    fn apply_dropped(&mut self) {
        for (take, recording, slot, range) in std::mem::take(&mut self.report.dropped) {
            let recordings = self
                .report
                .takes
                .get_mut(take)
                .map(|take| &mut take.recordings);
            let tracks = recordings
                .and_then(|all| all.get_mut(recording))
                .map(|r| &mut r.tracks);
            if let Some(track) = tracks.and_then(|all| all.iter_mut().find(|t| t.slot == slot)) {
                track.dropped.push(range);
                track.dropped.sort_unstable();
            }
        }
    }

    fn describe_tracks(&mut self, layout: Layout) {
        self.report.tracks = self
            .tracks
            .iter()
            .map(|(slot, summary)| TrackReport {
                slot: *slot,
                kind: if summary.init.handler == Handler::Video {
                    "video"
                } else {
                    "audio"
                },
                track_id: track_id(*slot),
                playlist: join(&folder(layout, *slot), "index.m3u8"),
                codec: summary.codecs.first().cloned().unwrap_or_default(),
                timescale: summary.init.timescale,
                language: Track::language_letters(summary.init.language),
            })
            .collect();
    }
}

/// What playlists are made of.
struct View<'a> {
    layout: Layout,
    segments: &'a [PlacedSegment],
    tracks: &'a BTreeMap<usize, TrackSummary>,
}

impl LanePacker {
    /// The playlists as they stand, by name, in the order in which they are to be written: they grow as recordings come. The
    /// target duration is twice the target: segments are longer than that only where sync samples are far apart.
    ///
    /// # Errors
    /// Never in practice: a fixed box cannot be written.
    pub fn growing_playlists(&self) -> Result<Vec<(String, Bytes)>, WriteError> {
        let view = View {
            layout: self.options.layout,
            segments: &self.segments,
            tracks: &self.tracks,
        };
        let target = self.options.cut.target;
        let target_duration = Time::new(target.ticks.saturating_mul(2), target.timescale).ceil(1);
        view.playlists(PlaylistKind::Event { target_duration })
    }

    /// The playlists of a lane that is complete, by name.
    ///
    /// # Errors
    /// As [`LanePacker::growing_playlists`].
    pub fn finished_playlists(&self) -> Result<Vec<(String, Bytes)>, WriteError> {
        if self.segments.is_empty() {
            return Ok(Vec::new());
        }
        let view = View {
            layout: self.options.layout,
            segments: &self.segments,
            tracks: &self.tracks,
        };
        view.playlists(PlaylistKind::Vod)
    }

    /// Segments placed so far.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }
}

impl View<'_> {
    /// Media playlists with what their GAP entries name, then the multivariant one.
    fn playlists(&self, kind: PlaylistKind) -> Result<Vec<(String, Bytes)>, WriteError> {
        let slots: Vec<usize> = match self.layout {
            Layout::Muxed => vec![0],
            Layout::Cmaf => self.tracks.keys().copied().collect(),
        };
        let mut out = Vec::new();
        for slot in slots {
            let folder = folder(self.layout, slot);
            let playlist = media_playlist(&entries(self.segments, slot), kind);
            if playlist.has_gaps {
                let brands = match self.layout {
                    Layout::Muxed => Brands::MUXED_SEGMENT,
                    Layout::Cmaf => Brands::CMAF_SEGMENT,
                };
                out.push((join(&folder, GAP_URI), styp(&brands)?));
            }
            out.push((join(&folder, "index.m3u8"), playlist.text.into()));
        }
        if self.layout == Layout::Cmaf {
            out.push(("index.m3u8".to_owned(), self.multivariant().into()));
        }
        Ok(out)
    }

    fn multivariant(&self) -> String {
        let has_video = self.tracks.contains_key(&0);
        let main = if has_video {
            0
        } else {
            self.tracks.keys().next().copied().unwrap_or(0)
        };
        // Sound alone: the first rendition is the variant's own, the others are named beside it.
        let several = self.tracks.len() > 1;
        let audio: Vec<AudioRendition> = self
            .tracks
            .iter()
            .filter(|(slot, _)| if has_video { **slot != 0 } else { several })
            .map(|(slot, summary)| {
                let language = Track::language_letters(summary.init.language);
                AudioRendition {
                    uri: join(&folder(Layout::Cmaf, *slot), "index.m3u8"),
                    name: format!("audio {slot}"),
                    language: (language != "und").then_some(language),
                    channels: summary
                        .init
                        .entry
                        .channels_and_rate()
                        .map(|(channels, _)| channels),
                    default: *slot == main.max(1),
                }
            })
            .collect();
        let mut codecs: Vec<String> = Vec::new();
        for codec in self.tracks.values().flat_map(|track| &track.codecs) {
            if !codecs.contains(codec) {
                codecs.push(codec.clone());
            }
        }
        let (bandwidth, average_bandwidth) = self.bandwidth(main, has_video);
        let video = self.tracks.get(&0);
        let variant = Variant {
            uri: join(&folder(Layout::Cmaf, main), "index.m3u8"),
            codecs,
            resolution: video.and_then(|video| video.init.entry.dimensions()),
            bandwidth,
            average_bandwidth,
            frame_rate_millis: video.map(|video| {
                let rate = u128::from(video.samples) * u128::from(video.init.timescale) * 1000;
                u64::try_from(rate / u128::from(video.ticks.max(1))).unwrap_or(0)
            }),
            with_audio: !audio.is_empty(),
        };
        let independent = self.segments.iter().all(|segment| segment.independent);
        multivariant_playlist(&variant, &audio, independent)
    }

    /// Peak and average bits a second of the main track with its largest companion. The peak is that of runs of segments
    /// that last half a target duration or more (RFC 8216bis §4.4.6.2): a sliver alone is no load.
    fn bandwidth(&self, main: usize, with_audio: bool) -> (u64, u64) {
        let segments: Vec<(u64, u64)> = self
            .segments
            .iter()
            .map(|segment| {
                let own = segment.files.get(&main).map_or(0, |file| file.bytes);
                let others = segment.files.iter().filter(|(slot, _)| **slot != main);
                let other = others.map(|(_, file)| file.bytes).max().unwrap_or(0);
                let total = if with_audio {
                    own + other
                } else {
                    own.max(other)
                };
                let us = segment.end.minus(segment.start).nearest(1_000_000).max(1);
                (total, us.cast_unsigned())
            })
            .collect();
        let sum = |run: &[(u64, u64)]| {
            let add = |(bytes, us): (u64, u64), (b, u): &(u64, u64)| {
                (bytes.saturating_add(*b), us.saturating_add(*u))
            };
            run.iter().fold((0, 0), add)
        };
        let longest = segments.iter().map(|(_, us)| *us).max().unwrap_or(1);
        let average = sum(&segments);
        let average = rate(average.0, average.1.max(1));
        let mut peak = average;
        for start in 0..segments.len() {
            let (mut bytes, mut us) = (0u64, 0u64);
            for (more, duration) in &segments[start..] {
                bytes = bytes.saturating_add(*more);
                us = us.saturating_add(*duration);
                if us >= longest / 2 {
                    peak = peak.max(rate(bytes, us));
                    break;
                }
            }
        }
        (peak, average)
    }
}

/// Bytes in so many microseconds as bits a second, rounded up.
fn rate(bytes: u64, us: u64) -> u64 {
    u64::try_from((u128::from(bytes) * 8_000_000).div_ceil(us.into())).unwrap_or(u64::MAX)
}

/// A slot's playlist entries. A take without the track has GAP entries; every discontinuity is in all playlists.
fn entries(segments: &[PlacedSegment], slot: usize) -> Vec<PlaylistEntry> {
    let first_map = segments
        .iter()
        .find_map(|s| s.files.get(&slot))
        .map(|file| file.map.clone());
    let mut map = first_map.unwrap_or_default();
    let mut out: Vec<PlaylistEntry> = Vec::with_capacity(segments.len());
    for segment in segments {
        let file = segment.files.get(&slot);
        if let Some(file) = file {
            map.clone_from(&file.map);
        }
        out.push(PlaylistEntry {
            uri: file.and_then(|file| file.uri.clone()),
            start: segment.start,
            end: segment.end,
            discontinuity: segment.discontinuity,
            map: map.clone(),
            wall_ns: segment.wall_ns,
            independent: slot != 0 || segment.independent,
        });
    }
    close_short_holes(&mut out);
    out
}

/// Rounding of two timescales may make a segment end a tick behind the next one's start.
fn close_short_holes(entries: &mut [PlaylistEntry]) {
    for index in 1..entries.len() {
        let start: Time = entries[index].start;
        let before = &mut entries[index - 1];
        before.end = before.end.min(start);
    }
}
