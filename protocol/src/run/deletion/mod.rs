//! The deletion of a session: asked for once, committed with the end of the run it meets, and final.
//!
//! Who asks while one is under way waits for it: what was deleted is unknown to everybody else (LIFE-02).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{
    DELETIONS_WAITING_MAX, DeletedRun, Deletion, Input, Output, TOMBSTONE_TIME,
    tombstones_kept_since,
};
