//! The flight recorder of a real server: races are provoked, exported with the command, and replayed.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

mod command;
mod export;
mod guide;
mod races;
mod restarts;
#[path = "../support/e2e.rs"]
mod support;
