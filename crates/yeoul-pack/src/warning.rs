use std::fmt;

/// Something that a person should know of: what was left out, moved or doubtful. Never a reason to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What kind of thing.
    pub kind: WarningKind,
    /// The recording it concerns, by its source's name.
    pub path: Option<String>,
    /// Where in the recording, bytes from its start.
    pub offset: Option<u64>,
    /// What happened and what was done about it.
    pub message: String,
}

impl Warning {
    /// A warning about a place in a recording.
    pub fn at(kind: WarningKind, path: &str, offset: u64, message: impl Into<String>) -> Self {
        let (path, offset) = (Some(path.to_owned()), Some(offset));
        Self {
            kind,
            path,
            offset,
            message: message.into(),
        }
    }

    /// A warning about a recording.
    pub fn of(kind: WarningKind, path: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            path: Some(path.to_owned()),
            offset: None,
            message: message.into(),
        }
    }

    /// A warning about the broadcast.
    pub fn new(kind: WarningKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            path: None,
            offset: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        if let Some(offset) = self.offset {
            write!(f, "at byte {offset}: ")?;
        }
        f.write_str(&self.message)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kinds of warnings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum WarningKind { $($(#[$doc])* $variant,)* }

        impl WarningKind {
            /// The kind as a word for programs.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// The whole recording was left out: empty, not MP4, malformed, or gone.
    Refused = "refused",
    /// A recording without a single sample.
    NoParts = "no_parts",
    /// The recording ends in the middle of a part.
    Torn = "torn",
    /// The recording ends in zeros, as after a power cut.
    ZeroTail = "zero_tail",
    /// A part that cannot be read.
    MalformedPart = "malformed_part",
    /// Samples that point outside the file.
    OutsideFile = "outside_file",
    /// Not closed by its recorder: killed, or still being written.
    Open = "open",
    /// A second recording with the stream id and number of another.
    Duplicate = "duplicate",
    /// Segment numbers that are not there.
    MissingNumber = "missing_number",
    /// The recordings' clock and the sum of durations disagree by more than rounding.
    Jump = "jump",
    /// A sample that lasts far longer than the others: cut short, the rest is a gap.
    Stall = "stall",
    /// Samples before the first sync sample.
    NoSync = "no_sync",
    /// Pictures that lead a CRA after a discontinuity and cannot be decoded.
    Leading = "leading",
    /// Audio in a hole, before the picture comes back.
    AudioInHole = "audio_in_hole",
    /// Parameter sets changed inside a recording.
    ParametersChanged = "parameters_changed",
    /// A sample entry or timescale differs from the recording before.
    EntryChanged = "entry_changed",
    /// A selected track is not in a recording.
    TrackAbsent = "track_absent",
    /// No track fits the selection.
    NotSelected = "not_selected",
    /// A take that would begin before the one before it ends.
    ClockStep = "clock_step",
    /// A take that runs beside another: it has an output of its own.
    Lane = "lane",
    /// No wall clock: placed behind the rest.
    NoClock = "no_clock",
    /// A group of pictures longer than a segment may be: cut without a sync sample.
    LongGop = "long_gop",
    /// A track that lags so far that segments were closed without it.
    Late = "late",
    /// An edit list that is more than an offset.
    EditList = "edit_list",
}
