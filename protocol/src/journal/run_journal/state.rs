use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::ids::{PayloadId, PayloadRef, Seq};
use crate::instant::{Duration, Instant};
use crate::journal::row::{Outcome, Reason, RowEvent};

/// Most rows of one batch (COMMIT_GROUP, JRN-20).
pub const BATCH_ROWS_MAX: usize = 64;

/// Content rows that may wait behind the batch in flight.
pub const WAITING_ROWS_MAX: usize = 1_024;

/// Bytes of waiting bodies from which on no content row is taken.
pub const WAITING_BYTES_MAX: u64 = 1 << 20;

/// Rows that show no content and are taken beyond the bounds of waiting content: the questions of
/// a run are resolved by the server, not at the pace of the agent.
pub const NOTE_ROWS_RESERVED: usize = 32;

/// Most bytes of one row's body as JSON text.
pub const ROW_BYTES_MAX: u32 = 65_536;

/// Most bytes of all bodies of a journal (JOURNAL_CAP, JRN-17).
pub const JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// Time without a successful append after a failed one that ends the run (JRN-21).
pub const APPEND_OUTAGE: Duration = Duration::from_secs(20);

/// A row before it has a number; its body lives outside the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowRef {
    /// What happened.
    #[serde(flatten)]
    pub event: RowEvent,
    /// The body.
    pub payload: PayloadRef,
    /// When the row was made.
    pub at: Instant,
}

/// What happens to a run journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Take the next row.
    HandOver(RowRef),
    /// The batch in flight is durable.
    Persisted {
        /// Number of its first row.
        first_seq: Seq,
        /// How many rows it has.
        count: u32,
    },
    /// The batch in flight left no row (JRN-05).
    AppendFailed,
    /// Take no more rows and drop those not issued: a Stop or server ending was accepted, or the
    /// worker settles.
    Seal,
    /// The settlement added rows before the terminal: steers that are given back (STR-04).
    SettledRows {
        /// How many.
        count: u32,
    },
    /// The run's semantic terminal was committed.
    Ended {
        /// How the run ended.
        outcome: Outcome,
        /// Number of its row; none when it could not be stored (OWN-16).
        seq: Option<Seq>,
    },
    /// The journal is deleted (JRN-12).
    Delete,
}

/// What a run journal asks for or announces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Store these rows in one transaction and answer.
    Append {
        /// At most [`BATCH_ROWS_MAX`] rows in order.
        rows: Vec<RowRef>,
    },
    /// The rows are durable and numbered from `first_seq` without gaps; show them.
    Published {
        /// Number of the first row.
        first_seq: Seq,
        /// The rows in order.
        rows: Vec<RowRef>,
    },
    /// The rows are not in the journal and never will be; show them without numbers (JRN-06).
    PublishedDegraded {
        /// The rows in order.
        rows: Vec<RowRef>,
    },
    /// The bodies are neither stored nor shown.
    Discarded {
        /// The bodies to release.
        payloads: Vec<PayloadId>,
    },
    /// The batch in flight was answered and nothing is in flight now (STOP-22).
    Answered,
    /// End the run `failed` (STOP-21).
    EndRun {
        /// [`Reason::JournalFull`] or [`Reason::StorageFailed`].
        reason: Reason,
    },
}

/// The journal of one run.
///
/// Weight: the bodies in flight and waiting, each counted with the row that names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunJournal {
    pub(super) phase: Phase,
    pub(super) last_seq: Seq,
    /// The unanswered batch; empty when none is.
    pub(super) in_flight: Vec<RowRef>,
    /// Rows behind it. Empty whenever nothing is in flight.
    pub(super) waiting: VecDeque<RowRef>,
    pub(super) waiting_bytes: u64,
    /// Bodies stored, in flight and waiting.
    pub(super) journal_bytes: u64,
    pub(super) degraded: bool,
    pub(super) outage_since: Option<Instant>,
    /// The end of the run was asked for; it is asked for once.
    pub(super) end_requested: Option<Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub(super) enum Phase {
    Open,
    Sealed,
    Ended { outcome: Outcome },
    Deleted,
}

impl Default for RunJournal {
    fn default() -> Self {
        Self::new()
    }
}

impl RunJournal {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = 2
        * (WAITING_BYTES_MAX as usize
            + (NOTE_ROWS_RESERVED + 1) * ROW_BYTES_MAX as usize
            + (WAITING_ROWS_MAX + NOTE_ROWS_RESERVED) * size_of::<RowRef>());

    /// The journal of a run that begins.
    pub const fn new() -> Self {
        Self::at(Phase::Open, Seq::ZERO)
    }

    /// The journal of a run whose worker is gone: it holds rows up to `last_seq` and takes nothing
    /// but its end.
    pub const fn resume(last_seq: Seq) -> Self {
        Self::at(Phase::Sealed, last_seq)
    }

    /// Number of the newest durable row.
    pub const fn last_seq(&self) -> Seq {
        self.last_seq
    }

    /// Whether `seq` is the number a row gets that has so many before it.
    pub fn is_next_after(&self, rows_before: usize, seq: Seq) -> bool {
        seq == self.last_seq().plus(rows_before as u64 + 1)
    }

    /// Whether nothing is in flight and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.waiting.is_empty()
    }

    /// Whether a batch is unanswered.
    pub fn in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Whether the next content row will be taken: what slows the agent down, not a decision about
    /// its run. A row that is no content is also taken up to [`NOTE_ROWS_RESERVED`] rows later.
    pub fn accepts_rows(&self) -> bool {
        match self.phase {
            Phase::Open => {
                self.waiting.len() < WAITING_ROWS_MAX && self.waiting_bytes < WAITING_BYTES_MAX
            }
            Phase::Sealed | Phase::Ended { .. } | Phase::Deleted => false,
        }
    }

    /// Whether at least one shown event of the run is not in its journal (JRN-06).
    pub const fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// The semantic terminal that stands, the answer to a second one (JRN-08).
    pub const fn outcome(&self) -> Option<Outcome> {
        match self.phase {
            Phase::Ended { outcome } => Some(outcome),
            Phase::Open | Phase::Sealed | Phase::Deleted => None,
        }
    }

    const fn at(phase: Phase, last_seq: Seq) -> Self {
        Self {
            phase,
            last_seq,
            in_flight: Vec::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            journal_bytes: 0,
            degraded: false,
            outage_since: None,
            end_requested: None,
        }
    }
}
