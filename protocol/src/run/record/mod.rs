//! The minimal session record: revision, and the one commit that may be unanswered (OWN-03).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Author, Input, Output, SessionRecord};
