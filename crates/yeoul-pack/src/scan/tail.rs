use yeoul_spans::{Source, SourceError};

use crate::recording::Recording;
use crate::warning::{Warning, WarningKind};

/// A run of zeros at the end of at least this many bytes is a tail that a power cut left, not payload: a sector.
const ZERO_TAIL: usize = 512;
const BLOCK: usize = 64 * 1024;

/// Where what can be used ends. A recording that its recorder did not close may end in zeros: the file system had given
/// the file its size, but the bytes never came to the disk.
pub(super) fn usable(
    source: &dyn Source,
    recording: &Recording,
    warnings: &mut Vec<Warning>,
) -> Result<u64, SourceError> {
    let size = source.len();
    if recording.closed || size < recording.body + ZERO_TAIL as u64 {
        return Ok(size);
    }
    let mut last = [0; ZERO_TAIL];
    source.read_exact_at(&mut last, size - ZERO_TAIL as u64)?;
    if last.iter().any(|byte| *byte != 0) {
        return Ok(size);
    }
    let end = end_of_data(source, recording.body)?;
    let message = format!(
        "ends in {} zero bytes, as after a power cut: they are left out",
        size - end
    );
    warnings.push(Warning::at(
        WarningKind::ZeroTail,
        source.name(),
        end,
        message,
    ));
    Ok(end)
}

/// The offset behind the last byte that is not zero, looking back no further than `floor`.
fn end_of_data(source: &dyn Source, floor: u64) -> Result<u64, SourceError> {
    let mut block = vec![0; BLOCK];
    let mut end = source.len();
    while end > floor {
        let len = usize::try_from(end - floor).unwrap_or(BLOCK).min(BLOCK);
        let start = end - len as u64;
        source.read_exact_at(&mut block[..len], start)?;
        if let Some(last) = block[..len].iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(floor)
}
