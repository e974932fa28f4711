//! The open questions of one run (run-state 4.10).
//!
//! A question is resolved exactly once: answered, expired, cancelled or interrupted (ASK-03). The
//! end of the run closes the machine; what is asked afterwards is refused to the agent (ASK-05). No
//! input tells of a connection, so the loss of one resolves nothing (ASK-07).

mod state;
mod transitions;

pub use state::{
    ASK_TIMEOUT, Input, OpenQuestion, Output, QUESTION_VERSION, QUESTIONS_MAX, Questions,
    Resolution,
};

#[cfg(test)]
mod tests;
