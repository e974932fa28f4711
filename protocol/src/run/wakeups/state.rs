use std::collections::VecDeque;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, RunId, WakeupId};
use crate::journal::row::Outcome;
use crate::run::guards::{Guards, Rules};
use crate::wire::codes::Code;

/// Wakeups of one session that may wait.
pub const WAKEUPS_MAX: usize = 64;
/// Identities a session remembers, the oldest forgotten first (WAKEUP_MEMORY, STR-14).
pub const WAKEUP_MEMORY: usize = 1_024;
/// Failed wakeup turns in a row after which wakeups pause (WAKEUP_FAILURES, STR-16).
pub const WAKEUP_FAILURES_MAX: u8 = 3;

/// The wakeups of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Wakeups<G: Guards = Rules> {
    /// Durable, the oldest first.
    pub(super) waiting: Vec<WakeupId>,
    /// Identities that were taken, the oldest first.
    pub(super) known: VecDeque<WakeupId>,
    /// Failed wakeup turns in a row.
    pub(super) failures: u8,
    pub(super) claim: Claim,
    /// The wakeup whose turn is accepted and not settled, and its run.
    pub(super) running: Option<(WakeupId, RunId)>,
    /// What that turn asked for.
    pub(super) asked: Vec<(AskId, WakeupId)>,
    /// The change whose answer is awaited.
    pub(super) writing: Option<Change>,
    /// Whether the count of failures is not stored yet.
    pub(super) is_count_unsaved: bool,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// How far the start of the oldest wakeup has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "claim")]
pub enum Claim {
    /// None is starting.
    #[default]
    None,
    /// A start was asked for and is unanswered.
    Asked {
        /// The wakeup.
        wakeup: WakeupId,
    },
    /// Its run is reserved; the commit that accepts the turn takes the wakeup out.
    Reserved {
        /// The wakeup.
        wakeup: WakeupId,
        /// The run.
        run_id: RunId,
    },
}

/// One change of the stored wakeups.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Change {
    /// A wakeup is put behind the others, and its identity remembered.
    Append {
        /// Who waits for the answer.
        ask: AskId,
        /// The wakeup.
        wakeup: WakeupId,
    },
    /// The wakeup goes with the commit that accepts its turn.
    Claim {
        /// The wakeup.
        wakeup: WakeupId,
    },
    /// The wakeup comes back in front, since its launch failed (REC-08).
    Return {
        /// The wakeup.
        wakeup: WakeupId,
    },
    /// The turn of a wakeup is settled; what it asked for is put behind the others, and remembered.
    Settle {
        /// What it asked for.
        adds: Vec<WakeupId>,
    },
    /// Only the count of failures changes.
    Count,
}

/// What a commit writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Written {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// Failed wakeup turns in a row, after it.
    pub failures: u8,
}

/// What happens to wakeups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// A producer asks for a turn.
    Offered {
        /// Who waits for the answer.
        ask: AskId,
        /// The identity.
        wakeup: WakeupId,
        /// The run that asks, if one does.
        by: Option<RunId>,
    },
    /// Store the count of failures.
    CountAsked,
    /// The change was written.
    Saved,
    /// The change was not written.
    SaveFailed,
    /// A trigger of STR-12, while no message waits.
    Triggered,
    /// The run of the claimed wakeup is reserved.
    Reserved {
        /// The run.
        run_id: RunId,
    },
    /// Its turn was accepted; the commit took the wakeup out.
    Accepted,
    /// Its start was refused (STR-13).
    Refused {
        /// Why.
        code: Code,
    },
    /// Its turn was accepted and its launch failed; the compensation put the wakeup back.
    Returned,
    /// The turn of a run was settled.
    Settled {
        /// The run.
        run_id: RunId,
        /// How it ended.
        outcome: Outcome,
    },
    /// A turn of a user was accepted: the pause is over (STR-16).
    UserAccepted,
}

/// What wakeups ask for or announce.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Write.
    Write {
        /// What.
        written: Written,
    },
    /// Start the oldest wakeup through table A.
    Start {
        /// The wakeup.
        wakeup: WakeupId,
    },
    /// Producers are answered.
    Answered {
        /// Who waits.
        asks: Vec<AskId>,
        /// The answer.
        answer: Answer,
    },
}

/// What becomes of a wakeup that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is stable and will have one turn.
    Stored,
    /// Its identity was taken before: nothing changed.
    Known,
    /// Too many wait: nothing changed.
    Full,
    /// It belongs to another session: nothing changed here (STR-15).
    Elsewhere,
    /// The turn that asked did not complete, or is over: nothing changed (STR-16).
    Dropped,
    /// The store did not write it.
    Failed,
}

impl<G: Guards> Wakeups<G> {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = size_of::<Self>()
        + (WAKEUPS_MAX + WAKEUP_MEMORY) * size_of::<WakeupId>()
        + 2 * WAKEUPS_MAX * size_of::<(AskId, WakeupId)>();

    /// The wakeups as they were found in the store: those that wait, the identities remembered, failed turns in a
    /// row, and the wakeup of the pending turn with its run.
    pub fn found(
        waiting: Vec<WakeupId>,
        known: impl IntoIterator<Item = WakeupId>,
        failures: u8,
        running: Option<(WakeupId, RunId)>,
    ) -> Self {
        Self {
            waiting,
            known: known.into_iter().collect(),
            failures,
            claim: Claim::None,
            running,
            asked: Vec::new(),
            writing: None,
            is_count_unsaved: false,
            guards: PhantomData,
        }
    }

    /// Those that wait, the oldest first.
    pub fn waiting(&self) -> &[WakeupId] {
        &self.waiting
    }

    /// Failed wakeup turns in a row.
    pub const fn failures(&self) -> u8 {
        self.failures
    }

    /// Whether none is started until a turn of a user is accepted (STR-16).
    pub fn is_paused(&self) -> bool {
        !G::may_start_wakeup(self.failures)
    }

    /// Whether the oldest may start at the next trigger.
    pub fn has_next(&self) -> bool {
        !self.waiting.is_empty() && !self.is_paused()
    }

    /// Whether the start of the oldest is unanswered, or its turn is not accepted yet.
    pub const fn is_claiming(&self) -> bool {
        !matches!(self.claim, Claim::None)
    }

    /// Whether a start was asked for and is unanswered.
    pub const fn is_start_due(&self) -> bool {
        matches!(self.claim, Claim::Asked { .. })
    }

    /// Whether a change of what is stored is unanswered.
    pub const fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether the count of failures is to be stored by a commit of its own.
    pub const fn must_save_count(&self) -> bool {
        self.is_count_unsaved
    }

    /// Whether this run has the turn of a wakeup.
    pub fn is_of(&self, run_id: RunId) -> bool {
        self.running.is_some_and(|(_, running)| running == run_id)
    }

    /// Whether this run is reserved for the claimed wakeup.
    pub fn is_reserved_for(&self, id: RunId) -> bool {
        matches!(self.claim, Claim::Reserved { run_id, .. } if run_id == id)
    }

    /// What the commit that accepts the turn of `run` writes here.
    pub fn on_acceptance(&self, run: RunId) -> Option<Written> {
        match self.claim {
            Claim::Reserved { wakeup, run_id } if run_id == run => {
                Some(Written { change: Change::Claim { wakeup }, failures: self.failures })
            }
            Claim::Reserved { .. } | Claim::Asked { .. } | Claim::None => {
                (self.failures > 0).then_some(Written { change: Change::Count, failures: 0 })
            }
        }
    }

    /// What the compensation of `run` writes here.
    pub fn on_compensation(&self, run: RunId) -> Option<Written> {
        let (wakeup, _) = self.running.filter(|(_, run_id)| *run_id == run)?;
        Some(Written { change: Change::Return { wakeup }, failures: self.failed() })
    }

    /// What the settlement of `run` with this outcome writes here.
    pub fn on_settlement(&self, run: RunId, outcome: Outcome) -> Option<Written> {
        self.is_of(run).then(|| Written {
            change: Change::Settle { adds: self.kept(outcome) },
            failures: self.failures_after(outcome),
        })
    }

    /// The count after one more failure.
    pub(super) fn failed(&self) -> u8 {
        self.failures.saturating_add(1).min(WAKEUP_FAILURES_MAX)
    }

    pub(super) fn failures_after(&self, outcome: Outcome) -> u8 {
        match outcome {
            Outcome::Completed => 0,
            Outcome::Failed | Outcome::Interrupted => self.failed(),
            // Whoever stops a turn does not say that it failed.
            Outcome::Cancelled | Outcome::Superseded => self.failures,
        }
    }

    /// Of what a turn with this outcome asked for, what is stored.
    pub(super) fn kept(&self, outcome: Outcome) -> Vec<WakeupId> {
        let is_kept = G::keeps_wakeups_of(outcome);
        self.asked.iter().filter(|_| is_kept).map(|(_, wakeup)| *wakeup).collect()
    }
}

impl<G: Guards> Default for Wakeups<G> {
    fn default() -> Self {
        Self::found(Vec::new(), [], 0, None)
    }
}
