//! Settlement: who may end a run, and the save that ends it (OWN-10, OWN-11).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Claimant, Failure, Input, Output, Settlement, State, Verdict};
