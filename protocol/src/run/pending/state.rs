use serde::{Deserialize, Serialize};

use crate::ids::{RunId, TurnId};
use crate::instant::Instant;

/// The pending turn of a session. The product's store is exclusive, so a pending turn never blocks by
/// its age (ADM-05); its text stays in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pending {
    /// Nothing waits for a settlement.
    #[default]
    None,
    /// A turn waits.
    Turn {
        /// The turn.
        turn_id: TurnId,
        /// The run that owns it; also the active run id.
        run_id: RunId,
        /// When it was accepted.
        pending_started_at: Instant,
    },
}

/// What happens to a pending turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Admission saved it, or a start found it in the store.
    Saved {
        /// The turn.
        turn_id: TurnId,
        /// The run.
        run_id: RunId,
        /// When it was accepted.
        pending_started_at: Instant,
    },
    /// Its run was settled or its start compensated; compared by run id (REC-09).
    Cleared {
        /// The run.
        run_id: RunId,
    },
}

impl Pending {
    /// The active run id.
    pub fn run_id(&self) -> Option<RunId> {
        match self {
            Self::None => None,
            Self::Turn { run_id, .. } => Some(*run_id),
        }
    }
}
