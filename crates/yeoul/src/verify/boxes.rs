//! Boxes by their headers (ISO/IEC 14496-12, clause 4.2).

use super::input::{Fault, Input, to_u64};

/// A `moov` or `moof` larger than this is refused.
pub(super) const MAX_HEADER_BOX: u64 = 64 << 20;

/// Children a box may have, and boxes that are no parts a file may have.
pub(super) const MAX_BOXES: usize = 65_536;

/// A box in a file. `end` is what the header claims and may lie past the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoxAt {
    pub(super) kind: [u8; 4],
    pub(super) start: u64,
    pub(super) body: u64,
    pub(super) end: u64,
}

impl BoxAt {
    /// Reads the header at `start`. A size of 0 means to the end of the file.
    pub(super) fn read(input: &Input<'_>, start: u64) -> Result<Self, Fault> {
        let left = input.len().saturating_sub(start);
        if left < 8 {
            return Err(Fault::new(
                start,
                format!("{left} bytes are left, a box header has 8"),
            ));
        }
        let mut head = [0; 16];
        let n = usize::try_from(left.min(16)).unwrap_or(16);
        input.read_at(start, &mut head[..n])?;
        Self::parse(&head[..n], start, input.len())
    }

    /// The body, checked against the file and `limit` before it is read.
    pub(super) fn read_body(&self, input: &Input<'_>, limit: u64) -> Result<Vec<u8>, Fault> {
        input.take(self.body, self.end - self.body, limit, &name(self.kind))
    }

    fn parse(head: &[u8], start: u64, end_of_parent: u64) -> Result<Self, Fault> {
        let short = || Fault::new(start, "a box header is cut off");
        let word = |at: usize| {
            head.get(at..at + 4)
                .and_then(|b| <[u8; 4]>::try_from(b).ok())
                .ok_or_else(short)
        };
        let kind = word(4)?;
        let small = u64::from(u32::from_be_bytes(word(0)?));
        if small == 0 && kind == [0; 4] {
            return Err(Fault::new(start, "zeros where a box header should be"));
        }
        let (header, size) = match small {
            0 => (8, end_of_parent - start),
            1 => {
                let high = u64::from(u32::from_be_bytes(word(8)?));
                (16, high << 32 | u64::from(u32::from_be_bytes(word(12)?)))
            }
            n => (8, n),
        };
        let end = start.checked_add(size).filter(|_| size >= header);
        let end = end
            .ok_or_else(|| Fault::new(start, format!("box {} claims {size} bytes", name(kind))))?;
        Ok(Self {
            kind,
            start,
            body: start + header,
            end,
        })
    }
}

/// A child box whose body is in memory; `at` is where it begins in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Child<'a> {
    pub(super) kind: [u8; 4],
    pub(super) at: u64,
    pub(super) body: &'a [u8],
}

/// The children of a box whose body begins at `at` in its file. Every child must fit, and they must fill the body.
pub(super) fn children(body: &[u8], at: u64) -> Result<Vec<Child<'_>>, Fault> {
    let mut found = Vec::new();
    let mut rest = body;
    let mut start = at;
    let end = at + to_u64(body.len());
    while !rest.is_empty() {
        if found.len() == MAX_BOXES {
            return Err(Fault::new(
                start,
                format!("a box has more than {MAX_BOXES} children"),
            ));
        }
        let head = BoxAt::parse(rest, start, end)?;
        let skip = usize::try_from(head.body - start).unwrap_or(usize::MAX);
        let size = usize::try_from(head.end - start).unwrap_or(usize::MAX);
        let (Some(inner), Some(tail)) = (rest.get(skip..size), rest.get(size..)) else {
            let what = format!(
                "box {} goes past the end of its parent at {end}",
                name(head.kind)
            );
            return Err(Fault::new(start, what));
        };
        found.push(Child {
            kind: head.kind,
            at: start,
            body: inner,
        });
        rest = tail;
        start = head.end;
    }
    Ok(found)
}

/// The first child of that kind.
pub(super) fn child<'a>(all: &[Child<'a>], kind: &[u8; 4]) -> Option<Child<'a>> {
    all.iter().find(|c| c.kind == *kind).copied()
}

/// A box type as text, with what is not printable escaped.
pub(super) fn name(kind: [u8; 4]) -> String {
    kind.escape_ascii().to_string()
}
