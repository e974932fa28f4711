//! Wakeups of a session: turns that internal producers ask for.
//!
//! They are durable, known by an identity, and claimed one at a time, in the step that reserves their run
//! (STR-14). After failed turns in a row they pause until a user's turn is accepted, and what a failed turn asked
//! for is dropped (STR-16). The lineage feeds the machine a change of what is stored only while the session's
//! record is free; what a turn changes is written by the commits of that turn.

mod state;
mod transitions;

pub use state::{
    Answer, Change, Claim, Input, Output, WAKEUP_FAILURES_MAX, WAKEUP_MEMORY, WAKEUPS_MAX, Wakeups,
    Written,
};

#[cfg(test)]
mod tests;
