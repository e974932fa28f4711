//! A run on a remote backend: what its Stop waits for (STOP-17, STOP-18).
//!
//! The backend gives its own id after the call began, and stops by that id. A Stop waits for both, at most
//! [`REMOTE_STOP_WAIT`]; then it is accepted, and the remote stop is owed until the id arrives.

mod state;
mod transitions;

pub use state::{Fact, Input, Output, REMOTE_STOP_WAIT, Remote};

#[cfg(test)]
mod tests;
