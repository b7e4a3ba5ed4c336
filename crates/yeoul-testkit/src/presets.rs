//! Ready scenarios, as the `yeoul-testkit` program offers them.

use std::time::Duration;

use crate::scenario::{Payload, Scenario, Take};
use crate::track::{Sizes, Track};

const SECOND_NS: i64 = 1_000_000_000;

/// 1280×720 at 30 frames/s with six AAC tracks: 4 min, a cut of 3 s, 4 min, a cut of 8 s, 2 min, in files of about 4 s:
/// 150 recordings, three takes, 147 boundaries within takes, under 60 MB.
#[must_use]
pub fn broadcast150(seed: u64) -> Scenario {
    broadcast(seed, [240, 240, 120])
}

/// [`broadcast150`] cut down to takes of 14, 10 and 6 s.
#[must_use]
pub fn broadcast_small(seed: u64) -> Scenario {
    broadcast(seed, [14, 10, 6])
}

fn broadcast(seed: u64, seconds: [u64; 3]) -> Scenario {
    let gaps = [0, 3, 8];
    let scenario = seven_tracks(
        seed,
        Sizes {
            sync: 6000,
            anchor: 1800,
            leaf: 700,
        },
        40,
    );
    seconds
        .into_iter()
        .zip(gaps)
        .fold(scenario, |scenario, (seconds, gap)| {
            scenario.take(Take::lasting(Duration::from_secs(seconds)).after(gap * SECOND_NS))
        })
}

/// One file of `seconds` and about `bytes`, mostly holes, with six AAC tracks.
#[must_use]
pub fn long_file(seed: u64, seconds: u64, bytes: u64) -> Scenario {
    let audio = 6 * 170 * seconds * 48_000 / 1024;
    let frames = (seconds * 30).max(1);
    let mean = bytes.saturating_sub(audio) / frames;
    let size = |tenths: u64| u32::try_from(mean * tenths / 10).unwrap_or(u32::MAX / 2);
    let sizes = Sizes {
        sync: size(60),
        anchor: size(16),
        leaf: size(6),
    };
    let mut scenario =
        seven_tracks(seed, sizes, 170).take(Take::lasting(Duration::from_secs(seconds)));
    scenario.segment_duration = Duration::from_secs(seconds.saturating_mul(2));
    scenario.payload = Payload::Sparse;
    scenario.list_samples = false;
    scenario
}

/// One H.264 and one AAC track, one take, files of 4 s.
#[must_use]
pub fn simple(seed: u64, seconds: u64) -> Scenario {
    Scenario::new(seed)
        .track(Track::h264_720p30())
        .track(Track::aac_mono_48k())
        .take(Take::lasting(Duration::from_secs(seconds)))
}

fn seven_tracks(seed: u64, video: Sizes, audio: u32) -> Scenario {
    let scenario = Scenario::new(seed).track(Track::h264_720p30().sizes(video));
    let sound = Sizes {
        sync: audio,
        anchor: audio,
        leaf: audio,
    };
    (0..6).fold(scenario, |scenario, _| {
        scenario.track(Track::aac_mono_48k().sizes(sound))
    })
}
