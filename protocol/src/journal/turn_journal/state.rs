use serde::{Deserialize, Serialize};

use crate::journal::row::Outcome;

/// What happens to a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "outcome")]
pub enum Input {
    /// The turn was accepted (TRN-02).
    Submitted,
    /// Its worker passed REG-01.
    WorkerStarted,
    /// Its run's semantic terminal was committed (TRN-04).
    Ended(Outcome),
}

/// What the turn journal announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// A second terminal was refused; the first one stands (TRN-04).
    Collision {
        /// The terminal of the turn.
        stands: Outcome,
        /// The one that came too late.
        refused: Outcome,
    },
}

/// The rows of one turn so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum TurnJournal {
    /// No row.
    #[default]
    None,
    /// Accepted.
    Submitted,
    /// A worker took it.
    WorkerStarted,
    /// Closed.
    Ended {
        /// How its run ended.
        outcome: Outcome,
    },
}

impl TurnJournal {
    /// The journal of a turn that was not accepted yet.
    pub const fn new() -> Self {
        Self::None
    }

    /// The terminal, once there is one.
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Ended { outcome } => Some(outcome),
            Self::None | Self::Submitted | Self::WorkerStarted => None,
        }
    }

    /// Whether the turn was accepted and is not closed (TRN-03).
    pub const fn is_open(self) -> bool {
        match self {
            Self::Submitted | Self::WorkerStarted => true,
            Self::None | Self::Ended { .. } => false,
        }
    }
}
