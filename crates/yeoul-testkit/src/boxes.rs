//! The boxes MediaMTX writes (ISO/IEC 14496-12), byte for byte.

use crate::track::Kind;

/// A box of `kind` around `body` (32-bit size).
pub(crate) fn mp4_box(kind: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 8);
    out.extend(
        u32::try_from(body.len() + 8)
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    out.extend(kind);
    out.extend(body);
    out
}

fn full_box(kind: [u8; 4], version: u8, flags: u32, body: &[u8]) -> Vec<u8> {
    let mut whole = (u32::from(version) << 24 | flags).to_be_bytes().to_vec();
    whole.extend(body);
    mp4_box(kind, &whole)
}

fn container(kind: [u8; 4], children: &[Vec<u8>]) -> Vec<u8> {
    mp4_box(kind, &children.concat())
}

/// One track of the header.
pub(crate) struct InitTrack<'a> {
    pub(crate) id: u32,
    pub(crate) kind: Kind,
    pub(crate) timescale: u32,
    pub(crate) language: [u8; 3],
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) entry: &'a [u8],
}

/// What `moov/udta/mtxi` says.
pub(crate) struct Mtxi {
    pub(crate) stream_id: [u8; 16],
    pub(crate) number: u64,
    pub(crate) dts_ns: i64,
    pub(crate) ntp_ns: i64,
}

/// Where `mvhd`'s version 0 duration stands in a file: `ftyp` (32), `moov` header (8), 24 bytes into `mvhd`.
pub(crate) const MVHD_DURATION_AT: u64 = 32 + 8 + 24;

/// `ftyp` and `moov`.
pub(crate) fn init(tracks: &[InitTrack<'_>], mtxi: &Mtxi) -> Vec<u8> {
    let mut out = mp4_box(*b"ftyp", b"mp42\0\0\0\x01mp41mp42isomhlsf");
    let mut children = vec![mvhd()];
    children.extend(tracks.iter().map(trak));
    children.push(container(
        *b"mvex",
        &tracks.iter().map(|t| trex(t.id)).collect::<Vec<_>>(),
    ));
    children.push(container(*b"udta", &[mtxi_box(mtxi)]));
    out.extend(container(*b"moov", &children));
    out
}

const MATRIX: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

fn matrix() -> Vec<u8> {
    MATRIX.iter().flat_map(|v| v.to_be_bytes()).collect()
}

fn mvhd() -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(1000_u32.to_be_bytes());
    body.extend([0; 4]);
    body.extend([0, 1, 0, 0, 1, 0]);
    body.extend([0; 10]);
    body.extend(matrix());
    body.extend([0; 24]);
    body.extend(u32::MAX.to_be_bytes());
    full_box(*b"mvhd", 0, 0, &body)
}

fn trak(track: &InitTrack<'_>) -> Vec<u8> {
    container(*b"trak", &[tkhd(track), mdia(track)])
}

fn tkhd(track: &InitTrack<'_>) -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(track.id.to_be_bytes());
    body.extend([0; 18]);
    // alternate group 1 and full volume mark audio
    body.extend(if track.kind == Kind::Audio {
        [0, 1, 1, 0, 0, 0]
    } else {
        [0; 6]
    });
    body.extend(matrix());
    body.extend((u32::from(track.width) << 16).to_be_bytes());
    body.extend((u32::from(track.height) << 16).to_be_bytes());
    full_box(*b"tkhd", 0, 3, &body)
}

fn mdia(track: &InitTrack<'_>) -> Vec<u8> {
    let mut mdhd = vec![0; 8];
    mdhd.extend(track.timescale.to_be_bytes());
    mdhd.extend([0; 4]);
    mdhd.extend(packed_language(track.language).to_be_bytes());
    mdhd.extend([0; 2]);
    let (handler, name): (&[u8], &[u8]) = match track.kind {
        Kind::Video => (b"vide", b"VideoHandler\0"),
        Kind::Audio => (b"soun", b"SoundHandler\0"),
    };
    let hdlr = [&[0; 4], handler, &[0; 12], name].concat();
    container(
        *b"mdia",
        &[
            full_box(*b"mdhd", 0, 0, &mdhd),
            full_box(*b"hdlr", 0, 0, &hdlr),
            minf(track),
        ],
    )
}

/// ISO 639-2/T code, three 5-bit letters (14496-12 §8.4.2).
fn packed_language(letters: [u8; 3]) -> u16 {
    letters.iter().fold(0, |packed, letter| {
        packed << 5 | u16::from(letter.wrapping_sub(0x60) & 0x1f)
    })
}

fn minf(track: &InitTrack<'_>) -> Vec<u8> {
    let media = match track.kind {
        Kind::Video => full_box(*b"vmhd", 0, 1, &[0; 8]),
        Kind::Audio => full_box(*b"smhd", 0, 0, &[0; 4]),
    };
    let mut dref = 1_u32.to_be_bytes().to_vec();
    dref.extend(full_box(*b"url ", 0, 1, &[]));
    let dinf = container(*b"dinf", &[full_box(*b"dref", 0, 0, &dref)]);
    let mut stsd = 1_u32.to_be_bytes().to_vec();
    stsd.extend(track.entry);
    let stbl = [
        full_box(*b"stsd", 0, 0, &stsd),
        full_box(*b"stts", 0, 0, &[0; 4]),
        full_box(*b"stsc", 0, 0, &[0; 4]),
        full_box(*b"stsz", 0, 0, &[0; 8]),
        full_box(*b"stco", 0, 0, &[0; 4]),
    ];
    container(*b"minf", &[media, dinf, container(*b"stbl", &stbl)])
}

fn trex(id: u32) -> Vec<u8> {
    let mut body = id.to_be_bytes().to_vec();
    body.extend(1_u32.to_be_bytes());
    body.extend([0; 12]);
    full_box(*b"trex", 0, 0, &body)
}

fn mtxi_box(mtxi: &Mtxi) -> Vec<u8> {
    let mut body = mtxi.stream_id.to_vec();
    body.extend(mtxi.number.to_be_bytes());
    body.extend(mtxi.dts_ns.to_be_bytes());
    body.extend(mtxi.ntp_ns.to_be_bytes());
    full_box(*b"mtxi", 0, 0, &body)
}

/// One row of a `trun`.
pub(crate) struct Row {
    pub(crate) duration: u32,
    pub(crate) size: u32,
    pub(crate) sync: bool,
    pub(crate) cts: i32,
}

/// One `traf`: a track's run of samples within a part.
pub(crate) struct Traf {
    pub(crate) id: u32,
    pub(crate) base_time: u64,
    pub(crate) rows: Vec<Row>,
}

impl Traf {
    fn has_flags(&self) -> bool {
        self.rows.iter().any(|row| !row.sync)
    }

    fn has_offsets(&self) -> bool {
        self.rows.iter().any(|row| row.cts != 0)
    }

    fn len(&self) -> usize {
        let columns = 2 + usize::from(self.has_flags()) + usize::from(self.has_offsets());
        8 + 16 + 20 + 20 + self.rows.len() * columns * 4
    }

    fn bytes(&self, data_offset: u32) -> Vec<u8> {
        let tfhd = full_box(*b"tfhd", 0, 0x02_0000, &self.id.to_be_bytes());
        let tfdt = full_box(*b"tfdt", 1, 0, &self.base_time.to_be_bytes());
        let (flags, offsets) = (self.has_flags(), self.has_offsets());
        let mut body = u32::try_from(self.rows.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes()
            .to_vec();
        body.extend(data_offset.to_be_bytes());
        for row in &self.rows {
            body.extend(row.duration.to_be_bytes());
            body.extend(row.size.to_be_bytes());
            if flags {
                body.extend((u32::from(!row.sync) << 16).to_be_bytes());
            }
            if offsets {
                body.extend(row.cts.to_be_bytes());
            }
        }
        let present = 0x301 | u32::from(flags) << 10 | u32::from(offsets) << 11;
        container(
            *b"traf",
            &[tfhd, tfdt, full_box(*b"trun", 1, present, &body)],
        )
    }
}

/// `moof` and the `mdat` header of a part; `None` where the part does not fit 32-bit offsets.
///
/// The payload that must follow is each `traf`'s samples, in the order of `trafs`.
pub(crate) fn part_head(sequence: u32, trafs: &[Traf]) -> Option<Vec<u8>> {
    let moof_len = 8 + 16 + trafs.iter().map(Traf::len).sum::<usize>();
    let payload: u64 = trafs
        .iter()
        .flat_map(|t| &t.rows)
        .map(|row| u64::from(row.size))
        .sum();
    let mdat_len = u32::try_from(payload + 8).ok()?;
    let mut offset = u32::try_from(moof_len + 8).ok()?;
    i32::try_from(u64::from(offset) + payload).ok()?;
    let mut children = vec![full_box(*b"mfhd", 0, 0, &sequence.to_be_bytes())];
    for traf in trafs {
        children.push(traf.bytes(offset));
        offset += traf.rows.iter().map(|row| row.size).sum::<u32>();
    }
    let mut out = container(*b"moof", &children);
    out.extend(mdat_len.to_be_bytes());
    out.extend(*b"mdat");
    Some(out)
}
