//! A small HLS playlist parser (RFC 8216bis), in integers: durations are nanoseconds.

use std::path::{Path, PathBuf};

use super::timeline::SECOND;

/// A playlist larger than this is refused.
pub(super) const MAX_PLAYLIST: u64 = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct Playlist {
    /// EXT-X-TARGETDURATION, seconds.
    pub(super) target: Option<u64>,
    pub(super) independent: bool,
    pub(super) ended: bool,
    pub(super) entries: Vec<Entry>,
    /// Media playlists that a multivariant playlist names.
    pub(super) variants: Vec<String>,
    /// Lines that could not be understood: number from 1, and why.
    pub(super) faults: Vec<(usize, String)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub(super) uri: String,
    /// EXTINF, nanoseconds.
    pub(super) duration: i128,
    /// The EXT-X-MAP in force.
    pub(super) map: Option<String>,
    pub(super) discontinuity: bool,
    pub(super) gap: bool,
    /// EXT-X-PROGRAM-DATE-TIME of this entry, nanoseconds since 1970.
    pub(super) date: Option<i128>,
    pub(super) line: usize,
}

impl Playlist {
    pub(super) fn parse(text: &str) -> Self {
        let mut list = Self::default();
        let mut entry = Entry::default();
        let mut has_duration = false;
        let mut lines = text
            .lines()
            .map(str::trim_end)
            .enumerate()
            .map(|(n, l)| (n + 1, l));
        if lines
            .next()
            .is_none_or(|(_, l)| l.trim_start_matches('\u{feff}') != "#EXTM3U")
        {
            list.faults
                .push((1, "does not begin with #EXTM3U".to_owned()));
        }
        for (number, line) in lines {
            let (tag, value) = line.split_once(':').unwrap_or((line, ""));
            let mut fault = |what: String| list.faults.push((number, what));
            match tag {
                "" => {}
                "#EXTINF" => match decimal(value.split(',').next().unwrap_or("")) {
                    Some(duration) => {
                        entry.duration = duration;
                        has_duration = true;
                    }
                    None => fault(format!("EXTINF {value:?} is not a duration")),
                },
                "#EXT-X-TARGETDURATION" => match value.trim().parse() {
                    Ok(target) => list.target = Some(target),
                    Err(_) => fault(format!(
                        "TARGETDURATION {value:?} is not a number of seconds"
                    )),
                },
                "#EXT-X-MAP" => {
                    entry.map = attribute(value, "URI");
                    if entry.map.is_none() {
                        fault("EXT-X-MAP without URI".to_owned());
                    }
                    if attribute(value, "BYTERANGE").is_some() {
                        fault("EXT-X-MAP with BYTERANGE cannot be checked here".to_owned());
                    }
                }
                "#EXT-X-PROGRAM-DATE-TIME" => {
                    entry.date = date_ns(value);
                    if entry.date.is_none() {
                        fault(format!("{value:?} is not a date"));
                    }
                }
                "#EXT-X-BYTERANGE" => fault("EXT-X-BYTERANGE cannot be checked here".to_owned()),
                "#EXT-X-DISCONTINUITY" => entry.discontinuity = true,
                "#EXT-X-GAP" => entry.gap = true,
                "#EXT-X-INDEPENDENT-SEGMENTS" => list.independent = true,
                "#EXT-X-ENDLIST" => list.ended = true,
                "#EXT-X-MEDIA" => list.variants.extend(attribute(value, "URI")),
                "#EXT-X-STREAM-INF" => has_duration = true,
                _ if line.starts_with('#') => {}
                _ => {
                    if !has_duration {
                        fault(format!("{line:?} has no EXTINF"));
                    }
                    let map = entry.map.clone();
                    entry.uri = line.to_owned();
                    entry.line = number;
                    list.entries.push(std::mem::replace(
                        &mut entry,
                        Entry {
                            map,
                            ..Entry::default()
                        },
                    ));
                    has_duration = false;
                }
            }
        }
        if text.lines().any(|l| l.starts_with("#EXT-X-STREAM-INF")) {
            let uris = list.entries.drain(..).map(|e| e.uri);
            list.variants.extend(uris);
            list.variants.sort_unstable();
            list.variants.dedup();
        }
        list
    }

    pub(super) fn is_multivariant(&self) -> bool {
        !self.variants.is_empty()
    }
}

impl Entry {
    /// How findings name it: the URI, and the line of the playlist `label`.
    pub(super) fn place(&self, label: &str) -> String {
        format!("{} ({label}:{})", self.uri, self.line)
    }
}

/// A URI of a playlist as a path beside it. Only local, relative URIs can be checked.
pub(super) fn local_path(playlist: &Path, uri: &str) -> Option<PathBuf> {
    if uri.contains("://") || uri.starts_with('/') || uri.contains('\0') {
        return None;
    }
    let plain = uri.split(['?', '#']).next()?;
    Some(
        playlist
            .parent()
            .unwrap_or(Path::new(""))
            .join(percent_decode(plain)?),
    )
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
        out.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(out).ok()
}

/// The value of an attribute, without quotes.
fn attribute(list: &str, name: &str) -> Option<String> {
    let mut rest = list;
    while !rest.is_empty() {
        let (key, tail) = rest.split_once('=')?;
        let (value, tail) = match tail.strip_prefix('"') {
            Some(quoted) => {
                let (value, tail) = quoted.split_once('"')?;
                (value, tail.strip_prefix(',').unwrap_or(tail))
            }
            None => tail.split_once(',').unwrap_or((tail, "")),
        };
        if key.trim() == name {
            return Some(value.to_owned());
        }
        rest = tail;
    }
    None
}

/// A decimal number of seconds as nanoseconds; digits past the ninth are dropped.
pub(super) fn decimal(text: &str) -> Option<i128> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 18 || !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction: String = fraction
        .chars()
        .chain(std::iter::repeat('0'))
        .take(9)
        .collect();
    Some(whole.parse::<i128>().ok()? * SECOND + fraction.parse::<i128>().ok()?)
}

/// An ISO 8601 date with time and zone as nanoseconds since 1970.
fn date_ns(text: &str) -> Option<i128> {
    let (date, time) = text.trim().split_once('T')?;
    let zone_at = time.find(['Z', '+', '-'])?;
    let (clock, zone) = time.split_at_checked(zone_at)?;
    let mut parts = date.splitn(3, '-').map(|p| p.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (
        parts.next()?.parse::<u32>().ok()?,
        parts.next()?.parse::<u32>().ok()?,
    );
    let second = decimal(parts.next()?)?;
    if !(1..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 24
        || minute > 59
    {
        return None;
    }
    let offset = zone_seconds(zone)?;
    let minutes =
        (i128::from(days(year, month, day)) * 24 + i128::from(hour)) * 60 + i128::from(minute);
    Some(minutes * 60 * SECOND + second - offset * SECOND)
}

fn zone_seconds(zone: &str) -> Option<i128> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = zone.split_at_checked(1)?;
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() {
        0
    } else {
        minutes.parse::<u32>().ok()?
    };
    let seconds = i128::from(hours.parse::<u32>().ok()?) * 3600 + i128::from(minutes) * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last.
    let y = if month > 2 { year } else { year - 1 };
    let m = (month + 9) % 12;
    y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (m * 306 + 5) / 10 + day
        - 1
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_become_nanoseconds() {
        assert_eq!(date_ns("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            date_ns("2026-11-30T19:47:55.613655Z"),
            Some(1_796_068_075_613_655_000)
        );
        assert_eq!(
            date_ns("2026-12-01T04:47:55.613655+09:00"),
            Some(1_796_068_075_613_655_000)
        );
        assert_eq!(
            date_ns("2024-02-29T00:00:00-0130"),
            Some((1_709_164_800 + 5400) * SECOND)
        );
        assert_eq!(date_ns("2024-13-01T00:00:00Z"), None);
        assert_eq!(date_ns("yesterday"), None);
    }

    #[test]
    fn durations_are_exact() {
        assert_eq!(decimal("4.000001"), Some(4_000_001_000));
        assert_eq!(decimal("4"), Some(4 * SECOND));
        assert_eq!(decimal("-1"), None);
        assert_eq!(decimal("1e9"), None);
    }

    #[test]
    fn a_media_playlist_is_read() {
        let list = Playlist::parse(
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"a,b.mp4\"\n\
             #EXTINF:4.0,\n1.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-GAP\n#EXTINF:2.5,t\n%EC%97%AC%EC%9A%B8.m4s\n#EXT-X-ENDLIST\n",
        );
        assert_eq!(list.faults, []);
        assert_eq!(
            (list.target, list.independent, list.ended),
            (Some(4), true, true)
        );
        assert_eq!(list.entries[0].map.as_deref(), Some("a,b.mp4"));
        let last = &list.entries[1];
        assert!(
            last.gap && last.discontinuity && last.map.is_some() && last.duration == 2_500_000_000
        );
        assert_eq!(
            local_path(Path::new("d/i.m3u8"), &last.uri),
            Some(PathBuf::from("d/여울.m4s"))
        );
        assert_eq!(local_path(Path::new("d/i.m3u8"), "http://x/a"), None);
    }

    #[test]
    fn a_multivariant_playlist_names_its_media_playlists() {
        let list = Playlist::parse(
            "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"audio/index.m3u8\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo/index.m3u8\n",
        );
        assert!(list.is_multivariant() && list.faults.is_empty() && list.entries.is_empty());
        assert_eq!(list.variants, ["audio/index.m3u8", "video/index.m3u8"]);
    }
}
