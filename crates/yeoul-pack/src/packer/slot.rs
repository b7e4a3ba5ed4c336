use std::collections::VecDeque;

use yeoul_isobmff::codec::{NalCodec, ParameterSets};
use yeoul_isobmff::moof::FragmentSample;
use yeoul_isobmff::movie::{Handler, Track};

use super::Start;
use crate::clock::{Clock, Placed};
use crate::segment::TrackInit;

/// One kept track of a take.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) clock: Clock,
    /// Every init that the track has needed so far.
    pub(super) inits: Vec<TrackInit>,
    /// The one that samples need now.
    pub(super) current: u32,
    /// What the recording in hand says, until a sync sample takes it up.
    claimed: Option<TrackInit>,
    track: Option<Track>,
    description: u32,
    /// Followers only: samples that wait for their segment.
    pub(super) queue: VecDeque<Placed>,
    /// Masters only: what the heads of sync samples said, for those that the clock has not given out yet.
    pub(super) starts: VecDeque<Start>,
    /// Samples given in the recording in hand.
    pub(super) count: u64,
    pub(super) has_samples: bool,
    pub(super) finished: bool,
    pub(super) late: bool,
}

impl Slot {
    pub(super) fn new(init: TrackInit) -> Self {
        Self {
            clock: Clock::new(init.timescale),
            inits: vec![init],
            current: 0,
            claimed: None,
            track: None,
            description: 1,
            queue: VecDeque::new(),
            starts: VecDeque::new(),
            count: 0,
            has_samples: false,
            finished: false,
            late: false,
        }
    }

    /// Takes up a recording's track; true if its entry differs from what samples need now.
    pub(super) fn begin_recording(&mut self, track: Option<&Track>) -> bool {
        self.count = 0;
        self.description = 1;
        self.track = track.cloned();
        self.claimed = track.and_then(|track| TrackInit::new(track, 1));
        self.claimed
            .as_ref()
            .is_some_and(|claimed| *claimed != self.inits[self.current as usize])
    }

    /// A run says which sample entry of its track it uses.
    pub(super) fn use_description(&mut self, description: u32) {
        if description == self.description {
            return;
        }
        self.description = description;
        let track = self.track.as_ref();
        self.claimed = track
            .and_then(|track| TrackInit::new(track, description))
            .or(self.claimed.take());
    }

    /// At a sync sample: the entry that it and what follows need. With `in_band`, the sets that the sample itself brings
    /// count. True if those made the difference.
    pub(super) fn apply_entry(&mut self, in_band: Option<&ParameterSets>) -> bool {
        let claimed = self.claimed.take();
        let base = claimed
            .as_ref()
            .unwrap_or(&self.inits[self.current as usize]);
        let changed = in_band.and_then(|sets| with_sets(base, sets));
        let by_sample = changed.is_some();
        if let Some(init) = changed.or(claimed) {
            self.current = self.intern(init);
        }
        by_sample
    }

    fn intern(&mut self, init: TrackInit) -> u32 {
        let known = self.inits.iter().position(|known| *known == init);
        let index = known.unwrap_or_else(|| {
            self.inits.push(init);
            self.inits.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// The codec and length size if samples are NAL units.
    pub(super) fn nal(&self) -> Option<(NalCodec, usize)> {
        let init = self
            .claimed
            .as_ref()
            .unwrap_or(&self.inits[self.current as usize]);
        init.entry
            .parameter_sets()
            .map(|sets| (sets.codec, sets.length_size))
    }

    pub(super) fn handler(&self) -> Handler {
        self.inits[0].handler
    }

    pub(super) fn timescale(&self) -> u32 {
        self.inits[0].timescale
    }

    /// Every audio frame is a place to begin, whatever its flags say.
    pub(super) fn is_sync(&self, sample: &FragmentSample) -> bool {
        self.handler() == Handler::Audio || sample.is_sync()
    }
}

/// The init with the sets of a sample, if they change it.
fn with_sets(init: &TrackInit, in_band: &ParameterSets) -> Option<TrackInit> {
    if init.entry.allows_in_band_sets() {
        return None;
    }
    let sets = init.entry.parameter_sets()?.changed_by(in_band)?;
    let (entry, (width, height)) = init.entry.with_parameter_sets(&sets).ok()?;
    let (width, height) = (u32::from(width) << 16, u32::from(height) << 16);
    Some(TrackInit {
        entry,
        width,
        height,
        ..init.clone()
    })
}
