//! Stop of one run: who waits for its answer, and the escalation against an agent that does not
//! return (table 5.3, REG-15).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Answer, Escalation, Input, Moment, Output, State, Stop, StopSignal};
