//! The steers of one run (table 5.8): hints a user gives while the agent works.
//!
//! A steer is accepted for one run only, once its row is durable, and settled exactly once: consumed, when an
//! invocation of that run reads it, or returned by the settlement of the run. After the box is closed nothing
//! is accepted or read.

mod state;
mod transitions;

pub use state::{Input, Offer, Output, STEERS_MAX, SettledSteer, State, Steers};

#[cfg(test)]
mod tests;
