//! `moov`: tracks, defaults of fragments, mtxi.

use super::boxes::{BoxAt, Child, MAX_BOXES, MAX_HEADER_BOX, child, children, name};
use super::input::{Fault, Fields, Input};
use super::table::Tables;

/// Tracks that a `moov` may have.
pub(super) const MAX_TRACKS: usize = 256;

/// What an initialization segment or the head of a recording says.
#[derive(Debug)]
pub(super) struct Movie {
    pub(super) tracks: Vec<Track>,
    pub(super) mtxi: Option<Mtxi>,
    /// There is an `mvex`: samples are in fragments, not in tables.
    pub(super) fragmented: bool,
    /// Duration in `mvhd`; 0 in a recording that was never closed.
    pub(super) duration: u64,
}

#[derive(Debug)]
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) timescale: u32,
    pub(super) handler: [u8; 4],
    pub(super) trex: Defaults,
    pub(super) tables: Tables,
}

/// Default duration, size and flags of samples, from `trex` or `tfhd`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Defaults {
    pub(super) duration: u32,
    pub(super) size: u32,
    pub(super) flags: u32,
}

/// MediaMTX's box in `moov/udta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mtxi {
    pub(super) stream: [u8; 16],
    pub(super) number: u64,
    pub(super) dts_ns: i64,
    pub(super) ntp_ns: i64,
}

impl Mtxi {
    pub(super) fn stream_hex(&self) -> String {
        self.stream.iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl Track {
    pub(super) fn is_video(&self) -> bool {
        self.handler == *b"vide"
    }
}

impl Movie {
    /// Finds the `moov` among the top-level boxes and reads it.
    pub(super) fn find(input: &Input<'_>) -> Result<(Self, BoxAt), Fault> {
        let mut at = 0;
        if input.len() == 0 {
            return Err(Fault::new(0, "the file is empty"));
        }
        for _ in 0..MAX_BOXES {
            if at >= input.len() {
                break;
            }
            let head = BoxAt::read(input, at)?;
            if at == 0
                && !matches!(
                    &head.kind,
                    b"ftyp" | b"styp" | b"moov" | b"mdat" | b"free" | b"skip" | b"wide"
                )
            {
                return Err(Fault::new(
                    0,
                    format!("not an MP4 file: it begins with {}", name(head.kind)),
                ));
            }
            if head.kind == *b"moov" {
                let body = head.read_body(input, MAX_HEADER_BOX)?;
                return Ok((Self::parse(&body, head.body, input.len())?, head));
            }
            at = head.end;
        }
        Err(Fault::new(at.min(input.len()), "there is no moov"))
    }

    pub(super) fn track(&self, id: u32) -> Option<&Track> {
        self.tracks.iter().find(|t| t.id == id)
    }

    fn parse(body: &[u8], at: u64, file_len: u64) -> Result<Self, Fault> {
        let all = children(body, at)?;
        let mvex = child(&all, b"mvex");
        let mut movie = Self {
            tracks: Vec::new(),
            mtxi: None,
            fragmented: mvex.is_some(),
            duration: 0,
        };
        for item in &all {
            match &item.kind {
                b"mvhd" => movie.duration = mvhd_duration(item)?,
                b"trak" => {
                    let track = trak(item, movie.fragmented, file_len)?;
                    if movie.track(track.id).is_some() || track.id == 0 {
                        return Err(Fault::new(
                            item.at,
                            format!("track ID {} is 0 or there twice", track.id),
                        ));
                    }
                    if movie.tracks.len() == MAX_TRACKS {
                        return Err(Fault::new(
                            item.at,
                            format!("there are more than {MAX_TRACKS} tracks"),
                        ));
                    }
                    movie.tracks.push(track);
                }
                b"udta" => movie.mtxi = mtxi(item)?,
                _ => {}
            }
        }
        if let Some(mvex) = mvex {
            for item in children(mvex.body, body_at(&mvex))?
                .iter()
                .filter(|c| c.kind == *b"trex")
            {
                let mut fields = Fields::new(item.body, item.at, "trex");
                fields.version()?;
                let id = fields.u32()?;
                fields.u32()?;
                let trex = Defaults {
                    duration: fields.u32()?,
                    size: fields.u32()?,
                    flags: fields.u32()?,
                };
                if let Some(track) = movie.tracks.iter_mut().find(|t| t.id == id) {
                    track.trex = trex;
                }
            }
        }
        Ok(movie)
    }
}

/// Where the body of a child with a short header begins; only used to say places.
fn body_at(item: &Child<'_>) -> u64 {
    item.at + 8
}

fn mvhd_duration(item: &Child<'_>) -> Result<u64, Fault> {
    let mut fields = Fields::new(item.body, item.at, "mvhd");
    let (version, _) = fields.version()?;
    fields.wide(version)?;
    fields.wide(version)?;
    fields.u32()?;
    fields.wide(version)
}

fn mtxi(udta: &Child<'_>) -> Result<Option<Mtxi>, Fault> {
    // A QuickTime `udta` may end in a 32-bit zero, which is no box; only a box that is there matters.
    let Ok(all) = children(udta.body, body_at(udta)) else {
        return Ok(None);
    };
    let Some(item) = child(&all, b"mtxi") else {
        return Ok(None);
    };
    let mut fields = Fields::new(item.body, item.at, "mtxi");
    fields.version()?;
    let mut stream = [0; 16];
    stream.copy_from_slice(fields.bytes(16)?);
    Ok(Some(Mtxi {
        stream,
        number: fields.u64()?,
        dts_ns: fields.i64()?,
        ntp_ns: fields.i64()?,
    }))
}

fn trak(item: &Child<'_>, fragmented: bool, file_len: u64) -> Result<Track, Fault> {
    let need = |all: &[Child<'_>], kind: &[u8; 4], at: u64| -> Result<(), Fault> {
        match child(all, kind) {
            Some(_) => Ok(()),
            None => Err(Fault::new(at, format!("a track has no {}", name(*kind)))),
        }
    };
    let all = children(item.body, body_at(item))?;
    need(&all, b"tkhd", item.at)?;
    need(&all, b"mdia", item.at)?;
    let (Some(tkhd), Some(mdia)) = (child(&all, b"tkhd"), child(&all, b"mdia")) else {
        return Err(Fault::new(item.at, "a track is incomplete"));
    };
    let mut fields = Fields::new(tkhd.body, tkhd.at, "tkhd");
    let (version, _) = fields.version()?;
    fields.wide(version)?;
    fields.wide(version)?;
    let id = fields.u32()?;

    let media = children(mdia.body, body_at(&mdia))?;
    need(&media, b"mdhd", mdia.at)?;
    let mut timescale = 0;
    let mut handler = [0; 4];
    let mut tables = Tables::default();
    for part in &media {
        match &part.kind {
            b"mdhd" => {
                let mut fields = Fields::new(part.body, part.at, "mdhd");
                let (version, _) = fields.version()?;
                fields.wide(version)?;
                fields.wide(version)?;
                timescale = fields.u32()?;
            }
            b"hdlr" => {
                let mut fields = Fields::new(part.body, part.at, "hdlr");
                fields.version()?;
                fields.u32()?;
                handler = fields.four()?;
            }
            b"minf" if !fragmented => {
                let stbl = children(part.body, body_at(part))?;
                if let Some(stbl) = child(&stbl, b"stbl") {
                    tables = Tables::parse(&children(stbl.body, body_at(&stbl))?, file_len)?;
                }
            }
            _ => {}
        }
    }
    if timescale == 0 {
        return Err(Fault::new(
            mdia.at,
            format!("track {id} has a timescale of 0"),
        ));
    }
    Ok(Track {
        id,
        timescale,
        handler,
        trex: Defaults::default(),
        tables,
    })
}
