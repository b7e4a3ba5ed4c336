//! Sessions of the test recorder: the recorder knows the truth, and every sample must lie where it was recorded.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arbitrary::{Arbitrary as _, Result, Unstructured};
use yeoul_pack::{Catalogue, FileKind, Gaps, Input, Layout, MemoryInput};
use yeoul_testkit::{
    Event, Memory, Presence, Recorder, SampleTruth, Scenario, Sizes, Take, Track, Truth,
};

use crate::output::{OutSample, Packed, options, pack, verify};

/// Ticks that a sample may lie off the place that the take's others have: two roundings at the origin, two behind a hole.
const ROUNDING: i64 = 4;

/// A power cut loses whole sectors; fewer zeros are taken for payload.
const SECTOR: usize = 512;

/// Checks one input.
pub fn check(data: &[u8]) {
    let mut choices = Unstructured::new(data);
    let Ok((scenario, how)) = session(&mut choices) else {
        return;
    };
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{scenario:#?}\n{:#?}", options(how));
    }
    let Ok((files, truth)) = Recorder::new(scenario, Memory::default()).and_then(Recorder::record)
    else {
        return;
    };
    let mut files = files.into_files();
    tear(&mut choices, &mut files);
    let inputs = files
        .iter()
        .map(|(name, bytes)| Arc::new(MemoryInput::new(name, bytes.clone())) as Arc<dyn Input>);
    let mut options = options(how);
    options.limits = yeoul_isobmff::Limits::DEFAULT;
    let catalogue = Catalogue::read(inputs, &options.limits).expect("memory can be read");
    let lanes = pack(catalogue.takes, &options).expect("recordings of a recorder can be packed");
    for packed in lanes.iter().filter(|packed| packed.is_small()) {
        verify(packed, |_| false);
        playlists_play(packed);
        let close = options.gaps == Gaps::Close;
        samples_lie_where_they_were_recorded(packed, &truth, options.layout, close);
    }
}

fn session(u: &mut Unstructured<'_>) -> Result<(Scenario, u8)> {
    let how = u8::arbitrary(u)?;
    let mut scenario = Scenario::new(u64::from(u16::arbitrary(u)?));
    scenario.shuffle_trafs = u.arbitrary()?;
    scenario.part_duration = Duration::from_millis(u.int_in_range(200..=2000)?);
    scenario.segment_duration = Duration::from_millis(u.int_in_range(1000..=9000)?);
    for _ in 0..u.int_in_range(1..=3)? {
        scenario = scenario.track(track(u)?);
    }
    for _ in 0..u.int_in_range(1..=3)? {
        scenario = scenario.take(take(u)?);
    }
    Ok((scenario, how))
}

fn track(u: &mut Unstructured<'_>) -> Result<Track> {
    let kinds = [
        Track::h264_720p30,
        Track::h265_720p30,
        Track::vp9_30,
        Track::aac_mono_48k,
        Track::opus_stereo,
    ];
    let small = Sizes {
        sync: 200,
        anchor: 60,
        leaf: 30,
    };
    let mut track = u.choose(&kinds)?().sizes(small);
    if u.ratio(1, 4)? {
        track.start_ticks = u.int_in_range(-20_000..=200_000)?;
    }
    track.latency_ns = u.int_in_range(0..=300)? * 1_000_000;
    Ok(track)
}

fn take(u: &mut Unstructured<'_>) -> Result<Take> {
    let mut take = Take::lasting(millis(u, 12_000)?);
    take.gap_ns = u.int_in_range(-2_500..=20_000)? * 1_000_000 + u.int_in_range(0..=999_999)?;
    if u.arbitrary()? {
        take.first_dts_ns = u.int_in_range(-1_000_000_000..=100_000_000_000_000)?;
    }
    if u.arbitrary()? {
        take = take.killed();
    }
    for _ in 0..u.int_in_range(0..=3)? {
        let event = event(u)?;
        take = take.with(event);
    }
    Ok(take)
}

fn event(u: &mut Unstructured<'_>) -> Result<Event> {
    let track = u.int_in_range(0..=2)?;
    let file = u.int_in_range(0..=5)?;
    Ok(match u.int_in_range(0..=8)? {
        0 => Event::Stall {
            track,
            at: millis(u, 12_000)?,
            length: millis(u, 6000)?,
        },
        1 => Event::Join {
            track,
            at: millis(u, 8000)?,
        },
        2 => Event::Leave {
            track,
            at: millis(u, 12_000)?,
        },
        3 => Event::Parameters {
            track,
            at: millis(u, 12_000)?,
            entry: u.int_in_range(0..=1)?,
        },
        4 => Event::ParametersAtFile {
            track,
            file,
            entry: u.int_in_range(0..=1)?,
        },
        5 => Event::ClockStep {
            at: millis(u, 12_000)?,
            by_ns: u.int_in_range(-5_000_000_000..=5_000_000_000)?,
        },
        6 => Event::Missing { file },
        7 => Event::Empty { file },
        _ => Event::Duplicate {
            file,
            parts: u.int_in_range(0..=4)?,
        },
    })
}

fn millis(u: &mut Unstructured<'_>, most: u64) -> Result<Duration> {
    Ok(Duration::from_millis(u.int_in_range(0..=most)?))
}

/// Cuts files short and lets some of them end in zeros, as crashes do.
fn tear(u: &mut Unstructured<'_>, files: &mut [(String, Vec<u8>)]) {
    for (_, bytes) in files {
        let from = usize::from(u.arbitrary::<u16>().unwrap_or(0)) % (bytes.len() + 1);
        match u.arbitrary::<u8>().unwrap_or(0) {
            250.. => bytes.truncate(from),
            245..=249 if bytes.len() - from >= SECTOR => {
                *bytes = yeoul_testkit::tear::zero_tail(bytes, from);
                reopen(bytes);
            }
            _ => {}
        }
    }
}

/// Takes back the duration in `mvhd` that a recorder writes last of all: zeros at the end are looked for without it.
fn reopen(bytes: &mut [u8]) {
    let mvhd = bytes.windows(4).position(|kind| kind == b"mvhd");
    if let Some(duration) = mvhd.and_then(|at| bytes.get_mut(at + 20..at + 24)) {
        duration.fill(0);
    }
}

/// Every media playlist, written out, passes `yeoul verify PLAYLIST`.
fn playlists_play(packed: &Packed) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in packed.files.keys() {
        let path = folder.path().join(name);
        let parent = path.parent().expect("it is in the folder");
        std::fs::create_dir_all(parent).expect("the folder can be written to");
        std::fs::write(path, packed.bytes(name)).expect("the folder can be written to");
    }
    let index = folder.path().join("index.m3u8");
    if index.is_file() {
        let report = yeoul::verify::playlist(&index).expect("it can be read");
        let text = || String::from_utf8_lossy(&packed.bytes("index.m3u8")).into_owned();
        assert!(report.is_ok(), "{}{}", text(), report.render());
    }
}

/// What the recorder knows of a sample: take, track, position among the track's samples, and the sample.
type Known<'t> = HashMap<(&'t str, u64), (usize, usize, usize, &'t SampleTruth)>;

fn known(truth: &Truth) -> Known<'_> {
    let mut known = Known::new();
    for (t, take) in truth.takes.iter().enumerate() {
        for (n, track) in take.tracks.iter().enumerate() {
            for (index, sample) in track.samples.iter().enumerate() {
                let file = &take.files[sample.file as usize];
                let names = [Some(&file.name), file.duplicate.as_ref()];
                for name in names
                    .into_iter()
                    .flatten()
                    .filter(|_| file.presence == Presence::Whole)
                {
                    known.insert((name, sample.offset), (t, n, index, sample));
                }
            }
        }
    }
    known
}

/// Each sample of the output is one that was recorded, in order and once; all samples of a take moved by one and the
/// same time, and where gaps are closed up later ones by no more than earlier ones.
fn samples_lie_where_they_were_recorded(
    packed: &Packed,
    truth: &Truth,
    layout: Layout,
    close: bool,
) {
    let known = known(truth);
    let mut by_track: BTreeMap<(String, u32), Vec<OutSample>> = BTreeMap::new();
    for (name, file) in &packed.files {
        let FileKind::Segment { .. } = file.kind else {
            continue;
        };
        let folder = match layout {
            Layout::Muxed => String::new(),
            Layout::Cmaf => name.split('/').next().unwrap_or_default().to_owned(),
        };
        for sample in packed.samples(name) {
            by_track
                .entry((folder.clone(), sample.track_id))
                .or_default()
                .push(sample);
        }
    }
    // By take: where it was moved to, in nanoseconds, and by how many ticks of which track that is known.
    let mut moved: BTreeMap<usize, (i128, u32)> = BTreeMap::new();
    for samples in by_track.values_mut() {
        samples.sort_by_key(|sample| sample.dts);
        let mut last: Option<(usize, usize, i64)> = None;
        for sample in samples.iter() {
            let (name, offset) = sample.origin.as_ref().expect("no sample is empty");
            let found = known.get(&(name.as_str(), *offset));
            let (take, track, index, was) =
                found.unwrap_or_else(|| panic!("{sample:?} was not recorded"));
            let timescale = truth.takes[*take].tracks[*track].timescale;
            assert_eq!(sample.payload.len(), was.size as usize);
            assert_eq!(
                (sample.composition_offset, sample.sync),
                (was.cts, was.sync)
            );
            let shift = i64::try_from(sample.dts).expect("below 2^63") - was.dts;
            match last {
                Some((last_take, last_index, last_shift)) if last_take == *take => {
                    assert!(*index > last_index, "{sample:?} comes again or too late");
                    if !close || shift > last_shift {
                        let off = shift - last_shift;
                        assert!(off.abs() <= ROUNDING, "{sample:?} lies {off} ticks off");
                    }
                }
                _ => {
                    let ns = i128::from(shift) * 1_000_000_000 / i128::from(timescale);
                    let (first, its_scale) = *moved.entry(*take).or_insert((ns, timescale));
                    let tick = 1_000_000_000 / i128::from(timescale.min(its_scale));
                    let off = (ns - first).abs();
                    assert!(
                        close || off <= tick * (2 * i128::from(ROUNDING)),
                        "{off} ns between tracks"
                    );
                }
            }
            let shift = match last {
                Some((last_take, _, first)) if last_take == *take && !close => first,
                _ => shift,
            };
            last = Some((*take, *index, shift));
        }
    }
}
