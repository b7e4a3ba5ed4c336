//! Which tracks are kept (rule 3): by default the first video and the first audio track that have samples.

use std::collections::BTreeMap;
use std::str::FromStr;

use yeoul_isobmff::Limits;
use yeoul_isobmff::movie::{Handler, Track};
use yeoul_spans::{Source, SourceError};

use crate::recording::Recording;
use crate::scan::Parts;
use crate::time::Time;
use crate::warning::Warning;

/// A choice among the tracks of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Selector {
    /// The first with samples in the take's first recording, by `trak` order.
    #[default]
    First,
    /// The n-th, from 1, by `trak` order.
    Number(u32),
    /// The first of a language (three letters, ISO 639-2/T), with samples if possible.
    Language(String),
    /// All with samples.
    All,
    /// None.
    None,
}

/// A selector that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a track selection: use first, a number from 1, lang:kor, all or none")]
pub struct SelectorError(String);

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || SelectorError(text.to_owned());
        Ok(match text {
            "first" => Self::First,
            "all" => Self::All,
            "none" => Self::None,
            _ => match text.strip_prefix("lang:") {
                Some(code) if code.len() == 3 && code.bytes().all(|b| b.is_ascii_lowercase()) => {
                    Self::Language(code.to_owned())
                }
                Some(_) => return Err(wrong()),
                None => Self::Number(text.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?),
            },
        })
    }
}

/// A kept track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its place in the rendition: 0 the video, 1 the first audio, 2 the second, …
    pub slot: usize,
    /// Its id in the take's recordings.
    pub track_id: u32,
}

/// What was chosen of a take.
#[derive(Debug)]
pub(crate) struct Choice {
    /// The kept tracks.
    pub(crate) kept: Vec<Kept>,
    /// Video tracks that fit; more than one only if all were asked for.
    pub(crate) videos: usize,
    /// Where the first sample of any lies on the recording's clock, nanoseconds.
    pub(crate) start_ns: Option<i64>,
}

/// What to keep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendition {
    /// Which video track; a rendition has at most one.
    pub video: Selector,
    /// Which audio tracks.
    pub audio: Selector,
}

impl Rendition {
    /// Chooses by a take's first recording. Empty when nothing fits; then what there is to say about the recording's
    /// samples goes to `warnings`.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) fn choose(
        &self,
        source: &dyn Source,
        recording: &Recording,
        limits: &Limits,
        warnings: &mut Vec<Warning>,
    ) -> Result<Choice, SourceError> {
        let (with_samples, said) = tracks_with_samples(source, recording, limits)?;
        let of_kind = |handler| {
            let tracks = recording
                .tracks
                .iter()
                .filter(move |track| track.handler == handler);
            tracks
                .map(|track| (track, with_samples.contains_key(&track.id)))
                .collect::<Vec<_>>()
        };
        let video = self.video.pick(&of_kind(Handler::Video));
        let audio = self.audio.pick(&of_kind(Handler::Audio));
        let videos = video.len();
        let video = video
            .into_iter()
            .take(1)
            .map(|track_id| Kept { slot: 0, track_id });
        let audio = audio.into_iter().enumerate().map(|(n, track_id)| Kept {
            slot: n + 1,
            track_id,
        });
        let kept: Vec<Kept> = video.chain(audio).collect();
        if kept.is_empty() {
            warnings.extend(said);
        }
        let starts = kept
            .iter()
            .filter_map(|kept| with_samples.get(&kept.track_id));
        let start_ns = starts.min().copied();
        Ok(Choice {
            kept,
            videos,
            start_ns,
        })
    }
}

impl Selector {
    /// Track ids among `tracks`, each with whether it has samples.
    fn pick(&self, tracks: &[(&Track, bool)]) -> Vec<u32> {
        let first = |mut fits: Box<dyn FnMut(&Track) -> bool + '_>| {
            let fitting: Vec<_> = tracks.iter().filter(|(track, _)| fits(track)).collect();
            let best = fitting.iter().find(|(_, has)| *has).or(fitting.first());
            best.map(|(track, _)| track.id).into_iter().collect()
        };
        match self {
            Self::First => {
                let first = tracks.iter().find(|(_, has_samples)| *has_samples);
                first.map(|(track, _)| track.id).into_iter().collect()
            }
            Self::Number(n) => {
                let index = usize::try_from(*n).unwrap_or(usize::MAX) - 1;
                tracks
                    .get(index)
                    .map(|(track, _)| track.id)
                    .into_iter()
                    .collect()
            }
            Self::Language(code) => first(Box::new(|track| track.language_code() == *code)),
            Self::All => tracks
                .iter()
                .filter(|(_, has)| *has)
                .map(|(track, _)| track.id)
                .collect(),
            Self::None => Vec::new(),
        }
    }
}

/// The tracks that have samples in a recording, each with where its first one lies on the recording's clock, nanoseconds
/// rounded down. Stops as soon as every track has been seen.
fn tracks_with_samples(
    source: &dyn Source,
    recording: &Recording,
    limits: &Limits,
) -> Result<(BTreeMap<u32, i64>, Vec<Warning>), SourceError> {
    let ids: Vec<u32> = recording.tracks.iter().map(|track| track.id).collect();
    let mut seen = BTreeMap::new();
    let mut parts = Parts::new(source, recording, &ids, limits)?;
    let mut more = true;
    while more && seen.len() < ids.len() {
        more = parts.next(&mut |run| {
            let timescale = recording.tracks[run.slot].timescale;
            let first = Time::new(run.decode_time.unwrap_or(0), timescale);
            seen.entry(ids[run.slot])
                .or_insert_with(|| first.floor(1_000_000_000));
        })?;
    }
    Ok((seen, parts.take_warnings()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_and_refused() {
        assert_eq!("first".parse(), Ok(Selector::First));
        assert_eq!("2".parse(), Ok(Selector::Number(2)));
        assert_eq!("lang:kor".parse(), Ok(Selector::Language("kor".to_owned())));
        for wrong in ["0", "-1", "lang:ko", "lang:KOR", "second", ""] {
            assert!(wrong.parse::<Selector>().is_err(), "{wrong}");
        }
    }
}
