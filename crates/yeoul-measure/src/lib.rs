//! wip
mod float;
pub mod distribution;
pub mod environment;
pub mod rng;
pub mod stage;
pub mod usage;
pub use distribution::{Distribution, EmptyDistribution, Summary};
pub use rng::SplitMix64;
pub use stage::{StageClock, StageTime, StageTimes};
pub use usage::{AllocationCounter, Usage};
