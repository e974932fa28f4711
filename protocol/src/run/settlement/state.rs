use serde::{Deserialize, Serialize};

use crate::journal::row::{Outcome, Reason};
use crate::session::record::Marker;

/// The settlement of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settlement {
    pub(super) state: State,
}

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Verdict {
    /// The semantic terminal.
    pub outcome: Outcome,
    /// Why, beside it.
    pub reason: Option<Reason>,
    /// The marker row to add.
    pub marker: Option<Marker>,
    /// Of a failed run: what the error says.
    pub failure: Option<Failure>,
}

/// What the error of a failed run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// Whether sending the same message again may succeed.
    pub retryable: bool,
}

/// Who holds the outcome claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claimant {
    /// The run's worker.
    Worker,
    /// The canceller, for an accepted Stop or a server ending; its claim never lapses.
    Canceller,
    /// Recovery; its claim never lapses.
    Recovery,
}

/// Where the settlement stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody claimed the outcome.
    #[default]
    Unclaimed,
    /// Claimed; the batch in flight is to be answered first (STOP-22).
    Claimed {
        /// By whom.
        by: Claimant,
        /// The outcome.
        verdict: Verdict,
    },
    /// The save is unanswered.
    Saving {
        /// By whom.
        by: Claimant,
        /// The outcome.
        verdict: Verdict,
        /// Which try, from 0.
        attempt: u8,
    },
    /// Saved. Nothing changes it any more (STOP-06).
    Settled {
        /// The outcome.
        verdict: Verdict,
    },
    /// Every try failed. A worker's claim lapses instead, so that recovery can claim.
    GaveUp {
        /// By whom.
        by: Claimant,
        /// The outcome.
        verdict: Verdict,
    },
}

/// What happens to a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// An actor claims the outcome.
    Claim {
        /// By whom.
        by: Claimant,
        /// The outcome.
        verdict: Verdict,
        /// Whether the save may be issued in this step.
        may_save: bool,
    },
    /// What the save had to wait for has happened.
    MaySave,
    /// The save was answered: saved.
    Saved,
    /// The save was answered: failed.
    SaveFailed {
        /// Whether a Stop is held for this answer.
        stop_held: bool,
    },
    /// A settlement that gave up is tried again, as soon as it may be saved (RST-11).
    Retry,
}

/// What a settlement causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Save the settlement.
    Save {
        /// The outcome.
        verdict: Verdict,
    },
    /// The run is settled.
    Settled {
        /// The outcome.
        verdict: Verdict,
    },
    /// The claim lapsed: another actor may claim the outcome (OWN-11).
    Lapsed,
    /// Every try failed.
    GaveUp {
        /// By whom it was claimed.
        by: Claimant,
    },
}

impl Settlement {
    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether a save is unanswered.
    pub fn is_saving(&self) -> bool {
        matches!(self.state, State::Saving { .. })
    }

    /// Whether the outcome is claimed, saved or not.
    pub fn is_claimed(&self) -> bool {
        !matches!(self.state, State::Unclaimed)
    }

    /// Who holds or held the claim of an outcome that is not settled yet.
    pub fn claimant(&self) -> Option<Claimant> {
        match self.state {
            State::Claimed { by, .. } | State::Saving { by, .. } | State::GaveUp { by, .. } => {
                Some(by)
            }
            State::Unclaimed | State::Settled { .. } => None,
        }
    }

    /// The claimed outcome, saved or not.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.state {
            State::Claimed { verdict, .. }
            | State::Saving { verdict, .. }
            | State::GaveUp { verdict, .. }
            | State::Settled { verdict } => Some(verdict),
            State::Unclaimed => None,
        }
    }

    /// The outcome that is claimed or saved.
    pub fn outcome_wanted(&self) -> Option<Outcome> {
        self.verdict().map(|verdict| verdict.outcome)
    }

    /// The outcome, once saved.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state {
            State::Settled { verdict } => Some(verdict.outcome),
            State::Unclaimed
            | State::Claimed { .. }
            | State::Saving { .. }
            | State::GaveUp { .. } => None,
        }
    }
}
