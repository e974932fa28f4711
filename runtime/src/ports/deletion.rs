//! The deletion of a session, as the store carries it out.

use runwarden_protocol::ids::{PrincipalId, Revision, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::run::deletion::DeletedRun;

use super::store::KeyUse;

/// Removes the record of a session with everything of it: rows, journals, queue, keys, settlements and
/// provenance. What stays is a tombstone of each run with its terminal (JRN-12), and until its open errors
/// are closed the note that they are to be (ERR-20).
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The session.
    pub session_id: SessionId,
    /// Whose it is; the scope of the key.
    pub owner: PrincipalId,
    /// The revision this was computed from (OWN-03).
    pub expected: Revision,
    /// The run that ends with it (LIFE-01).
    pub run: Option<DeletedRun>,
    /// The idempotency key that names the effect; scope principal, since it outlives the session.
    pub key: Option<KeyUse>,
    /// When.
    pub at: Instant,
    /// Tombstones from before this time have served.
    pub tombstones_kept_since: Instant,
}
