//! A `moof` from any bytes, read by us and by `mp4-atom`; and samples written and read back.

use arbitrary::{Arbitrary, Unstructured};
use mp4_atom::Decode as _;
use yeoul_isobmff::Limits;
use yeoul_isobmff::moof::{FragmentSample, Moof};
use yeoul_isobmff::movie::TrackExtends;
use yeoul_isobmff::write::{self, FragmentTrack, Sample};

use crate::LIMITS;

/// Checks one input: its first byte says which way.
pub fn check(data: &[u8]) {
    match data.split_first() {
        Some((0x80.., rest)) => {
            if let Ok(written) = Written::arbitrary_take_rest(Unstructured::new(rest)) {
                round_trip(&written);
            }
        }
        Some((options, rest)) => against_oracle(*options, rest),
        None => {}
    }
}

fn against_oracle(options: u8, bytes: &[u8]) {
    let offset = [0, 3599, 1 << 40, u64::MAX - 4096][usize::from(options & 3)];
    let limits = Limits {
        samples: [LIMITS.samples, 3][usize::from(options >> 2 & 1)],
        boxes: [LIMITS.boxes, 4][usize::from(options >> 3 & 1)],
        ..LIMITS
    };
    let extends = |track: u32| {
        (options & 16 == 0).then_some(TrackExtends {
            duration: track.wrapping_mul(3000),
            size: track.wrapping_mul(7),
            flags: 0x0101_0000,
        })
    };
    let Ok(ours) = Moof::parse(bytes, offset, &limits, extends) else {
        return;
    };
    let claimed: u64 = ours.fragments.iter().map(|f| f.sample_count).sum();
    assert!(claimed <= limits.samples);
    for fragment in &ours.fragments {
        assert_eq!(fragment.samples().count() as u64, fragment.sample_count);
        let sum = fragment
            .samples()
            .fold(0u64, |sum, s| sum + u64::from(s.duration));
        assert_eq!(fragment.duration(), sum);
    }
    let Ok(theirs) = mp4_atom::Moof::decode(&mut &*bytes) else {
        return;
    };
    compare(&ours, &theirs, offset, extends);
}

fn compare(
    ours: &Moof<'_>,
    theirs: &mp4_atom::Moof,
    offset: u64,
    extends: impl Fn(u32) -> Option<TrackExtends>,
) {
    assert_eq!(ours.sequence, theirs.mfhd.sequence_number);
    assert_eq!(ours.fragments.len(), theirs.traf.len());
    let mut previous_end = offset;
    for (our, their) in ours.fragments.iter().zip(&theirs.traf) {
        assert_eq!(our.track_id, their.tfhd.track_id);
        let time = their.tfdt.as_ref().map(|tfdt| tfdt.base_media_decode_time);
        assert_eq!(our.decode_time, time);
        let base = match (their.tfhd.base_data_offset, their.tfhd.default_base_is_moof) {
            (Some(base), _) => base,
            (None, true) => offset,
            (None, false) => previous_end,
        };
        let defaults = extends(our.track_id).unwrap_or_default();
        let mut expected = Vec::new();
        let mut at = base;
        for run in &their.trun {
            if let Some(delta) = run.data_offset {
                at = base
                    .checked_add_signed(delta.into())
                    .expect("we accepted it");
            }
            for entry in &run.samples {
                let tfhd = &their.tfhd;
                let size = entry
                    .size
                    .or(tfhd.default_sample_size)
                    .unwrap_or(defaults.size);
                let duration = entry.duration.or(tfhd.default_sample_duration);
                expected.push(FragmentSample {
                    offset: at,
                    size,
                    duration: duration.unwrap_or(defaults.duration),
                    flags: entry
                        .flags
                        .or(tfhd.default_sample_flags)
                        .unwrap_or(defaults.flags),
                    // Theirs is unsigned in version 0; files in the field have negative values there.
                    composition_offset: entry.cts.unwrap_or(0) as i32,
                });
                at = at.checked_add(size.into()).expect("we accepted it");
            }
        }
        previous_end = at;
        assert_eq!(our.samples().collect::<Vec<_>>(), expected);
    }
}

#[derive(Debug, Arbitrary)]
struct Written {
    sequence: u32,
    offset: u32,
    tracks: Vec<WrittenTrack>,
}

#[derive(Debug, Arbitrary)]
struct WrittenTrack {
    id: u32,
    decode_time: u64,
    /// All samples share what the first says.
    shared: [bool; 4],
    samples: Vec<(u32, u32, u32, i32)>,
}

impl WrittenTrack {
    fn samples(&self) -> Vec<Sample> {
        let first = self.samples.first().copied().unwrap_or_default();
        let [duration, size, flags, offset] = self.shared;
        let samples = self.samples.iter();
        let samples = samples.map(|sample| Sample {
            duration: if duration { first.0 } else { sample.0 },
            size: if size { first.1 } else { sample.1 },
            flags: if flags { first.2 } else { sample.2 },
            composition_offset: if offset { first.3 } else { sample.3 },
        });
        samples.collect()
    }
}

fn round_trip(written: &Written) {
    let samples: Vec<Vec<Sample>> = written.tracks.iter().map(WrittenTrack::samples).collect();
    let tracks: Vec<FragmentTrack<'_>> = written
        .tracks
        .iter()
        .zip(&samples)
        .map(|(track, samples)| FragmentTrack {
            track_id: track.id,
            base_decode_time: track.decode_time,
            samples,
        })
        .collect();
    let Ok(bytes) = write::fragment(written.sequence, &tracks) else {
        return;
    };
    let (moof, mdat) = bytes.split_at(bytes.len() - 8);
    let payload: u64 = samples.iter().flatten().map(|s| u64::from(s.size)).sum();
    assert_eq!(
        u64::from(u32::from_be_bytes([mdat[0], mdat[1], mdat[2], mdat[3]])),
        payload + 8
    );

    let offset = u64::from(written.offset);
    let read = Moof::parse(moof, offset, &Limits::DEFAULT, |_| None).expect("we wrote it");
    assert_eq!(read.sequence, written.sequence);
    assert_eq!(read.fragments.len(), tracks.len());
    let mut at = offset + bytes.len() as u64;
    for (fragment, track) in read.fragments.iter().zip(&tracks) {
        assert_eq!(fragment.track_id, track.track_id);
        assert_eq!(fragment.decode_time, Some(track.base_decode_time));
        let read: Vec<FragmentSample> = fragment.samples().collect();
        assert_eq!(read.len(), track.samples.len());
        for (read, sample) in read.iter().zip(track.samples) {
            let expected = FragmentSample {
                offset: at,
                size: sample.size,
                duration: sample.duration,
                flags: sample.flags,
                composition_offset: sample.composition_offset,
            };
            assert_eq!(*read, expected);
            at += u64::from(sample.size);
        }
    }
    let theirs = mp4_atom::Moof::decode(&mut &*moof).expect("another reader reads what we wrote");
    compare(&read, &theirs, offset, |_| None);
}
