/// What a header says of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sample {
    /// Time until the next sample is decoded, in ticks of the track.
    pub duration: u32,
    /// Payload bytes.
    pub size: u32,
    /// Sample flags (ISO/IEC 14496-12 §8.8.3.1).
    pub flags: u32,
    /// Presentation time less decode time, in ticks of the track.
    pub composition_offset: i32,
}

impl Sample {
    /// Flags of a sample that depends on no other.
    pub const SYNC: u32 = 0x0200_0000;
    /// Flags of a sample that depends on others and at which decoding cannot begin.
    pub const NON_SYNC: u32 = 0x0101_0000;
    /// The bit `sample_is_non_sync_sample`.
    pub const IS_NON_SYNC: u32 = 0x0001_0000;

    /// Whether decoding can begin here.
    #[must_use]
    pub const fn is_sync(&self) -> bool {
        self.flags & Self::IS_NON_SYNC == 0
    }
}
