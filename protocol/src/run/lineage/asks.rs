//! What a session is asked, and how it answers.

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, Revision, RunId, SteerId, TurnId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::journal::run_journal::RowRef;
use crate::run::admission::{StartFacts, StartRefusal};
use crate::wire::codes::Code;

/// A start asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Start {
    /// Who waits for the answer.
    pub ask: AskId,
    /// A fresh run id.
    pub run_id: RunId,
    /// A fresh turn id.
    pub turn_id: TurnId,
    /// What else is known about it.
    pub facts: StartFacts,
}

/// What the store knows of a run that the machine does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownRun {
    /// The session never had it.
    Never,
    /// It ended before.
    Ended {
        /// How.
        outcome: Outcome,
    },
}

/// The answer to a start that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum StartAnswer {
    /// The turn was accepted and its worker launched.
    Started {
        /// The run.
        run_id: RunId,
        /// The turn.
        turn_id: TurnId,
        /// When.
        pending_started_at: Instant,
        /// The revision that accepted it.
        revision: Revision,
    },
    /// The message waits in the queue, stable (STR-09).
    Queued {
        /// The turn it will be.
        turn_id: TurnId,
        /// Its place, from 1.
        position: u32,
        /// The revision that took it.
        revision: Revision,
    },
    /// The message was to be queued, and the store did not write it.
    Unstored,
    /// The idempotency key had an effect: its first outcome is the answer (ADM-13).
    Repeated,
    /// Refused.
    Refused(StartRefusal),
}

/// The answer to a change of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum QueueAnswer {
    /// The entry is out.
    Removed {
        /// The entry.
        turn_id: TurnId,
        /// The revision that took it out.
        revision: Revision,
    },
    /// There is no such entry (LIFE-06).
    Gone,
    /// Nothing is held any more.
    Resumed {
        /// Entries that wait.
        length: u32,
        /// The session's revision.
        revision: Revision,
    },
    /// A turn may not start (LIFE-03), or too many changes wait.
    Refused(StartRefusal),
    /// The store did not write it.
    Failed,
}

/// The answer to the deletion of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum DeletionAnswer {
    /// It is deleted; every later action that names it is answered `session_unknown` (LIFE-02).
    Deleted {
        /// The revision of the deletion.
        revision: Revision,
    },
    /// Another one deleted it before, or too many wait.
    Refused(StartRefusal),
    /// The store did not write it; the session stays.
    Failed,
}

/// The answer to a change of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum ChangeAnswer {
    /// Committed.
    Committed {
        /// The revision it made.
        revision: Revision,
    },
    /// Refused; nothing changed.
    Refused(StartRefusal),
    /// The store did not take it; nothing changed.
    Failed,
}

/// A hint for a running agent (STR-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Offered {
    /// Who waits for the answer.
    pub ask: AskId,
    /// The run.
    pub run_id: RunId,
    /// A fresh steer id.
    pub steer_id: SteerId,
    /// The row that records its acceptance.
    pub row: RowRef,
    /// Whether the run's agent takes steers.
    pub is_supported: bool,
}

/// The answer to a steer (STR-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum SteerAnswer {
    /// It is bound to the run, and its row is durable.
    Accepted {
        /// The steer.
        steer_id: SteerId,
    },
    /// It had no effect.
    Refused {
        /// Why.
        reason: Code,
    },
}
