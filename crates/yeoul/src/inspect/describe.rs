//! The fields that matter of the boxes that are known (ISO/IEC 14496-12 unless said).

use yeoul_isobmff::{Fault, FourCc};

use super::fields::{Field, Reader, Value};
use super::show;

/// The fields of a box by its type; none for a type that is not known. A box shorter than its fields is a fault.
pub(super) fn describe(kind: FourCc, content: &[u8]) -> Result<Vec<Field>, Fault> {
    let mut r = Reader::new(content);
    match &kind.0 {
        b"ftyp" | b"styp" => brands(&mut r),
        b"mvhd" => movie_header(&mut r),
        b"tkhd" => track_header(&mut r),
        b"mdhd" => media_header(&mut r),
        b"hdlr" => handler(&mut r),
        b"mehd" => {
            let (version, _) = r.full()?;
            Ok(vec![("duration", r.by_version(version)?.into())])
        }
        b"trex" => track_extends(&mut r),
        b"mtxi" => identification(&mut r),
        b"elst" | b"stsd" | b"dref" | b"stts" | b"ctts" | b"stsc" | b"stco" | b"co64" | b"stss" => {
            r.full()?;
            Ok(vec![("entries", r.u32()?.into())])
        }
        b"stsz" => {
            r.full()?;
            let size = r.u32()?;
            Ok(vec![
                ("sample_size", size.into()),
                ("samples", r.u32()?.into()),
            ])
        }
        b"stz2" => {
            r.full()?;
            let field = r.u32()? & 0xFF;
            Ok(vec![
                ("field_size", field.into()),
                ("samples", r.u32()?.into()),
            ])
        }
        b"mfhd" => {
            r.full()?;
            Ok(vec![("sequence", r.u32()?.into())])
        }
        b"tfhd" => fragment_header(&mut r),
        b"tfdt" => {
            let (version, _) = r.full()?;
            Ok(vec![("decode_time", r.by_version(version)?.into())])
        }
        b"trun" => run(&mut r),
        b"sidx" => segment_index(&mut r),
        b"btrt" => {
            r.skip(4)?;
            let max = r.u32()?;
            Ok(vec![
                ("max_bitrate", max.into()),
                ("avg_bitrate", r.u32()?.into()),
            ])
        }
        b"pasp" => Ok(vec![("h", r.u32()?.into()), ("v", r.u32()?.into())]),
        _ => Ok(Vec::new()),
    }
}

fn brands(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    let major = FourCc(r.array()?).to_string();
    let version = r.u32()?;
    let compatible = r.rest().chunks_exact(4).take(64);
    let compatible = compatible.map(|c| FourCc([c[0], c[1], c[2], c[3]]).to_string());
    Ok(vec![
        ("brand", major.into()),
        ("version", version.into()),
        ("compatible", Value::List(compatible.collect())),
    ])
}

fn movie_header(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    let (version, _) = r.full()?;
    r.skip(if version == 1 { 16 } else { 8 })?;
    let timescale = r.u32()?;
    Ok(vec![
        ("timescale", timescale.into()),
        ("duration", r.by_version(version)?.into()),
    ])
}

fn track_header(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    let (version, _) = r.full()?;
    r.skip(if version == 1 { 16 } else { 8 })?;
    let id = r.u32()?;
    r.skip(4)?;
    let duration = r.by_version(version)?;
    // reserved, layer, alternate group, volume, reserved, matrix; then 16.16 fixed point
    r.skip(8 + 8 + 36)?;
    let (width, height) = (r.u32()? >> 16, r.u32()? >> 16);
    Ok(vec![
        ("id", id.into()),
        ("duration", duration.into()),
        ("width", width.into()),
        ("height", height.into()),
    ])
}

fn media_header(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    let (version, _) = r.full()?;
    r.skip(if version == 1 { 16 } else { 8 })?;
    let timescale = r.u32()?;
    let duration = r.by_version(version)?;
    Ok(vec![
        ("timescale", timescale.into()),
        ("duration", duration.into()),
        ("language", show::language(r.u16()?).into()),
    ])
}

fn handler(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    r.full()?;
    r.skip(4)?;
    let handler = FourCc(r.array()?).to_string();
    r.skip(12)?;
    let name = r.rest().split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name.get(..256).unwrap_or(name)).into_owned();
    let mut fields = vec![("handler", handler.into())];
    if !name.is_empty() {
        fields.push(("name", name.into()));
    }
    Ok(fields)
}

fn track_extends(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    r.full()?;
    let track = r.u32()?;
    r.skip(4)?;
    Ok(vec![
        ("track", track.into()),
        ("duration", r.u32()?.into()),
        ("size", r.u32()?.into()),
        ("flags", Value::Hex(r.u32()?)),
    ])
}

/// MediaMTX's own box.
fn identification(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    r.full()?;
    let id = r.array()?;
    let number = r.u64()?;
    let dts = r.i64()?;
    let ntp = r.i64()?;
    Ok(vec![
        ("stream", show::uuid(&id).into()),
        ("number", number.into()),
        ("dts_ns", Value::Nanos(dts)),
        ("ntp_ns", Value::Nanos(ntp)),
        ("ntp", show::rfc3339(ntp).into()),
    ])
}

fn fragment_header(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    let (_, flags) = r.full()?;
    let mut fields = vec![("track", r.u32()?.into()), ("flags", Value::Hex(flags))];
    if flags & 0x01 != 0 {
        fields.push(("base_offset", r.u64()?.into()));
    }
    for (bit, name) in [(0x02, "description"), (0x08, "duration"), (0x10, "size")] {
        if flags & bit != 0 {
            fields.push((name, r.u32()?.into()));
        }
    }
    if flags & 0x20 != 0 {
        fields.push(("sample_flags", Value::Hex(r.u32()?)));
    }
    Ok(fields)
}

fn run(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    let (_, flags) = r.full()?;
    let mut fields = vec![("samples", r.u32()?.into()), ("flags", Value::Hex(flags))];
    if flags & 0x01 != 0 {
        let offset = r.u32()?.cast_signed();
        fields.push(("data_offset", Value::Signed(offset.into())));
    }
    if flags & 0x04 != 0 {
        fields.push(("first_flags", Value::Hex(r.u32()?)));
    }
    Ok(fields)
}

fn segment_index(r: &mut Reader<'_>) -> Result<Vec<Field>, Fault> {
    let (version, _) = r.full()?;
    let reference = r.u32()?;
    let timescale = r.u32()?;
    let earliest = r.by_version(version)?;
    let first = r.by_version(version)?;
    r.skip(2)?;
    let count = r.u16()?;
    r.skip(usize::from(count) * 12)?;
    Ok(vec![
        ("reference", reference.into()),
        ("timescale", timescale.into()),
        ("earliest", earliest.into()),
        ("first_offset", first.into()),
        ("references", count.into()),
    ])
}
