//! A reader of its own for what comes out: boxes by hand, playlists by `quick-m3u8`.

use quick_m3u8::config::ParsingOptions;
use quick_m3u8::tag::KnownTag;
use quick_m3u8::tag::hls::Tag;
use quick_m3u8::{HlsLine, Reader};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) dts: i64,
    pub(crate) duration: u32,
    pub(crate) cts: i32,
    pub(crate) flags: u32,
    pub(crate) payload: Vec<u8>,
}

impl Sample {
    pub(crate) fn is_sync(&self) -> bool {
        self.flags & 0x1_0000 == 0
    }

    pub(crate) fn end(&self) -> i64 {
        self.dts + i64::from(self.duration)
    }

    pub(crate) fn pts(&self) -> i64 {
        self.dts + i64::from(self.cts)
    }

    pub(crate) fn presented_until(&self) -> i64 {
        self.pts() + i64::from(self.duration)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Traf {
    pub(crate) track: u32,
    pub(crate) tfdt: i64,
    pub(crate) samples: Vec<Sample>,
}

/// Boxes that stand side by side: type, where the box begins, content.
pub(crate) fn boxes(bytes: &[u8]) -> Vec<([u8; 4], usize, &[u8])> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let size = be32(bytes, at) as usize;
        let kind = bytes[at + 4..at + 8].try_into().unwrap();
        let (head, size) = match size {
            1 => (16, usize::try_from(be64(bytes, at + 8)).unwrap()),
            size => (8, size),
        };
        out.push((kind, at, &bytes[at + head..at + size]));
        at += size;
    }
    out
}

pub(crate) fn child<'a>(bytes: &'a [u8], path: &[&[u8; 4]]) -> Option<&'a [u8]> {
    let Some((first, rest)) = path.split_first() else {
        return Some(bytes);
    };
    let found = boxes(bytes).into_iter().find(|(kind, ..)| kind == *first)?;
    child(found.2, rest)
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The brands of a file's `ftyp` or `styp`, the major one first.
pub(crate) fn brands(file: &[u8]) -> Vec<String> {
    let (kind, _, content) = boxes(file)[0];
    assert!(kind == *b"ftyp" || kind == *b"styp", "{kind:?}");
    let codes = [&content[..4], &content[8..]].concat();
    codes
        .chunks(4)
        .map(|code| String::from_utf8(code.to_vec()).unwrap())
        .collect()
}

/// A segment's movie fragments.
pub(crate) fn fragments(file: &[u8]) -> Vec<Vec<Traf>> {
    let mut out = Vec::new();
    let all = boxes(file);
    for (index, (kind, at, content)) in all.iter().enumerate() {
        if kind != b"moof" {
            continue;
        }
        let (next, mdat_at, mdat) = all[index + 1];
        assert_eq!(&next, b"mdat", "an mdat follows its moof");
        let mdat_start = mdat_at + 8;
        let mut used = mdat_start;
        let mut trafs = Vec::new();
        for (kind, _, traf) in boxes(content) {
            if &kind == b"traf" {
                trafs.push(fragment(file, *at, traf, &mut used));
            }
        }
        assert_eq!(
            used,
            mdat_start + mdat.len(),
            "samples fill the mdat, one behind the other"
        );
        out.push(trafs);
    }
    out
}

fn fragment(file: &[u8], moof: usize, traf: &[u8], used: &mut usize) -> Traf {
    let tfhd = child(traf, &[b"tfhd"]).unwrap();
    let flags = be32(tfhd, 0);
    assert_eq!(
        flags & 0x02_0001,
        0x02_0000,
        "offsets count from the moof, and only from there"
    );
    let track = be32(tfhd, 4);
    let mut at = 8;
    let mut defaults = [None; 4];
    for (place, bit) in [(0, 0x02), (1, 0x08), (2, 0x10), (3, 0x20)] {
        if flags & bit != 0 {
            defaults[place] = Some(be32(tfhd, at));
            at += 4;
        }
    }
    let tfdt = child(traf, &[b"tfdt"]).unwrap();
    assert_eq!(tfdt[0], 1, "tfdt is version 1");
    let tfdt = i64::try_from(be64(tfdt, 4)).unwrap();
    let trun = child(traf, &[b"trun"]).unwrap();
    let flags = be32(trun, 0);
    let count = be32(trun, 4);
    assert_eq!(
        flags & 0x05,
        0x01,
        "a data offset and no first-sample-flags"
    );
    let mut offset = moof + be32(trun, 8) as usize;
    let mut at = 12;
    let mut dts = tfdt;
    let mut samples = Vec::new();
    for _ in 0..count {
        let mut field = |bit: u32, default: Option<u32>| {
            if flags & bit == 0 {
                return default.unwrap();
            }
            at += 4;
            be32(trun, at - 4)
        };
        let duration = field(0x100, defaults[1]);
        let size = field(0x200, defaults[2]) as usize;
        let sample_flags = field(0x400, defaults[3]);
        let cts = field(0x800, Some(0)).cast_signed();
        assert_eq!(offset, *used, "no byte between samples");
        let payload = file[offset..offset + size].to_vec();
        offset += size;
        *used = offset;
        samples.push(Sample {
            dts,
            duration,
            cts,
            flags: sample_flags,
            payload,
        });
        dts += i64::from(duration);
    }
    assert_eq!(at, trun.len(), "the trun ends with its last sample");
    Traf {
        track,
        tfdt,
        samples,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Playlist {
    pub(crate) target: u64,
    pub(crate) independent: bool,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) uri: String,
    pub(crate) micros: i64,
    pub(crate) gap: bool,
    pub(crate) discontinuity: bool,
    /// Whether an `EXT-X-MAP` stands right before it.
    pub(crate) maps: bool,
    pub(crate) map: String,
    /// `EXT-X-PROGRAM-DATE-TIME`, milliseconds of the day.
    pub(crate) date: Option<i64>,
}

impl Playlist {
    pub(crate) fn micros(&self) -> i64 {
        self.entries.iter().map(|entry| entry.micros).sum()
    }

    pub(crate) fn gap_micros(&self) -> i64 {
        let gaps = self.entries.iter().filter(|entry| entry.gap);
        gaps.map(|entry| entry.micros).sum()
    }

    /// Where each entry begins, microseconds from the playlist's start; and the end.
    pub(crate) fn starts(&self) -> Vec<i64> {
        let mut starts = vec![0];
        for entry in &self.entries {
            starts.push(starts[starts.len() - 1] + entry.micros);
        }
        starts
    }

    pub(crate) fn maps(&self) -> usize {
        self.entries.iter().filter(|entry| entry.maps).count()
    }

    /// Indices of the entries that a discontinuity stands before.
    pub(crate) fn discontinuities(&self) -> Vec<usize> {
        (0..self.entries.len())
            .filter(|index| self.entries[*index].discontinuity)
            .collect()
    }
}

/// Reads a media playlist; every line must be one that the reader knows.
pub(crate) fn playlist(text: &str) -> Playlist {
    let mut reader = Reader::from_str(text, ParsingOptions::default());
    let mut out = Playlist {
        target: 0,
        independent: false,
        entries: Vec::new(),
    };
    let fresh = |map: &str| Entry {
        uri: String::new(),
        micros: -1,
        gap: false,
        discontinuity: false,
        maps: false,
        map: map.to_owned(),
        date: None,
    };
    let mut next = fresh("");
    let mut ended = false;
    while let Some(line) = reader.read_line().unwrap() {
        assert!(!ended, "a line behind ENDLIST");
        match line {
            HlsLine::Uri(uri) => {
                assert!(next.micros >= 0, "{uri} has an EXTINF");
                let map = next.map.clone();
                next.uri = uri.to_string();
                out.entries.push(std::mem::replace(&mut next, fresh(&map)));
            }
            HlsLine::KnownTag(KnownTag::Hls(tag)) => match tag {
                Tag::Targetduration(tag) => out.target = tag.target_duration(),
                Tag::IndependentSegments(_) => out.independent = true,
                Tag::Inf(tag) => next.micros = micros(tag.duration()),
                Tag::Discontinuity(_) => next.discontinuity = true,
                Tag::Gap(_) => next.gap = true,
                Tag::Map(tag) => {
                    next.maps = true;
                    next.map = tag.uri().to_owned();
                }
                Tag::ProgramDateTime(tag) => {
                    let date = tag.program_date_time();
                    let minutes = i64::from(date.time_hour) * 60 + i64::from(date.time_minute);
                    next.date = Some(minutes * 60_000 + micros(date.time_second) / 1000);
                }
                Tag::Endlist(_) => ended = true,
                Tag::M3u(_) | Tag::Version(_) | Tag::PlaylistType(_) => {}
                other => panic!("not expected: {other:?}"),
            },
            other => panic!("not understood: {other:?}"),
        }
    }
    assert!(ended, "ENDLIST");
    for entry in &out.entries {
        let rounded = u64::try_from((entry.micros + 500_000) / 1_000_000).unwrap();
        assert!(rounded <= out.target, "EXTINF over TARGETDURATION");
        assert!(entry.micros > 0, "an entry of no length");
    }
    out
}

#[expect(clippy::cast_possible_truncation, reason = "six digits, far from 2^53")]
fn micros(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}
