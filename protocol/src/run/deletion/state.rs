use serde::{Deserialize, Serialize};

use crate::ids::{AskId, RunId, TurnId};
use crate::instant::{Duration, Instant};
use crate::run::settlement::Verdict;

/// Those who ask for a deletion that is under way and wait for its answer; one more is refused.
pub const DELETIONS_WAITING_MAX: usize = 32;

/// How long the tombstone of a run outlives its row (TOMBSTONE_TIME, JRN-12).
pub const TOMBSTONE_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Tombstones of deletions before this time have served (JRN-12): a row stays at most `unwind` behind the
/// deletion, and the tombstone [`TOMBSTONE_TIME`] longer.
pub fn tombstones_kept_since(now: Instant, unwind: Duration) -> Instant {
    let kept = TOMBSTONE_TIME.as_micros().saturating_add(unwind.as_micros());
    Instant::from_micros(now.as_micros().saturating_sub(kept))
}

/// The deletion of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Deletion {
    pub(super) state: State,
    /// Who asked later, in their order.
    pub(super) waiting: Vec<AskId>,
}

/// Where a deletion stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(super) enum State {
    /// Nobody asked.
    #[default]
    None,
    /// Asked; the run has to be stopped, or a commit to be answered first.
    Wanted {
        /// Who asked first.
        ask: AskId,
    },
    /// The commit is unanswered.
    Saving {
        /// Who asked first.
        ask: AskId,
    },
    /// The session is deleted. Nothing changes that.
    Deleted,
}

/// The run that a deletion ends (LIFE-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeletedRun {
    /// The run.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// How it ends: as claimed when the deletion was issued.
    pub verdict: Verdict,
    /// Rows of steers that end with it, before the terminal (STR-04).
    pub steers: u32,
}

/// What happens to a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Somebody asks for it.
    Asked {
        /// Who.
        ask: AskId,
    },
    /// What it had to wait for has happened: the commit may be issued.
    MayCommit,
    /// The commit was answered: the session is deleted.
    Committed,
    /// The commit was answered: nothing was written.
    Failed,
}

/// What a deletion causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Commit it.
    Commit {
        /// Who asked.
        ask: AskId,
    },
    /// It is deleted, for the one who asked first.
    Deleted {
        /// Who asked.
        ask: AskId,
    },
    /// Another one was first: there is no such session any more.
    Unknown {
        /// Who asked.
        ask: AskId,
    },
    /// Nothing was written.
    Failed {
        /// Who asked.
        ask: AskId,
    },
    /// Too many wait.
    Full {
        /// Who asked.
        ask: AskId,
    },
}

impl Deletion {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = size_of::<Self>() + DELETIONS_WAITING_MAX * size_of::<AskId>();

    /// Whether nobody asked.
    pub fn is_none(&self) -> bool {
        self.state == State::None
    }

    /// Whether it was asked for and is not answered.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, State::Wanted { .. } | State::Saving { .. })
    }

    /// Whether it was asked for and not issued yet.
    pub fn is_wanted(&self) -> bool {
        matches!(self.state, State::Wanted { .. })
    }

    /// Whether the session is deleted (LIFE-02).
    pub fn is_deleted(&self) -> bool {
        self.state == State::Deleted
    }
}
