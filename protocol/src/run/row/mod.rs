//! The run row: a run's entry in ACTIVE_RUNS (run-state table 5.1).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Input, Output, Row, State};
