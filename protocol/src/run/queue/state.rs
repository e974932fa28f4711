use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, RunId, TurnId};
use crate::run::guards::{Guards, Rules};
use crate::wire::codes::Code;
use crate::wire::limits;

/// Most entries of one queue (QUEUE_CAP, STR-08).
pub const QUEUE_ENTRIES_MAX: usize = limits::QUEUE_ENTRIES_MAX;

/// The queue of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Queue<G: Guards = Rules> {
    pub(super) state: State,
    /// Durable entries, the head first; each is named by the turn it will become.
    pub(super) entries: Vec<TurnId>,
    /// The change whose answer is awaited, and the hold it writes.
    pub(super) writing: Option<(Change, Option<Code>)>,
    /// Whether the hold is not stored yet.
    pub(super) hold_unsaved: bool,
    /// Whether storing the hold alone failed; from then on it goes with the next commit.
    pub(super) hold_failed: bool,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing waits.
    Empty,
    /// The head waits for a trigger.
    Waiting,
    /// A start of the head was asked for and is unanswered.
    Starting {
        /// A hold that came meanwhile and begins when it is answered.
        held: Option<Code>,
    },
    /// Nothing starts until `resume_queue` (STR-20).
    Held {
        /// Why.
        code: Code,
    },
}

/// One change of the stored queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Change {
    /// A message is put behind the others (STR-09).
    Append {
        /// Who waits for the answer.
        ask: AskId,
        /// The run that was prepared for it; its words are kept under this id.
        run_id: RunId,
        /// The entry.
        turn_id: TurnId,
    },
    /// An entry is taken out (LIFE-06).
    Remove {
        /// Who waits for the answer.
        ask: AskId,
        /// The entry.
        turn_id: TurnId,
    },
    /// The hold ends (LIFE-07).
    Release {
        /// Who waits for the answer.
        ask: AskId,
    },
    /// The hold is stored (STR-20).
    Hold,
}

/// What happens to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Change the stored queue.
    Asked(Change),
    /// The change was written.
    Saved,
    /// The change was not written.
    SaveFailed,
    /// A trigger of STR-12.
    Triggered,
    /// The head's turn was accepted; the commit removed the entry (STR-10).
    HeadAccepted,
    /// The start of the head was refused (STR-13).
    HeadRefused {
        /// Why.
        code: Code,
    },
    /// The head's turn was accepted and its launch failed; the compensation put the entry back, with the
    /// hold (REC-08).
    HeadReturned {
        /// The entry.
        turn_id: TurnId,
        /// Why.
        code: Code,
    },
    /// A Stop by a user was accepted (STR-18).
    StopAccepted,
    /// A rotation was committed: it moved the entries and stored the hold (STR-19).
    Rotated,
    /// A commit of a run stored the hold (STR-18).
    HoldSaved,
}

/// What a queue asks for or announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Write the change, and the hold that is in force after it.
    Write {
        /// The change.
        change: Change,
        /// The hold; none releases it.
        held: Option<Code>,
    },
    /// Start the head through table A.
    StartHead {
        /// The entry.
        turn_id: TurnId,
    },
    /// The entry is stable (STR-09).
    Appended {
        /// Who waits.
        ask: AskId,
        /// The entry.
        turn_id: TurnId,
        /// Its place, from 1.
        position: u32,
    },
    /// The entry is gone.
    Removed {
        /// Who waits.
        ask: AskId,
        /// The entry.
        turn_id: TurnId,
    },
    /// There is no such entry: its turn was accepted, it was removed, or it never was (LIFE-06).
    Gone {
        /// Who waits.
        ask: AskId,
    },
    /// Nothing is held any more.
    Resumed {
        /// Who waits.
        ask: AskId,
        /// Entries that wait.
        length: u32,
        /// Whether there was a hold, so that this is a trigger (LIFE-07).
        released: bool,
    },
    /// The change was not written.
    Failed {
        /// The change.
        change: Change,
    },
}

impl<G: Guards> Queue<G> {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = size_of::<Self>() + QUEUE_ENTRIES_MAX * size_of::<TurnId>();

    /// The queue as it was found in the store.
    pub fn found(entries: Vec<TurnId>, held: Option<Code>) -> Self {
        let state = match (entries.is_empty(), held) {
            (true, _) => State::Empty,
            (false, None) => State::Waiting,
            (false, Some(code)) => State::Held { code },
        };
        Self {
            state,
            entries,
            writing: None,
            hold_unsaved: false,
            hold_failed: false,
            guards: PhantomData,
        }
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The durable entries, the head first.
    pub fn entries(&self) -> &[TurnId] {
        &self.entries
    }

    /// Whether an entry waits, so that a message goes behind it (ADM-17).
    pub fn has_entries(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Whether one more entry would be refused (STR-08).
    pub fn is_full(&self) -> bool {
        self.entries.len() >= QUEUE_ENTRIES_MAX
    }

    /// Whether the start of the head is unanswered.
    pub fn is_starting(&self) -> bool {
        matches!(self.state, State::Starting { .. })
    }

    /// Whether the message that this run was prepared for is being written.
    pub fn is_appending(&self, run_id: RunId) -> bool {
        matches!(self.writing, Some((Change::Append { run_id: id, .. }, _)) if id == run_id)
    }

    /// Why nothing starts.
    pub const fn held(&self) -> Option<Code> {
        match self.state {
            State::Held { code } => Some(code),
            State::Starting { held } => held,
            State::Empty | State::Waiting => None,
        }
    }

    /// The hold, while no commit has stored it.
    pub fn unsaved_hold(&self) -> Option<Code> {
        self.held().filter(|_| self.hold_unsaved)
    }

    /// Whether the hold is to be stored by a commit of its own.
    pub fn must_save_hold(&self) -> bool {
        self.unsaved_hold().is_some() && !self.hold_failed
    }
}

impl<G: Guards> Default for Queue<G> {
    fn default() -> Self {
        Self::found(Vec::new(), None)
    }
}
