use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::run::Phase;

/// The row of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Row {
    pub(super) state: State,
    pub(super) since: Instant,
}

/// Where the row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Reserved; no invocation admitted yet.
    Starting,
    /// From the first admitted invocation until the last one returned.
    Running,
    /// The worker settles.
    Finalizing,
    /// Stop or a server ending was accepted.
    Cancelling,
    /// No row. Nothing brings it back (REC-11).
    Absent,
}

/// What happens to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// An invocation was admitted (REG-05).
    InvocationAdmitted,
    /// The last invocation returned or failed.
    LastReturned,
    /// No agent could be constructed.
    ConstructionFailed,
    /// Stop or a server ending was accepted (STOP-02).
    StopAccepted,
    /// The row is removed by OWN-14, REC-04, REC-08 or REC-10.
    Removed,
}

/// What a row announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The phase changed (OBS-08).
    PhaseChanged {
        /// The new phase.
        phase: Phase,
        /// Since when.
        since: Instant,
    },
    /// The row is gone.
    Gone,
}

impl Row {
    /// The row a reservation makes (ADM-08).
    pub fn reserved(now: Instant) -> Self {
        Self { state: State::Starting, since: now }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The phase, while there is a row.
    pub fn phase(&self) -> Option<Phase> {
        match self.state {
            State::Starting => Some(Phase::Starting),
            State::Running => Some(Phase::Running),
            State::Finalizing => Some(Phase::Finalizing),
            State::Cancelling => Some(Phase::Cancelling),
            State::Absent => None,
        }
    }

    /// When the present phase began; of a cancelling row the cancel time.
    pub fn since(&self) -> Instant {
        self.since
    }
}
