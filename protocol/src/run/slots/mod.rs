//! The slots of running runs, per server and per principal (LIM-03).
//!
//! A start enters its session's machine carrying a granted slot; every other answer, and the end of
//! the run's row, returns it. A queue whose head found none waits here for the next one.

mod state;
mod transitions;

pub use state::{
    Input, Output, PRINCIPAL_RUNS_MAX, SERVER_RUNS_MAX, SLOT_RETRY_AFTER_MS, SlotLimit, SlotLimits,
    Slots, WAITERS_MAX,
};

#[cfg(test)]
mod tests;
