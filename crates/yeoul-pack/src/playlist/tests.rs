use quick_m3u8::{HlsLine, Reader, config::ParsingOptions};

use super::*;

fn media_playlist(entries: &[PlaylistEntry]) -> MediaPlaylist {
    super::media_playlist(entries, PlaylistKind::Vod)
}

fn entry(uri: &str, start: i64, end: i64) -> PlaylistEntry {
    PlaylistEntry {
        uri: Some(uri.to_owned()),
        start: Time::new(start, 90_000),
        end: Time::new(end, 90_000),
        discontinuity: false,
        map: "init.mp4".to_owned(),
        wall_ns: Some(1_796_068_075_613_655_000),
        independent: true,
    }
}

fn durations(text: &str) -> Vec<i64> {
    text.lines()
        .filter_map(|line| line.strip_prefix("#EXTINF:"))
        .map(|rest| rest.trim_end_matches(',').replace('.', "").parse().unwrap())
        .collect()
}

#[test]
fn rule_17_durations_are_presentation_times_and_never_drift() {
    let entries: Vec<_> = (0..1000)
        .map(|i| entry("a.m4s", i * 3003, (i + 1) * 3003))
        .collect();
    let playlist = media_playlist(&entries);
    let sum: i64 = durations(&playlist.text).iter().sum();
    assert_eq!(sum, Time::new(3003 * 1000, 90_000).nearest(1_000_000));
}

#[test]
fn rule_18_a_kept_gap_is_gap_entries_within_the_target_duration() {
    let mut second = entry("b.m4s", 1_080_000, 1_440_000);
    second.discontinuity = true;
    let playlist = media_playlist(&[entry("a.m4s", 0, 360_000), second]);
    assert_eq!(
        durations(&playlist.text),
        [4_000_000, 4_000_000, 4_000_000, 4_000_000]
    );
    assert_eq!(playlist.target_duration, 4);
    assert!(playlist.has_gaps);
    let order: Vec<_> = playlist
        .text
        .lines()
        .filter(|l| !l.starts_with("#EXTINF"))
        .collect();
    let discontinuity = order
        .iter()
        .position(|l| *l == "#EXT-X-DISCONTINUITY")
        .unwrap();
    assert_eq!(order[discontinuity - 1], GAP_URI);
    assert!(order[discontinuity + 1].starts_with("#EXT-X-PROGRAM-DATE-TIME:2026-"));
}

#[test]
fn rule_18_a_long_gap_is_few_long_entries() {
    let day = 86_400 * 90_000;
    let playlist = media_playlist(&[entry("a", 0, 360_000), entry("b", day, day + 360_000)]);
    assert_eq!(durations(&playlist.text).len(), 2 + 4);
    assert_eq!(
        durations(&playlist.text).iter().sum::<i64>(),
        86_404_000_000
    );
    assert_eq!(playlist.target_duration, 21_599);
}

#[test]
fn a_short_silence_lengthens_the_segment_before_it() {
    let playlist = media_playlist(&[entry("a", 0, 360_000), entry("b", 400_000, 720_000)]);
    assert_eq!(durations(&playlist.text), [4_444_444, 3_555_556]);
    assert!(!playlist.has_gaps);
}

#[test]
fn independent_segments_are_claimed_only_when_all_are() {
    let mut open = entry("b", 360_000, 720_000);
    assert!(
        media_playlist(&[entry("a", 0, 360_000)])
            .text
            .contains("INDEPENDENT")
    );
    open.independent = false;
    assert!(
        !media_playlist(&[entry("a", 0, 360_000), open])
            .text
            .contains("INDEPENDENT")
    );
}

#[test]
fn another_reader_understands_every_line() {
    let mut second = entry("b.m4s", 1_080_000, 1_440_000);
    second.discontinuity = true;
    let text = media_playlist(&[entry("a.m4s", 0, 360_000), second]).text;
    let mut reader = Reader::from_str(&text, ParsingOptions::default());
    let (mut uris, mut tags) = (Vec::new(), 0);
    while let Some(line) = reader.read_line().unwrap() {
        match line {
            HlsLine::KnownTag(_) => tags += 1,
            HlsLine::Uri(uri) => uris.push(uri.to_string()),
            other => panic!("not understood: {other:?}"),
        }
    }
    assert_eq!(uris, ["a.m4s", GAP_URI, GAP_URI, "b.m4s"]);
    assert_eq!(
        tags,
        text.lines().filter(|line| line.starts_with('#')).count()
    );
}

#[test]
fn dates_of_the_calendar() {
    assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
    assert_eq!(
        rfc3339(1_796_068_075_613_655_000),
        "2026-11-30T19:47:55.613Z"
    );
    assert_eq!(rfc3339(-1_000_000), "1969-12-31T23:59:59.999Z");
}

#[test]
fn a_growing_playlist_only_grows() {
    let kind = PlaylistKind::Event { target_duration: 8 };
    let entries: Vec<_> = (0..5)
        .map(|i| entry("a", i * 360_000, (i + 1) * 360_000))
        .collect();
    let mut before = String::new();
    for count in 1..=entries.len() {
        let playlist = super::media_playlist(&entries[..count], kind);
        assert!(playlist.text.starts_with(&before), "{}", playlist.text);
        assert!(!playlist.text.contains("ENDLIST"));
        assert_eq!(playlist.target_duration, 8);
        before = playlist.text;
    }
}
