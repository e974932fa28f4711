use serde::{Deserialize, Serialize};

use crate::ids::RunId;
use crate::run::guards::Owner;

/// The owner record of a session, keyed by run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ownership {
    pub(super) owner: Option<RunId>,
}

/// What happens to ownership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// A reservation or recovery takes ownership (ADM-08).
    Taken {
        /// The run.
        run_id: RunId,
    },
    /// Ownership is released, if it is this run's (OWN-05).
    Released {
        /// The run.
        run_id: RunId,
    },
}

impl Ownership {
    /// The record as `run_id` sees it.
    pub fn seen_by(&self, run_id: RunId) -> Owner {
        match self.owner {
            Some(owner) if owner == run_id => Owner::ThisRun,
            Some(_) => Owner::OtherRun,
            None => Owner::Absent,
        }
    }

    /// The owner.
    pub fn owner(&self) -> Option<RunId> {
        self.owner
    }
}
