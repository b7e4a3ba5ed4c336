use bytes::Bytes;

use crate::walk::BoxRef;
use crate::{BoxError, Fault, FourCc, Limits};

/// What a track carries (`hdlr`, ISO/IEC 14496-12 §8.4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Handler {
    /// `vide`
    Video,
    /// `soun`
    Audio,
    /// Anything else, by its code.
    Other(FourCc),
}

impl From<FourCc> for Handler {
    fn from(code: FourCc) -> Self {
        match &code.0 {
            b"vide" => Self::Video,
            b"soun" => Self::Audio,
            _ => Self::Other(code),
        }
    }
}

impl Handler {
    /// The handler's four-character code.
    pub fn code(self) -> FourCc {
        match self {
            Self::Video => FourCc(*b"vide"),
            Self::Audio => FourCc(*b"soun"),
            Self::Other(code) => code,
        }
    }
}

/// A `trak`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    /// Track id, not 0.
    pub id: u32,
    /// What it carries.
    pub handler: Handler,
    /// Ticks a second of the track's times, not 0.
    pub timescale: u32,
    /// Length in ticks as claimed by `mdhd`; 0 in fragmented files.
    pub duration: u64,
    /// ISO 639-2/T code, packed as in `mdhd` (15 bits); 0x55C4 is `und`.
    pub language: u16,
    /// Width from `tkhd`, 16.16 fixed point.
    pub width: u32,
    /// Height from `tkhd`, 16.16 fixed point.
    pub height: u32,
    /// The sample entries of `stsd`, each the whole box, byte for byte.
    pub entries: Vec<Bytes>,
    /// Defaults for movie fragments (`trex`), all 0 without.
    pub extends: TrackExtends,
    /// The content of `stbl`, for the sample table reader: where a plain MP4 has its samples.
    pub table: Bytes,
    /// The content of `elst` (a full box's version, flags and entries), if the track has one.
    pub edit_list: Option<Bytes>,
}

/// `trex`: defaults of a track's movie fragments (ISO/IEC 14496-12 §8.8.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrackExtends {
    /// Default duration of a sample, ticks.
    pub duration: u32,
    /// Default size of a sample, bytes.
    pub size: u32,
    /// Default sample flags.
    pub flags: u32,
}

impl Track {
    /// The language as three letters, `und` when it is not a code.
    pub fn language_code(&self) -> String {
        Self::language_letters(self.language)
    }

    /// A packed language (ISO/IEC 14496-12 §8.4.2) as three letters, `und` when it is not a code.
    pub fn language_letters(packed: u16) -> String {
        let letters: String = (0..3)
            .rev()
            .map(|i| char::from(((packed >> (5 * i)) & 0x1F) as u8 + 0x60))
            .collect();
        if letters.bytes().all(|b| b.is_ascii_lowercase()) {
            letters
        } else {
            "und".to_owned()
        }
    }

    pub(super) fn parse(
        bytes: &Bytes,
        trak: &BoxRef<'_>,
        mvex: Option<&BoxRef<'_>>,
        limits: &Limits,
    ) -> Result<Self, BoxError> {
        let (id, width, height) = track_header(&trak.require(b"tkhd")?)?;
        let mdia = trak.require(b"mdia")?;
        let (timescale, duration, language) = media_header(&mdia.require(b"mdhd")?)?;
        let (_, _, mut fields) = mdia.require(b"hdlr")?.full()?;
        fields.skip(4)?;
        let handler = Handler::from(FourCc(fields.array()?));
        let stbl = mdia.require(b"minf")?.require(b"stbl")?;
        let entries = sample_entries(bytes, &stbl.require(b"stsd")?, limits)?;
        let edit_list = match trak.child(b"edts")? {
            Some(edts) => edts
                .child(b"elst")?
                .map(|elst| bytes.slice_ref(elst.content)),
            None => None,
        };
        let extends = match mvex {
            Some(mvex) => track_extends(mvex, id)?,
            None => TrackExtends::default(),
        };
        let table = bytes.slice_ref(stbl.content);
        Ok(Self {
            id,
            handler,
            timescale,
            duration,
            language,
            width,
            height,
            entries,
            extends,
            table,
            edit_list,
        })
    }
}

fn track_header(tkhd: &BoxRef<'_>) -> Result<(u32, u32, u32), BoxError> {
    let (version, _, mut fields) = tkhd.full()?;
    fields.skip(if version == 1 { 16 } else { 8 })?;
    let id = fields.u32()?;
    if id == 0 {
        return Err(tkhd.error(Fault::Value("track id 0 is not allowed")));
    }
    // reserved, duration, reserved, layer, group, volume, reserved, matrix
    fields.skip(4 + if version == 1 { 8 } else { 4 } + 8 + 8 + 36)?;
    Ok((id, fields.u32()?, fields.u32()?))
}

fn media_header(mdhd: &BoxRef<'_>) -> Result<(u32, u64, u16), BoxError> {
    let (version, _, mut fields) = mdhd.full()?;
    fields.skip(if version == 1 { 16 } else { 8 })?;
    let timescale = fields.u32()?;
    if timescale == 0 {
        return Err(mdhd.error(Fault::Value("timescale 0 is not allowed")));
    }
    let duration = fields.by_version(version)?;
    Ok((timescale, duration, fields.u16()? & 0x7FFF))
}

fn sample_entries(
    bytes: &Bytes,
    stsd: &BoxRef<'_>,
    limits: &Limits,
) -> Result<Vec<Bytes>, BoxError> {
    let (_, _, mut fields) = stsd.full()?;
    let count = u64::from(fields.u32()?);
    let limit = u64::from(limits.tracks);
    if count > limit {
        return Err(stsd.error(Fault::Limit {
            what: "sample entry count",
            value: count,
            limit,
        }));
    }
    let mut entries = Vec::new();
    for entry in stsd
        .children_after(8)
        .take(usize::try_from(count).unwrap_or(usize::MAX))
    {
        entries.push(bytes.slice_ref(entry?.bytes));
    }
    if entries.is_empty() {
        return Err(stsd.error(Fault::Value("has no sample entry")));
    }
    Ok(entries)
}

fn track_extends(mvex: &BoxRef<'_>, id: u32) -> Result<TrackExtends, BoxError> {
    for child in mvex.children() {
        let child = child?;
        if child.kind != FourCc(*b"trex") {
            continue;
        }
        let (_, _, mut fields) = child.full()?;
        if fields.u32()? == id {
            fields.skip(4)?;
            return Ok(TrackExtends {
                duration: fields.u32()?,
                size: fields.u32()?,
                flags: fields.u32()?,
            });
        }
    }
    Ok(TrackExtends::default())
}
