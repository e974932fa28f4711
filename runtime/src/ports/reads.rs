//! What the store is asked for, and what it finds.

use runwarden_protocol::ids::{
    MessageId, PrincipalId, Revision, RunId, Seq, SessionId, SteerId, TurnId,
};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{JournalRow, Outcome, Reason};
use runwarden_protocol::session::record::{SessionHead, StoredRow, Usage};

/// Which sessions to list.
#[derive(Clone, Debug)]
pub struct ListSessions {
    /// Who asks.
    pub principal: PrincipalId,
    /// Titles contain this after case folding (LIST-3).
    pub query: Option<String>,
    /// Archived ones instead of the others.
    pub archived: bool,
    /// Only those after this place of the order.
    pub after: Option<(Instant, SessionId)>,
    /// At most this many, 1 to 101.
    pub limit: usize,
}

/// The newest ids of a session's chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainTail {
    /// The revision they were read at.
    pub revision: Revision,
    /// The ids, oldest first.
    pub ids: Vec<MessageId>,
    /// Length of the whole chain.
    pub length: u64,
}

/// Rows by their position in the chain, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRows {
    /// The session.
    pub session_id: SessionId,
    /// Rows before this position; `None` reads the newest.
    pub before: Option<u64>,
    /// At most this many rows.
    pub rows_max: usize,
    /// Stop before the row that would carry the bodies and items above this; the first row is always read.
    pub bytes_max: usize,
}

/// Rows of one snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct RowPage {
    /// The head of the session in the same snapshot, its pending turn included.
    pub head: SessionHead,
    /// The rows, oldest first.
    pub rows: Vec<StoredRow>,
    /// Position of the first row read.
    pub start: u64,
    /// Length of the whole chain.
    pub total: u64,
}

/// A page of a run's journal.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalPage {
    /// The rows, in order.
    pub rows: Vec<JournalRow>,
    /// Whether rows remain after the last one.
    pub more: bool,
}

/// What is known of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// Its session.
    pub session_id: SessionId,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// Why, beside the outcome.
    pub reason: Option<Reason>,
    /// Number of its last row.
    pub last_seq: Seq,
    /// The turn it executes.
    pub turn_id: TurnId,
    /// What it used, once settled.
    pub usage: Usage,
    /// The ErrorData of a failed run as JSON text, while its settlement is kept (OWN-15).
    pub error: Option<String>,
    /// Whether its journal is still there.
    pub journal: JournalFate,
}

/// Whether the journal of a run is still there (JRN-18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JournalFate {
    /// It can be read.
    #[default]
    Kept,
    /// It was pruned: the run's outcome and its answer in the transcript are what is left (KEEP-5).
    Pruned,
}

/// A run that is not settled everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct UnsettledRun {
    /// Its session, pending turn included.
    pub head: SessionHead,
    /// The run.
    pub run_id: RunId,
    /// Its turn.
    pub turn_id: TurnId,
    /// Number of the last row of its journal.
    pub last_seq: Seq,
    /// The outcome of a recorded settlement that another part of the store does not have yet. A store that is not
    /// split records none of these.
    pub settled: Option<Outcome>,
    /// The semantic terminal in its journal, if any.
    pub terminal: Option<Outcome>,
    /// Steers in its journal that were accepted and not settled, in order, with their words.
    pub steers: Vec<(SteerId, String)>,
}
