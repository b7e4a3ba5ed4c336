//! H.264 in ISO base media files (ISO/IEC 14496-15 §5).

use bytes::Bytes;
use h264_reader::nal::sps::SeqParameterSet;
use h264_reader::nal::{Nal, RefNal};

use super::access_unit::Unit;
use super::bits::Bits;
use super::{NalCodec, ParameterSets, Picture};

pub(super) fn classify(first: u8) -> Unit {
    match first & 0x1F {
        5 => Unit::Slice(Picture::Instant),
        1..=4 => Unit::Slice(Picture::Open),
        7 => Unit::Sps,
        8 => Unit::Pps,
        _ => Unit::Other,
    }
}

/// The sets of an `AVCDecoderConfigurationRecord` (§5.3.3.1).
pub(super) fn parameter_sets(config: &[u8]) -> Option<ParameterSets> {
    let length_size = usize::from(config.get(4)? & 3) + 1;
    let mut rest = config.get(5..)?;
    let sps = take_sets(&mut rest, 0x1F)?;
    let pps = take_sets(&mut rest, 0xFF)?;
    Some(ParameterSets {
        codec: NalCodec::Avc,
        length_size,
        vps: vec![],
        sps,
        pps,
    })
}

fn take_sets(rest: &mut &[u8], mask: u8) -> Option<Vec<Bytes>> {
    let (count, mut bytes) = rest.split_first()?;
    let mut sets = Vec::new();
    for _ in 0..count & mask {
        let (length, tail) = bytes.split_first_chunk::<2>()?;
        let (set, tail) = tail.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        sets.push(Bytes::copy_from_slice(set));
        bytes = tail;
    }
    *rest = bytes;
    Some(sets)
}

/// A configuration record with new sets in the manner of the old one, and the picture's size.
pub(super) fn rebuild(old: &[u8], sets: &ParameterSets) -> Option<(Vec<u8>, (u16, u16))> {
    let first = sets.sps.first()?;
    let sps = parse_sps(first)?;
    let (width, height) = sps.pixel_dimensions().ok()?;
    let mut out = vec![
        1,
        *first.get(1)?,
        *first.get(2)?,
        *first.get(3)?,
        *old.get(4)?,
    ];
    push_sets(&mut out, 0xE0, &sets.sps)?;
    push_sets(&mut out, 0, &sets.pps)?;
    if has_extension_fields(first[1]) && (extended(old)? || !has_extension_fields(old[1])) {
        let chroma = &sps.chroma_info;
        let format = match chroma.chroma_format {
            h264_reader::nal::sps::ChromaFormat::Monochrome => 0,
            h264_reader::nal::sps::ChromaFormat::YUV420 => 1,
            h264_reader::nal::sps::ChromaFormat::YUV422 => 2,
            _ => 3,
        };
        out.extend_from_slice(&[
            0xFC | format,
            0xF8 | chroma.bit_depth_luma_minus8,
            0xF8 | chroma.bit_depth_chroma_minus8,
            0,
        ]);
    }
    let side = |side| u16::try_from(side).ok().filter(|side| *side > 0);
    Some((out, (side(width)?, side(height)?)))
}

/// Whether a record of this profile ends in chroma format and bit depths. Some recorders leave them out all the same.
fn has_extension_fields(profile: u8) -> bool {
    matches!(profile, 100 | 110 | 122 | 144)
}

fn extended(config: &[u8]) -> Option<bool> {
    let mut rest = config.get(5..)?;
    take_sets(&mut rest, 0x1F)?;
    take_sets(&mut rest, 0xFF)?;
    Some(rest.len() >= 4)
}

fn push_sets(out: &mut Vec<u8>, reserved: u8, sets: &[Bytes]) -> Option<()> {
    let count = u8::try_from(sets.len())
        .ok()
        .filter(|count| count & reserved == 0)?;
    out.push(reserved | count);
    for set in sets {
        out.extend_from_slice(&u16::try_from(set.len()).ok()?.to_be_bytes());
        out.extend_from_slice(set);
    }
    Some(())
}

fn parse_sps(nal: &[u8]) -> Option<SeqParameterSet> {
    // The parser panics on no bytes at all; with fewer than the profile, constraints and level there is no set.
    nal.get(..4)?;
    SeqParameterSet::from_bits(RefNal::new(nal, &[], true).rbsp_bits()).ok()
}

pub(super) fn no_id(_: &[u8]) -> Option<u64> {
    None
}

/// `seq_parameter_set_id`: the first Exp-Golomb code after profile, constraints and level (§7.3.2.1.1).
pub(super) fn sps_id(nal: &[u8]) -> Option<u64> {
    Bits::new(nal.get(4..)?).exp_golomb().map(u64::from)
}

/// `pic_parameter_set_id`: the first code (§7.3.2.2).
pub(super) fn pps_id(nal: &[u8]) -> Option<u64> {
    Bits::new(nal.get(1..)?).exp_golomb().map(u64::from)
}
