use std::fs;

use runwarden_protocol::ids::StoreId;
use rusqlite::Connection;

use super::super::open::SESSIONS_FILE;
use super::super::{OpenError, open_in_boot, schema};
use super::*;

fn refused(state: &StateDir) -> OpenError {
    open(state).unwrap_err()
}

fn state_with(prepare: impl FnOnce(&Connection)) -> (TempDir, StateDir) {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::open(directory.path()).unwrap();
    prepare(&Connection::open(state.sessions_db()).unwrap());
    (directory, state)
}

#[test]
fn a_foreign_file_is_left_as_it_is() {
    let (_directory, state) = state_with(|file| {
        file.execute_batch("CREATE TABLE notes (words TEXT)").unwrap();
    });
    let before = fs::read(state.sessions_db()).unwrap();
    let error = refused(&state);
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("--state"), "{error}");
    assert_eq!(fs::read(state.sessions_db()).unwrap(), before);

    let (_directory, state) =
        state_with(|file| file.pragma_update(None, "application_id", 7).unwrap());
    assert!(matches!(refused(&state), OpenError::Foreign { .. }));

    let (_directory, state) = state_with(|_| {});
    fs::write(state.sessions_db(), "not a database at all, but longer than its header".repeat(9))
        .unwrap();
    assert!(matches!(refused(&state), OpenError::Foreign { .. }));
}

#[test]
fn a_newer_file_is_left_as_it_is() {
    let fixture = Fixture::with_session();
    let Fixture { directory: _directory, state, store } = fixture;
    store.close().unwrap();
    let raw = Connection::open(state.sessions_db()).unwrap();
    let newest = SESSIONS_FILE.version();
    raw.pragma_update(None, "user_version", newest + 1).unwrap();
    drop(raw);
    let before = fs::read(state.sessions_db()).unwrap();
    let error = refused(&state);
    let OpenError::Newer { found, supported, .. } = error else { panic!("{error}") };
    assert_eq!((found, supported), (newest + 1, newest));
    assert_eq!(fs::read(state.sessions_db()).unwrap(), before);

    let raw = Connection::open(state.sessions_db()).unwrap();
    raw.pragma_update(None, "user_version", newest).unwrap();
    let errors = Connection::open(state.errors_db()).unwrap();
    errors.pragma_update(None, "user_version", 2).unwrap();
    assert!(matches!(refused(&state), OpenError::Newer { .. }));
}

#[test]
fn an_older_file_is_brought_up_and_keeps_what_it_holds() {
    let columns = [
        "    usage_cost INTEGER,\n    usage_context_used INTEGER,\n    usage_context_max INTEGER,\n",
        ",\n    usage_cost INTEGER,\n    usage_context_used INTEGER,\n    usage_context_max INTEGER",
        schema::CONVERSATIONS,
        ",\n    queue_length INTEGER NOT NULL DEFAULT 0,\n    queue_held TEXT",
        "    position INTEGER,\n    text TEXT,\n",
    ];
    let mut first = columns
        .iter()
        .fold(schema::SESSIONS.replace(schema::REPLACED, ""), |text, part| text.replace(part, ""));
    // The queue's index and table stand in one piece.
    let queue = first.find("CREATE INDEX sessions_waiting").unwrap();
    let after = first.find("CREATE TABLE messages").unwrap();
    first.replace_range(queue..after, "");
    first = first.replace(",\n    truncation_watermark INTEGER NOT NULL DEFAULT 0", "");
    first = first.replace(",\n    journal_fate INTEGER NOT NULL DEFAULT 0", "");
    // So does what deletions leave.
    let deletions = first.find("CREATE INDEX runs_by_session").unwrap();
    let after = first.find("CREATE TABLE journal").unwrap();
    first.replace_range(deletions..after, "");
    assert!(["usage_cost", "conversations", "queue"].iter().all(|word| !first.contains(word)));
    let (_directory, state) = state_with(|file| {
        file.execute_batch(&first).unwrap();
        file.pragma_update(None, "application_id", schema::SESSIONS_APPLICATION).unwrap();
        file.pragma_update(None, "user_version", 1).unwrap();
        file.execute_batch(
            "INSERT INTO sessions (session_id, owner, title, title_folded, revision, agent,
                 created_at, activity_at, usage_input)
             VALUES (7, 1, 'kept', 'kept', 1, 'demo', 0, 0, 5)",
        )
        .unwrap();
    });
    let store = open(&state).unwrap();
    let raw = Connection::open(state.sessions_db()).unwrap();
    let version: i64 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, SESSIONS_FILE.version());
    let columns = |table: &str| {
        let mut found: Vec<String> = raw
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        found.sort();
        found
    };
    let fresh = Fixture::new();
    for table in [
        "sessions",
        "messages",
        "runs",
        "conversations",
        "keys",
        "queue",
        "tombstones",
        "closing",
        "replaced",
        "reductions",
    ] {
        let upgraded = columns(table);
        let sql = format!("SELECT count(*) FROM pragma_table_info('{table}')");
        let newest: i64 = fresh.raw().query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(upgraded.len() as i64, newest, "{table}");
    }
    let title: String = raw.query_row("SELECT title FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(title, "kept");
    store.close().unwrap();
    open(&state).unwrap();
}

#[test]
fn a_damaged_file_is_named() {
    let fixture = Fixture::with_session();
    let Fixture { directory: _directory, state, store } = fixture;
    store.close().unwrap();
    let mut bytes = fs::read(state.sessions_db()).unwrap();
    bytes[100..4_096].fill(0xee);
    fs::write(state.sessions_db(), bytes).unwrap();
    let error = refused(&state);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
}

#[test]
fn what_the_database_answers_becomes_advice() {
    let error = |code| {
        let cause = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        OpenError::new(std::path::Path::new("/s/sessions.db"), &cause)
    };
    assert!(matches!(error(rusqlite::ffi::SQLITE_FULL), OpenError::Full { .. }));
    assert!(matches!(error(rusqlite::ffi::SQLITE_READONLY), OpenError::ReadOnly { .. }));
    assert!(matches!(error(rusqlite::ffi::SQLITE_CANTOPEN), OpenError::ReadOnly { .. }));
    assert!(matches!(error(rusqlite::ffi::SQLITE_BUSY), OpenError::InUse { .. }));
    assert!(matches!(error(rusqlite::ffi::SQLITE_NOTADB), OpenError::Foreign { .. }));
}

/// KEEP-4 [unit]: the name of the store is renewed exactly when it was not closed cleanly and the boot is
/// another one, or unknown.
#[test]
fn a_lost_power_renews_the_name_of_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::open(directory.path()).unwrap();
    let open = |boot: Option<&str>| open_in_boot(&state, boot).unwrap();
    let kill = |store: SqliteStore| -> StoreId {
        let threads: Vec<_> = store.shared.threads.lock().unwrap().drain(..).collect();
        let store_id = store.store_id();
        drop(store);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        store_id
    };
    let first = kill(open(Some("a")));
    let store = open(Some("a"));
    assert_eq!(store.store_id(), first, "a kill within one boot");
    store.close().unwrap();
    let store = open(Some("b"));
    assert_eq!(store.store_id(), first, "a clean close, then another boot");
    kill(store);
    let second = kill(open(Some("c")));
    assert_ne!(second, first, "a kill, then another boot");
    let third = kill(open(None));
    assert_ne!(third, second, "an unknown boot");
}

#[test]
fn a_full_disk_fails_its_own_calls_and_loses_nothing() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    fixture.append(append(5, vec![text(1, "kept")])).unwrap();
    let limit = |pages: i64| {
        let set = fixture.store.write(1, false, None, move |connection| {
            let pages = match pages {
                0 => connection.query_row("PRAGMA page_count", [], |row| row.get(0))?,
                pages => pages,
            };
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
            Ok(())
        });
        block_on(set).unwrap();
    };
    limit(0);
    let large = "x".repeat(100_000);
    let refused = fixture.append(append(5, vec![text(1, &large)]));
    assert!(matches!(refused, Err(StoreFailure::Unavailable(_))), "{refused:?}");
    limit(1_000_000);
    let persisted = fixture.append(append(5, vec![text(1, " too")])).unwrap();
    assert_eq!(persisted.first_seq.get(), 2);
    block_on(fixture.store.probe()).unwrap();
    let fixture = fixture.kill();
    fixture.commit(settle(2, 5, Outcome::Completed)).unwrap();
    assert_eq!(fixture.rows(SESSION).rows[1].body.as_deref(), Some("kept too"));
}

#[test]
fn the_greatest_time_written_survives() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    assert_eq!(fixture.store.greatest_time(), at(50));
    let late = NewRow { created_at: at(70), ..text(1, "a") };
    fixture.append(append(5, vec![late, text(1, "b")])).unwrap();
    assert_eq!(fixture.store.greatest_time(), at(70));
    let fixture = fixture.kill();
    assert_eq!(fixture.store.greatest_time(), at(70));
    block_on(fixture.store.record_error(OWNER, error(1, 90))).unwrap();
    assert_eq!(fixture.kill().store.greatest_time(), at(90));
}

#[test]
fn a_closed_store_refuses_and_says_so() {
    let fixture = Fixture::with_session();
    let clone = fixture.store.clone();
    fixture.store.close().unwrap();
    let refused = block_on(clone.commit(create(SessionId::new(11), 1)));
    assert!(matches!(refused, Err(StoreFailure::Unavailable(_))));
    assert!(block_on(clone.session(SESSION)).is_err());
}

#[test]
fn a_login_ends_with_its_time_or_by_revocation() {
    use runwarden_runtime::ports::store::Login;

    let fixture = Fixture::new();
    let login = |byte| Login { token_hash: [byte; 32], principal: OWNER, expires_at: at(100) };
    for byte in [1, 2] {
        block_on(fixture.store.put_login(login(byte))).unwrap();
    }
    let fixture = fixture.kill();
    let find = |byte, now| block_on(fixture.store.login([byte; 32], at(now))).unwrap();
    assert_eq!(find(1, 99), Some(login(1)));
    assert_eq!(find(1, 100), None);
    block_on(fixture.store.revoke_login([1; 32])).unwrap();
    assert_eq!((find(1, 99), find(2, 99)), (None, Some(login(2))));
}

#[test]
fn logins_of_a_principal_are_bounded() {
    use super::super::logins::LOGINS_MAX;
    use runwarden_runtime::ports::store::Login;

    let fixture = Fixture::new();
    for number in 0..=LOGINS_MAX {
        let mut token_hash = [0; 32];
        token_hash[..8].copy_from_slice(&number.to_be_bytes());
        let login = Login { token_hash, principal: OWNER, expires_at: at(100 + number) };
        block_on(fixture.store.put_login(login)).unwrap();
        let first = block_on(fixture.store.login([0; 32], at(1))).unwrap();
        assert_eq!(first.is_some(), number < LOGINS_MAX, "{number}");
    }
}
