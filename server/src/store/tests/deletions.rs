//! What the deletion of a session removes, and what it leaves.

use runwarden_protocol::journal::row::Reason;
use runwarden_protocol::run::deletion::DeletedRun;
use runwarden_protocol::run::settlement::Verdict;
use runwarden_runtime::ports::store::{
    Deletion, KeyEffect, KeyRecord, KeyScope, ListErrors, QueueChange, QueueCommit,
};

use super::*;

const OTHER: SessionId = SessionId::new(11);

fn deletion(expected: u64, run: Option<u64>, millis: u64) -> Deletion {
    let verdict = Verdict::of_server(Reason::Deleted);
    Deletion {
        session_id: SESSION,
        owner: OWNER,
        expected: Revision::new(expected),
        run: run.map(|run| DeletedRun {
            run_id: RunId::new(run),
            turn_id: turn(run),
            verdict,
            steers: 0,
        }),
        key: key("gone", 9),
        at: at(millis),
        tombstones_kept_since: Instant::ZERO,
    }
}

fn delete(expected: u64, run: Option<u64>, millis: u64) -> Commit {
    Commit::Delete(deletion(expected, run, millis))
}

/// Rows per table that name the session.
fn rows_of_session(fixture: &Fixture) -> Vec<(String, i64)> {
    let raw = fixture.raw();
    let mut tables = raw
        .prepare(
            "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
             WHERE m.type = 'table' AND c.name = 'session_id' ORDER BY m.name",
        )
        .unwrap();
    let names = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let count = |name: String| {
        let sql = format!("SELECT count(*) FROM {name} WHERE session_id = ?1");
        let session = super::super::column::Column::to_column(SESSION);
        let rows = raw.query_row(&sql, [session], |row| row.get(0)).unwrap();
        (name, rows)
    };
    names.map(|name| count(name.unwrap())).filter(|(_, rows)| *rows > 0).collect()
}

fn busy_session() -> Fixture {
    let fixture = Fixture::new();
    let Commit::CreateSession(mut session) = create(SESSION, 1) else { unreachable!() };
    session.key = key("made", 7);
    fixture.commit(Commit::CreateSession(session)).unwrap();
    fixture.commit(create(OTHER, 1)).unwrap();
    let mut first = admission(SESSION, 1, 1);
    first.key = key("sent", 8);
    fixture.commit(Commit::Admit(first)).unwrap();
    fixture.append(append(1, vec![text(1, "an answer")])).unwrap();
    let mut settled = settlement(2, 1, Outcome::Failed);
    settled.recovery = true;
    settled.conversation = Some("handle".to_owned());
    settled.error = Some(error(1, 15));
    fixture.commit(Commit::Settle(settled)).unwrap();
    fixture.commit(admit(3, 2)).unwrap();
    fixture.append(append(2, vec![text(1, "shown")])).unwrap();
    let change = QueueChange::Append {
        turn_id: turn(3),
        text: "waits".into(),
        agent: "demo".to_owned(),
        model: None,
    };
    let queued = QueueCommit {
        session_id: SESSION,
        expected: Revision::new(4),
        change,
        held: None,
        key: key("queued", 8),
        at: at(25),
    };
    fixture.commit(Commit::Queue(queued)).unwrap();
    fixture
}

#[test]
fn a_deletion_leaves_tombstones_and_its_key_alone() {
    let fixture = busy_session();
    assert!(rows_of_session(&fixture).len() >= 8, "{:?}", rows_of_session(&fixture));
    let deleted = fixture.commit(delete(5, Some(2), 30)).unwrap();
    assert_eq!(
        (deleted.revision, deleted.terminal_seq.map(|seq| seq.get())),
        (Revision::new(6), Some(2))
    );
    // Open errors are closed behind the commit.
    block_on(fixture.store.count_errors(OWNER, None)).unwrap();
    // Of the keys those of the principal: of the session's making, and of its end.
    let left = rows_of_session(&fixture);
    assert_eq!(left, [("keys".to_owned(), 2), ("tombstones".to_owned(), 2)]);
    assert_eq!(block_on(fixture.store.session(SESSION)).unwrap(), None);
    assert!(block_on(fixture.store.session(OTHER)).unwrap().is_some());
    let record = block_on(fixture.store.key(KeyScope::Principal(OWNER), "gone".to_owned(), at(31)));
    let effect = KeyEffect::Deleted { session_id: SESSION };
    let known = KeyRecord { fingerprint: 9, effect, revision: Revision::new(6) };
    assert_eq!(record.unwrap(), Some(known));
    let fixture = fixture.kill();
    assert_eq!(block_on(fixture.store.unsettled()).unwrap(), []);
    assert_eq!(block_on(fixture.store.waiting()).unwrap(), []);
}

/// Nothing that comes late makes a row or the session again; a row of a deleted journal is told the one outcome
/// that its run has.
#[test]
fn what_comes_late_fails_and_makes_nothing() {
    let fixture = busy_session();
    fixture.commit(delete(5, Some(2), 30)).unwrap();
    block_on(fixture.store.count_errors(OWNER, None)).unwrap();
    let before = rows_of_session(&fixture);
    for (run, outcome) in [(1, Outcome::Failed), (2, Outcome::Cancelled)] {
        let late = fixture.append(append(run, vec![text(1, "late")]));
        assert_eq!(late, Err(StoreFailure::Ended { outcome }));
    }
    assert_eq!(fixture.append(append(9, vec![text(1, "x")])), Err(StoreFailure::Missing("run")));
    let started = Commit::StartWorker { session_id: SESSION, run_id: RunId::new(2), at: at(31) };
    for late in [settle(5, 2, Outcome::Completed), admit(6, 4), started, delete(6, None, 31)] {
        let failed = fixture.commit(late.clone());
        assert!(matches!(failed, Err(StoreFailure::Missing(_))), "{late:?}: {failed:?}");
    }
    assert_eq!(rows_of_session(&fixture), before);
}

#[test]
fn a_deletion_of_another_revision_or_a_settled_run_is_refused() {
    let fixture = busy_session();
    let current = Revision::new(5);
    assert_eq!(fixture.commit(delete(4, Some(2), 30)), Err(StoreFailure::Conflict { current }));
    let ended = fixture.commit(delete(5, Some(1), 30));
    assert_eq!(ended, Err(StoreFailure::Ended { outcome: Outcome::Failed }));
    assert_eq!(fixture.head(SESSION).revision, current);
}

/// ERR-20 [unit]: exactly the open records of the session are closed, once, also over a kill before it was done.
#[test]
fn the_open_errors_of_the_session_are_closed_exactly() {
    let fixture = busy_session();
    let mut other = error(2, 16);
    other.session_id = Some(OTHER);
    block_on(fixture.store.record_error(OWNER, other)).unwrap();
    block_on(fixture.store.record_error(OWNER, error(3, 17))).unwrap();
    block_on(fixture.store.acknowledge_error(OWNER, error(3, 17).error_id, at(20))).unwrap();
    fixture.commit(delete(5, Some(2), 30)).unwrap();
    let fixture = fixture.kill();
    let ids = |errors: Vec<StoredError>| -> Vec<String> {
        errors.into_iter().map(|error| error.error_id).collect()
    };
    let closed = block_on(fixture.store.errors_closed_by_deletion(OWNER, SESSION, at(30)));
    assert_eq!(ids(closed.unwrap()), [error(1, 15).error_id]);
    let list =
        ListErrors { principal: OWNER, session_id: None, after: None, limit: 10, now: at(31) };
    let open = block_on(fixture.store.errors(list)).unwrap();
    assert_eq!(ids(open), [error(2, 16).error_id]);
    assert!(rows_of_session(&fixture).iter().all(|(table, _)| table != "closing"));
}

#[test]
fn tombstones_that_have_served_go_with_the_next_deletion() {
    let fixture = busy_session();
    fixture.commit(delete(5, Some(2), 30)).unwrap();
    for (kept_since, left) in [(30, 2), (31, 0)] {
        let session_id = SessionId::new(20 + kept_since);
        fixture.commit(create(session_id, 40)).unwrap();
        let key = None;
        let expected = Revision::new(1);
        let next = Deletion { session_id, expected, key, run: None, ..deletion(1, None, 50) };
        let next = Deletion { tombstones_kept_since: at(kept_since), ..next };
        fixture.commit(Commit::Delete(next)).unwrap();
        let sql = "SELECT count(*) FROM tombstones";
        let rows: i64 = fixture.raw().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, left);
    }
}
