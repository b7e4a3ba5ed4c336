//! HLS playlists (RFC 8216bis) of what was packed: VOD, by presentation times (rules 17 and 18).

use std::fmt::Write;

use crate::time::{Time, ns_from_ticks};

/// GAP entries that one gap may take; a longer gap has longer entries. Few, because players take them one by one, some at
/// a second each.
pub const MAX_GAP_ENTRIES: i64 = 4;

/// The same in a playlist that grows: its TARGETDURATION should not change, so a gap has more and shorter entries.
pub const MAX_GAP_ENTRIES_GROWING: i64 = 60;

/// A silence shorter than this is not worth an entry: the segment before it counts as that much longer.
const SHORTEST_GAP_US: i64 = 1_000_000;

/// The file that GAP entries name. Nothing loads it that obeys the tag; for what does not, it is an empty segment.
pub const GAP_URI: &str = "gap.m4s";

/// A segment in a media playlist.
#[derive(Debug, Clone)]
pub struct PlaylistEntry {
    /// Its file; `None` if the track has no samples in this segment: GAP.
    pub uri: Option<String>,
    /// Presentation start in broadcast time.
    pub start: Time,
    /// Presentation end in broadcast time.
    pub end: Time,
    /// Whether a discontinuity lies before it.
    pub discontinuity: bool,
    /// Its init's file.
    pub map: String,
    /// Wall clock of its start, nanoseconds since the Unix epoch.
    pub wall_ns: Option<i64>,
    /// Whether nothing in it refers to anything before it.
    pub independent: bool,
}

/// A media playlist and what a multivariant playlist says of it.
#[derive(Debug, Clone)]
pub struct MediaPlaylist {
    /// The text.
    pub text: String,
    /// Whether it has GAP entries: then [`GAP_URI`] must be there.
    pub has_gaps: bool,
    /// Its TARGETDURATION, seconds.
    pub target_duration: i64,
}

/// Lines of the playlist: a segment or a part of a gap.
struct Line<'a> {
    duration_us: i64,
    entry: Option<&'a PlaylistEntry>,
}

/// Whether a playlist is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaylistKind {
    /// VOD: it is all there.
    Vod,
    /// EVENT: more will be added at its end, nothing is ever taken away.
    Event {
        /// The least TARGETDURATION, seconds: it should hold for all segments to come, for it may not change.
        target_duration: i64,
    },
}

/// Writes a media playlist.
pub fn media_playlist(entries: &[PlaylistEntry], kind: PlaylistKind) -> MediaPlaylist {
    let (lines, target_duration) = lines(entries, kind);
    let has_gaps = lines
        .iter()
        .any(|line| line.entry.is_none_or(|entry| entry.uri.is_none()));
    let version = if has_gaps { 8 } else { 7 };
    let name = if kind == PlaylistKind::Vod {
        "VOD"
    } else {
        "EVENT"
    };
    let mut text = format!(
        "#EXTM3U\n#EXT-X-VERSION:{version}\n#EXT-X-TARGETDURATION:{target_duration}\n#EXT-X-PLAYLIST-TYPE:{name}\n"
    );
    if entries.iter().all(|entry| entry.independent) {
        text.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
    }
    let mut map = None;
    for (index, line) in lines.iter().enumerate() {
        if let Some(entry) = line.entry {
            if entry.discontinuity && index > 0 {
                text.push_str("#EXT-X-DISCONTINUITY\n");
            }
            if map != Some(&entry.map) {
                map = Some(&entry.map);
                let _ = writeln!(text, "#EXT-X-MAP:URI=\"{}\"", entry.map);
            }
            if let (true, Some(wall)) = (entry.discontinuity || index == 0, entry.wall_ns) {
                let _ = writeln!(text, "#EXT-X-PROGRAM-DATE-TIME:{}", rfc3339(wall));
            }
        }
        let seconds = line.duration_us / 1_000_000;
        let _ = writeln!(
            text,
            "#EXTINF:{seconds}.{:06},",
            line.duration_us % 1_000_000
        );
        match line.entry.and_then(|entry| entry.uri.as_ref()) {
            Some(uri) => {
                let _ = writeln!(text, "{uri}");
            }
            None => {
                let _ = writeln!(text, "#EXT-X-GAP\n{GAP_URI}");
            }
        }
    }
    if kind == PlaylistKind::Vod {
        text.push_str("#EXT-X-ENDLIST\n");
    }
    MediaPlaylist {
        text,
        has_gaps,
        target_duration,
    }
}

/// Durations are differences of rounded moments, so that their sum never drifts.
fn lines(entries: &[PlaylistEntry], kind: PlaylistKind) -> (Vec<Line<'_>>, i64) {
    let us = |time: Time| time.nearest(1_000_000);
    let mut spans = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let (start, mut end) = (us(entry.start), us(entry.end));
        let mut gap = 0;
        if let Some(next) = entries.get(index + 1).map(|next| us(next.start)) {
            let silence = next.saturating_sub(end);
            if silence < SHORTEST_GAP_US {
                end = next;
            } else {
                gap = silence;
            }
        }
        spans.push((entry, end.saturating_sub(start).max(0), gap));
    }
    let rounded = |us: i64| us.saturating_add(500_000) / 1_000_000;
    let longest = spans
        .iter()
        .map(|(_, duration, _)| rounded(*duration))
        .max()
        .unwrap_or(0);
    let (least, most_entries) = match kind {
        PlaylistKind::Vod => (1, MAX_GAP_ENTRIES),
        PlaylistKind::Event { target_duration } => {
            (target_duration.max(1), MAX_GAP_ENTRIES_GROWING)
        }
    };
    let longest = longest.max(least);
    let mut target = longest;
    let mut out = Vec::with_capacity(spans.len());
    for (entry, duration_us, gap) in spans {
        out.push(Line {
            duration_us,
            entry: Some(entry),
        });
        let count = gap_entries(gap, longest).min(most_entries);
        for index in 0..count {
            let at = |index| scale_down(gap, index, count);
            let (from, to) = (at(index), at(index + 1));
            target = target.max(rounded(to - from));
            out.push(Line {
                duration_us: to - from,
                entry: None,
            });
        }
    }
    (out, target)
}

/// `value · index / count`, rounded down.
fn scale_down(value: i64, index: i64, count: i64) -> i64 {
    let product = i128::from(value) * i128::from(index);
    i64::try_from(product / i128::from(count)).unwrap_or(value)
}

fn gap_entries(gap_us: i64, target: i64) -> i64 {
    gap_us.div_euclid(target * 1_000_000) + i64::from(gap_us % (target * 1_000_000) != 0)
}

/// A variant in a multivariant playlist: the video, or the audio where there is no video.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Its media playlist.
    pub uri: String,
    /// RFC 6381 names of all codecs in it and in its audio group.
    pub codecs: Vec<String>,
    /// Width and height in pixels.
    pub resolution: Option<(u16, u16)>,
    /// Highest bit rate of a segment, bits a second.
    pub bandwidth: u64,
    /// Bit rate over the whole.
    pub average_bandwidth: u64,
    /// Pictures a second, thousandths.
    pub frame_rate_millis: Option<u64>,
    /// Whether the audio group goes with it.
    pub with_audio: bool,
}

/// An audio rendition.
#[derive(Debug, Clone)]
pub struct AudioRendition {
    /// Its media playlist.
    pub uri: String,
    /// What people see.
    pub name: String,
    /// Language, RFC 5646.
    pub language: Option<String>,
    /// Channels.
    pub channels: Option<u16>,
    /// Whether it is played unless somebody chooses.
    pub default: bool,
}

/// Writes a multivariant playlist.
pub fn multivariant_playlist(
    variant: &Variant,
    audio: &[AudioRendition],
    independent: bool,
) -> String {
    let mut text = "#EXTM3U\n#EXT-X-VERSION:7\n".to_owned();
    if independent {
        text.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
    }
    for rendition in audio {
        let _ = write!(
            text,
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"{}\",DEFAULT={default},AUTOSELECT=YES",
            rendition.name,
            default = if rendition.default { "YES" } else { "NO" },
        );
        if let Some(language) = &rendition.language {
            let _ = write!(text, ",LANGUAGE=\"{language}\"");
        }
        if let Some(channels) = rendition.channels {
            let _ = write!(text, ",CHANNELS=\"{channels}\"");
        }
        if rendition.uri != variant.uri {
            let _ = write!(text, ",URI=\"{}\"", rendition.uri);
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "#EXT-X-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={}",
        variant.bandwidth.max(1),
        variant.average_bandwidth.max(1)
    );
    if !variant.codecs.is_empty() {
        let _ = write!(text, ",CODECS=\"{}\"", variant.codecs.join(","));
    }
    if let Some((width, height)) = variant.resolution {
        let _ = write!(text, ",RESOLUTION={width}x{height}");
    }
    if let Some(rate) = variant.frame_rate_millis {
        let _ = write!(text, ",FRAME-RATE={}.{:03}", rate / 1000, rate % 1000);
    }
    if variant.with_audio {
        text.push_str(",AUDIO=\"audio\"");
    }
    let _ = writeln!(text, "\n{}", variant.uri);
    text
}

/// A wall-clock time in UTC with milliseconds, as PROGRAM-DATE-TIME wants it.
pub fn rfc3339(ns: i64) -> String {
    let ms = ns_from_ticks(ns, 1_000_000_000).div_euclid(1_000_000);
    let (days, ms) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z",
        ms % 1000
    )
}

/// Year, month and day of a day number since 1970-01-01 in the proleptic Gregorian calendar, by eras of 400 years
/// that begin on 1 March.
fn civil(days: i64) -> (i64, i64, i64) {
    let from_march = days + 719_468;
    let (era, day_of_era) = (
        from_march.div_euclid(146_097),
        from_march.rem_euclid(146_097),
    );
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests;
