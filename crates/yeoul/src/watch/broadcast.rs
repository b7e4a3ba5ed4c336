use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use yeoul_pack::{Begun, LanePacker, MAX_OVERLAP, PackError, Take, TakeId, TakeRecording, anchor};
use yeoul_spans::SpansBuilder;
use yeoul_spans::sink::SinkError;

use super::Options;
use super::files::{Files, remove_partial};
use super::journal::{Entry, FILE_NAME, Journal, Packed};
use super::queue::Hint;
use super::recordings::{Pending, Recordings};
use crate::repack::Interrupt;

/// Lanes that takes which ran side by side may open.
const MAX_LANES: usize = 64;

/// A folder of recordings and what is made of it.
pub(super) struct Broadcast {
    folder: PathBuf,
    output: PathBuf,
    options: Options,
    recordings: Recordings,
    lanes: Vec<Lane>,
    /// Takes that have ended: what comes of them later has no place any more.
    ended: BTreeSet<TakeId>,
    waits_for_header: bool,
}

/// Takes that follow one another.
struct Lane {
    folder: PathBuf,
    packer: LanePacker,
    journal: Journal,
    /// Number of the last recording of the take in hand.
    last_number: Option<u64>,
    /// Something failed: what is in memory may be ahead of the journal, and the journal is right.
    broken: bool,
}

impl Broadcast {
    /// Opens the output of a folder, as an earlier run left it.
    pub(super) fn open(folder: &Path, output: &Path, options: &Options) -> anyhow::Result<Self> {
        let recordings = Recordings::new(
            folder,
            options.pack.limits,
            options.max_input,
            !options.finish,
        );
        let mut broadcast = Self {
            folder: folder.to_owned(),
            output: output.to_owned(),
            options: options.clone(),
            recordings,
            lanes: Vec::new(),
            ended: BTreeSet::new(),
            waits_for_header: false,
        };
        for number in 1..=MAX_LANES {
            let folder = broadcast.lane_folder(number);
            if number > 1 && !folder.join(FILE_NAME).exists() {
                break;
            }
            let lane = broadcast.open_lane(&folder)?;
            broadcast.lanes.push(lane);
        }
        Ok(broadcast)
    }

    fn lane_folder(&self, number: usize) -> PathBuf {
        if number == 1 {
            self.output.clone()
        } else {
            self.output.join(format!("lane-{number}"))
        }
    }

    fn open_lane(&mut self, folder: &Path) -> anyhow::Result<Lane> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let is_new = !folder.join(FILE_NAME).exists();
        if is_new {
            let mut entries = std::fs::read_dir(folder)?.flatten();
            let foreign = entries.find(|entry| {
                let name = entry.file_name();
                !name.as_encoded_bytes().starts_with(b".") && !entry.path().is_dir()
            });
            ensure!(
                foreign.is_none(),
                "{}: is not empty and no watch wrote it; give another folder",
                folder.display()
            );
        }
        remove_partial(folder);
        let said = describe(&self.options);
        let (journal, entries) = Journal::open(folder, &said, self.options.fsync)?;
        let (mut lines, mut packed) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Lane(line) => lines.push(line),
                Entry::Packed(recording) => packed.push(recording),
                Entry::Options(_) => {}
            }
        }
        for recording in &packed {
            self.recordings.mark_packed(&recording.file);
            if let Some(take) = TakeId::from_hex(&recording.take) {
                self.recordings.mark_number(take, recording.number);
            }
        }
        let packer = LanePacker::resume(self.options.pack.clone(), lines);
        let takes = packed
            .iter()
            .filter_map(|recording| TakeId::from_hex(&recording.take));
        self.ended
            .extend(takes.filter(|take| Some(*take) != packer.interrupted()));
        let mut lane = Lane {
            folder: folder.to_owned(),
            packer,
            journal,
            last_number: None,
            broken: false,
        };
        self.take_up(&mut lane, &packed)?;
        lane.publish(self.options.fsync)?;
        Ok(lane)
    }

    /// Scans again what an interrupted take needs of its recordings.
    fn take_up(&self, lane: &mut Lane, packed: &[Packed]) -> anyhow::Result<()> {
        let Some(id) = lane.packer.interrupted() else {
            return Ok(());
        };
        let hex = id.to_string();
        let mut recordings: Vec<TakeRecording> = Vec::new();
        for recording in packed.iter().filter(|packed| packed.take == hex) {
            lane.last_number = lane.last_number.max(Some(recording.number));
            if let Ok((take, found)) = self.recordings.read(&recording.file)
                && take == id
                && found.number == recording.number
            {
                recordings.push(found);
            }
        }
        recordings.sort_by_key(|found| found.number);
        let from = lane.packer.resumes_at(&recordings);
        let recordings = recordings.split_off(from);
        let take = Take {
            id,
            anchor_ns: anchor(&recordings),
            recordings,
        };
        if !lane.packer.take_up(&take) {
            return Ok(());
        }
        for found in &take.recordings {
            lane.give(found, self.options.fsync)?;
        }
        let entries = lane.packer.take_journal().into_iter().map(Entry::Lane);
        lane.journal.add(entries)
    }

    /// Packs what is finished.
    pub(super) fn look(
        &mut self,
        hint: &Hint,
        waiting: &dyn Fn() -> usize,
        interrupt: &Interrupt,
    ) -> anyhow::Result<()> {
        let mut everything = *hint == Hint::Everything;
        self.look_at_files(hint)?;
        for index in 0..self.lanes.len() {
            if self.lanes[index].broken {
                self.reopen(index)?;
            }
        }
        let mut touched = vec![false; self.lanes.len()];
        let mut waits_for_header = false;
        while interrupt.check().is_ok() {
            let Some(next) = self.next(everything) else {
                break;
            };
            match next {
                Next::Header => {
                    waits_for_header = true;
                    break;
                }
                Next::Everything => {
                    // A number is missing: it may be there and not have been told of.
                    everything = true;
                    self.look_at_files(&Hint::Everything)?;
                }
                Next::Recording(pending) => {
                    let began = Instant::now();
                    let lane = self.pack(&pending)?;
                    touched.resize(self.lanes.len(), false);
                    if let Some(lane) = lane {
                        touched[lane] = true;
                        self.tell_packed(&pending, lane, began, waiting());
                    }
                }
                Next::Late(pending, why) => {
                    let number = pending.found.number;
                    self.tell(&pending.name, &format!("left out: number {number}: {why}"));
                    self.recordings.mark_packed(&pending.name);
                }
            }
        }
        self.wait_for_header(waits_for_header);
        for (lane, _) in self
            .lanes
            .iter_mut()
            .zip(touched)
            .filter(|(_, touched)| *touched)
        {
            lane.broken = true;
            lane.publish(self.options.fsync)?;
            lane.broken = false;
        }
        Ok(())
    }

    /// Ends the takes and the playlists.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        // A lane that failed goes on where its journal stands: its take has not ended.
        for lane in self.lanes.iter_mut().filter(|lane| !lane.broken) {
            let mut files = Files {
                folder: &lane.folder,
                fsync: self.options.fsync,
            };
            self.ended.extend(lane.packer.in_hand());
            lane.packer.end_take(&mut files)?;
            let entries = lane.packer.take_journal().into_iter().map(Entry::Lane);
            lane.journal.add(entries)?;
            lane.write(lane.packer.finished_playlists()?, self.options.fsync)?;
        }
        Ok(())
    }

    fn look_at_files(&mut self, hint: &Hint) -> anyhow::Result<()> {
        let (folder, quiet) = (self.folder.clone(), self.options.quiet);
        self.recordings.look(hint, &mut |name, message| {
            if !quiet {
                crate::say(&format!(
                    "warning: {}: {message}",
                    folder.join(name).display()
                ));
            }
        })
    }

    /// What is to be done next; `None`: nothing that is finished is left.
    fn next(&self, everything: bool) -> Option<Next> {
        let pending = self.recordings.pending();
        let is_packed = |pending: &&Pending| {
            self.recordings
                .has_number(pending.take, pending.found.number)
        };
        if let Some(again) = pending.iter().find(is_packed) {
            let why = "this number of its take is packed already";
            return Some(Next::Late(again.clone(), why));
        }
        if let Some(late) = pending
            .iter()
            .find(|pending| self.ended.contains(&pending.take))
        {
            return Some(Next::Late(late.clone(), "its take has ended already"));
        }
        for lane in &self.lanes {
            let Some(id) = lane.packer.in_hand() else {
                continue;
            };
            let Some(first) = pending.iter().find(|pending| pending.take == id) else {
                continue;
            };
            let expected = lane.last_number.map_or(0, |last| last + 1);
            if first.found.number < expected {
                return Some(Next::Late(
                    first.clone(),
                    "its successors are packed already",
                ));
            }
            if first.found.number > expected && lane.last_number.is_some() && !everything {
                return Some(Next::Everything);
            }
            if self.is_finished(first, &pending) {
                return Some(Next::Recording(first.clone()));
            }
        }
        let in_hand = |id: TakeId| {
            self.lanes
                .iter()
                .any(|lane| lane.packer.in_hand() == Some(id))
        };
        let mut new: Vec<&Pending> = pending
            .iter()
            .filter(|pending| !in_hand(pending.take))
            .collect();
        new.sort_by_key(|pending| {
            (
                pending.found.ntp_ns.is_none(),
                pending.found.ntp_ns,
                pending.found.number,
            )
        });
        // The take in hand must have given all that it had before another one ends it.
        let first = *new.first()?;
        let blocked = pending
            .iter()
            .any(|other| in_hand(other.take) && starts_before(other, first));
        let first = pending.iter().find(|pending| pending.take == first.take)?;
        if blocked || !self.is_finished(first, &pending) {
            return None;
        }
        if self.knows_anchor(first, &pending) {
            Some(Next::Recording(first.clone()))
        } else {
            Some(Next::Header)
        }
    }

    /// Rule 2: a take's wall clock is that of its second recording, for good. Its header comes with the recorder's next part.
    fn knows_anchor(&self, first: &Pending, pending: &[Pending]) -> bool {
        first.found.number > 0
            || first.found.ntp_ns.is_none()
            || self.options.finish
            || pending
                .iter()
                .any(|other| other.take == first.take && other.found.number > 0)
            || pending
                .iter()
                .any(|other| other.take != first.take && starts_before(first, other))
            || first.is_idle(self.options.idle)
    }

    /// Rule 15: closed by its recorder, or a later recording is there, or nothing was written for long.
    fn is_finished(&self, recording: &Pending, pending: &[Pending]) -> bool {
        let later = |other: &Pending| {
            if other.take == recording.take {
                other.found.number > recording.found.number
            } else {
                starts_before(recording, other)
            }
        };
        recording.found.recording.closed
            || recording.found.recording.mtxi.is_none() && recording.is_idle(self.options.idle)
            || self.options.finish
            || pending.iter().any(later)
            || recording.is_idle(self.options.idle)
    }

    /// Packs a recording into its lane; `None` if it was left out.
    fn pack(&mut self, pending: &Pending) -> anyhow::Result<Option<usize>> {
        let in_hand = self
            .lanes
            .iter()
            .position(|lane| lane.packer.in_hand() == Some(pending.take));
        let lane = match in_hand {
            Some(lane) => Some(lane),
            None => self.begin(pending)?,
        };
        let Some(index) = lane else {
            self.tell(
                &pending.name,
                "left out: no track with samples fits the selection",
            );
            self.recordings.mark_packed(&pending.name);
            return Ok(None);
        };
        let lane = &mut self.lanes[index];
        let mut found = pending.found.clone();
        found.after_missing = lane.last_number.is_some_and(|last| found.number > last + 1);
        lane.broken = true;
        match lane.give(&found, self.options.fsync) {
            Ok(()) => {}
            Err(PackError::Source(error)) => {
                // It changed under our hands. What the lane knew before it is in the journal.
                self.tell(&pending.name, &format!("left out: {error}"));
                self.recordings.refuse(&pending.name);
                self.reopen(index)?;
                return Ok(None);
            }
            Err(error) => {
                self.reopen(index)?;
                return Err(error.into());
            }
        }
        lane.last_number = Some(found.number);
        let packed = Packed {
            file: pending.name.clone(),
            take: pending.take.to_string(),
            number: found.number,
        };
        let lines = lane.packer.take_journal().into_iter().map(Entry::Lane);
        lane.journal.add(lines.chain([Entry::Packed(packed)]))?;
        lane.broken = false;
        self.recordings.mark_number(pending.take, found.number);
        self.recordings.mark_packed(&pending.name);
        Ok(Some(index))
    }

    /// A lane as its journal has it.
    fn reopen(&mut self, index: usize) -> anyhow::Result<()> {
        self.lanes[index].journal.require_in_place()?;
        let folder = self.lanes[index].folder.clone();
        self.lanes[index] = self.open_lane(&folder)?;
        Ok(())
    }

    /// Begins a take in the first lane where it does not run beside another.
    fn begin(&mut self, pending: &Pending) -> anyhow::Result<Option<usize>> {
        let recordings: Vec<TakeRecording> = self
            .recordings
            .pending()
            .into_iter()
            .filter(|other| other.take == pending.take)
            .map(|other| other.found)
            .collect();
        let take = Take {
            id: pending.take,
            anchor_ns: anchor(&recordings),
            recordings,
        };
        for index in 0..MAX_LANES {
            if index == self.lanes.len() {
                let folder = self.lane_folder(index + 1);
                let lane = self.open_lane(&folder)?;
                self.lanes.push(lane);
            }
            let lane = &mut self.lanes[index];
            if lane.runs_beside(&take) {
                continue;
            }
            let mut files = Files {
                folder: &lane.folder,
                fsync: self.options.fsync,
            };
            self.ended.extend(lane.packer.in_hand());
            lane.broken = true;
            let begun = match lane.packer.begin_take(&take, &mut files) {
                Ok(begun) => begun,
                Err(error) => {
                    self.reopen(index)?;
                    return Err(error.into());
                }
            };
            let lines = lane.packer.take_journal().into_iter().map(Entry::Lane);
            lane.journal.add(lines)?;
            lane.broken = false;
            lane.last_number = None;
            match begun {
                Begun::Packing => return Ok(Some(index)),
                Begun::Beside => {}
                Begun::Nothing => return Ok(None),
            }
        }
        bail!(
            "{}: more than {MAX_LANES} takes ran side by side",
            self.folder.display()
        )
    }

    /// While somebody waits for a header, events of writing count too.
    fn wait_for_header(&mut self, waits: bool) {
        if waits != std::mem::replace(&mut self.waits_for_header, waits) {
            let headers = &self.options.headers_awaited;
            if waits {
                headers.fetch_add(1, Ordering::Relaxed);
            } else {
                headers.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn tell(&self, name: &str, message: &str) {
        if !self.options.quiet {
            crate::say(&format!(
                "warning: {}: {message}",
                self.folder.join(name).display()
            ));
        }
    }

    fn tell_packed(&mut self, pending: &Pending, lane: usize, began: Instant, waiting: usize) {
        let lane = &mut self.lanes[lane];
        let warnings = lane.packer.take_warnings();
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let path = self.folder.join(&pending.name);
        if self.options.json {
            let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
            crate::tell(&format!(
                "{}",
                serde_json::json!({
                    "packed": path.display().to_string(),
                    "take": pending.take.to_string(),
                    "number": pending.found.number,
                    "output": lane.folder.display().to_string(),
                    "segments": lane.packer.segment_count(),
                    "ms": ms,
                    "waiting": waiting,
                    "warnings": warnings,
                })
            ));
        } else if !self.options.quiet {
            warnings
                .iter()
                .for_each(|warning| crate::say(&format!("warning: {warning}")));
            crate::tell(&format!(
                "{}: packed in {ms:.1} ms; segments in {}: {}; folders waiting: {waiting}",
                path.display(),
                lane.folder.display(),
                lane.packer.segment_count()
            ));
        }
    }
}

/// What to do with a pending recording.
enum Next {
    Recording(Pending),
    Late(Pending, &'static str),
    Everything,
    /// Nothing, until the header of a take's second recording is there.
    Header,
}

fn starts_before(one: &Pending, other: &Pending) -> bool {
    match (one.found.ntp_ns, other.found.ntp_ns) {
        (Some(one), Some(other)) => one < other,
        _ => false,
    }
}

impl Lane {
    fn give(&mut self, found: &TakeRecording, fsync: bool) -> Result<(), PackError<SinkError>> {
        let mut files = Files {
            folder: &self.folder,
            fsync,
        };
        self.packer.recording(found, &mut files)
    }

    /// Whether a take begins well before what is in hand here ends.
    fn runs_beside(&self, take: &Take) -> bool {
        let (Some(end), Some(start)) = (self.packer.wall_end_ns(), take.wall_start_ns()) else {
            return false;
        };
        let overlap = i128::from(end) - start;
        overlap > i128::from(MAX_OVERLAP.nearest(1_000_000_000))
    }

    /// Writes the playlists as they stand.
    fn publish(&self, fsync: bool) -> anyhow::Result<()> {
        if self.packer.segment_count() == 0 {
            return Ok(());
        }
        self.write(self.packer.growing_playlists()?, fsync)
    }

    fn write(&self, playlists: Vec<(String, bytes::Bytes)>, fsync: bool) -> anyhow::Result<()> {
        let files = Files {
            folder: &self.folder,
            fsync,
        };
        for (name, text) in playlists {
            let mut body = SpansBuilder::new();
            body.inline(text);
            files.replace(&name, &body.build()?)?;
        }
        Ok(())
    }
}

/// The options that decide what an output holds, as on the command line: the journal's first line.
fn describe(options: &Options) -> String {
    let pack = &options.pack;
    let target = pack.cut.target;
    format!(
        "format {}, --layout {} --gaps {} --segment {}/{} s --video {} --audio {}",
        yeoul_pack::FORMAT_VERSION,
        pack.layout.name(),
        pack.gaps.name(),
        target.ticks,
        target.timescale,
        pack.rendition.video,
        pack.rendition.audio
    )
}
