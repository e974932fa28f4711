//! The turn journal of one turn: `submitted`, at most one `worker_started`, one terminal (TRN-01).
//!
//! The machine decides which row may follow; each row commits with the step that caused it.

mod state;
mod transitions;

pub use state::{Input, Output, TurnJournal};

#[cfg(test)]
mod tests;
