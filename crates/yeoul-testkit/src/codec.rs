use crate::boxes::mp4_box;

/// What a track's samples begin with, and which bytes its parameter sets go in front of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// H.264 with 4-byte lengths; parameter sets in-band before each IDR.
    H264,
    /// H.265 with 4-byte lengths; parameter sets in-band before each IDR or CRA.
    H265,
    /// VP9 frames.
    Vp9,
    /// Raw AAC frames.
    Aac,
    /// Opus packets.
    Opus,
}

/// A sample entry as it stands in `stsd`, with what the rest of the recording must agree with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleEntry {
    /// The whole box, `btrt` included.
    pub bytes: Vec<u8>,
    /// Width in pixels for `tkhd`; 0 for audio.
    pub width: u16,
    /// Height in pixels for `tkhd`; 0 for audio.
    pub height: u16,
    /// NAL units that go before each sync sample.
    pub parameter_sets: Vec<Vec<u8>>,
    /// Where in `bytes` the 16-bit `ES_ID` stands: MediaMTX sets it to the track's id.
    pub es_id_at: Option<usize>,
}

const SPS_720P30: &[u8] = &[
    0x67, 0x4d, 0x40, 0x1f, 0xec, 0xa0, 0x28, 0x02, 0xdd, 0x80, 0x88, 0x00, 0x00, 0x03, 0x00, 0x08,
    0x00, 0x00, 0x03, 0x01, 0xe0, 0x78, 0xc1, 0x8c, 0xb0,
];
const SPS_480P30: &[u8] = &[
    0x67, 0x4d, 0x40, 0x1e, 0xec, 0xa0, 0x50, 0x1e, 0xd8, 0x08, 0x80, 0x00, 0x00, 0x03, 0x00, 0x80,
    0x00, 0x00, 0x1e, 0x07, 0x8b, 0x16, 0xcb,
];
const PPS: &[u8] = &[0x68, 0xce, 0x3c, 0x80];

const H265_VPS: &[u8] = &[
    0x40, 0x01, 0x0c, 0x01, 0xff, 0xff, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03,
    0x00, 0x00, 0x03, 0x00, 0x5d, 0x95, 0x90, 0x09,
];
const H265_SPS: &[u8] = &[
    0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03,
    0x00, 0x5d, 0xa0, 0x02, 0x80, 0x80, 0x2d, 0x16, 0x59, 0x59, 0x12, 0x93, 0x0b, 0xc0, 0x5a, 0x02,
    0x00, 0x00, 0x03, 0x00, 0x02, 0x00, 0x00, 0x03, 0x00, 0x3c, 0x10,
];
const H265_PPS: &[u8] = &[0x44, 0x01, 0xc0, 0x73, 0xc1, 0x89];

const VIDEO_RATE: u32 = 1_000_000;
const AUDIO_RATE: u32 = 128_825;

impl SampleEntry {
    /// `avc1` 1280×720, 30 frames/s, Main profile at level 3.1 (`avc1.4d401f`), 2 reordered frames.
    #[must_use]
    pub fn h264_720p30() -> Self {
        h264(SPS_720P30, 1280, 720)
    }

    /// `avc1` 640×480, 30 frames/s (`avc1.4d401e`): what a publisher changes to.
    #[must_use]
    pub fn h264_480p30() -> Self {
        h264(SPS_480P30, 640, 480)
    }

    /// `hvc1` 1280×720, 30 frames/s, Main profile at level 3.1.
    #[must_use]
    pub fn h265_720p30() -> Self {
        let mut hvcc = vec![
            1, 0x01, 0x60, 0, 0, 0, 0x03, 0, 0x90, 0, 0, 0x03, 0x5d, 0xf0, 0, 0xfc, 0xfd, 0xf8,
            0xf8, 0, 0, 0x13, 3,
        ];
        for (nal_type, nal) in [(0x20, H265_VPS), (0x21, H265_SPS), (0x22, H265_PPS)] {
            hvcc.extend([nal_type, 0, 1]);
            hvcc.extend(length16(nal));
            hvcc.extend(nal);
        }
        let sets = [H265_VPS, H265_SPS, H265_PPS].map(<[u8]>::to_vec).to_vec();
        visual(*b"hvc1", 1280, 720, mp4_box(*b"hvcC", &hvcc), sets)
    }

    /// `vp09` with the 640×640 that MediaMTX writes for a 640×360 stream.
    #[must_use]
    pub fn vp9_640() -> Self {
        let vpcc = mp4_box(*b"vpcC", &[1, 0, 0, 0, 0, 10, 0x82, 0, 0, 0, 0, 0]);
        visual(*b"vp09", 640, 640, vpcc, Vec::new())
    }

    /// `mp4a` with AAC-LC, mono, 48 kHz.
    #[must_use]
    pub fn aac_mono_48k() -> Self {
        let rate = AUDIO_RATE.to_be_bytes();
        let mut esds = vec![0, 0, 0, 0, 3, 0x80, 0x80, 0x80, 0x22, 0, 0, 0];
        esds.extend([4, 0x80, 0x80, 0x80, 0x14, 0x40, 0x15, 0, 0, 0]);
        esds.extend(rate);
        esds.extend(rate);
        esds.extend([
            5, 0x80, 0x80, 0x80, 0x02, 0x11, 0x88, 6, 0x80, 0x80, 0x80, 0x01, 0x02,
        ]);
        Self {
            es_id_at: Some(36 + 8 + 9),
            ..audio(*b"mp4a", 1, mp4_box(*b"esds", &esds))
        }
    }

    /// `Opus`, stereo, 48 kHz, pre-skip 312.
    #[must_use]
    pub fn opus_stereo() -> Self {
        let dops = mp4_box(*b"dOps", &[0, 2, 0x01, 0x38, 0, 0, 0xbb, 0x80, 0, 0, 0]);
        audio(*b"Opus", 2, dops)
    }
}

fn h264(sps: &[u8], width: u16, height: u16) -> SampleEntry {
    let mut avcc = vec![1, 0x4d, 0x40, sps.get(3).copied().unwrap_or(0), 0xff, 0xe1];
    avcc.extend(length16(sps));
    avcc.extend(sps);
    avcc.push(1);
    avcc.extend(length16(PPS));
    avcc.extend(PPS);
    visual(
        *b"avc1",
        width,
        height,
        mp4_box(*b"avcC", &avcc),
        vec![sps.to_vec(), PPS.to_vec()],
    )
}

fn visual(
    kind: [u8; 4],
    width: u16,
    height: u16,
    config: Vec<u8>,
    parameter_sets: Vec<Vec<u8>>,
) -> SampleEntry {
    let mut body = vec![0, 0, 0, 0, 0, 0, 0, 1];
    body.extend([0; 16]);
    body.extend(width.to_be_bytes());
    body.extend(height.to_be_bytes());
    body.extend([0, 0x48, 0, 0, 0, 0x48, 0, 0, 0, 0, 0, 0, 0, 1]);
    body.extend([0; 32]);
    body.extend([0, 0x18, 0xff, 0xff]);
    body.extend(config);
    body.extend(btrt(VIDEO_RATE));
    SampleEntry {
        bytes: mp4_box(kind, &body),
        width,
        height,
        parameter_sets,
        es_id_at: None,
    }
}

fn audio(kind: [u8; 4], channels: u8, config: Vec<u8>) -> SampleEntry {
    let mut body = vec![0, 0, 0, 0, 0, 0, 0, 1];
    body.extend([0; 8]);
    body.extend([0, channels, 0, 16, 0, 0, 0, 0, 0xbb, 0x80, 0, 0]);
    body.extend(config);
    body.extend(btrt(AUDIO_RATE));
    SampleEntry {
        bytes: mp4_box(kind, &body),
        width: 0,
        height: 0,
        parameter_sets: Vec::new(),
        es_id_at: None,
    }
}

fn btrt(rate: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(rate.to_be_bytes());
    body.extend(rate.to_be_bytes());
    mp4_box(*b"btrt", &body)
}

fn length16(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes()
}
