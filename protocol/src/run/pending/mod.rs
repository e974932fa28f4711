//! The pending turn: accepted input that is not settled (table 5.7).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Input, Pending};
