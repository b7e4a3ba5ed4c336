//! An existing recording with the `traf`s of each `moof` in another order.

use std::io::{ErrorKind, Read, Write};

use crate::error::Error;
use crate::rng::SplitMix64;

/// Largest `moof` that is held in memory.
const MOOF_LIMIT: u64 = 64 << 20;

/// Copies `input` to `output`, permuting the `traf`s of each `moof`. Their data offsets count from the `moof`'s start and
/// its size stays, so each sample is where it was; only the order in which a reader meets the tracks changes.
///
/// Returns how many `moof`s were shuffled. A torn tail is copied as it is.
///
/// # Errors
/// On I/O errors and on a `moof` whose boxes do not add up or that exceeds 64 MiB.
pub fn shuffle_trafs(
    mut input: impl Read,
    mut output: impl Write,
    seed: u64,
) -> Result<u64, Error> {
    let mut rng = SplitMix64::new(seed);
    let (mut offset, mut moofs) = (0, 0);
    loop {
        let mut header = Vec::new();
        stream(input.by_ref().take(8).read_to_end(&mut header))?;
        let Ok(head) = <[u8; 8]>::try_from(header.as_slice()) else {
            stream(output.write_all(&header))?;
            return Ok(moofs);
        };
        let [a, b, c, d, kind @ ..] = head;
        let mut size = u64::from(u32::from_be_bytes([a, b, c, d]));
        stream(output.write_all(&head))?;
        let mut header_len = 8;
        if size == 1 {
            let mut large = [0; 8];
            stream(input.read_exact(&mut large))?;
            stream(output.write_all(&large))?;
            size = u64::from_be_bytes(large);
            header_len = 16;
        }
        if size == 0 {
            stream(std::io::copy(&mut input, &mut output))?;
            return Ok(moofs);
        }
        let body_len = size
            .checked_sub(header_len)
            .ok_or_else(|| malformed(kind, offset, "size below its header"))?;
        if kind != *b"moof" {
            stream(std::io::copy(
                &mut input.by_ref().take(body_len),
                &mut output,
            ))?;
        } else if size > MOOF_LIMIT {
            return Err(malformed(kind, offset, "moof of more than 64 MiB"));
        } else {
            let mut body = Vec::new();
            stream(input.by_ref().take(body_len).read_to_end(&mut body))?;
            if body.len() as u64 == body_len {
                body = permute(&body, offset + header_len, &mut rng)?;
                moofs += 1;
            }
            stream(output.write_all(&body))?;
        }
        offset += size;
    }
}

/// `body`: a `moof`'s children. What is not a `traf` keeps its place before them.
fn permute(body: &[u8], offset: u64, rng: &mut SplitMix64) -> Result<Vec<u8>, Error> {
    let (mut out, mut trafs, mut rest) = (Vec::with_capacity(body.len()), Vec::new(), body);
    while !rest.is_empty() {
        let at = offset + (body.len() - rest.len()) as u64;
        let [a, b, c, d, w, x, y, z, ..] = *rest else {
            return Err(malformed(*b"moof", at, "a child shorter than 8 bytes"));
        };
        let size = u32::from_be_bytes([a, b, c, d]) as usize;
        let kind = [w, x, y, z];
        if size < 8 || size > rest.len() {
            return Err(malformed(kind, at, "size outside its moof"));
        }
        let (child, after) = rest.split_at(size);
        rest = after;
        if kind == *b"traf" {
            trafs.push(child)
        } else {
            out.extend(child)
        }
    }
    rng.shuffle(&mut trafs);
    out.extend(trafs.concat());
    Ok(out)
}

fn stream<T>(result: std::io::Result<T>) -> Result<T, Error> {
    result.map_err(|source| match source.kind() {
        ErrorKind::UnexpectedEof => Error::Malformed {
            kind: "(header)".into(),
            offset: 0,
            problem: "the file ends inside a 64-bit box size",
        },
        _ => Error::Io {
            path: "(stream)".into(),
            source,
        },
    })
}

fn malformed(kind: [u8; 4], offset: u64, problem: &'static str) -> Error {
    Error::Malformed {
        kind: String::from_utf8_lossy(&kind).into_owned(),
        offset,
        problem,
    }
}
