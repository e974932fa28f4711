//! The store port: sessions, journals, keys, errors and logins, durably.
//!
//! Appends are durable when answered (they survive a kill of the process); every commit, error record
//! and login is stable (it survives loss of power). Answers come in any order across sessions; the
//! caller keeps at most one batch per run and one commit per session unanswered.

use std::future::Future;
use std::sync::Arc;

use runwarden_protocol::ids::{
    MessageId, PrincipalId, Revision, RunId, Seq, SessionId, StoreId, TurnId,
};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{Outcome, Reason, RowEvent};
use runwarden_protocol::session::record::{Marker, SessionHead, Usage};
use runwarden_protocol::session::rewrite::{Reduction, Target};
use runwarden_protocol::wire::codes::Code;

use super::agent::ContextMessage;
use super::change::SessionChange;
pub use super::deletion::Deletion;
pub use super::errors::{ListErrors, Login, StoredError};
pub use super::queue::{QueueChange, QueueCommit, StoredEntry, StoredQueue};
pub use super::reads::{
    ChainTail, JournalFate, JournalPage, ListSessions, ReadRows, RowPage, RunFacts, UnsettledRun,
};
use super::steer::SteerEnd;

/// Most rows of one transaction of appends (COMMIT_GROUP, JRN-20).
pub const BATCH_ROWS_MAX: usize = 64;

/// Most rows of one page of a journal (PAGE_ROWS, JRN-15).
pub const PAGE_ROWS_MAX: usize = 4_096;

/// Most bytes of bodies of one page of a journal; a first row is always returned (PAGE_BYTES, JRN-15).
pub const PAGE_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// A durable store.
pub trait Store: Clone + Send + Sync + 'static {
    /// The random name of this store's history (JRN-22).
    fn store_id(&self) -> StoreId;

    /// Whether the store can be written now; for `/readyz`.
    fn probe(&self) -> impl Future<Output = Result<(), StoreFailure>> + Send;

    /// Bytes that are free where the store writes (LIM-05).
    fn free_bytes(&self) -> impl Future<Output = Result<u64, StoreFailure>> + Send;

    /// Appends rows to a run's journal under the next numbers (JRN-01). All or none are written.
    fn append(
        &self,
        append: Append,
    ) -> impl Future<Output = Result<Persisted, StoreFailure>> + Send;

    /// Carries out one commit as one stable transaction. All or nothing is written.
    fn commit(
        &self,
        commit: Commit,
    ) -> impl Future<Output = Result<Committed, StoreFailure>> + Send;

    /// Reads the head of a session.
    fn session(
        &self,
        session_id: SessionId,
    ) -> impl Future<Output = Result<Option<SessionHead>, StoreFailure>> + Send;

    /// Lists sessions the principal may read, strictly descending by (`activity_at`, `session_id`) (LIST-1).
    fn sessions(
        &self,
        list: ListSessions,
    ) -> impl Future<Output = Result<Vec<SessionHead>, StoreFailure>> + Send;

    /// Reads the newest chain ids, oldest first, at most `ids_max`, with the revision they were read at.
    fn chain_tail(
        &self,
        session_id: SessionId,
        ids_max: usize,
    ) -> impl Future<Output = Result<ChainTail, StoreFailure>> + Send;

    /// Reads settled rows of a session by position, in one snapshot.
    fn rows(&self, read: ReadRows) -> impl Future<Output = Result<RowPage, StoreFailure>> + Send;

    /// The model context from the settled rows, oldest first (L2).
    fn context(
        &self,
        session_id: SessionId,
    ) -> impl Future<Output = Result<Vec<ContextMessage>, StoreFailure>> + Send;

    /// The handle by which this agent finds the conversation of the session again; `None` where it has
    /// none, or another agent ran in the session since (AGT-03).
    fn conversation(
        &self,
        session_id: SessionId,
        agent: String,
    ) -> impl Future<Output = Result<Option<String>, StoreFailure>> + Send {
        let _ = (session_id, agent);
        std::future::ready(Ok(None))
    }

    /// The transcript as a rewrite of this row, or without one of the last turn, finds it, in one snapshot.
    fn rewrite_target(
        &self,
        session_id: SessionId,
        named: Option<MessageId>,
    ) -> impl Future<Output = Result<Target, StoreFailure>> + Send;

    /// Reads a page of a run's journal after `after` (JRN-15). It ends before a row that cannot be trusted; the read
    /// behind the row before that one fails (JRN-11).
    fn journal(
        &self,
        run_id: RunId,
        after: Seq,
    ) -> impl Future<Output = Result<JournalPage, StoreFailure>> + Send;

    /// What is known of a run, settled or not.
    fn run(
        &self,
        run_id: RunId,
    ) -> impl Future<Output = Result<Option<RunFacts>, StoreFailure>> + Send;

    /// The send queue of a session, the head first, in one snapshot (STR-09).
    fn queue(
        &self,
        session_id: SessionId,
    ) -> impl Future<Output = Result<StoredQueue, StoreFailure>> + Send;

    /// The words of an entry of a queue; `None` when there is no such entry.
    fn queued_text(
        &self,
        session_id: SessionId,
        turn_id: TurnId,
    ) -> impl Future<Output = Result<Option<Arc<str>>, StoreFailure>> + Send;

    /// Every session whose queue has entries and is not held (STR-12).
    fn waiting(&self) -> impl Future<Output = Result<Vec<SessionHead>, StoreFailure>> + Send;

    /// What a used idempotency key did; one used 24 h before `now` or earlier is forgotten
    /// (ADM-13, REQ-11).
    fn key(
        &self,
        scope: KeyScope,
        key: String,
        now: Instant,
    ) -> impl Future<Output = Result<Option<KeyRecord>, StoreFailure>> + Send;

    /// Every session with an unsettled run (RST-01).
    fn unsettled(&self) -> impl Future<Output = Result<Vec<UnsettledRun>, StoreFailure>> + Send;

    /// Those of one session.
    fn unsettled_of(
        &self,
        session_id: SessionId,
    ) -> impl Future<Output = Result<Vec<UnsettledRun>, StoreFailure>> + Send {
        async move {
            let mut unsettled = self.unsettled().await?;
            unsettled.retain(|run| run.head.session_id == session_id);
            Ok(unsettled)
        }
    }

    /// Records an error (ERR-5): insert, expire, trim in one transaction.
    fn record_error(
        &self,
        principal: PrincipalId,
        error: StoredError,
    ) -> impl Future<Output = Result<(), StoreFailure>> + Send;

    /// Lists open errors of a principal strictly descending by (`occurred_at`, `error_id`) (ERR-9).
    fn errors(
        &self,
        list: ListErrors,
    ) -> impl Future<Output = Result<Vec<StoredError>, StoreFailure>> + Send;

    /// How many open errors the principal has, of one session or of all.
    fn count_errors(
        &self,
        principal: PrincipalId,
        session_id: Option<SessionId>,
    ) -> impl Future<Output = Result<u64, StoreFailure>> + Send;

    /// The records that the deletion of this session closed at `at` (ERR-20).
    fn errors_closed_by_deletion(
        &self,
        principal: PrincipalId,
        session_id: SessionId,
        at: Instant,
    ) -> impl Future<Output = Result<Vec<StoredError>, StoreFailure>> + Send;

    /// Closes an open error of the principal (ERR-14). `None` for an unknown or foreign id (ERR-17);
    /// a repetition returns the record again.
    fn acknowledge_error(
        &self,
        principal: PrincipalId,
        error_id: String,
        now: Instant,
    ) -> impl Future<Output = Result<Option<StoredError>, StoreFailure>> + Send;

    /// Stores a login by the hash of its cookie (PRIN-6).
    fn put_login(&self, login: Login) -> impl Future<Output = Result<(), StoreFailure>> + Send;

    /// Finds a login that has not expired at `now`.
    fn login(
        &self,
        token_hash: [u8; 32],
        now: Instant,
    ) -> impl Future<Output = Result<Option<Login>, StoreFailure>> + Send;

    /// Removes a login (PRIN-7).
    fn revoke_login(
        &self,
        token_hash: [u8; 32],
    ) -> impl Future<Output = Result<(), StoreFailure>> + Send;
}

/// Why the store did not do it. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFailure {
    /// The session is at another revision than the commit was computed from (OWN-03), or the
    /// idempotency key of the commit is in use: read both again.
    #[error("the session is at revision {}", current.get())]
    Conflict {
        /// The revision found.
        current: Revision,
    },
    /// A row that the call names does not exist.
    #[error("no such {0}")]
    Missing(&'static str),
    /// The journal already has a semantic terminal (JRN-08).
    #[error("the run has already ended {}", outcome.as_str())]
    Ended {
        /// The terminal that stands.
        outcome: Outcome,
    },
    /// The run's journal cannot be trusted; every other run stays readable (JRN-11).
    #[error("the journal of {run_id} is quarantined: {reason}")]
    Quarantined {
        /// The run.
        run_id: RunId,
        /// What is wrong with which row.
        reason: String,
    },
    /// The store could not be read or written. The text is for the diagnostic log only.
    #[error("the store failed: {0}")]
    Unavailable(String),
}

/// Rows for one run's journal, unnumbered and in order; at most [`BATCH_ROWS_MAX`].
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run_id: RunId,
    /// Its session.
    pub session_id: SessionId,
    /// The rows; none is a semantic terminal.
    pub rows: Vec<NewRow>,
}

/// A row before it has a number.
#[derive(Clone, Debug)]
pub struct NewRow {
    /// What happened.
    pub event: RowEvent,
    /// When.
    pub created_at: Instant,
    /// Text of a text item as it is; of any other row the JSON text of its value.
    pub body: Arc<str>,
}

/// The numbers a batch got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persisted {
    /// Number of the first row.
    pub first_seq: Seq,
    /// How many rows.
    pub count: u32,
}

/// One atomic change of a session. Each raises the revision by exactly 1 (SES-2), but for
/// `StartWorker` and a settlement `superseded`, which leave the session record as it is.
#[derive(Clone, Debug)]
pub enum Commit {
    /// A new session, at revision 1.
    CreateSession(NewSession),
    /// A turn is accepted: pending turn, active run, key, `submitted` row, activity time (ADM-12).
    Admit(Admission),
    /// The turn journal's `worker_started` (TRN-01). The one commit that raises no revision and need
    /// only be durable.
    StartWorker {
        /// The session.
        session_id: SessionId,
        /// The run.
        run_id: RunId,
        /// When.
        at: Instant,
    },
    /// The send queue changes (STR-09, STR-10).
    Queue(QueueCommit),
    /// A run ends (OWN-10).
    Settle(Settlement),
    /// Title, archived, agent, model, or the usage of a settled run changes.
    Change(SessionChange),
    /// A session is deleted with everything of it (LIFE-01).
    Delete(Deletion),
    /// A start failed after the reservation: pending turn and active run cleared, both journals closed
    /// `failed`, the key freed (REC-08).
    Compensate {
        /// The session.
        session_id: SessionId,
        /// The revision this was computed from.
        expected: Revision,
        /// The run.
        run_id: RunId,
        /// Of the queue's head: the entry goes back to its place, and the queue is held so.
        requeue: Option<Code>,
        /// When.
        at: Instant,
    },
}

/// A session to create.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id.
    pub session_id: SessionId,
    /// Who makes it.
    pub owner: PrincipalId,
    /// Title, possibly empty.
    pub title: String,
    /// Agent.
    pub agent: String,
    /// Model.
    pub model: Option<String>,
    /// When.
    pub at: Instant,
    /// The idempotency key that names the effect; scope principal.
    pub key: Option<KeyUse>,
}

/// A turn to accept.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The session.
    pub session_id: SessionId,
    /// The revision this was computed from (OWN-03).
    pub expected: Revision,
    /// The run.
    pub run_id: RunId,
    /// The turn, which becomes the id of the user row.
    pub turn_id: TurnId,
    /// The user's words.
    pub text: Arc<str>,
    /// Whether it is the head of the queue: the entry goes with this commit (STR-10).
    pub is_head: bool,
    /// `pending_started_at`.
    pub at: Instant,
    /// Agent in force.
    pub agent: String,
    /// Model in force.
    pub model: Option<String>,
    /// The idempotency key that names the effect; scope session.
    pub key: Option<KeyUse>,
    /// What of the transcript goes with it; a compensation brings it back (ADM-15).
    pub reduction: Option<Reduction>,
}

/// The one commit that ends a run: transcript and context, pending turn and active run cleared,
/// settlement recorded, terminal rows of run journal and turn journal added.
///
/// The store reads the run's journal, folds its rows with `session::settle` and writes: the user row
/// (unless it is there, by turn id), at most one answer row, and the marker row if one is named.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The session.
    pub session_id: SessionId,
    /// The revision this was computed from (OWN-03).
    pub expected: Revision,
    /// The run.
    pub run_id: RunId,
    /// The turn.
    pub turn_id: TurnId,
    /// How the run ended.
    pub outcome: Outcome,
    /// Why, beside the outcome.
    pub reason: Option<Reason>,
    /// The marker row to add.
    pub marker: Option<Marker>,
    /// Ids for the rows that may be made: answer, then marker.
    pub row_ids: [MessageId; 2],
    /// The error of a failed run; also recorded in the error store of the session's owner (ERR-26).
    pub error: Option<StoredError>,
    /// What the run used.
    pub usage: Usage,
    /// The handle by which the run's agent finds the conversation again, if it told one; `None` keeps
    /// what is stored for the same agent and drops what is stored for another (AGT-03).
    pub conversation: Option<String>,
    /// When.
    pub at: Instant,
    /// The hold of the queue that is stable with it, if it has entries (STR-18).
    pub hold: Option<Code>,
    /// Steers that are settled by it: each gets its row before the terminal (STR-04).
    pub steers: Vec<SteerEnd>,
    /// Whether recovery settles: then a content-free provenance row is written too (INV-11, RST-06).
    pub recovery: bool,
}

/// What a commit fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The revision after it.
    pub revision: Revision,
    /// Number of the terminal row, of a settlement, a compensation, or a deletion that ends a run.
    pub terminal_seq: Option<Seq>,
    /// The session as the commit left it, at that revision.
    pub head: Box<SessionHead>,
}

/// Whose keys a key belongs to (REQ-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyScope {
    /// Keys of one session.
    Session(SessionId),
    /// Keys of a principal, where no session exists yet.
    Principal(PrincipalId),
}

/// An idempotency key to remember with an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The key, 1 to 128 characters.
    pub key: String,
    /// Fingerprint of the action's fields.
    pub fingerprint: u64,
}

/// A remembered key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Fingerprint of the fields it was used with.
    pub fingerprint: u64,
    /// What it did.
    pub effect: KeyEffect,
    /// The session's revision after the effect.
    pub revision: Revision,
}

/// The effect a key names, enough to answer again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyEffect {
    /// A turn was accepted.
    Turn {
        /// The turn.
        turn_id: TurnId,
        /// The run.
        run_id: RunId,
        /// When.
        pending_started_at: Instant,
        /// Agent in force.
        agent: String,
        /// Model in force.
        model: Option<String>,
    },
    /// The session was changed.
    Change,
    /// A message was put into the queue.
    Queued {
        /// The entry.
        turn_id: TurnId,
        /// Its place, from 1.
        position: u32,
        /// Agent of the session.
        agent: String,
        /// Its model.
        model: Option<String>,
    },
    /// An entry was taken out of the queue.
    Removed {
        /// The entry.
        turn_id: TurnId,
        /// Its words.
        text: String,
    },
    /// The queue's hold was ended.
    Resumed {
        /// Entries that waited.
        length: u32,
    },
    /// A session was created.
    Session {
        /// The session.
        session_id: SessionId,
        /// Its agent.
        agent: String,
        /// Its model.
        model: Option<String>,
    },
    /// A session was deleted.
    Deleted {
        /// The session.
        session_id: SessionId,
    },
}
