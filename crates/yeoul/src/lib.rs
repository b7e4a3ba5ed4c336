//! The command line of Yeoul as a library: each command takes parsed arguments and returns an exit code.

pub mod inspect;
pub mod repack;
pub mod verify;
