//! The send queue of a session (table 5.10): messages that wait for their turn.
//!
//! The machine holds the order, the hold, and the one change of the stored queue that is unanswered. The
//! lineage feeds it a change only while the session's record is free, and a trigger only while no head is
//! being started, so that each trigger is exactly one attempt (STR-12).

mod state;
mod transitions;

pub use state::{Change, Input, Output, QUEUE_ENTRIES_MAX, Queue, State};

#[cfg(test)]
mod tests;
