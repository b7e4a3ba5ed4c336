//! In which order chunks lie in the file.

use super::{ChunkRef, ProgressiveTrack};
use crate::write::WriteError;

/// Chunks by the movie time of their first decode, then by track.
pub(super) fn by_time(tracks: &[ProgressiveTrack], movie_timescale: u32) -> Vec<ChunkRef> {
    let mut cursors: Vec<_> = tracks
        .iter()
        .map(|track| chunk_times(track, movie_timescale).enumerate().peekable())
        .collect();
    let mut order = Vec::with_capacity(tracks.iter().map(|t| t.chunks.len()).sum());
    loop {
        let heads = cursors.iter_mut().enumerate();
        let next = heads
            .filter_map(|(track, c)| c.peek().map(|&(_, time)| (time, track)))
            .min();
        let Some((_, track)) = next else {
            return order;
        };
        if let Some((chunk, _)) = cursors[track].next() {
            order.push(ChunkRef { track, chunk });
        }
    }
}

/// Movie time of each chunk's first decode, rounded down to a tick: the media's, moved by the track's first edits.
fn chunk_times(track: &ProgressiveTrack, movie_timescale: u32) -> impl Iterator<Item = i128> {
    let scale = i128::from(movie_timescale);
    let timescale = i128::from(track.init.timescale);
    let empty = track.edits.iter().take_while(|e| e.media_time.is_none());
    let delay: i128 = empty.map(|e| i128::from(e.segment_duration)).sum();
    let hidden = track.edits.iter().find_map(|e| e.media_time).unwrap_or(0);
    let mut decode_time = -i128::from(hidden);
    track.chunk_samples().map(move |samples| {
        let time = (decode_time * scale).div_euclid(timescale) + delay;
        decode_time += samples.iter().map(|s| i128::from(s.duration)).sum::<i128>();
        time
    })
}

/// The listed order, if it has each chunk once.
pub(super) fn check(
    tracks: &[ProgressiveTrack],
    listed: &[ChunkRef],
) -> Result<Vec<ChunkRef>, WriteError> {
    let mut seen: Vec<_> = tracks.iter().map(|t| vec![false; t.chunks.len()]).collect();
    for at in listed {
        let slot = seen.get_mut(at.track).and_then(|t| t.get_mut(at.chunk));
        if slot.is_none_or(|s| std::mem::replace(s, true)) {
            let problem = format!(
                "chunk {} of track {} is listed twice, or is not there",
                at.chunk, at.track
            );
            return Err(WriteError::invalid(b"mdat", problem));
        }
    }
    for (track, seen) in seen.iter().enumerate() {
        if let Some(chunk) = seen.iter().position(|s| !s) {
            let problem = format!("chunk {chunk} of track {track} is not listed");
            return Err(WriteError::invalid(b"mdat", problem));
        }
    }
    Ok(listed.to_vec())
}
