//! H.265 in ISO base media files (ISO/IEC 14496-15 §8).

use bytes::Bytes;
use scuffle_h265::SpsNALUnit;

use super::access_unit::Unit;
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
    let sps = parse_sps(nal)?;
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
    out[16] = 0xFC | sps.rbsp.chroma_format_idc;
    out[17] = 0xF8 | sps.rbsp.bit_depth_luma_minus8;
    out[18] = 0xF8 | sps.rbsp.bit_depth_chroma_minus8;
    for (kind, units) in arrays(old)? {
        let units = match kind & 0x3F {
            VPS => &sets.vps,
            SPS => &sets.sps,
            PPS => &sets.pps,
            _ => &units,
        };
        out.push(kind);
        out.extend_from_slice(&u16::try_from(units.len()).ok()?.to_be_bytes());
        for unit in units {
            out.extend_from_slice(&u16::try_from(unit.len()).ok()?.to_be_bytes());
            out.extend_from_slice(unit);
        }
    }
    Some((out, dimensions(&sps)?))
}

fn dimensions(sps: &SpsNALUnit) -> Option<(u16, u16)> {
    let rbsp = &sps.rbsp;
    let window = &rbsp.conformance_window;
    let side = |full: u64, unit: u8, start: u64, end: u64| {
        let cropped = start.checked_add(end)?.checked_mul(u64::from(unit))?;
        u16::try_from(full.checked_sub(cropped)?)
            .ok()
            .filter(|side| *side > 0)
    };
    let width = side(
        rbsp.pic_width_in_luma_samples.get(),
        rbsp.sub_width_c(),
        window.conf_win_left_offset,
        window.conf_win_right_offset,
    )?;
    let height = side(
        rbsp.pic_height_in_luma_samples.get(),
        rbsp.sub_height_c(),
        window.conf_win_top_offset,
        window.conf_win_bottom_offset,
    )?;
    Some((width, height))
}

fn parse_sps(nal: &[u8]) -> Option<SpsNALUnit> {
    SpsNALUnit::parse(nal).ok()
}

/// `general_profile_space` … `general_level_idc`, twelve bytes that stand in the SPS just as in the record: after its two
/// header bytes and the byte with the VPS id, the sub-layer count and the nesting flag.
pub(super) fn profile_tier_level(sps: &[u8]) -> Option<[u8; 12]> {
    crate::walk::array(&without_emulation_prevention(sps), 3)
}

fn without_emulation_prevention(nal: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(nal.len());
    let mut zeros = 0;
    for byte in nal {
        if zeros >= 2 && *byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        out.push(*byte);
    }
    out
}

/// `vps_video_parameter_set_id`: four bits after the NAL header (§7.3.2.1).
pub(super) fn vps_id(nal: &[u8]) -> Option<u64> {
    nal.get(2).map(|byte| u64::from(byte >> 4))
}

/// `sps_seq_parameter_set_id` (§7.3.2.2).
pub(super) fn sps_id(nal: &[u8]) -> Option<u64> {
    parse_sps(nal).map(|sps| sps.rbsp.sps_seq_parameter_set_id)
}

/// `pps_pic_parameter_set_id`: the first Exp-Golomb code (§7.3.2.3).
pub(super) fn pps_id(nal: &[u8]) -> Option<u64> {
    super::avc::exp_golomb(nal.get(2..)?)
}
