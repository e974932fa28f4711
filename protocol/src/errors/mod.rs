//! Errors that people see: how one is made, and the clock that stamps it.

pub mod builder;
pub mod clock;
pub mod timestamp;

pub use builder::{BuildError, ErrorBuilder, Stamp};
pub use clock::GuardedClock;
