//! H.265 in ISO base media files (ISO/IEC 14496-15 §8).

use bytes::Bytes;

use super::access_unit::Unit;
use super::bits::{Bits, without_emulation_prevention};
use super::{NalCodec, ParameterSets, Picture};

const VPS: u8 = 32;
const SPS: u8 = 33;
const PPS: u8 = 34;
/// Bytes of an `HEVCDecoderConfigurationRecord` before its arrays (§8.3.3.1.2).
const FIXED: usize = 23;

pub(super) fn classify(first: u8) -> Unit {
    match first >> 1 & 0x3F {
        // BLA_W_LP … IDR_N_LP: nothing that follows can refer to what came before.
        16..=20 => Unit::Slice(Picture::Instant),
        0..=31 => Unit::Slice(Picture::Open),
        VPS => Unit::Vps,
        SPS => Unit::Sps,
        PPS => Unit::Pps,
        _ => Unit::Other,
    }
}

/// The sets of an `HEVCDecoderConfigurationRecord`.
pub(super) fn parameter_sets(config: &[u8]) -> Option<ParameterSets> {
    let length_size = usize::from(config.get(21)? & 3) + 1;
    let mut sets = ParameterSets {
        codec: NalCodec::Hevc,
        length_size,
        vps: vec![],
        sps: vec![],
        pps: vec![],
    };
    for (kind, units) in arrays(config)? {
        match kind & 0x3F {
            VPS => sets.vps.extend(units),
            SPS => sets.sps.extend(units),
            PPS => sets.pps.extend(units),
            _ => {}
        }
    }
    Some(sets)
}

/// The record's arrays: each its first byte (completeness and type) and its NAL units.
fn arrays(config: &[u8]) -> Option<Vec<(u8, Vec<Bytes>)>> {
    let count = *config.get(22)?;
    let mut rest = config.get(FIXED..)?;
    let mut out = Vec::new();
    for _ in 0..count {
        let (head, mut bytes) = rest.split_first_chunk::<3>()?;
        let mut units = Vec::new();
        for _ in 0..u16::from_be_bytes([head[1], head[2]]) {
            let (length, tail) = bytes.split_first_chunk::<2>()?;
            let (unit, tail) = tail.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            units.push(Bytes::copy_from_slice(unit));
            bytes = tail;
        }
        rest = bytes;
        out.push((head[0], units));
    }
    Some(out)
}

/// A configuration record with new sets in the manner of the old one, and the picture's size.
pub(super) fn rebuild(old: &[u8], sets: &ParameterSets) -> Option<(Vec<u8>, (u16, u16))> {
    let nal = sets.sps.first()?;
    let sps = Sps::parse(nal)?;
    let mut out = old.get(..FIXED)?.to_vec();
    out[1..13].copy_from_slice(&profile_tier_level(nal)?);
    // MediaMTX takes the constraint flags with the emulation prevention bytes still among them. So must we, or the next
    // recording, whose record it wrote, would seem to change the stream once more.
    let raw_flags = |sps: &[u8]| crate::walk::array::<6>(sps, 7);
    let old_sps = parameter_sets(old)?.sps;
    if old_sps
        .first()
        .is_some_and(|sps| raw_flags(sps).is_some_and(|raw| old[6..12] == raw))
    {
        out[6..12].copy_from_slice(&raw_flags(nal)?);
    }
    out[16] = 0xFC | sps.chroma_format_idc;
    out[17] = 0xF8 | sps.bit_depth_luma_minus8;
    out[18] = 0xF8 | sps.bit_depth_chroma_minus8;
    let arrays = with_sets(arrays(old)?, sets);
    out[22] = u8::try_from(arrays.len()).ok()?;
    for (kind, units) in arrays {
        out.push(kind);
        out.extend_from_slice(&u16::try_from(units.len()).ok()?.to_be_bytes());
        for unit in units {
            out.extend_from_slice(&u16::try_from(unit.len()).ok()?.to_be_bytes());
            out.extend_from_slice(&unit);
        }
    }
    Some((out, (sps.width, sps.height)))
}

/// The arrays of a record with other sets: each kind once, where it stood first.
fn with_sets(mut arrays: Vec<(u8, Vec<Bytes>)>, sets: &ParameterSets) -> Vec<(u8, Vec<Bytes>)> {
    const COMPLETE: u8 = 0x80;
    for (kind, units) in [(VPS, &sets.vps), (SPS, &sets.sps), (PPS, &sets.pps)] {
        let mut first = true;
        arrays.retain(|(head, _)| head & 0x3F != kind || std::mem::take(&mut first));
        match arrays.iter_mut().find(|(head, _)| head & 0x3F == kind) {
            Some((_, old)) => old.clone_from(units),
            None if units.is_empty() => {}
            None => arrays.push((COMPLETE | kind, units.clone())),
        }
    }
    arrays
}

/// What a record needs of a sequence parameter set (ISO/IEC 23008-2 §7.3.2.2.1). Everything behind it is left alone.
struct Sps {
    id: u32,
    chroma_format_idc: u8,
    /// Of the pictures that are shown.
    width: u16,
    height: u16,
    bit_depth_luma_minus8: u8,
    bit_depth_chroma_minus8: u8,
}

impl Sps {
    fn parse(nal: &[u8]) -> Option<Self> {
        let rbsp = without_emulation_prevention(nal.get(2..)?);
        let mut bits = Bits::new(&rbsp);
        bits.skip(4)?;
        let sub_layers = bits.number(3)?;
        bits.skip(1 + 8 * 12)?;
        skip_sub_layers(&mut bits, sub_layers)?;
        let at_most = |value: u32, most: u8| u8::try_from(value).ok().filter(|v| *v <= most);
        let id = bits.exp_golomb()?;
        let chroma_format_idc = at_most(bits.exp_golomb()?, 3)?;
        if chroma_format_idc == 3 {
            bits.skip(1)?;
        }
        let (width, height) = (bits.exp_golomb()?, bits.exp_golomb()?);
        let mut window = [0; 4];
        if bits.flag()? {
            for offset in &mut window {
                *offset = bits.exp_golomb()?;
            }
        }
        // Samples of luma for one of chroma; Table 6-1.
        let (across, down) = match chroma_format_idc {
            1 => (2, 2),
            2 => (2, 1),
            _ => (1, 1),
        };
        Some(Self {
            id,
            chroma_format_idc,
            width: shown(width, across, window[0], window[1])?,
            height: shown(height, down, window[2], window[3])?,
            bit_depth_luma_minus8: at_most(bits.exp_golomb()?, 8)?,
            bit_depth_chroma_minus8: at_most(bits.exp_golomb()?, 8)?,
        })
    }
}

/// Skips what `profile_tier_level` says of sub-layers (§7.3.3).
fn skip_sub_layers(bits: &mut Bits<'_>, count: u32) -> Option<()> {
    let mut present = Vec::new();
    for _ in 0..count {
        present.push((bits.flag()?, bits.flag()?));
    }
    if count > 0 {
        bits.skip(2 * (8 - count as usize))?;
    }
    for (profile, level) in present {
        bits.skip(if profile { 88 } else { 0 } + if level { 8 } else { 0 })?;
    }
    Some(())
}

/// A side of the picture less its conformance window, which counts in samples of chroma.
fn shown(full: u32, unit: u32, start: u32, end: u32) -> Option<u16> {
    let cropped = start.checked_add(end)?.checked_mul(unit)?;
    let side = u16::try_from(full.checked_sub(cropped)?).ok()?;
    (side > 0).then_some(side)
}

/// `general_profile_space` … `general_level_idc`, twelve bytes that stand in the SPS just as in the record: after its two
/// header bytes and the byte with the VPS id, the sub-layer count and the nesting flag.
pub(super) fn profile_tier_level(sps: &[u8]) -> Option<[u8; 12]> {
    crate::walk::array(&without_emulation_prevention(sps), 3)
}

/// `vps_video_parameter_set_id`: four bits after the NAL header (§7.3.2.1).
pub(super) fn vps_id(nal: &[u8]) -> Option<u64> {
    nal.get(2).map(|byte| u64::from(byte >> 4))
}

/// `sps_seq_parameter_set_id` (§7.3.2.2).
pub(super) fn sps_id(nal: &[u8]) -> Option<u64> {
    Sps::parse(nal).map(|sps| sps.id.into())
}

/// `pps_pic_parameter_set_id`: the first Exp-Golomb code (§7.3.2.3).
pub(super) fn pps_id(nal: &[u8]) -> Option<u64> {
    Bits::new(nal.get(2..)?).exp_golomb().map(u64::from)
}
