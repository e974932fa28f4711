use std::collections::BTreeMap;
use std::sync::Arc;

use runwarden_protocol::ids::{PrincipalId, Revision, RunId, Seq, SessionId, SteerId, TurnId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{JournalRow, Outcome, Reason, RowEvent};
use runwarden_protocol::journal::soundness::{RowCheck, Unsound};
use runwarden_protocol::session::record::{SessionHead, StoredRow, Usage};
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{
    JournalFate, KeyRecord, KeyScope, Login, RunFacts, StoredError,
};

/// Everything that is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    /// The sessions.
    pub sessions: BTreeMap<SessionId, StoredSession>,
    /// The runs of all sessions.
    pub runs: BTreeMap<RunId, StoredRun>,
    pub(super) keys: BTreeMap<(KeyScope, String), (Instant, KeyRecord)>,
    /// How the runs of deleted sessions ended (JRN-12).
    pub tombstones: BTreeMap<RunId, (Outcome, Option<Reason>)>,
    /// Recorded errors and whose they are.
    pub errors: Vec<(PrincipalId, StoredError)>,
    pub(super) logins: Vec<Login>,
}

/// A session with its transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    /// The head.
    pub head: SessionHead,
    /// The rows, oldest first.
    pub rows: Vec<StoredRow>,
    /// The agent that holds the conversation, and its handle (AGT-03).
    pub conversation: Option<(String, String)>,
    /// The send queue, the head first.
    pub queue: Vec<StoredMessage>,
    /// What the turn of this run replaced, as it was before: head and rows (ADM-15).
    pub replaced: Option<Box<(RunId, SessionHead, Vec<StoredRow>)>>,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// The turn it will be.
    pub turn_id: TurnId,
    /// Its words.
    pub text: Arc<str>,
    /// When it was queued.
    pub created_at: Instant,
}

/// A run with its journal.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its session.
    pub session_id: SessionId,
    /// Its turn.
    pub turn_id: TurnId,
    /// The rows of its journal.
    pub journal: Vec<JournalRow>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Why.
    pub reason: Option<Reason>,
    /// What it used.
    pub usage: Usage,
    /// The ErrorData of its failure.
    pub error: Option<String>,
    /// Its turn's own journal.
    pub turn: Vec<TurnStep>,
    /// How often it was settled.
    pub settlements: u32,
    /// Whether recovery settled it.
    pub by_recovery: bool,
}

/// A row of the journal of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStep {
    /// It was accepted.
    Submitted,
    /// Its worker began.
    WorkerStarted,
    /// It is closed.
    Ended(Outcome),
}

impl Data {
    /// Whether keys of the session are remembered.
    pub fn has_keys_of(&self, session_id: SessionId) -> bool {
        self.keys.keys().any(|(scope, _)| *scope == KeyScope::Session(session_id))
    }

    /// The session at the revision a commit was computed from (OWN-03).
    pub(super) fn session_at(
        &mut self,
        session_id: SessionId,
        expected: Revision,
    ) -> Result<&mut StoredSession, StoreFailure> {
        let session = self.sessions.get_mut(&session_id).ok_or(StoreFailure::Missing("session"))?;
        let current = session.head.revision;
        if current == expected { Ok(session) } else { Err(StoreFailure::Conflict { current }) }
    }

    /// A run of the session that has not ended.
    pub(super) fn open_run(
        &mut self,
        session_id: SessionId,
        run_id: RunId,
    ) -> Result<&mut StoredRun, StoreFailure> {
        let run = self.runs.get_mut(&run_id).filter(|run| run.session_id == session_id);
        let run = run.ok_or(StoreFailure::Missing("run"))?;
        match run.outcome {
            Some(outcome) => Err(StoreFailure::Ended { outcome }),
            None => Ok(run),
        }
    }
}

impl StoredRun {
    /// The highest number of its rows (JRN-04).
    pub fn last_seq(&self) -> Seq {
        self.journal.iter().map(|row| row.seq).max().unwrap_or_default()
    }

    /// The rows behind `after` up to the first that cannot be trusted, and what is wrong with that (JRN-11).
    pub(super) fn sound(&self, run_id: RunId, after: Seq) -> (Vec<JournalRow>, Option<Unsound>) {
        let mut check = RowCheck::behind(run_id, self.session_id, after);
        let mut rows = Vec::new();
        for row in self.journal.iter().filter(|row| row.seq > after) {
            if let Err(unsound) = check.take(row) {
                return (rows, Some(unsound));
            }
            rows.push(row.clone());
        }
        (rows, None)
    }

    /// Steers its journal accepts and does not settle, with their words.
    pub(super) fn unsettled_steers(&self) -> Vec<(SteerId, String)> {
        let mut steers = Vec::new();
        for row in &self.journal {
            match row.event {
                RowEvent::SteerAccepted { steer_id } => {
                    let words = serde_json::from_str(&row.body);
                    steers.push((steer_id, words.expect("the words of a steer are a JSON string")));
                }
                RowEvent::SteerSettled { steer_id, .. } => {
                    steers.retain(|(known, _)| *known != steer_id);
                }
                RowEvent::Content { .. }
                | RowEvent::QuestionAsked { .. }
                | RowEvent::QuestionResolved { .. }
                | RowEvent::Terminal { .. } => {}
            }
        }
        steers
    }

    /// The semantic terminal of its journal.
    pub fn terminal(&self) -> Option<Outcome> {
        self.journal.iter().find_map(|row| match row.event {
            RowEvent::Terminal { outcome } => Some(outcome),
            RowEvent::Content { .. }
            | RowEvent::QuestionAsked { .. }
            | RowEvent::QuestionResolved { .. }
            | RowEvent::SteerAccepted { .. }
            | RowEvent::SteerSettled { .. } => None,
        })
    }

    pub(super) fn facts(&self) -> RunFacts {
        RunFacts {
            session_id: self.session_id,
            outcome: self.outcome,
            reason: self.reason,
            last_seq: self.last_seq(),
            turn_id: self.turn_id,
            usage: self.usage,
            error: self.error.clone(),
            journal: JournalFate::Kept,
        }
    }
}
