//! The report as one JSON document, written as it comes; each box, track and sample has a line of its own.
//!
//! ```text
//! {"file": "…", "size": 1, "boxes": [{"type": "moov", "offset": 0, "size": 1, "fields": {}, "boxes": []}],
//!  "tracks": [{"id": 1, "kind": "video", …}],
//!  "samples": [{"track": 1, "samples": [{"dts": 0, "pts": 0, "duration": 1, "size": 1, "sync": true, "offset": 1}]}],
//!  "summary": {"kind": "recording", "parts": 4, "closed": true, "mtxi": {…}, "torn": null, …},
//!  "fault": {"box": "mdat", "offset": 1, "message": "…"}}
//! ```

use std::io::{self, Write};

use super::fault::Fault;
use super::fields::Value;
use super::report::{Node, Report, Row, Sample, Summary};
use super::show;

/// Numbers above this lose digits where JSON numbers are floats.
const MAX_EXACT: u64 = 1 << 53;

pub(super) struct Json<'w> {
    out: &'w mut dyn Write,
    /// Of the document and of each open box: whether a child was written.
    open: Vec<bool>,
    /// Whether the list that is being written has an item.
    items: bool,
    /// Whether there is a tree.
    tree: bool,
}

impl<'w> Json<'w> {
    pub(super) fn new(out: &'w mut dyn Write, tree: bool) -> Self {
        Self {
            out,
            tree,
            open: vec![false],
            items: false,
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, text).map_err(io::Error::from)
    }

    fn number(&mut self, number: i128) -> io::Result<()> {
        if number.unsigned_abs() > u128::from(MAX_EXACT) {
            write!(self.out, "\"{number}\"")
        } else {
            write!(self.out, "{number}")
        }
    }

    fn value(&mut self, value: &Value) -> io::Result<()> {
        match value {
            Value::Number(number) => self.number((*number).into()),
            Value::Signed(number) => self.number((*number).into()),
            Value::Hex(number) => write!(self.out, "{number}"),
            Value::Nanos(number) => write!(self.out, "\"{number}\""),
            Value::Text(text) => self.text(text),
            Value::List(items) => {
                serde_json::to_writer(&mut *self.out, items).map_err(io::Error::from)
            }
        }
    }

    /// `,"name":value`, or without the comma for the first of an object; `None` is null.
    fn field(&mut self, comma: &str, name: &str, value: Option<Value>) -> io::Result<()> {
        write!(self.out, "{comma}\"{name}\":")?;
        match value {
            Some(value) => self.value(&value),
            None => write!(self.out, "null"),
        }
    }

    fn fields<'n>(
        &mut self,
        fields: impl IntoIterator<Item = (&'n str, Option<Value>)>,
    ) -> io::Result<()> {
        write!(self.out, "{{")?;
        let mut comma = "";
        for (name, value) in fields {
            self.field(comma, name, value)?;
            comma = ",";
        }
        write!(self.out, "}}")
    }

    fn next_item(&mut self) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.items, true) {
            ","
        } else {
            ""
        };
        writeln!(self.out, "{comma}")
    }
}

impl Report for Json<'_> {
    fn begin(&mut self, name: &str, size: u64) -> io::Result<()> {
        write!(self.out, "{{\"file\":")?;
        self.text(name)?;
        self.field(",", "size", Some(size.into()))
    }

    fn open(&mut self, node: &Node, _: u32) -> io::Result<()> {
        let siblings = self.open.last_mut();
        let siblings = siblings.is_some_and(|written| std::mem::replace(written, true));
        writeln!(self.out, "{}", if siblings { "," } else { ",\"boxes\":[" })?;
        write!(self.out, "{{\"type\":")?;
        self.text(&node.kind.to_string())?;
        self.field(",", "offset", Some(node.offset.into()))?;
        self.field(",", "size", Some(node.size.into()))?;
        if !node.fields.is_empty() {
            write!(self.out, ",\"fields\":{{")?;
            for (index, (name, value)) in node.fields.iter().enumerate() {
                write!(self.out, "{}\"{name}\":", if index > 0 { "," } else { "" })?;
                self.value(value)?;
            }
            write!(self.out, "}}")?;
        }
        self.open.push(false);
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let end = if self.open.pop() == Some(true) {
            "]}"
        } else {
            "}"
        };
        write!(self.out, "{end}")
    }

    fn tracks(&mut self, rows: &[Row]) -> io::Result<()> {
        match self.open.pop() {
            Some(true) => write!(self.out, "]")?,
            _ if self.tree => write!(self.out, ",\"boxes\":[]")?,
            _ => {}
        }
        write!(self.out, ",\n\"tracks\":[")?;
        self.items = false;
        for row in rows {
            self.next_item()?;
            self.fields(track_fields(row))?;
        }
        write!(self.out, "]")
    }

    fn begin_samples(&mut self) -> io::Result<()> {
        self.items = false;
        write!(self.out, ",\n\"samples\":[")
    }

    fn begin_track(&mut self, row: &Row) -> io::Result<()> {
        self.next_item()?;
        self.items = false;
        write!(self.out, "{{\"track\":{},\"samples\":[", row.id)
    }

    fn sample(&mut self, s: &Sample) -> io::Result<()> {
        self.next_item()?;
        write!(self.out, "{{\"dts\":")?;
        self.number(s.dts.into())?;
        write!(self.out, ",\"pts\":")?;
        self.number(s.pts)?;
        write!(
            self.out,
            ",\"duration\":{},\"size\":{},\"sync\":{},\"offset\":",
            s.duration, s.size, s.sync
        )?;
        self.number(s.offset.into())?;
        write!(self.out, "}}")
    }

    fn end_track(&mut self) -> io::Result<()> {
        self.items = true;
        write!(self.out, "]}}")
    }

    fn end_samples(&mut self) -> io::Result<()> {
        write!(self.out, "]")
    }

    fn summary(&mut self, s: &Summary<'_>) -> io::Result<()> {
        write!(self.out, ",\n\"summary\":{{\"kind\":\"{}\"", s.kind.name())?;
        self.field(",", "parts", Some(s.parts.into()))?;
        match s.closed {
            Some(closed) => write!(self.out, ",\"closed\":{closed}")?,
            None => write!(self.out, ",\"closed\":null")?,
        }
        self.field(
            ",",
            "timescale",
            s.movie.map(|(timescale, _)| timescale.into()),
        )?;
        self.field(
            ",",
            "duration",
            s.movie.map(|(_, duration)| duration.into()),
        )?;
        write!(self.out, ",\"mtxi\":")?;
        match s.mtxi {
            Some(mtxi) => self.fields([
                ("stream", Some(show::uuid(&mtxi.stream_id).into())),
                ("number", Some(mtxi.segment_number.into())),
                ("dts_ns", Some(Value::Nanos(mtxi.dts_ns))),
                ("ntp_ns", Some(Value::Nanos(mtxi.ntp_ns))),
                ("ntp", Some(show::rfc3339(mtxi.ntp_ns).into())),
            ])?,
            None => write!(self.out, "null")?,
        }
        self.field(",", "torn", s.torn.map(Value::from))?;
        self.field(",", "missing_samples", Some(s.missing_samples.into()))?;
        self.field(",", "notes", Some(Value::List(s.notes.to_vec())))?;
        write!(self.out, "}}")
    }

    fn end(&mut self, fault: Option<&Fault>) -> io::Result<()> {
        write!(self.out, ",\n\"fault\":")?;
        match fault {
            Some(fault) => self.fields([
                ("box", fault.kind.map(|kind| kind.to_string().into())),
                ("offset", Some(fault.offset.into())),
                ("message", Some(fault.message.clone().into())),
            ])?,
            None => write!(self.out, "null")?,
        }
        writeln!(self.out, "}}")
    }
}

fn track_fields(row: &Row) -> [(&'static str, Option<Value>); 14] {
    let totals = &row.totals;
    [
        ("id", Some(row.id.into())),
        ("kind", Some(row.kind.clone().into())),
        ("codec", row.codec.clone().map(Value::from)),
        ("timescale", row.timescale.map(Value::from)),
        ("language", row.language.clone().map(Value::from)),
        ("width", row.picture.map(|(width, _)| width.into())),
        ("height", row.picture.map(|(_, height)| height.into())),
        ("channels", row.sound.map(|(channels, _)| channels.into())),
        ("rate", row.sound.map(|(_, rate)| rate.into())),
        ("samples", Some(totals.samples.into())),
        ("start", totals.start.map(Value::from)),
        ("duration", Some(totals.duration.into())),
        ("bytes", Some(totals.bytes.into())),
        ("sync", Some(totals.sync.into())),
    ]
}
