use runwarden_runtime::ports::store::ListErrors;

use super::super::errors::{PER_PRINCIPAL_MAX, RETENTION_MS};
use super::*;

const OTHER: PrincipalId = PrincipalId::new(2);

fn list(now: u64) -> ListErrors {
    ListErrors { principal: OWNER, session_id: None, after: None, limit: 100, now: at(now) }
}

fn record(fixture: &Fixture, principal: PrincipalId, error: StoredError) {
    block_on(fixture.store.record_error(principal, error)).unwrap();
}

fn listed(fixture: &Fixture, list: ListErrors) -> Vec<StoredError> {
    block_on(fixture.store.errors(list)).unwrap()
}

/// ERR-1 [unit]: the error store is a file of its own in the state directory, found there at each opening.
#[test]
fn errors_are_kept_in_a_file_of_their_own() {
    let fixture = Fixture::new();
    record(&fixture, OWNER, error(1, 5));
    let fixture = fixture.kill();
    assert_eq!(listed(&fixture, list(5)), [error(1, 5)]);
    assert_eq!(fixture.state.errors_db(), fixture.directory.path().join("errors.db"));
    let raw = rusqlite::Connection::open(fixture.state.errors_db()).unwrap();
    let count: i64 = raw.query_row("SELECT count(*) FROM errors", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
}

/// ERR-9 [property], ERR-10 [property], ERR-12 [unit]: following cursors gives every record that stays open
/// once, newest first and equal times by id, of this principal only, whatever comes and goes meanwhile.
#[test]
fn a_chain_of_cursors_gives_each_open_error_once() {
    let fixture = Fixture::new();
    for number in 0..25 {
        record(&fixture, OWNER, error(number, 100 + number / 3));
        record(&fixture, OTHER, error(1_000 + number, 100 + number / 3));
    }
    let mut found: Vec<(u64, String)> = Vec::new();
    loop {
        let page =
            listed(&fixture, ListErrors { limit: 4, after: found.last().cloned(), ..list(200) });
        if page.is_empty() {
            break;
        }
        found.extend(page.into_iter().map(|error| (error.occurred_at_ms, error.error_id)));
        record(&fixture, OWNER, error(500 + found.len() as u64, 150));
        block_on(fixture.store.acknowledge_error(OWNER, found[0].1.clone(), at(1))).unwrap();
    }
    let mut expected: Vec<(u64, String)> =
        (0..25).map(|number| (100 + number / 3, error(number, 0).error_id)).collect();
    expected.sort();
    expected.reverse();
    assert_eq!(found, expected);
}

/// ERR-3 [unit]: a record of exactly the retention is kept, one millisecond more removes it, open or closed.
#[test]
fn old_records_go() {
    let fixture = Fixture::new();
    record(&fixture, OWNER, error(1, 1_000));
    record(&fixture, OTHER, error(2, 1_000));
    assert_eq!(listed(&fixture, list(1_000 + RETENTION_MS)).len(), 1);
    assert_eq!(listed(&fixture, list(500)).len(), 1, "a clock moved back removes nothing");
    assert_eq!(listed(&fixture, list(1_001 + RETENTION_MS)), []);
    let gone = block_on(fixture.store.acknowledge_error(OTHER, error(2, 0).error_id, at(1)));
    assert_eq!(gone, Ok(None), "any operation removes the records of every principal");
}

/// ERR-4 [property]: 999, 1,000 and 1,001 records; the newest are kept, closed ones count.
#[test]
fn the_newest_records_of_a_principal_are_kept() {
    let fixture = Fixture::new();
    record(&fixture, OTHER, error(9_999, 1));
    for number in 0..=PER_PRINCIPAL_MAX {
        record(&fixture, OWNER, error(number, 10 + number / 2));
        if number == 1 {
            block_on(fixture.store.acknowledge_error(OWNER, error(1, 0).error_id, at(11))).unwrap();
        }
        if number + 2 >= PER_PRINCIPAL_MAX {
            let open = block_on(fixture.store.count_errors(OWNER, None)).unwrap();
            let dropped = u64::from(number == PER_PRINCIPAL_MAX);
            assert_eq!(open, number - dropped);
        }
    }
    assert_eq!(block_on(fixture.store.count_errors(OTHER, None)).unwrap(), 1);
}

/// ERR-7 [unit], ERR-5 [unit]: a record whose id is there already is not committed, nor is any part of its transaction.
#[test]
fn a_duplicate_id_is_refused() {
    let fixture = Fixture::new();
    record(&fixture, OWNER, error(1, 5));
    let again = StoredError { occurred_at_ms: 5 + 2 * RETENTION_MS, ..error(1, 5) };
    let refused = block_on(fixture.store.record_error(OTHER, again));
    assert!(matches!(refused, Err(StoreFailure::Unavailable(_))));
    assert_eq!(listed(&fixture, list(5)), [error(1, 5)]);
}

/// ERR-14 [property], ERR-17 [unit], ERR-2 [unit]: closing is once, by its principal; a repetition keeps the first time.
#[test]
fn an_error_is_closed_once_by_its_principal() {
    let fixture = Fixture::new();
    record(&fixture, OWNER, error(1, 5));
    record(&fixture, OWNER, error(2, 5));
    let close = |principal, number, now| {
        let error_id = error(number, 0).error_id;
        block_on(fixture.store.acknowledge_error(principal, error_id, at(now))).unwrap()
    };
    assert_eq!(close(OTHER, 1, 6), None);
    assert_eq!(close(OWNER, 3, 6), None);
    let closed = StoredError { closed_at: Some(at(7)), ..error(1, 5) };
    assert_eq!(close(OWNER, 1, 7), Some(closed.clone()));
    assert_eq!(close(OWNER, 1, 8), Some(closed));
    assert_eq!(listed(&fixture, list(9)), [error(2, 5)]);
}

#[test]
fn errors_are_listed_and_counted_by_session() {
    let fixture = Fixture::new();
    record(&fixture, OWNER, error(1, 5));
    record(&fixture, OWNER, StoredError { session_id: None, ..error(2, 6) });
    let of_session = ListErrors { session_id: Some(SESSION), ..list(9) };
    assert_eq!(listed(&fixture, of_session), [error(1, 5)]);
    let count = |session| block_on(fixture.store.count_errors(OWNER, session)).unwrap();
    assert_eq!((count(None), count(Some(SESSION)), count(Some(SessionId::new(3)))), (2, 1, 0));
}

/// ERR-21 [unit]: the indexes exist and are used.
#[test]
fn lookups_use_their_indexes() {
    let fixture = Fixture::new();
    let raw = rusqlite::Connection::open(fixture.state.errors_db()).unwrap();
    for (condition, index) in [
        ("error_id = 'e'", "PRIMARY KEY"),
        ("principal = 1 AND session_id = 2", "errors_by_session"),
        ("principal = 1 AND request_id = 'r'", "errors_by_request"),
    ] {
        let plan: String = raw
            .query_row(
                &format!("EXPLAIN QUERY PLAN SELECT * FROM errors WHERE {condition}"),
                [],
                |row| row.get("detail"),
            )
            .unwrap();
        assert!(plan.contains(index), "{plan}");
    }
}

fn fail(fixture: &Fixture) {
    fixture.commit(admit(1, 5)).unwrap();
    let failed = Settlement { error: Some(error(7, 20)), ..settlement(2, 5, Outcome::Failed) };
    fixture.commit(Commit::Settle(failed)).unwrap();
}

#[test]
fn the_error_of_a_failed_run_is_recorded_with_it() {
    let fixture = Fixture::with_session();
    fail(&fixture);
    assert_eq!(listed(&fixture, list(30)), [error(7, 20)]);
    let run = block_on(fixture.store.run(RunId::new(5))).unwrap().unwrap();
    assert_eq!(run.error.as_deref(), Some("{}"));
    assert_eq!(listed(&fixture.kill(), list(30)), [error(7, 20)]);
}

#[test]
fn an_error_left_in_the_outbox_is_recorded_once_at_the_next_opening() {
    let fixture = Fixture::with_session();
    fail(&fixture);
    assert_eq!(listed(&fixture, list(30)).len(), 1);
    let leave = "INSERT INTO error_outbox VALUES (?1, ?2, 20, NULL, NULL, '{}')";
    for number in [7, 8] {
        let principal = super::super::column::Column::to_column(OWNER);
        fixture
            .raw()
            .execute(leave, rusqlite::params![error(number, 0).error_id, principal])
            .unwrap();
    }
    let fixture = fixture.kill();
    let ids: Vec<String> = listed(&fixture, list(30)).into_iter().map(|e| e.error_id).collect();
    assert_eq!(ids, [error(8, 0).error_id, error(7, 0).error_id]);
    let left: i64 =
        fixture.raw().query_row("SELECT count(*) FROM error_outbox", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

/// ERR-24 [unit]: a broken error store fails its own calls; sessions and settlements go on, and it heals.
#[test]
fn a_broken_error_store_fails_alone() {
    let Fixture { directory, state, store } = Fixture::with_session();
    store.close().unwrap();
    std::fs::remove_file(state.errors_db()).unwrap();
    std::fs::create_dir(state.errors_db()).unwrap();
    let store = open(&state).unwrap();
    let fixture = Fixture { directory, state, store };
    let refused = block_on(fixture.store.errors(list(5)));
    assert!(matches!(refused, Err(StoreFailure::Unavailable(_))));
    fail(&fixture);
    std::fs::remove_dir(fixture.state.errors_db()).unwrap();
    assert_eq!(listed(&fixture, list(30)), [error(7, 20)]);
}
