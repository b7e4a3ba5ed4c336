/// What a reader accepts. Each limit is checked before anything is allocated; its error says the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one header box (`ftyp`, `moov`, `moof`) that is read whole. A `moov` of a plain MP4 holds some
    /// 16 bytes a sample, so the default admits about 4 million samples.
    pub header_bytes: u64,
    /// Boxes in one container tree.
    pub boxes: u32,
    /// Samples in one `moof` or in one track's sample table.
    pub samples: u64,
    /// Tracks in a `moov`.
    pub tracks: u32,
}

impl Limits {
    /// Nesting that a walk follows. ISO/IEC 14496-12 files need 8 (`moov/trak/mdia/minf/stbl/stsd/entry/child`).
    pub const DEPTH: u32 = 16;

    /// The defaults, as constants so that documents and errors can name them.
    pub const DEFAULT: Self = Self {
        header_bytes: 64 << 20,
        boxes: 1 << 20,
        samples: 16 << 20,
        tracks: 256,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
