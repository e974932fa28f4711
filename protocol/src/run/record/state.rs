use serde::{Deserialize, Serialize};

use crate::ids::{AskId, Revision, RunId};

/// What the machine knows of its session's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionRecord {
    pub(super) revision: Revision,
    pub(super) in_flight: Option<Author>,
}

/// Whom a commit of the session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "author")]
pub enum Author {
    /// A run.
    Run {
        /// The run.
        run_id: RunId,
    },
    /// A change of the session beside its runs.
    Change {
        /// Who waits for it.
        ask: AskId,
    },
    /// The send queue.
    Queue,
    /// Wakeups.
    Wakeups,
    /// The deletion of the session.
    Deletion,
    /// The rotation to a continuation.
    Rotation,
}

/// What happens to the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// A commit was issued against the present revision.
    Issued {
        /// Whom it is for.
        by: Author,
    },
    /// It was answered: committed.
    Committed {
        /// Whom it is for.
        by: Author,
        /// The revision after it.
        revision: Revision,
    },
    /// It was answered: committed beside the record, which stays as it is.
    CommittedBeside {
        /// Whom it is for.
        by: Author,
        /// The revision.
        revision: Revision,
    },
    /// Another process changed the record, which was read again.
    Reread {
        /// The revision it has.
        revision: Revision,
    },
    /// It was answered: nothing was written.
    Failed {
        /// Whom it is for.
        by: Author,
    },
}

/// What the record announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The session is at a new revision.
    Advanced {
        /// The revision.
        revision: Revision,
    },
}

impl SessionRecord {
    /// The record of a session found or made at `revision`.
    pub fn at(revision: Revision) -> Self {
        Self { revision, in_flight: None }
    }

    /// The revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether no commit is unanswered.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_none()
    }

    /// Whom the unanswered commit is for.
    pub fn in_flight(&self) -> Option<Author> {
        self.in_flight
    }
}
