use serde::{Deserialize, Serialize};

use crate::ids::{RunId, SessionId};

/// The rotation of one session. Weight: nothing beside itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rotation {
    pub(super) stage: Stage,
    /// The member of the lineage that the present one continues.
    pub(super) parent: Option<SessionId>,
}

/// Where a rotation stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub(super) enum Stage {
    /// None is under way.
    #[default]
    None,
    /// Asked for; a commit has to be answered first.
    Wanted { run_id: RunId, continuation: SessionId },
    /// The commit is unanswered.
    Saving { run_id: RunId, continuation: SessionId },
}

/// What happens to a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// The agent of a run compressed its context.
    Asked {
        /// The run.
        run_id: RunId,
        /// A fresh session.
        continuation: SessionId,
    },
    /// No other commit is unanswered.
    MayCommit,
    /// The commit was answered: both records are written.
    Committed {
        /// The session that was rotated.
        from: SessionId,
    },
    /// The commit was answered: nothing was written.
    Failed,
    /// The run goes no further: it is not rotated any more.
    Withdrawn,
}

/// What a rotation causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Commit it.
    Commit {
        /// The run.
        run_id: RunId,
        /// Its new session.
        continuation: SessionId,
    },
    /// The run goes on in its new session.
    Rotated {
        /// The run.
        run_id: RunId,
        /// Its new session.
        continuation: SessionId,
    },
    /// The run goes on where it is.
    Refused {
        /// The run.
        run_id: RunId,
    },
}

impl Rotation {
    /// Whether none is under way and none was made.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The run whose rotation waits to be issued.
    pub fn wanted(&self) -> Option<RunId> {
        match self.stage {
            Stage::Wanted { run_id, .. } => Some(run_id),
            Stage::None | Stage::Saving { .. } => None,
        }
    }

    /// The member of the lineage that the present session continues.
    pub fn parent(&self) -> Option<SessionId> {
        self.parent
    }
}
