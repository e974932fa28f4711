//! The lineage machine: one session (and later its continuations) with everything that decides about
//! its runs. It only routes inputs to its sub-machines and translates what they put out.

mod agents;
mod changing;
mod endings;
mod reservation;
mod state;
#[cfg(test)]
mod tests;
mod transitions;
mod translate;
mod view;

pub use state::{ChangeAnswer, Input, KnownRun, Lineage, Output, RunLimits, Start, StartAnswer};
