//! The rotation of a session: an agent compressed its context, and its run goes on in a continuation (OWN-06).
//!
//! It is asked for by a run, committed with both records at once, and dropped when the run is stopped before that.

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Input, Output, Rotation};
