/// What was recorded, exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// The takes in order.
    pub takes: Vec<TakeTruth>,
}

/// A take as it was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakeTruth {
    /// mtxi stream id.
    pub stream_id: [u8; 16],
    /// Its files in order of number, those that are missing or empty included.
    pub files: Vec<FileTruth>,
    /// Its tracks in `trak` order.
    pub tracks: Vec<TrackTruth>,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTruth {
    /// File name.
    pub name: String,
    /// mtxi segment number.
    pub number: u64,
    /// mtxi DTS: the take's clock at the file's start, nanoseconds.
    pub dts_ns: i64,
    /// mtxi NTP: wall clock, nanoseconds since 1970.
    pub ntp_ns: i64,
    /// `mvhd` duration in milliseconds; 0 while open and for ever after a kill.
    pub duration_ms: u32,
    /// Parts written.
    pub parts: usize,
    /// Bytes of the whole parts and the header.
    pub size: u64,
    /// Whether it is there to be read.
    pub presence: Presence,
    /// Name of the second file with the same id and number, if the scenario made one.
    pub duplicate: Option<String>,
}

/// Whether a recording is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// As it should be.
    Whole,
    /// Not there at all; its samples are in the truth all the same.
    Missing,
    /// There with no bytes; its samples are in the truth all the same.
    Empty,
}

/// A track of a take. Samples that were never written are not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackTruth {
    /// Track id.
    pub id: u32,
    /// Ticks a second.
    pub timescale: u32,
    /// Number of samples.
    pub count: u64,
    /// Decode time of the first sample on the take's clock, in exact ticks.
    pub start: Option<i64>,
    /// Sum of durations in ticks.
    pub total: u64,
    /// Sum of sizes in bytes.
    pub bytes: u64,
    /// Samples left out since they came more than 1 s late, before the start of the file then open.
    pub dropped: u64,
    /// Each sample, where [`crate::Scenario::list_samples`] asks for them.
    pub samples: Vec<SampleTruth>,
}

/// A sample as it was meant, before any rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleTruth {
    /// Decode time on the take's clock, exact ticks.
    pub dts: i64,
    /// Ticks to the next sample.
    pub duration: u32,
    /// Composition offset in ticks.
    pub cts: i32,
    /// Whether decoding can start here.
    pub sync: bool,
    /// Bytes.
    pub size: u32,
    /// Byte offset in its file.
    pub offset: u64,
    /// Index into [`TakeTruth::files`].
    pub file: u32,
    /// Which of the track's sample entries was in force.
    pub entry: u16,
}
