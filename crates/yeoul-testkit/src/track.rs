use crate::codec::{Codec, SampleEntry};

/// What a track carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Pictures: its sync samples are where files are cut.
    Video,
    /// Sound.
    Audio,
}

/// One track of a scenario. Its id is its place in the scenario, counted from 1.
#[derive(Debug, Clone)]
pub struct Track {
    /// Video or audio.
    pub kind: Kind,
    /// Ticks a second.
    pub timescale: u32,
    /// ISO 639-2/T code; MediaMTX always writes `und`.
    pub language: [u8; 3],
    /// Sample entries: the first to begin with, others for [`crate::Event::Parameters`].
    pub entries: Vec<SampleEntry>,
    /// Ticks from the take's clock to the first sample's decode time.
    pub start_ticks: i64,
    /// Nanoseconds between a sample's decode time and its arrival at the recorder.
    pub latency_ns: i64,
    /// Samples that arrive together, as several AAC frames in one RTP packet do.
    pub burst: u32,
    pub(crate) source: Source,
}

#[derive(Debug, Clone)]
pub(crate) enum Source {
    Cadence(Cadence),
    Samples(Vec<Content>),
}

/// A real sample, see [`Track::from_samples`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Ticks to the next sample.
    pub duration: u32,
    /// Composition offset in ticks.
    pub cts: i32,
    /// Whether decoding can start here.
    pub sync: bool,
    /// The sample's bytes as they go into `mdat`.
    pub payload: Vec<u8>,
}

/// How an invented encoder spaces, reorders and sizes its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cadence {
    /// What the samples look like.
    pub codec: Codec,
    /// Frame durations in ticks, repeated in presentation order.
    pub durations: Vec<u32>,
    /// Samples from one sync sample to the next; 1 = every sample is sync.
    pub gop: u32,
    /// Decode order of the pictures after an anchor, as presentation places: `[3, 1, 2]` is P, B, B; `[1]` has no B.
    pub mini_gop: Vec<u32>,
    /// Later sync samples are CRAs followed by leading pictures.
    pub open_gop: bool,
    /// Frames by which decode times precede the running presentation.
    pub delay: u32,
    /// Ticks that the first decode times are off their steady places while MediaMTX's DTS extractor settles.
    pub opening: Vec<i64>,
    /// Bytes a sample.
    pub sizes: Sizes,
}

/// Mean sample sizes in bytes; each sample is within a quarter of its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Sync samples.
    pub sync: u32,
    /// Pictures that others refer to, and audio frames.
    pub anchor: u32,
    /// Disposable B-frames.
    pub leaf: u32,
}

impl Track {
    /// H.264 1280×720 at 30 frames/s, two B-frames, a keyframe each 2 s, and a second entry of 640×480 to change to.
    #[must_use]
    pub fn h264_720p30() -> Self {
        let cadence = Cadence {
            codec: Codec::H264,
            durations: vec![3000],
            gop: 60,
            mini_gop: vec![3, 1, 2],
            open_gop: false,
            delay: 1,
            opening: vec![3000, 90],
            sizes: Sizes {
                sync: 8000,
                anchor: 2400,
                leaf: 900,
            },
        };
        Self::video(
            cadence,
            vec![SampleEntry::h264_720p30(), SampleEntry::h264_480p30()],
        )
    }

    /// H.265 1280×720 at 30 frames/s: an IDR, then CRAs with two leading pictures each 2 s; starts 66.67 ms before 0.
    #[must_use]
    pub fn h265_720p30() -> Self {
        let cadence = Cadence {
            codec: Codec::H265,
            durations: vec![3000],
            gop: 60,
            mini_gop: vec![3, 2, 1],
            open_gop: true,
            delay: 2,
            opening: vec![0, -2910, -1940],
            sizes: Sizes {
                sync: 6000,
                anchor: 2000,
                leaf: 800,
            },
        };
        Self::video(cadence, vec![SampleEntry::h265_720p30()])
    }

    /// VP9 at 30 frames/s whose RTMP-rounded durations repeat 33, 34, 33 ms; a keyframe each 60 frames.
    #[must_use]
    pub fn vp9_30() -> Self {
        let cadence = Cadence {
            codec: Codec::Vp9,
            durations: vec![2970, 3060, 2970],
            gop: 60,
            mini_gop: vec![1],
            open_gop: false,
            delay: 0,
            opening: Vec::new(),
            sizes: Sizes {
                sync: 6000,
                anchor: 1500,
                leaf: 1500,
            },
        };
        Self::video(cadence, vec![SampleEntry::vp9_640()])
    }

    /// AAC-LC mono 48 kHz, 1024 samples a frame, eight frames a packet.
    #[must_use]
    pub fn aac_mono_48k() -> Self {
        let track = Self::audio(Codec::Aac, 1024, 170, SampleEntry::aac_mono_48k());
        Self {
            burst: 8,
            start_ticks: 504,
            ..track
        }
    }

    /// Opus stereo, 20 ms a packet.
    #[must_use]
    pub fn opus_stereo() -> Self {
        Self::audio(Codec::Opus, 960, 220, SampleEntry::opus_stereo())
    }

    /// A video track of 90,000 ticks a second.
    #[must_use]
    pub fn video(cadence: Cadence, entries: Vec<SampleEntry>) -> Self {
        Self::new(Kind::Video, 90_000, entries, Source::Cadence(cadence))
    }

    /// An audio track of 48,000 ticks a second with frames of `frame` ticks and about `size` bytes.
    #[must_use]
    pub fn audio(codec: Codec, frame: u32, size: u32, entry: SampleEntry) -> Self {
        let cadence = Cadence {
            codec,
            durations: vec![frame],
            gop: 1,
            mini_gop: vec![1],
            open_gop: false,
            delay: 0,
            opening: Vec::new(),
            sizes: Sizes {
                sync: size,
                anchor: size,
                leaf: size,
            },
        };
        Self::new(Kind::Audio, 48_000, vec![entry], Source::Cadence(cadence))
    }

    /// A track of real samples in decode order. As with MediaMTX the last one is lost: the recorder never learns its
    /// duration. Every take plays them from the first.
    #[must_use]
    pub fn from_samples(
        kind: Kind,
        timescale: u32,
        entry: SampleEntry,
        samples: impl IntoIterator<Item = Content>,
    ) -> Self {
        Self::new(
            kind,
            timescale,
            vec![entry],
            Source::Samples(samples.into_iter().collect()),
        )
    }

    fn new(kind: Kind, timescale: u32, entries: Vec<SampleEntry>, source: Source) -> Self {
        Self {
            kind,
            timescale,
            language: *b"und",
            entries,
            start_ticks: 0,
            latency_ns: 0,
            burst: 1,
            source,
        }
    }

    /// The same track with another language in `mdhd`.
    #[must_use]
    pub fn language(self, language: [u8; 3]) -> Self {
        Self { language, ..self }
    }

    /// The same track with another first decode time.
    #[must_use]
    pub fn starting_at(self, start_ticks: i64) -> Self {
        Self {
            start_ticks,
            ..self
        }
    }

    /// The same track with other sample sizes; real samples keep theirs.
    #[must_use]
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        if let Source::Cadence(cadence) = &mut self.source {
            cadence.sizes = sizes;
        }
        self
    }
}
