//! The room that the rings of all sessions share (SES-38). One machine of the process; it only asks: the session
//! it names lets its rings go and says so.

mod state;
mod transitions;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;

pub use state::{RingBudget, STEP_BYTES, counted};

/// What the budget takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// Fact: the rings of a session hold so many bytes now; with 0 it is forgotten.
    Sized {
        /// The session.
        session: SessionId,
        /// Its bytes.
        bytes: usize,
    },
    /// Fact: somebody opened or resumed the session, so that its rings are of use.
    Read {
        /// The session.
        session: SessionId,
    },
}

/// What the budget gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Output {
    /// Effect: let the rings of these sessions go, the least recently read first.
    Drop {
        /// The sessions.
        sessions: Vec<SessionId>,
    },
}
