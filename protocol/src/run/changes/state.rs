use std::collections::VecDeque;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, Revision};
use crate::run::guards::{Guards, Rules};
use crate::run::limits::RUN_ENTRIES_MAX;

/// Changes of one session that wait for their commit; one more is refused.
pub const CHANGES_WAITING_MAX: usize = 32;

/// The changes of a session. Weight: those that wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Changes<G: Guards = Rules> {
    /// In the order they were asked for.
    pub(super) waiting: VecDeque<Change>,
    /// The one whose commit is unanswered.
    pub(super) in_flight: Option<Change>,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// A change that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change {
    /// Names it, and who waits for its answer.
    pub ask: AskId,
    /// What it touches.
    pub kind: ChangeKind,
}

/// What a change touches, as far as that decides what may stand in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Title or archived: nothing a run depends on.
    Description,
    /// Agent or model: refused while no turn may start (LIFE-03), and the cached agent is another one's
    /// afterwards.
    Agent,
    /// Rows of the transcript go, at the revision the client saw (LIFE-04): refused while no turn may start
    /// (LIFE-03), and the cached agent knows what is gone.
    Rewrite {
        /// The revision.
        expected: Revision,
    },
    /// What a settled run used, learned after its terminal (USE-02).
    Usage,
}

/// What happens to changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// A change is asked for.
    Asked {
        /// Which.
        change: Change,
        /// What `may_start` answers.
        may_start: bool,
        /// The session's revision.
        revision: Revision,
    },
    /// No other commit is unanswered: the next one may be issued.
    MayIssue {
        /// What `may_start` answers.
        may_start: bool,
        /// The session's revision.
        revision: Revision,
    },
    /// The commit was answered: committed.
    Committed {
        /// The change.
        ask: AskId,
    },
    /// The commit was answered: nothing was written.
    Failed {
        /// The change.
        ask: AskId,
    },
    /// The session is gone: none of those that wait is made.
    Withdrawn,
}

/// What changes cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Commit it.
    Issue {
        /// The change.
        ask: AskId,
    },
    /// It is committed.
    Done(Change),
    /// It was not committed and nothing changed.
    Refused {
        /// The change.
        ask: AskId,
        /// Why.
        obstacle: Obstacle,
    },
}

/// Why a change is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// `may_start` is false.
    Busy,
    /// The session is at another revision than the client saw.
    Stale,
    /// Too many wait.
    Full,
    /// The store did not take it.
    Store,
    /// The session is deleted (LIFE-02).
    Deleted,
}

impl<G: Guards> Default for Changes<G> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), in_flight: None, guards: PhantomData }
    }
}

impl<G: Guards> Changes<G> {
    /// Most changes that wait at all: what runs used is taken beyond the bound, once for each run that
    /// is still held.
    pub const WAITING_MAX: usize = CHANGES_WAITING_MAX + RUN_ENTRIES_MAX;

    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = Self::WAITING_MAX * size_of::<Change>();

    /// Whether a change waits for its turn.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether no change waits and none is unanswered.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_none()
    }
}
