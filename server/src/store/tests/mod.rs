//! Tests of the store over real files.

mod changes;
mod commits;
mod deletions;
mod errors;
mod files;
mod journal_property;
mod journals;
mod lists;
mod queue;
mod reads;
mod recoveries;
mod reference;
mod retention;
mod rewrites;
mod writers;

use futures_lite::future::{block_on, poll_once};
use runwarden_protocol::ids::{ItemId, MessageId, PrincipalId, Revision, RunId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{ItemKind, Outcome, RowEvent};
use runwarden_protocol::session::record::{SessionHead, Usage};
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{
    Admission, Append, Commit, Committed, KeyUse, NewRow, NewSession, Persisted, ReadRows, RowPage,
    Settlement, Store, StoredError,
};
use tempfile::TempDir;

use super::{SqliteStore, open};
use crate::state_dir::StateDir;

const OWNER: PrincipalId = PrincipalId::new(1);
const SESSION: SessionId = SessionId::new(10);

/// A state directory with its store.
struct Fixture {
    directory: TempDir,
    state: StateDir,
    store: SqliteStore,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::open(directory.path()).unwrap();
        let store = open(&state).unwrap();
        Self { directory, state, store }
    }

    /// A store with one session at revision 1.
    fn with_session() -> Self {
        let fixture = Self::new();
        fixture.commit(create(SESSION, 1)).unwrap();
        fixture
    }

    /// Drops the store without closing it, as a kill does, and opens it again.
    fn kill(self) -> Self {
        let Self { directory, state, store } = self;
        let threads: Vec<_> = store.shared.threads.lock().unwrap().drain(..).collect();
        drop(store);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let store = open(&state).unwrap();
        Self { directory, state, store }
    }

    fn commit(&self, commit: Commit) -> Result<Committed, StoreFailure> {
        block_on(self.store.commit(commit))
    }

    /// Carries out many commits, so many at a time that they share their syncs.
    fn commit_all(&self, commits: impl IntoIterator<Item = Commit>) {
        let answers: Vec<_> = commits
            .into_iter()
            .map(|commit| {
                let mut call = Box::pin(self.store.commit(commit));
                // The first poll sends the call.
                let answered = block_on(poll_once(call.as_mut()));
                async move {
                    match answered {
                        Some(answer) => answer,
                        None => call.await,
                    }
                }
            })
            .collect();
        for answer in answers {
            block_on(answer).unwrap();
        }
    }

    fn append(&self, append: Append) -> Result<Persisted, StoreFailure> {
        block_on(self.store.append(append))
    }

    fn head(&self, session_id: SessionId) -> SessionHead {
        block_on(self.store.session(session_id)).unwrap().unwrap()
    }

    fn rows(&self, session_id: SessionId) -> RowPage {
        let read =
            ReadRows { session_id, before: None, rows_max: usize::MAX, bytes_max: usize::MAX };
        block_on(self.store.rows(read)).unwrap()
    }

    /// Another connection to the session store, to look or to damage.
    fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.state.sessions_db()).unwrap()
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn create(session_id: SessionId, millis: u64) -> Commit {
    Commit::CreateSession(NewSession {
        session_id,
        owner: OWNER,
        title: String::new(),
        agent: "demo".to_owned(),
        model: None,
        at: at(millis),
        key: None,
    })
}

fn admission(session_id: SessionId, expected: u64, run: u64) -> Admission {
    Admission {
        session_id,
        expected: Revision::new(expected),
        run_id: RunId::new(run),
        turn_id: turn(run),
        text: format!("message of run {run}").into(),
        is_head: false,
        at: at(run * 10),
        agent: "demo".to_owned(),
        model: Some("small".to_owned()),
        key: None,
        reduction: None,
    }
}

fn admit(expected: u64, run: u64) -> Commit {
    Commit::Admit(admission(SESSION, expected, run))
}

fn settlement(expected: u64, run: u64, outcome: Outcome) -> Settlement {
    Settlement {
        conversation: None,
        session_id: SESSION,
        expected: Revision::new(expected),
        run_id: RunId::new(run),
        turn_id: turn(run),
        outcome,
        reason: None,
        marker: None,
        row_ids: [MessageId::new(run * 100 + 1), MessageId::new(run * 100 + 2)],
        error: None,
        usage: Usage::default(),
        at: at(run * 10 + 5),
        hold: None,
        steers: Vec::new(),
        recovery: false,
    }
}

fn settle(expected: u64, run: u64, outcome: Outcome) -> Commit {
    Commit::Settle(settlement(expected, run, outcome))
}

fn turn(run: u64) -> MessageId {
    MessageId::new(run * 100)
}

fn text(item: u64, body: &str) -> NewRow {
    content(item, ItemKind::Text, body)
}

fn content(item: u64, item_kind: ItemKind, body: &str) -> NewRow {
    let event = RowEvent::Content { item_id: ItemId::new(item), item_kind };
    NewRow { event, created_at: at(3), body: body.into() }
}

fn append(run: u64, rows: Vec<NewRow>) -> Append {
    Append { run_id: RunId::new(run), session_id: SESSION, rows }
}

fn key(key: &str, fingerprint: u64) -> Option<KeyUse> {
    Some(KeyUse { key: key.to_owned(), fingerprint })
}

fn error(number: u64, millis: u64) -> StoredError {
    StoredError {
        error_id: format!("err_{number:032x}"),
        occurred_at_ms: millis,
        session_id: Some(SESSION),
        request_id: None,
        data: "{}".to_owned(),
        closed_at: None,
    }
}
