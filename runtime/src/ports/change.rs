//! Changes of a session that are not the progress of a run.

use runwarden_protocol::ids::{Revision, RunId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::session::record::Usage;
use runwarden_protocol::session::rewrite::Reduction;

use super::store::KeyUse;

/// One change of a session, to be committed as one.
#[derive(Clone, Debug)]
pub struct SessionChange {
    /// The session.
    pub session_id: SessionId,
    /// The revision this was computed from (OWN-03).
    pub expected: Revision,
    /// When.
    pub at: Instant,
    /// The idempotency key that names the effect; scope session.
    pub key: Option<KeyUse>,
    /// What changes.
    pub what: Change,
}

/// What changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// What people set.
    Fields(FieldsChange),
    /// Rows of the transcript go (LIFE-05).
    Reduction(Reduction),
    /// What a settled run used, learned after its terminal: it replaces the run's own value, in its row
    /// and in the sum of the session (USE-02).
    Usage {
        /// The run.
        run_id: RunId,
        /// All that is known now; no value that was known is unknown in it.
        usage: Usage,
    },
}

/// What people set; `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldsChange {
    /// The title.
    pub title: Option<String>,
    /// Whether the session is hidden from the normal list.
    pub archived: Option<bool>,
    /// Agent and model.
    pub choice: Option<Choice>,
}

/// An agent with one of its models, as a session is given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The agent.
    pub agent: String,
    /// The model; `None` is the default of the agent.
    pub model: Option<String>,
}
