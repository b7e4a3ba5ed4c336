//! What came out of the packer, taken apart again without the packer's own code.

use std::collections::BTreeMap;
use std::convert::Infallible;

use yeoul_pack::{
    FileKind, Gaps, LaneReport, Layout, Output, OutputFile, PackError, PackOptions, Take, pack_lane,
};
use yeoul_spans::sink::memory::to_vec;
use yeoul_spans::{Span, Spans};

/// More output than this is not looked at: samples that overlap can make much of little.
pub const MOST: u64 = 8 << 20;

/// The files of one lane.
#[derive(Debug, Default)]
pub struct Packed {
    /// By name.
    pub files: BTreeMap<String, OutputFile>,
    /// What the packer says of it.
    pub report: LaneReport,
    bytes: u64,
}

/// A sample of the output.
#[derive(Debug, Clone)]
pub struct OutSample {
    /// Output track.
    pub track_id: u32,
    /// Decode time, ticks.
    pub dts: u64,
    /// Ticks.
    pub duration: u32,
    /// Ticks.
    pub composition_offset: i32,
    /// Whether decoding can begin here.
    pub sync: bool,
    /// Name of the recording and offset in it, unless it has no bytes.
    pub origin: Option<(String, u64)>,
    /// Payload.
    pub payload: Vec<u8>,
}

/// Segments of a playlist that follow each other with one init and no DISCONTINUITY.
#[derive(Debug)]
pub struct Stretch {
    /// Name of the init.
    pub init: String,
    /// Names of the segments.
    pub segments: Vec<String>,
}

impl Output for Packed {
    type Error = Infallible;

    fn file(&mut self, file: OutputFile) -> Result<(), Infallible> {
        self.bytes += file.body.len();
        let known = self.files.insert(file.name.clone(), file);
        assert!(known.is_none(), "two files with one name: {known:?}");
        Ok(())
    }
}

/// Packs every lane; `None` where the packer refuses.
pub fn pack(mut takes: Vec<Take>, options: &PackOptions) -> Option<Vec<Packed>> {
    let mut lanes = Vec::new();
    while !takes.is_empty() {
        let count = takes.len();
        let mut packed = Packed::default();
        match pack_lane(takes, options, &mut packed) {
            Ok(report) => packed.report = report,
            Err(PackError::Layout(problem @ yeoul_pack::LayoutProblem::Negative { .. })) => {
                panic!("{problem}")
            }
            Err(error) => {
                let _ = error.to_string();
                return None;
            }
        }
        takes = std::mem::take(&mut packed.report.beside);
        assert!(takes.len() < count, "a lane takes at least one take");
        lanes.push(packed);
    }
    Some(lanes)
}

/// The options that a byte stands for.
pub fn options(byte: u8) -> PackOptions {
    let targets = [(4, 1), (1, 1), (1, 10), (30, 1)];
    let (ticks, timescale) = targets[usize::from(byte >> 2 & 3)];
    let mut options = PackOptions {
        cut: yeoul_pack::CutOptions::new(yeoul_pack::Time::new(ticks, timescale)),
        layout: if byte & 1 == 0 {
            Layout::Muxed
        } else {
            Layout::Cmaf
        },
        gaps: if byte & 2 == 0 {
            Gaps::Keep
        } else {
            Gaps::Close
        },
        limits: crate::LIMITS,
        ..PackOptions::default()
    };
    if byte & 16 != 0 {
        options.rendition.audio = yeoul_pack::Selector::All;
    }
    if byte & 32 != 0 {
        options.rendition.video = yeoul_pack::Selector::None;
    }
    options
}

impl Packed {
    /// Whether there is so little that it can be looked at.
    pub fn is_small(&self) -> bool {
        self.bytes <= MOST
    }

    /// A file's bytes.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let file = self
            .files
            .get(name)
            .unwrap_or_else(|| panic!("{name} is named and not there"));
        to_vec(&file.body, MOST).expect("a recording in memory can be read")
    }

    /// The stretches of a media playlist.
    pub fn stretches(&self, playlist: &str) -> Vec<Stretch> {
        let text = String::from_utf8(self.bytes(playlist)).expect("a playlist is text");
        let folder = playlist
            .rsplit_once('/')
            .map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let (mut out, mut init, mut anew, mut gap) = (Vec::<Stretch>::new(), None, true, false);
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("#EXT-X-MAP:URI=\"") {
                let name = rest.split('"').next().unwrap_or_default();
                init = Some(format!("{folder}{name}"));
            } else if line == "#EXT-X-DISCONTINUITY" {
                anew = true;
            } else if line == "#EXT-X-GAP" {
                gap = true;
            } else if !line.starts_with('#') && !line.is_empty() {
                if std::mem::take(&mut gap) {
                    continue;
                }
                let init = init.clone().expect("a MAP comes first");
                let name = format!("{folder}{line}");
                let file = self
                    .files
                    .get(&name)
                    .unwrap_or_else(|| panic!("{name} is not there"));
                assert_eq!(file.kind, FileKind::Segment { init: init.clone() });
                if std::mem::take(&mut anew) {
                    out.push(Stretch {
                        init: init.clone(),
                        segments: Vec::new(),
                    });
                }
                let stretch = out.last_mut().expect("one was begun");
                assert_eq!(stretch.init, init, "a new MAP without DISCONTINUITY");
                stretch.segments.push(name);
            }
        }
        out
    }

    /// The samples of a segment in file order.
    pub fn samples(&self, segment: &str) -> Vec<OutSample> {
        let bytes = self.bytes(segment);
        let origins = origins(&self.files[segment].body);
        let mut out = Vec::new();
        for (kind, at, content) in boxes(&bytes, 0) {
            if kind != *b"moof" {
                continue;
            }
            for (kind, traf_at, traf) in boxes(&bytes[content..], content) {
                if kind == *b"mdat" || traf_at >= at + size(&bytes, at) {
                    break;
                }
                if kind == *b"traf" {
                    let end = traf_at + size(&bytes, traf_at);
                    track_samples(&bytes, at, traf, end, &origins, &mut out);
                }
            }
        }
        out
    }
}

/// Checks every stretch of every playlist with `yeoul verify`'s reader, which shares no code with the packer.
/// `excused` says which problems the input is to blame for.
pub fn verify(packed: &Packed, excused: impl Fn(&str) -> bool) {
    let playlists: Vec<&String> = packed
        .files
        .keys()
        .filter(|name| name.ends_with(".m3u8"))
        .filter(|name| !is_multivariant(packed, name))
        .collect();
    for playlist in playlists {
        for stretch in packed.stretches(playlist) {
            let segments: Vec<Vec<u8>> = stretch
                .segments
                .iter()
                .map(|name| packed.bytes(name))
                .collect();
            let report = yeoul::verify::stream(&packed.bytes(&stretch.init), &segments);
            let mut problems = report.problems.iter();
            if let Some(problem) = problems.find(|problem| !excused(&problem.what)) {
                panic!(
                    "{playlist}, {stretch:?}: {}: {}",
                    problem.place, problem.what
                );
            }
        }
    }
}

fn is_multivariant(packed: &Packed, name: &str) -> bool {
    String::from_utf8_lossy(&packed.bytes(name)).contains("#EXT-X-STREAM-INF")
}

/// Where each byte range of a body comes from: begin in the body, length, name and offset.
fn origins(body: &Spans) -> Vec<(u64, u64, String, u64)> {
    let mut at = 0;
    let mut out = Vec::new();
    for span in body {
        match span {
            Span::Inline(bytes) => at += bytes.len() as u64,
            Span::Range(range) => {
                out.push((at, range.len, range.source.name().to_owned(), range.offset));
                at += range.len;
            }
        }
    }
    out
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn size(bytes: &[u8], at: usize) -> usize {
    be32(bytes, at) as usize
}

/// The boxes in `bytes`, which begin at `base`: type, place, place of the content. Ours all have 32-bit sizes.
fn boxes(bytes: &[u8], base: usize) -> impl Iterator<Item = ([u8; 4], usize, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at;
        let kind: [u8; 4] = bytes.get(at + 4..at + 8)?.try_into().ok()?;
        at += size(bytes, at).max(8);
        Some((kind, base + begin, base + begin + 8))
    })
}

/// One `traf` of the form that we write: `tfhd` with defaults and default-base-is-moof, `tfdt` v1, one `trun`.
fn track_samples(
    bytes: &[u8],
    moof: usize,
    traf: usize,
    end: usize,
    origins: &[(u64, u64, String, u64)],
    out: &mut Vec<OutSample>,
) {
    let (mut track_id, mut defaults, mut dts) = (0, [0u32; 3], 0u64);
    for (kind, _, at) in boxes(&bytes[traf..end], traf) {
        let flags = be32(bytes, at) & 0xFF_FFFF;
        match &kind {
            b"tfhd" => {
                assert_eq!(flags & !0x38, 0x02_0000);
                track_id = be32(bytes, at + 4);
                let mut field = at + 8;
                for (index, bit) in [8, 16, 32].into_iter().enumerate() {
                    if flags & bit != 0 {
                        defaults[index] = be32(bytes, field);
                        field += 4;
                    }
                }
            }
            b"tfdt" => {
                dts = u64::from(be32(bytes, at + 4)) << 32 | u64::from(be32(bytes, at + 8));
            }
            b"trun" => {
                assert_eq!(flags & !0xF01, 0);
                let (mut field, mut data) = (at + 12, moof + be32(bytes, at + 8) as usize);
                for _ in 0..be32(bytes, at + 4) {
                    let mut value = |bit: u32, default: u32| {
                        if flags & bit == 0 {
                            return default;
                        }
                        field += 4;
                        be32(bytes, field - 4)
                    };
                    let duration = value(0x100, defaults[0]);
                    let len = value(0x200, defaults[1]) as usize;
                    let sync = value(0x400, defaults[2]) & 0x0001_0000 == 0;
                    let composition_offset = value(0x800, 0).cast_signed();
                    let begin = data as u64;
                    let origin = origins.iter().find(|o| o.0 <= begin && begin < o.0 + o.1);
                    out.push(OutSample {
                        track_id,
                        dts,
                        duration,
                        composition_offset,
                        sync,
                        origin: origin
                            .filter(|_| len > 0)
                            .map(|o| (o.2.clone(), o.3 + (begin - o.0))),
                        payload: bytes[data..data + len].to_vec(),
                    });
                    dts += u64::from(duration);
                    data += len;
                }
            }
            _ => {}
        }
    }
}
