//! Runs: who may start, attach and stop, and what a run holds while it is alive.

pub mod questions;
pub mod slots;
