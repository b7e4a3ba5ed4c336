//! Codec names for CODECS attributes (RFC 6381, and each codec's own registration).

use mp4_atom::{Codec, Decode};

use super::SampleEntry;

/// The name of a sample entry, if its typed view can be read.
pub(super) fn rfc6381(entry: &SampleEntry) -> Option<String> {
    if !CODECS.contains(&&entry.kind().0) {
        return four_letters(entry.bytes());
    }
    let name = match decode(entry)? {
        Codec::Avc1(e) => avc("avc1", &e.avcc),
        Codec::Avc3(e) => avc("avc3", &e.avcc),
        Codec::Hvc1(e) => hevc("hvc1", &e.hvcc),
        Codec::Hev1(e) => hevc("hev1", &e.hvcc),
        Codec::Av01(e) => av1(&e.av1c),
        Codec::Vp08(e) => vpx("vp08", &e.vpcc),
        Codec::Vp09(e) => vpx("vp09", &e.vpcc),
        Codec::Mp4a(e) => mp4a(&e.esds.es_desc.dec_config),
        Codec::Mp3(_) => "mp4a.6B".to_owned(),
        Codec::Opus(_) => "opus".to_owned(),
        Codec::Flac(_) => "fLaC".to_owned(),
        Codec::Ac3(_) => "ac-3".to_owned(),
        Codec::Eac3(_) => "ec-3".to_owned(),
        _ => return None,
    };
    Some(name)
}

pub(super) fn channels_and_rate(entry: &SampleEntry) -> Option<(u16, u32)> {
    let codec = decode(entry)?;
    let audio = codec.audio()?;
    Some((audio.channel_count, u32::from(audio.sample_rate.integer())))
}

/// Entries that have a typed view here. Others are not decoded, nor are children but those of [`CONFIGURATIONS`]: the
/// decoder takes any box that it knows in either place, and among those are some that can claim billions of things of no
/// bytes, which it would make.
const CODECS: [&[u8; 4]; 13] = [
    b"avc1", b"avc3", b"hvc1", b"hev1", b"av01", b"vp08", b"vp09", b"mp4a", b".mp3", b"Opus",
    b"fLaC", b"ac-3", b"ec-3",
];

/// What the typed views need of an entry's children.
const CONFIGURATIONS: [&[u8; 4]; 9] = [
    b"avcC", b"hvcC", b"av1C", b"vpcC", b"esds", b"dOps", b"dfLa", b"dac3", b"dec3",
];

/// More than any decoder configuration.
const MAX_CONFIGURATION: usize = 1 << 20;

fn decode(entry: &SampleEntry) -> Option<Codec> {
    if !CODECS.contains(&&entry.kind().0) {
        return None;
    }
    let mut reduced = entry.bytes().get(..entry.children_at()?)?.to_vec();
    for child in entry.children().map_while(Result::ok) {
        // QuickTime wraps `esds` once more.
        let inner = (child.kind.0 == *b"wave").then(|| child.children().map_while(Result::ok));
        for found in std::iter::once(child).chain(inner.into_iter().flatten()) {
            let wanted = CONFIGURATIONS.contains(&&found.kind.0);
            if wanted && found.bytes.len() <= MAX_CONFIGURATION {
                reduced.extend_from_slice(found.bytes);
            }
        }
    }
    let size = u32::try_from(reduced.len()).ok()?;
    reduced.get_mut(..4)?.copy_from_slice(&size.to_be_bytes());
    Codec::decode(&mut &*reduced).ok()
}

/// A codec without parameters is named by its entry's type.
fn four_letters(entry: &[u8]) -> Option<String> {
    let code = entry.get(4..8)?;
    let text = std::str::from_utf8(code).ok()?;
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    plain.then(|| text.to_owned())
}

fn avc(name: &str, c: &mp4_atom::Avcc) -> String {
    format!(
        "{name}.{:02x}{:02x}{:02x}",
        c.avc_profile_indication, c.profile_compatibility, c.avc_level_indication
    )
}

/// ISO/IEC 14496-15 Annex E.3.
///
/// Profile, tier and level are taken from the sequence parameter set: some recorders copy them into the record with
/// emulation prevention bytes among them.
fn hevc(name: &str, record: &mp4_atom::Hvcc) -> String {
    let mut c = record.clone();
    let sps = record.arrays.iter().find(|array| array.nal_unit_type == 33);
    let true_fields = sps.and_then(|array| super::hevc::profile_tier_level(array.nalus.first()?));
    if let Some(ptl) = true_fields {
        c.general_profile_space = ptl[0] >> 6;
        c.general_tier_flag = ptl[0] & 0x20 != 0;
        c.general_profile_idc = ptl[0] & 0x1F;
        c.general_profile_compatibility_flags
            .copy_from_slice(&ptl[1..5]);
        c.general_constraint_indicator_flags
            .copy_from_slice(&ptl[5..11]);
        c.general_level_idc = ptl[11];
    }
    let space = ["", "A", "B", "C"][usize::from(c.general_profile_space & 3)];
    let compatibility = u32::from_be_bytes(c.general_profile_compatibility_flags).reverse_bits();
    let tier = if c.general_tier_flag { 'H' } else { 'L' };
    let mut out = format!(
        "{name}.{space}{}.{compatibility:X}.{tier}{}",
        c.general_profile_idc, c.general_level_idc
    );
    let constraints = c.general_constraint_indicator_flags;
    let used = constraints
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    for byte in &constraints[..used] {
        out.push_str(&format!(".{byte:X}"));
    }
    out
}

/// AV1 Codec ISO Media File Format Binding §5.
fn av1(c: &mp4_atom::Av1c) -> String {
    let tier = if c.seq_tier_0 { 'H' } else { 'M' };
    let depth = match (c.high_bitdepth, c.twelve_bit) {
        (true, true) => 12,
        (true, false) => 10,
        _ => 8,
    };
    format!(
        "av01.{}.{:02}{tier}.{depth:02}",
        c.seq_profile, c.seq_level_idx_0
    )
}

/// VP Codec ISO Media File Format Binding, "Codecs Parameter String".
fn vpx(name: &str, c: &mp4_atom::VpcC) -> String {
    format!("{name}.{:02}.{:02}.{:02}", c.profile, c.level, c.bit_depth)
}

/// `mp4a.OO[.A]`: object type indication and, for MPEG-4 audio, the audio object type.
fn mp4a(c: &mp4_atom::esds::DecoderConfig) -> String {
    let object = c.object_type_indication;
    match (&c.dec_specific, object) {
        (Some(specific), 0x40) => format!("mp4a.40.{}", specific.profile),
        _ => format!("mp4a.{object:02X}"),
    }
}
