//! Progressive MP4 headers, read back by the crate's own tables and by another parser.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

mod write_support;

use mp4_atom::{Moov, ReadFrom};
use proptest::prelude::*;
use write_support::{all, any_samples, audio, entry, frames, one, pictures, sample, sha256, video};
use yeoul_isobmff::tables::{Edit, Limits, SampleTable, TableSample, edits};
use yeoul_isobmff::write::{
    Brands, Chunk, ChunkRef, FourCc, Interleave, Layout, Progressive, ProgressiveTrack, Sample,
    WriteError, movie_timescale,
};

const STBL: [&[u8; 4]; 5] = [b"moov", b"trak", b"mdia", b"minf", b"stbl"];

/// `samples` in chunks of `of`.
fn chunked(samples: Vec<Sample>, of: usize) -> (Vec<Sample>, Vec<Chunk>) {
    let chunks = samples.chunks(of).map(|c| Chunk {
        samples: u32::try_from(c.len()).unwrap(),
        description: 1,
    });
    let chunks = chunks.collect();
    (samples, chunks)
}

fn video_track(samples: Vec<Sample>, of: usize) -> ProgressiveTrack {
    let (samples, chunks) = chunked(samples, of);
    ProgressiveTrack {
        init: video(),
        edits: Vec::new(),
        samples,
        chunks,
    }
}

fn audio_track(samples: Vec<Sample>, of: usize) -> ProgressiveTrack {
    ProgressiveTrack {
        init: audio(),
        ..video_track(samples, of)
    }
}

fn movie(tracks: Vec<ProgressiveTrack>) -> Progressive {
    Progressive {
        brands: Brands::PROGRESSIVE,
        tracks,
        interleave: Interleave::ByTime,
    }
}

/// All boxes before `mdat`.
fn boxes_before_mdat(layout: &Layout) -> &[u8] {
    let payload = layout.mdat_len;
    let header = if payload + 8 > u64::from(u32::MAX) {
        16
    } else {
        8
    };
    let (boxes, mdat) = layout.header.split_at(layout.header.len() - header);
    assert_eq!(mdat[4..8], *b"mdat");
    if header == 8 {
        assert_eq!(
            u64::from(u32::from_be_bytes(mdat[..4].try_into().unwrap())),
            payload + 8
        );
    } else {
        assert_eq!(mdat[..4], [0, 0, 0, 1]);
        assert_eq!(
            u64::from_be_bytes(mdat[8..].try_into().unwrap()),
            payload + 16
        );
    }
    boxes
}

fn read_track(layout: &Layout, track: usize) -> Vec<TableSample> {
    let stbl = all(boxes_before_mdat(layout), &STBL)[track];
    let table = SampleTable::parse(stbl, &Limits::default()).unwrap();
    assert_eq!(table.disagreement(), None);
    let file_len = layout.header.len() as u64 + layout.mdat_len;
    let samples: Result<Vec<_>, _> = table.iter(file_len).collect();
    let samples = samples.unwrap();
    assert_eq!(samples.len() as u64, table.len());
    samples
}

/// Every sample must be read back with its times, and at the offset that the order of chunks gives it.
fn check_round_trip(movie: &Progressive) -> Layout {
    let layout = movie.layout().unwrap();
    let mut expected: Vec<Vec<TableSample>> = vec![Vec::new(); movie.tracks.len()];
    for (track, expected) in movie.tracks.iter().zip(&mut expected) {
        let mut dts = 0;
        let descriptions = track
            .chunks
            .iter()
            .flat_map(|c| (0..c.samples).map(|_| c.description));
        for (s, description_index) in track.samples.iter().zip(descriptions) {
            expected.push(TableSample {
                dts,
                duration: s.duration,
                composition_offset: i64::from(s.composition_offset),
                offset: 0,
                size: s.size,
                sync: s.is_sync(),
                description_index,
            });
            dts += u64::from(s.duration);
        }
    }
    let mut offset = layout.header.len() as u64;
    for at in &layout.order {
        let chunks = &movie.tracks[at.track].chunks;
        let first: u32 = chunks[..at.chunk].iter().map(|c| c.samples).sum();
        let count = chunks[at.chunk].samples;
        for index in first..first + count {
            let sample = &mut expected[at.track][index as usize];
            sample.offset = offset;
            offset += u64::from(sample.size);
        }
    }
    assert_eq!(offset, layout.header.len() as u64 + layout.mdat_len);
    for (track, expected) in expected.iter().enumerate() {
        assert_eq!(&read_track(&layout, track), expected, "track {track}");
    }
    layout
}

#[test]
fn golden_bytes() {
    let mut tracks = vec![video_track(pictures(), 15), audio_track(frames(), 20)];
    tracks[0].edits = vec![Edit::media(1_440_000, 6000)];
    tracks[1].edits = vec![Edit::empty(7200), Edit::media(1_425_000, 1024)];
    let layout = check_round_trip(&movie(tracks));
    assert_eq!(
        sha256(&layout.header),
        "1d33282f8cae9de98477942e140851d617bcb0c75901c25cc8670e2ed44f3506"
    );
}

fn any_track(id: u32) -> impl Strategy<Value = ProgressiveTrack> {
    let sizes = prop::collection::vec((1..6usize, 1..3u32), 1..60);
    (any_samples(60), sizes, any::<bool>()).prop_map(move |(samples, sizes, sound)| {
        let mut init = if sound { audio() } else { video() };
        init.track_id = id;
        init.entries = vec![entry(b"aaaa", 1), entry(b"bbbb", 2)];
        let mut left = samples.len();
        let mut chunks = Vec::new();
        for (samples, description) in sizes.into_iter().cycle() {
            let samples = samples.min(left);
            left -= samples;
            if samples == 0 {
                break;
            }
            chunks.push(Chunk {
                samples: u32::try_from(samples).unwrap(),
                description,
            });
        }
        ProgressiveTrack {
            init,
            edits: Vec::new(),
            samples,
            chunks,
        }
    })
}

proptest! {
    #[test]
    fn samples_survive_the_round_trip(first in any_track(1), second in any_track(2)) {
        let mut movie = movie(vec![first, second]);
        let layout = check_round_trip(&movie);
        // Any other order gives the same samples at other places.
        let mut reversed = layout.order;
        reversed.reverse();
        movie.interleave = Interleave::Listed(reversed.clone());
        prop_assert_eq!(check_round_trip(&movie).order, reversed);
    }

    #[test]
    fn another_parser_reads_the_header(track in any_track(1)) {
        let samples = track.samples.clone();
        let layout = movie(vec![track]).layout().unwrap();
        let boxes = boxes_before_mdat(&layout);
        let ftyp = one(boxes, &[b"ftyp"]).len() + 8;
        let moov = Moov::read_from(&mut &boxes[ftyp..]).unwrap();
        let mdhd = &moov.trak[0].mdia.mdhd;
        let duration: u64 = samples.iter().map(|s| u64::from(s.duration)).sum();
        prop_assert_eq!(mdhd.duration, duration);
        prop_assert_eq!(moov.mvhd.timescale, mdhd.timescale);
        prop_assert_eq!(moov.mvhd.duration, duration);
        let stbl = &moov.trak[0].mdia.minf.stbl;
        prop_assert_eq!(stbl.stsd.codecs.len(), 2);
        let durations: Vec<_> = stbl.stts.entries.iter()
            .flat_map(|e| std::iter::repeat_n(e.sample_delta, e.sample_count as usize))
            .collect();
        prop_assert_eq!(durations, samples.iter().map(|s| s.duration).collect::<Vec<_>>());
        let sync: Vec<_> = (1..).zip(&samples).filter(|(_, s)| s.is_sync()).map(|(n, _)| n).collect();
        match &stbl.stss {
            Some(stss) => prop_assert_eq!(&stss.entries, &sync),
            None => prop_assert_eq!(samples.len(), sync.len()),
        }
        let plain = samples.iter().all(|s| s.composition_offset == 0);
        prop_assert_eq!(stbl.ctts.is_none(), plain);
    }
}

#[test]
fn chunks_are_interleaved_by_time() {
    // 0.5 s of video against 20/48 kHz·1024 = 0.427 s of audio a chunk.
    let mut movie = movie(vec![video_track(pictures(), 15), audio_track(frames(), 20)]);
    let tracks = |layout: &Layout| layout.order.iter().map(|c| c.track).collect::<Vec<_>>();
    assert_eq!(
        tracks(&check_round_trip(&movie)),
        [0, 1, 1, 0, 1, 0, 1, 0, 1]
    );
    // Audio that starts 1 s later lies later.
    movie.tracks[1].edits = vec![Edit::empty(720_000), Edit::media(1_443_840, 0)];
    assert_eq!(
        tracks(&check_round_trip(&movie)),
        [0, 0, 0, 1, 1, 0, 1, 1, 1]
    );
}

#[test]
fn a_listed_order_has_each_chunk_once() {
    let mut movie = movie(vec![video_track(pictures(), 30)]);
    let mut listed = |chunks: &[(usize, usize)]| {
        let refs = chunks
            .iter()
            .map(|&(track, chunk)| ChunkRef { track, chunk });
        movie.interleave = Interleave::Listed(refs.collect());
        movie.layout().is_ok()
    };
    assert!(listed(&[(0, 1), (0, 0)]));
    assert!(!listed(&[(0, 1)]));
    assert!(!listed(&[(0, 1), (0, 0), (0, 1)]));
    assert!(!listed(&[(0, 0), (0, 2)]));
    assert!(!listed(&[(0, 0), (0, 1), (1, 0)]));
}

fn names(layout: &Layout, track: usize) -> Vec<String> {
    let stbl = all(boxes_before_mdat(layout), &STBL)[track];
    let names = write_support::boxes(stbl).into_iter().map(|(name, _)| name);
    names.map(|n| FourCc(n).to_string()).collect()
}

#[test]
fn offsets_past_4_gib_use_co64_only_where_needed() {
    let gib = 1 << 30;
    let large = vec![sample(3000, gib, true, 0); 5];
    let mut movie = movie(vec![video_track(large, 1), audio_track(frames(), 94)]);
    let layout = check_round_trip(&movie);
    assert!(names(&layout, 0).contains(&"co64".to_owned()));
    assert!(names(&layout, 1).contains(&"stco".to_owned()));
    movie.tracks[0].samples.truncate(3);
    movie.tracks[0].chunks.truncate(3);
    let layout = check_round_trip(&movie);
    assert!(names(&layout, 0).contains(&"stco".to_owned()));
}

/// The header's length decides whether the last chunk lies past 32 bits, and `co64` makes the header longer: on each side
/// of the edge the offsets must be right, and narrow as long as they fit.
#[test]
fn the_edge_of_32_bits_is_found_exactly() {
    let of = |first: u32| {
        let samples = vec![sample(1, first, true, 0), sample(1, 10, true, 0)];
        movie(vec![video_track(samples, 1)])
    };
    let header = of(1000).layout().unwrap().header.len();
    let most = u32::MAX - u32::try_from(header).unwrap();
    let layout = check_round_trip(&of(most));
    assert!(names(&layout, 0).contains(&"stco".to_owned()));
    assert_eq!(read_track(&layout, 0)[1].offset, u64::from(u32::MAX));
    let layout = check_round_trip(&of(most + 1));
    assert!(names(&layout, 0).contains(&"co64".to_owned()));
    assert_eq!(read_track(&layout, 0)[1].offset, (1 << 32) + 8);
}

/// One track's `co64` pushes the other's last offset past 32 bits.
#[test]
fn a_wide_table_may_widen_another() {
    let of = |first: u32| {
        let a = vec![sample(1, 1, true, 0), sample(1, 1, true, 0)];
        let b = vec![sample(1, first, true, 0), sample(1, 1, true, 0)];
        let mut movie = movie(vec![video_track(a, 1), audio_track(b, 1)]);
        // Video's first, audio's first (large), audio's last, video's last.
        let order = [(0, 0), (1, 0), (1, 1), (0, 1)];
        let refs = order.map(|(track, chunk)| ChunkRef { track, chunk });
        movie.interleave = Interleave::Listed(refs.to_vec());
        movie
    };
    let header = of(1000).layout().unwrap().header.len();
    // Audio's last chunk at 2³² − 1 with narrow tables; video's one further.
    let first = u32::MAX - u32::try_from(header).unwrap() - 1;
    let layout = check_round_trip(&of(first));
    for track in [0, 1] {
        assert!(names(&layout, track).contains(&"co64".to_owned()));
    }
    let layout = check_round_trip(&of(first - 1));
    for track in [0, 1] {
        assert!(names(&layout, track).contains(&"stco".to_owned()));
    }
}

#[test]
fn long_durations_make_version_1_headers() {
    let version = |layout: &Layout, path: &[&[u8; 4]]| one(boxes_before_mdat(layout), path)[0];
    let paths: [&[&[u8; 4]]; 3] = [
        &[b"moov", b"mvhd"],
        &[b"moov", b"trak", b"tkhd"],
        &[b"moov", b"trak", b"mdia", b"mdhd"],
    ];
    let long = movie(vec![video_track(vec![sample(u32::MAX, 1, true, 0); 2], 1)]);
    let layout = check_round_trip(&long);
    let ftyp = one(boxes_before_mdat(&layout), &[b"ftyp"]).len() + 8;
    let moov = Moov::read_from(&mut &layout.header[ftyp..]).unwrap();
    let duration = 2 * u64::from(u32::MAX);
    assert_eq!(moov.mvhd.duration, duration);
    assert_eq!(moov.trak[0].tkhd.duration, duration);
    assert_eq!(moov.trak[0].mdia.mdhd.duration, duration);
    assert_eq!(moov.trak[0].tkhd.track_id, 1);
    for path in paths {
        assert_eq!(version(&layout, path), 1);
    }
    // All ones means "unknown" in version 0.
    let edge = movie(vec![video_track(vec![sample(u32::MAX, 1, true, 0)], 1)]);
    assert_eq!(version(&check_round_trip(&edge), paths[0]), 1);
    let below = movie(vec![video_track(vec![sample(u32::MAX - 1, 1, true, 0)], 1)]);
    assert_eq!(version(&check_round_trip(&below), paths[0]), 0);
}

#[test]
fn edits_are_read_back_in_both_versions() {
    let lists: [(&[Edit], u8); 4] = [
        (&[Edit::empty(7200), Edit::media(1_440_000, 1024)], 0),
        (
            &[
                Edit::empty(u32::MAX as u64),
                Edit::media(1, i32::MAX as i64),
            ],
            0,
        ),
        (&[Edit::empty(1 << 32), Edit::media(1, 0)], 1),
        (&[Edit::media(1, 1 << 31)], 1),
    ];
    for (list, version) in lists {
        let mut track = video_track(pictures(), 60);
        track.edits = list.to_vec();
        let layout = check_round_trip(&movie(vec![track]));
        let elst = one(
            boxes_before_mdat(&layout),
            &[b"moov", b"trak", b"edts", b"elst"],
        );
        assert_eq!(elst[0], version);
        assert_eq!(edits(elst, &Limits::default()).unwrap(), list);
        let ftyp = one(boxes_before_mdat(&layout), &[b"ftyp"]).len() + 8;
        let moov = Moov::read_from(&mut &layout.header[ftyp..]).unwrap();
        let presented: u64 = list.iter().map(|e| e.segment_duration).sum();
        assert_eq!(moov.trak[0].tkhd.duration, presented);
        assert_eq!(moov.mvhd.duration, presented);
    }
    let layout = movie(vec![video_track(pictures(), 60)]).layout().unwrap();
    assert!(all(boxes_before_mdat(&layout), &[b"moov", b"trak", b"edts"]).is_empty());
}

#[test]
fn movie_ticks_are_exact_for_every_track() {
    assert_eq!(movie_timescale([90_000, 48_000]), 720_000);
    assert_eq!(movie_timescale([90_000, 44_100]), 4_410_000);
    assert_eq!(movie_timescale([90_000]), 90_000);
    // 4294967291 is prime: no 32-bit multiple with another.
    assert_eq!(movie_timescale([90_000, 4_294_967_291]), 4_294_967_291);
    let movie = movie(vec![video_track(pictures(), 60), audio_track(frames(), 94)]);
    assert_eq!(movie.movie_timescale(), 720_000);
    let layout = movie.layout().unwrap();
    let ftyp = one(boxes_before_mdat(&layout), &[b"ftyp"]).len() + 8;
    let moov = Moov::read_from(&mut &layout.header[ftyp..]).unwrap();
    let durations: Vec<_> = moov.trak.iter().map(|t| t.tkhd.duration).collect();
    assert_eq!(durations, [60 * 3000 * 8, 94 * 1024 * 15]);
    assert_eq!(moov.mvhd.duration, 94 * 1024 * 15);
}

#[test]
fn a_movie_without_samples_is_a_movie() {
    check_round_trip(&movie(vec![video_track(Vec::new(), 1)]));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let refused = |change: fn(&mut Progressive)| {
        let mut movie = movie(vec![video_track(pictures(), 30)]);
        change(&mut movie);
        match movie.layout() {
            Err(WriteError::Invalid { name, .. } | WriteError::Overflow { name, .. }) => name.0,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(&refused(|m| m.tracks.clear()), b"moov");
    assert_eq!(&refused(|m| m.tracks[0].init.timescale = 0), b"mdhd");
    assert_eq!(&refused(|m| m.tracks[0].chunks.truncate(1)), b"stsc");
    assert_eq!(&refused(|m| m.tracks[0].chunks[1].description = 2), b"stsc");
    assert_eq!(&refused(|m| m.tracks[0].chunks[1].description = 0), b"stsc");
    assert_eq!(
        &refused(|m| m.tracks[0].edits = vec![Edit::media(1, -2)]),
        b"elst"
    );
    let endless = |m: &mut Progressive| {
        m.tracks[0].edits = vec![Edit::empty(u64::MAX), Edit::media(1, 0)];
    };
    assert_eq!(&refused(endless), b"elst");
}
