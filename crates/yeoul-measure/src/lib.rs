//! Side-by-side measurement that cannot flatter.
//!
//! A figure such as "ten times faster" is only worth something when both sides did the same work, within the same
//! scope, on the same machine, and when it says how sure it is. This crate checks that instead of trusting it.
//!
//! ```text
//!  Comparison ── rounds in random order ──► Side::run ──► RunRecord ──► evidence::check ──► Row
//!   inputs (SHA-256)                        CommandSide: a process       declared scope      │  one CSV line
//!   an empty output folder a run            ClosureSide: this process    against /proc and   │  output SHA-256
//!                                                                        the output files    ▼
//!  Report ◄── medians of paired ratios, bootstrap interval ◄── Equivalence ◄──────────── rows of all sides
//!   JSON (loaded and merged by `saved`), Markdown
//! ```
//!
//! | module | what lives there |
//! |---|---|
//! | [`distribution`] | exact percentiles by nearest rank |
//! | [`stage`] | where a run's time went, and the unattributed rest |
//! | [`usage`] | CPU, memory, bytes, switches, faults of this process or of a child tree, and what the kernel's counters see |
//! | [`environment`] | machine, load, steal, noise |
//! | [`scope`], [`evidence`] | what a side's time includes, and whether that is true |
//! | [`side`], [`command`], [`closure`] | what is compared |
//! | [`compare`], [`ratio`], [`equivalence`] | the comparison, its interval, whether the outputs are the same |
//! | [`report`], [`record`], [`saved`] | the result; CSV, JSON, Markdown; merging what was saved |
//! | [`concurrency`] | many calls at once, and the knee |
//!
//! ```
//! use std::process::Command;
//! use yeoul_measure::equivalence::Bytes;
//! use yeoul_measure::{CommandSide, Comparison, Input, RunContext, Side};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # std::fs::write(folder.join("input"), vec![1; 100_000])?;
//! let scope = "start,read,work,write".parse()?;
//! let copy = |program: &'static str| -> Box<dyn Side> {
//!     let side = CommandSide::new(program, scope, move |run: &RunContext<'_>| {
//!         let mut command = Command::new("sh");
//!         command.args(["-c", &format!("{program} < \"$0\" > copy")]).arg(&run.inputs[0].path);
//!         command.current_dir(run.output);
//!         command
//!     });
//!     Box::new(side)
//! };
//! let comparison = Comparison {
//!     runs: 10,
//!     equivalence: Some(&Bytes),
//!     ..Comparison::new("cat and tee", vec![Input::of(folder.join("input"))?], folder.join("work"))
//! };
//! let report = comparison.run(&mut [copy("cat"), copy("tee 2> /dev/null")], &mut |_row| {})?;
//! assert_eq!(report.ratios[0].interval.pairs, 10);
//! println!("{}", report.to_markdown());
//! # Ok(())
//! # }
//! ```
//!
//! Linux only: it relies on `/proc` and pidfds. While a [`ClosureSide`] runs, nothing else may run in its process:
//! counters are the whole process's.

pub mod closure;
pub mod command;
pub mod compare;
pub mod concurrency;
pub mod distribution;
pub mod environment;
pub mod equivalence;
pub mod evidence;
mod float;
pub mod output;
pub mod ratio;
pub mod record;
pub mod report;
pub mod rng;
pub mod saved;
pub mod scope;
pub mod side;
pub mod stage;
pub mod usage;

pub use closure::{ClosureSide, Meter};
pub use command::{Captured, CommandSide};
pub use compare::{CompareError, Comparison, Order, Outputs};
pub use distribution::{Distribution, EmptyDistribution, Summary};
pub use environment::{Environment, Machine};
pub use equivalence::{Equivalence, Verdict};
pub use evidence::{Evidence, Refusal};
pub use output::Input;
pub use report::{End, Ratio, Report, Row, SideReport};
pub use rng::SplitMix64;
pub use saved::{Across, SavedError, across};
pub use scope::{Scope, UnknownScope};
pub use side::{RunContext, RunRecord, Side, SideError};
pub use stage::{StageClock, StageTime, StageTimes};
pub use usage::{AllocationCounter, Usage};
