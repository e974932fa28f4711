//! The send queue as the store keeps it.

use std::sync::Arc;

use runwarden_protocol::ids::{Revision, SessionId, TurnId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::wire::codes::Code;

use super::store::KeyUse;

/// A change of the send queue.
#[derive(Clone, Debug)]
pub struct QueueCommit {
    /// The session.
    pub session_id: SessionId,
    /// The revision this was computed from (OWN-03).
    pub expected: Revision,
    /// What changes.
    pub change: QueueChange,
    /// The hold in force after it; `None` releases it.
    pub held: Option<Code>,
    /// The idempotency key that names the effect; scope session.
    pub key: Option<KeyUse>,
    /// When.
    pub at: Instant,
}

/// What changes in a send queue.
#[derive(Clone, Debug)]
pub enum QueueChange {
    /// A message is put behind the others.
    Append {
        /// The entry.
        turn_id: TurnId,
        /// The user's words.
        text: Arc<str>,
        /// Agent of the session, for the answer to a repetition.
        agent: String,
        /// Its model.
        model: Option<String>,
    },
    /// An entry is taken out.
    Remove {
        /// The entry.
        turn_id: TurnId,
    },
    /// The hold ends.
    Release,
    /// A hold begins.
    Hold,
}

/// A send queue as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredQueue {
    /// The revision it was read at.
    pub revision: Revision,
    /// Why nothing starts.
    pub held: Option<Code>,
    /// The entries, the head first.
    pub entries: Vec<StoredEntry>,
}

/// An entry of a send queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// The turn it will be.
    pub turn_id: TurnId,
    /// The first characters of its words.
    pub summary: String,
    /// When it was queued.
    pub created_at: Instant,
}
