use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::error::Error;
use crate::rng::SplitMix64;
use crate::scenario::{End, Scenario};
use crate::segment::Flushed;
use crate::sink::Sink;
use crate::take::{Bench, TakeState};
use crate::track::Track;
use crate::truth::Truth;

/// Writes a scenario's recordings part by part, in simulated time.
#[derive(Debug)]
pub struct Recorder<S> {
    scenario: Scenario,
    tracks: Vec<Arc<Track>>,
    sink: S,
    rng: SplitMix64,
    /// Takes begun.
    begun: usize,
    take: Option<TakeState>,
    /// Wall clock at which the previous take ended.
    wall_end_ns: Option<i64>,
    ready: VecDeque<(Flushed, bool)>,
    truth: Truth,
    names: HashSet<String>,
}

/// A part that has just become readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Index into [`Truth::takes`].
    pub take: usize,
    /// Index into the take's files.
    pub file: usize,
    /// Byte offset of its `moof`.
    pub offset: u64,
    /// Bytes of `moof` and `mdat`.
    pub size: u64,
    /// Simulated time: where on the take's clock the part ends, nanoseconds.
    pub end_ns: i64,
    /// Whether it was the file's last and `mvhd` has its duration.
    pub closed: bool,
}

impl<S: Sink> Recorder<S> {
    /// A recorder that has written nothing yet.
    ///
    /// # Errors
    /// When the scenario has no tracks or an event names what is not there.
    pub fn new(scenario: Scenario, sink: S) -> Result<Self, Error> {
        scenario.validate()?;
        Ok(Self {
            tracks: scenario.tracks.iter().cloned().map(Arc::new).collect(),
            rng: SplitMix64::new(scenario.seed),
            scenario,
            sink,
            begun: 0,
            take: None,
            wall_end_ns: None,
            ready: VecDeque::new(),
            truth: Truth::default(),
            names: HashSet::new(),
        })
    }

    /// Lets time pass until a part is written; `None` when the last take is over.
    ///
    /// # Errors
    /// When the sink fails or a part exceeds 2 GiB.
    pub fn next_part(&mut self) -> Result<Option<Part>, Error> {
        loop {
            if let Some((part, closed)) = self.ready.pop_front() {
                let Flushed {
                    file,
                    offset,
                    size,
                    end_ns,
                } = part;
                return Ok(Some(Part {
                    take: self.begun - 1,
                    file,
                    offset,
                    size,
                    end_ns,
                    closed,
                }));
            }
            if self.take.is_none() && !self.begin_take() {
                return Ok(None);
            }
            let more = self.on_take(|take, index, bench, ready| {
                let scenario = bench.scenario;
                take.step(&scenario.takes[index], bench, ready)
            })?;
            if more != Some(true) {
                self.wall_end_ns = self.take.take().map(|take| take.wall_end_ns);
            }
        }
    }

    /// Ends the take in progress now, as its `end` would; the next part comes from the take after it.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn end_take(&mut self, end: End) -> Result<(), Error> {
        self.on_take(|take, _, bench, ready| take.finish(end, bench, ready))?;
        self.wall_end_ns = self
            .take
            .take()
            .map(|take| take.wall_end_ns)
            .or(self.wall_end_ns);
        Ok(())
    }

    /// Records all that is left.
    ///
    /// # Errors
    /// As [`Self::next_part`].
    pub fn record(mut self) -> Result<(S, Truth), Error> {
        while self.next_part()?.is_some() {}
        Ok((self.sink, self.truth))
    }

    /// What was recorded so far; what is still being collected is not in it.
    #[must_use]
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Where the recordings are.
    #[must_use]
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink and the truth so far; an open file stays as it is.
    #[must_use]
    pub fn into_parts(self) -> (S, Truth) {
        (self.sink, self.truth)
    }

    fn begin_take(&mut self) -> bool {
        let Some(plan) = self.scenario.takes.get(self.begun) else {
            return false;
        };
        let wall_start = self.wall_end_ns.map_or(self.scenario.start_ntp_ns, |end| {
            end.saturating_add(plan.gap_ns)
        });
        let (take, truth) = TakeState::new(
            &self.scenario,
            plan,
            &self.tracks,
            wall_start,
            &mut self.rng,
        );
        self.truth.takes.push(truth);
        self.take = Some(take);
        self.begun += 1;
        true
    }

    fn on_take<T>(
        &mut self,
        act: impl FnOnce(
            &mut TakeState,
            usize,
            &mut Bench<'_, S>,
            &mut VecDeque<(Flushed, bool)>,
        ) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let (Some(take), Some(truth)) = (&mut self.take, self.truth.takes.last_mut()) else {
            return Ok(None);
        };
        let mut bench = Bench {
            scenario: &self.scenario,
            tracks: &self.tracks,
            sink: &mut self.sink,
            rng: &mut self.rng,
            truth,
            names: &mut self.names,
        };
        act(take, self.begun - 1, &mut bench, &mut self.ready).map(Some)
    }
}
