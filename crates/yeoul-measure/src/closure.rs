//! A side that runs in this process.

use std::borrow::Cow;

use crate::scope::Scope;
use crate::side::{BoxError, RunContext, RunRecord, Side, SideError};
use crate::stage::StageClock;
use crate::usage::{AllocationCounter, Window};

type Step<'a> = Box<dyn FnMut(&RunContext<'_>) -> Result<(), BoxError> + 'a>;
type Timed<'a> = Box<dyn FnMut(&RunContext<'_>, &mut Meter) -> Result<(), BoxError> + 'a>;

/// What the timed part may tell about itself.
#[derive(Debug)]
pub struct Meter {
    clock: StageClock,
    kernel_copied: Option<u64>,
}

impl Meter {
    /// Enters the stage `name`, leaving the one before.
    pub fn stage(&mut self, name: impl Into<Cow<'static, str>>) {
        self.clock.enter(name);
    }

    /// Leaves the current stage: what follows is unattributed.
    pub fn no_stage(&mut self) {
        self.clock.leave();
    }

    /// Adds `bytes` that were copied between files by the kernel alone (`copy_file_range`, `sendfile`).
    pub fn kernel_copied(&mut self, bytes: u64) {
        *self.kernel_copied.get_or_insert(0) += bytes;
    }
}

/// A side that is a closure: what a resident process does for one call. It cannot be stopped from outside: what may
/// hang belongs into a [`crate::CommandSide`].
///
/// ```
/// use yeoul_measure::{ClosureSide, Meter, RunContext};
///
/// let mut runs = 0;
/// let side = ClosureSide::new("resident copy", "read,work,write".parse()?, |run: &RunContext<'_>, meter: &mut Meter| {
///     meter.stage("copy");
///     meter.kernel_copied(std::fs::copy(&run.inputs[0].path, run.output.join("copy"))?);
///     Ok(())
/// })
/// .before(|_| { runs += 1; Ok(()) });
/// # drop(side);
/// # Ok::<(), yeoul_measure::UnknownScope>(())
/// ```
pub struct ClosureSide<'a> {
    name: String,
    scope: Scope,
    before: Option<Step<'a>>,
    timed: Timed<'a>,
    after: Option<Step<'a>>,
    allocations: Option<&'a dyn AllocationCounter>,
}

impl<'a> ClosureSide<'a> {
    /// A side whose time is that of `timed`.
    pub fn new(
        name: impl Into<String>,
        scope: Scope,
        timed: impl FnMut(&RunContext<'_>, &mut Meter) -> Result<(), BoxError> + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            scope,
            before: None,
            timed: Box::new(timed),
            after: None,
            allocations: None,
        }
    }

    /// Runs `step` before each run, outside of its time.
    #[must_use]
    pub fn before(
        mut self,
        step: impl FnMut(&RunContext<'_>) -> Result<(), BoxError> + 'a,
    ) -> Self {
        self.before = Some(Box::new(step));
        self
    }

    /// Runs `step` after each run, outside of its time: to put into [`RunContext::check`] what the run made in memory.
    #[must_use]
    pub fn after(mut self, step: impl FnMut(&RunContext<'_>) -> Result<(), BoxError> + 'a) -> Self {
        self.after = Some(Box::new(step));
        self
    }

    /// Takes allocated bytes from `counter`.
    #[must_use]
    pub fn allocations(mut self, counter: &'a dyn AllocationCounter) -> Self {
        self.allocations = Some(counter);
        self
    }
}

impl Side for ClosureSide<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn run(&mut self, run: &RunContext<'_>) -> Result<RunRecord, SideError> {
        if let Some(before) = &mut self.before {
            before(run).map_err(SideError::Work)?;
        }
        let allocated = self.allocations.map(AllocationCounter::allocated);
        let window = Window::open()?;
        let mut meter = Meter {
            clock: StageClock::start_at(window.start()),
            kernel_copied: None,
        };
        let result = (self.timed)(run, &mut meter);
        let mut measured = window.close()?;
        let end = measured.start + measured.elapsed;
        measured.usage.kernel_copied = meter.kernel_copied;
        measured.usage.allocated = self
            .allocations
            .zip(allocated)
            .map(|(counter, before)| counter.allocated().saturating_sub(before));
        result.map_err(SideError::Work)?;
        if let Some(after) = &mut self.after {
            after(run).map_err(SideError::Work)?;
        }
        Ok(RunRecord {
            elapsed: measured.elapsed,
            began: measured.began,
            usage: measured.usage,
            stages: meter.clock.finish_at(end),
        })
    }
}
