//! Changes of a session that are not the progress of a run: their order and what may stand in the way.
//!
//! All commits of a session are issued one after another (1.1), so a change waits while another commit
//! is unanswered, in the order it was asked for. One that must not meet a run is judged when it is asked
//! for and again when its turn comes (LIFE-03).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{CHANGES_WAITING_MAX, Change, ChangeKind, Changes, Input, Obstacle, Output};
