//! The worker of one run: agent registration and the gates before each invocation (table 5.2).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{CallResult, Input, Output, State, Worker};
