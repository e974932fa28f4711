//! Writeback ownership: at most one run of a session may change it (OWN-01, OWN-05).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Input, Ownership};
