//! One slot of the output against the recordings: sample by sample in order, by size and by the recordings' own clock.

use std::collections::VecDeque;

use super::CLOCK_LIMIT_TICKS;
use super::fragment::Sample;
use super::input::{Input, to_u64};
use super::manifest::Manifest;
use super::report::{Boundary, Report};
use super::source::{Item, Known, Line, Source, open};
use super::timeline::{SECOND, saturated, ticks_up};

/// How far ahead in the recordings a sample is looked for before the output's is called wrong.
const LOOKAHEAD: usize = 64;

/// Size mismatches told one by one for each recording.
const MAX_MISMATCHES: u32 = 4;

/// Kind of the warnings that explain a jump of the clock.
const JUMP_KINDS: &[&str] = &["jump"];

/// A sample of the output.
pub(super) struct Out<'o> {
    pub(super) sample: Sample,
    pub(super) timescale: u32,
    /// Number of the discontinuity run that it lies in.
    pub(super) run: usize,
    pub(super) place: &'o str,
    pub(super) input: &'o Input<'o>,
}

/// What the recordings say about a sample of the output.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fed {
    /// Presentation time on the take's own clock, nanoseconds.
    pub(super) own_pts: Option<i128>,
    pub(super) take: Option<usize>,
    /// A jump before this sample is explained by a warning in the manifest.
    pub(super) explained: bool,
}

#[derive(Clone, Copy)]
struct Reference {
    out: i128,
    clock: i128,
    absolute: bool,
    line: usize,
}

#[derive(Clone, Copy)]
struct Last {
    line: usize,
    run: usize,
    dts: i128,
    end: i128,
    size: u32,
}

pub(super) struct SlotCheck<'m> {
    manifest: &'m Manifest,
    slot: u32,
    label: String,
    deep: bool,
    lines: Vec<Line>,
    next_line: usize,
    source: Option<Source>,
    ahead: VecDeque<Item>,
    reference: Option<Reference>,
    last: Option<Last>,
    /// Samples missing or too many since the last boundary.
    miscounted: u64,
    past_end: u64,
    /// Size mismatches, and whether other differences were told, in the recording at hand.
    mismatches: u32,
    told: bool,
}

impl<'m> SlotCheck<'m> {
    pub(super) fn new(
        manifest: &'m Manifest,
        slot: u32,
        label: String,
        lines: Vec<Line>,
        deep: bool,
    ) -> Self {
        Self {
            manifest,
            slot,
            label,
            deep,
            lines,
            next_line: 0,
            source: None,
            ahead: VecDeque::new(),
            reference: None,
            last: None,
            miscounted: 0,
            past_end: 0,
            mismatches: 0,
            told: false,
        }
    }

    /// Compares the next sample of the output.
    pub(super) fn feed(&mut self, out: &Out<'_>, report: &mut Report) -> Fed {
        self.fill(1, report);
        if self.ahead.is_empty() {
            self.past_end += 1;
            self.miscounted += 1;
            if self.past_end == 1 {
                report.problem(
                    out.place,
                    format!(
                        "{}: has samples past the last one of the recordings",
                        self.label
                    ),
                );
            }
            return Fed::default();
        }
        if !self.align(out, report) {
            self.miscounted += 1;
            return Fed::default();
        }
        let Some(item) = self.ahead.pop_front() else {
            return Fed::default();
        };
        let explained = self.follow(out, &item, report);
        if let Some(known) = &item.known {
            self.same_content(out, &item, known, report);
        }
        self.last = Some(Last {
            line: item.line,
            run: out.run,
            dts: out.sample.dts,
            end: out.sample.end(),
            size: out.sample.size,
        });
        let own = |k: &Known| {
            (k.clock + i128::from(k.sample.cts) * SECOND).div_euclid(i128::from(k.timescale))
        };
        let own_pts = item.known.as_ref().filter(|k| k.absolute).map(own);
        Fed {
            own_pts,
            take: Some(self.lines[item.line].take),
            explained,
        }
    }

    /// Reads what is left of the recordings and says which samples the output lacks.
    pub(super) fn finish(&mut self, report: &mut Report) {
        self.fill(1, report);
        let Some(first) = self.ahead.front() else {
            return;
        };
        let from = format!("sample {} of {}", first.index, self.lines[first.line].name);
        let mut left = 0_u64;
        while !self.ahead.is_empty() {
            left = left.saturating_add(to_u64(self.ahead.len()));
            self.ahead.clear();
            if let Some(source) = self.source.as_mut().filter(|s| s.samples.is_none()) {
                left = left.saturating_add(source.drain(&self.lines[source.line].track));
            }
            self.fill(1, report);
        }
        report.problem(
            from,
            format!(
                "{}: {left} kept samples from here on are not in the output",
                self.label
            ),
        );
    }

    /// Makes the front of `ahead` the recordings' counterpart of `out`. False: the output's sample has none.
    fn align(&mut self, out: &Out<'_>, report: &mut Report) -> bool {
        let Some(known) = self.ahead.front().and_then(|i| i.known.as_ref()) else {
            return true;
        };
        let (size, index) = (known.sample.size, self.ahead[0].index);
        let drift = self.drift(out, &self.ahead[0]);
        let same = size == out.sample.size;
        if same && (drift.is_none_or(within) || self.run_changed(out)) {
            return true;
        }
        self.fill(LOOKAHEAD, report);
        if let Some(n) = (1..self.ahead.len()).find(|n| self.fits(out, &self.ahead[*n])) {
            let name = &self.lines[self.ahead[0].line].name;
            let what = format!(
                "{}: {n} samples of {name} from sample {index} on are missing before this",
                self.label
            );
            report.problem(out.place, what);
            self.miscounted += to_u64(n);
            self.ahead.drain(..n);
            return true;
        }
        let repeated = self
            .last
            .is_some_and(|l| l.size == out.sample.size && out.sample.dts <= l.dts);
        if !same && (repeated || drift.is_some_and(|d| d < 0 && !within(d))) {
            let what = format!(
                "{}: a sample of {} bytes is not in the recordings here",
                self.label, out.sample.size
            );
            report.problem(out.place, what);
            return false;
        }
        let name = &self.lines[self.ahead[0].line].name;
        if !same && self.mismatches < MAX_MISMATCHES {
            self.mismatches += 1;
            let what = format!(
                "{}: sample {index} of {name} has {size} bytes, here it has {}",
                self.label, out.sample.size
            );
            report.problem(out.place, what);
        }
        true
    }

    /// Whether a later sample of the recordings is surely this one: same size, and its time or a new run says so.
    fn fits(&self, out: &Out<'_>, item: &Item) -> bool {
        let Some(known) = &item.known else {
            return false;
        };
        let new_take = self
            .last
            .is_none_or(|l| self.lines[l.line].take != self.lines[item.line].take);
        known.sample.size == out.sample.size
            && match self.drift(out, item) {
                Some(drift) => within(drift),
                None => new_take && self.run_changed(out),
            }
    }

    fn run_changed(&self, out: &Out<'_>) -> bool {
        self.last.is_none_or(|l| l.run != out.run)
    }

    /// Output time minus own clock, both since the reference, in ticks rounded away from zero.
    fn drift(&self, out: &Out<'_>, item: &Item) -> Option<i64> {
        let (reference, known) = (self.reference?, item.known.as_ref()?);
        let comparable = reference.line == item.line
            || (reference.absolute
                && known.absolute
                && self.lines[reference.line].take == self.lines[item.line].take);
        comparable.then(|| {
            ticks_up((out.sample.dts - reference.out) * SECOND - (known.clock - reference.clock))
        })
    }

    /// Checks the step from the sample before to this one. True when a jump is explained by the manifest.
    fn follow(&mut self, out: &Out<'_>, item: &Item, report: &mut Report) -> bool {
        let drift = self.drift(out, item);
        let new_run = self.run_changed(out);
        let new_line = self.last.is_none_or(|l| l.line != item.line);
        let jumped = drift.is_some_and(|d| !within(d));
        if !new_line
            && !jumped
            && self.reference.is_some()
            && self.last.is_some_and(|l| l.end == out.sample.dts)
        {
            return false;
        }
        let explained = |line: usize| self.manifest.warned(&self.lines[line].path, JUMP_KINDS);
        let (here, mut accepted) = (&self.lines[item.line], explained(item.line));
        if let Some(last) = self.last.filter(|_| new_line) {
            let before = &self.lines[last.line];
            accepted |= explained(last.line);
            if before.take != here.take {
                if !new_run {
                    report.problem(
                        out.place,
                        format!("{}: a new take begins without a DISCONTINUITY", self.label),
                    );
                }
            } else {
                let output_ticks = out.sample.dts - last.end;
                let pause = output_ticks >= i128::from(out.timescale);
                report.boundary(Boundary {
                    take: self.manifest.takes[here.take].id.clone(),
                    from: before.name.clone(),
                    to: here.name.clone(),
                    slot: self.slot,
                    clock_ticks: drift,
                    output_ticks: saturated(output_ticks),
                    output_samples: self.miscounted,
                    hole: (jumped || output_ticks != 0)
                        && (new_run || accepted || (pause && !jumped)),
                });
                self.miscounted = 0;
            }
        }
        if let Some(ticks) = drift.filter(|d| !within(*d) && !new_run) {
            let at = format!(
                "{}: {} ticks off the own clock of {} at its sample {}",
                self.label, ticks, here.name, item.index
            );
            if accepted {
                report.note(out.place, at + ", as a warning in yeoul.json says");
            } else {
                report.problem(
                    out.place,
                    format!(
                        "{at} (limit {CLOCK_LIMIT_TICKS}), and no DISCONTINUITY or warning says so"
                    ),
                );
            }
        }
        if new_line {
            (self.mismatches, self.told) = (0, false);
        }
        if new_line || jumped || self.reference.is_none() {
            self.reference = item.known.as_ref().map(|k| Reference {
                out: out.sample.dts,
                clock: k.clock,
                absolute: k.absolute,
                line: item.line,
            });
        }
        accepted
    }

    /// Compares all but size and time: timescale, composition offset, sync flag and, when asked, the bytes.
    fn same_content(&mut self, out: &Out<'_>, item: &Item, known: &Known, report: &mut Report) {
        let name = &self.lines[item.line].name;
        let mut tell = |what: String| {
            if !self.told {
                self.told = true;
                report.problem(
                    out.place,
                    format!("{}: sample {} of {name} {what}", self.label, item.index),
                );
            }
        };
        let (a, b) = (&known.sample, &out.sample);
        if known.timescale != out.timescale {
            tell(format!(
                "has a timescale of {}, here it is {}",
                known.timescale, out.timescale
            ));
        } else if a.cts != b.cts {
            tell(format!(
                "has composition offset {}, here it is {}",
                a.cts, b.cts
            ));
        } else if a.sync != b.sync {
            tell(format!("has sync flag {}, here it is {}", a.sync, b.sync));
        } else if self.deep && a.size == b.size {
            match same_bytes(
                (&known.recording.input, a.offset),
                (out.input, b.offset),
                a.size,
            ) {
                Ok(true) => {}
                Ok(false) => tell("has other bytes here".to_owned()),
                Err(fault) => tell(format!("cannot be compared: {fault}")),
            }
        }
    }

    fn fill(&mut self, wanted: usize, report: &mut Report) {
        while self.ahead.len() < wanted {
            let Some(item) = self.pull(report) else {
                return;
            };
            self.ahead.push_back(item);
        }
    }

    /// The next kept sample of the recordings.
    fn pull(&mut self, report: &mut Report) -> Option<Item> {
        loop {
            if self.source.is_none() {
                let line = self.next_line;
                let samples = open(self.lines.get(line)?, &self.label, report);
                self.source = Some(Source {
                    line,
                    samples,
                    index: 0,
                    given: 0,
                    range: 0,
                });
                self.next_line += 1;
            }
            let source = self.source.as_mut()?;
            let line = &self.lines[source.line];
            let Some(known) = source.step(line) else {
                source.close(line, self.manifest, &self.label, report);
                self.source = None;
                continue;
            };
            let index = source.index;
            source.index += 1;
            if source.is_kept(index, &line.track.kept) {
                source.given += 1;
                return Some(Item {
                    line: source.line,
                    index,
                    known,
                });
            }
        }
    }
}

fn within(ticks: i64) -> bool {
    ticks.unsigned_abs() <= CLOCK_LIMIT_TICKS
}

fn same_bytes(
    a: (&Input<'_>, u64),
    b: (&Input<'_>, u64),
    size: u32,
) -> Result<bool, super::input::Fault> {
    const STEP: u32 = 1 << 16;
    let room = usize::try_from(size.min(STEP)).unwrap_or(0);
    let (mut left, mut right) = (vec![0; room], vec![0; room]);
    let mut done = 0;
    while done < size {
        let n = usize::try_from((size - done).min(STEP)).unwrap_or(0);
        a.0.read_at(a.1 + u64::from(done), &mut left[..n])?;
        b.0.read_at(b.1 + u64::from(done), &mut right[..n])?;
        if left[..n] != right[..n] {
            return Ok(false);
        }
        done += (size - done).min(STEP);
    }
    Ok(true)
}
