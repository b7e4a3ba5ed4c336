//! The tree within one header box.

use bytes::Bytes;
use yeoul_isobmff::codec::SampleEntry;
use yeoul_isobmff::movie::Handler;
use yeoul_isobmff::walk::BoxHeader;
use yeoul_isobmff::{BoxError, Fault, FourCc, Limits};

use super::describe::describe;
use super::fault::Stop;
use super::fields::{Field, Value};
use super::report::{Node, Report};

/// Shows a header box and all that is in it.
pub(super) struct Tree<'r> {
    pub(super) report: &'r mut dyn Report,
    /// Levels to show, 0 for none: a tree is checked whether it is shown or not.
    pub(super) depth: u32,
    pub(super) limits: &'r Limits,
    /// Fields of the `traf`s of a `moof`, in order; none when they could not be read.
    pub(super) fragments: std::vec::IntoIter<Vec<Field>>,
    boxes: u32,
    handler: Option<Handler>,
    tables: Vec<u64>,
}

/// Where in the tree a box lies.
#[derive(Clone, Copy)]
struct Place {
    parent: FourCc,
    depth: u32,
    /// The end of the bytes is the end of the file and not of the box around them.
    torn: bool,
    /// User data and sample entries may hold something else than boxes: that is no fault.
    lenient: bool,
}

impl<'r> Tree<'r> {
    pub(super) fn new(report: &'r mut dyn Report, depth: u32, limits: &'r Limits) -> Self {
        Self {
            report,
            depth,
            limits,
            fragments: Vec::new().into_iter(),
            boxes: 0,
            handler: None,
            tables: Vec::new(),
        }
    }

    /// Shows the box of `header` at `offset`, of which `bytes` are there. Returns where the `stbl` boxes in it begin.
    pub(super) fn show(
        mut self,
        header: &BoxHeader,
        bytes: &[u8],
        offset: u64,
    ) -> Result<Vec<u64>, Stop> {
        let have = bytes.len() as u64;
        let place = Place {
            parent: FourCc(*b"file"),
            depth: 1,
            torn: header.size.is_some_and(|size| size > have),
            lenient: false,
        };
        self.one(header, bytes, offset, place)?;
        Ok(self.tables)
    }

    fn one(
        &mut self,
        header: &BoxHeader,
        bytes: &[u8],
        offset: u64,
        place: Place,
    ) -> Result<(), Stop> {
        let kind = header.kind;
        self.count(kind, offset, place.depth)?;
        let start = usize::try_from(header.header_len).unwrap_or(usize::MAX);
        let content = bytes.get(start..).unwrap_or_default();
        let described = self.fields(kind, bytes, content, place);
        let tolerant = place.torn || place.lenient;
        let (fields, fault) = match described {
            Ok(fields) => (fields, None),
            Err(_) if tolerant => (Vec::new(), None),
            Err(fault) => (
                Vec::new(),
                Some(BoxError {
                    kind,
                    offset,
                    fault,
                }),
            ),
        };
        if kind == FourCc(*b"stbl") {
            self.tables.push(offset);
        }

        let shown = place.depth <= self.depth;
        if shown {
            let size = header.size.unwrap_or(bytes.len() as u64);
            let node = Node {
                kind,
                offset,
                size,
                fields,
            };
            self.report.open(&node, place.depth)?;
        }
        let inside = match (fault, self.children_at(kind, content, place)) {
            (Some(fault), _) => Err(fault.into()),
            (None, None) => Ok(()),
            (None, Some(at)) => {
                let inner = content.get(at..).unwrap_or_default();
                let lenient = place.lenient
                    || matches!(&kind.0, b"udta" | b"meta")
                    || place.parent == FourCc(*b"stsd");
                let begins = offset + (bytes.len() - inner.len()) as u64;
                let place = Place {
                    parent: kind,
                    depth: place.depth + 1,
                    torn: place.torn,
                    lenient,
                };
                self.children(inner, begins, place)
            }
        };
        if shown {
            self.report.close()?;
        }
        inside
    }

    fn children(&mut self, bytes: &[u8], offset: u64, place: Place) -> Result<(), Stop> {
        let tolerant = place.torn || place.lenient;
        let mut at = 0;
        // As in the walker: some containers end with four zero bytes; fewer than eight hold no box.
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 8) {
            let offset = offset + at as u64;
            let header = match BoxHeader::parse(rest, offset) {
                Ok(header) => header,
                Err(_) if tolerant => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let have = rest.len() as u64;
            let size = header.size.unwrap_or(have);
            let needed = size.max(header.header_len);
            if needed > have && !place.torn {
                if place.lenient {
                    return Ok(());
                }
                let fault = Fault::Truncated { needed, have };
                return Err(BoxError {
                    kind: header.kind,
                    offset,
                    fault,
                }
                .into());
            }
            let len = usize::try_from(size).unwrap_or(rest.len()).min(rest.len());
            let torn = needed > have;
            self.one(&header, &rest[..len], offset, Place { torn, ..place })?;
            at += len;
        }
        Ok(())
    }

    fn fields(
        &mut self,
        kind: FourCc,
        bytes: &[u8],
        content: &[u8],
        place: Place,
    ) -> Result<Vec<Field>, Fault> {
        match &kind.0 {
            b"traf" => return Ok(self.fragments.next().unwrap_or_default()),
            b"uuid" => {
                let id = bytes.get(..bytes.len() - content.len());
                let id = id.and_then(<[u8]>::last_chunk::<16>);
                let id = id.map(|id| ("id", super::show::uuid(id).into()));
                return Ok(id.into_iter().collect());
            }
            b"hdlr" if place.parent == FourCc(*b"mdia") => {
                self.handler = content
                    .get(8..)
                    .and_then(<[u8]>::first_chunk)
                    .map(|code| Handler::from(FourCc(*code)));
            }
            _ if place.parent == FourCc(*b"stsd") => {
                if place.torn {
                    return Ok(Vec::new());
                }
                return Ok(self.sample_entry(bytes));
            }
            _ => {}
        }
        describe(kind, content)
    }

    fn sample_entry(&self, bytes: &[u8]) -> Vec<Field> {
        let Some(handler) = self.handler else {
            return Vec::new();
        };
        let Ok(entry) = SampleEntry::new(&Bytes::copy_from_slice(bytes), handler) else {
            return Vec::new();
        };
        let mut fields: Vec<Field> = Vec::new();
        if let Some(name) = entry.codec_name() {
            fields.push(("codec", Value::Text(name)));
        }
        if let Some((width, height)) = entry.dimensions() {
            fields.extend([("width", width.into()), ("height", height.into())]);
        }
        if handler == Handler::Audio
            && let Some((channels, rate)) = entry.channels_and_rate()
        {
            fields.extend([("channels", channels.into()), ("rate", rate.into())]);
        }
        fields
    }

    /// Where in a box's content its children begin; `None` for a box without.
    fn children_at(&self, kind: FourCc, content: &[u8], place: Place) -> Option<usize> {
        if place.parent == FourCc(*b"stsd") {
            return match self.handler? {
                Handler::Video => Some(78),
                Handler::Audio => match content.get(8..10)? {
                    [0, 0] => Some(28),
                    [0, 1] => Some(28 + 16),
                    [0, 2] => Some(28 + 36),
                    _ => None,
                },
                Handler::Other(_) => None,
            };
        }
        match &kind.0 {
            b"moov" | b"trak" | b"mdia" | b"minf" | b"dinf" | b"stbl" | b"mvex" | b"edts"
            | b"udta" | b"moof" | b"traf" | b"mfra" | b"sinf" | b"schi" => Some(0),
            b"stsd" | b"dref" => Some(8),
            // A full box in MP4 (§8.11.1), a plain one in QuickTime.
            b"meta" if content.get(4..8) == Some(b"hdlr") => Some(0),
            b"meta" => Some(4),
            _ => None,
        }
    }

    fn count(&mut self, kind: FourCc, offset: u64, depth: u32) -> Result<(), BoxError> {
        self.boxes = self.boxes.saturating_add(1);
        let limits = [
            ("box count", self.boxes, self.limits.boxes),
            ("nesting depth", depth, Limits::DEPTH),
        ];
        for (what, value, limit) in limits {
            if value > limit {
                let (value, limit) = (u64::from(value), u64::from(limit));
                let fault = Fault::Limit { what, value, limit };
                return Err(BoxError {
                    kind,
                    offset,
                    fault,
                });
            }
        }
        Ok(())
    }
}
