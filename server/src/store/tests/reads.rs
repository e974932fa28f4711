//! Reads leave everything as it was.

use proptest::prelude::*;
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::store::{
    KeyScope, ListErrors, ListSessions, QueueChange, QueueCommit,
};

use super::*;

/// Every row of every table, as text.
fn dump(fixture: &Fixture) -> Vec<String> {
    let raw = fixture.raw();
    let mut tables =
        raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut dumped = Vec::new();
    for table in tables {
        let mut statement = raw.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<String> =
                (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap())).collect();
            dumped.push(format!("{table}: {}", values.join(", ")));
        }
    }
    dumped
}

/// Everything a reader can ask about.
fn read_everything(fixture: &Fixture, runs: u64) {
    let store = &fixture.store;
    let _ = block_on(store.probe());
    let _ = block_on(store.session(SESSION));
    let list =
        ListSessions { principal: OWNER, query: None, archived: false, after: None, limit: 9 };
    let _ = block_on(store.sessions(list));
    let _ = block_on(store.chain_tail(SESSION, 5));
    let _ = fixture.rows(SESSION);
    let _ = block_on(store.context(SESSION));
    let _ = block_on(store.conversation(SESSION, "demo".to_owned()));
    let _ = block_on(store.rewrite_target(SESSION, None));
    let _ = block_on(store.queue(SESSION));
    let _ = block_on(store.queued_text(SESSION, turn(90)));
    let _ = block_on(store.waiting());
    let _ = block_on(store.key(KeyScope::Session(SESSION), "k1".to_owned(), at(999)));
    let _ = block_on(store.unsettled());
    for run in 1..=runs {
        let _ = block_on(store.run(RunId::new(run)));
        let _ = block_on(store.journal(RunId::new(run), Default::default()));
    }
    let errors =
        ListErrors { principal: OWNER, session_id: None, after: None, limit: 9, now: at(999) };
    let _ = block_on(store.errors(errors));
    let _ = block_on(store.count_errors(OWNER, Some(SESSION)));
    let _ = block_on(store.errors_closed_by_deletion(OWNER, SESSION, at(1)));
    let _ = block_on(store.login([7; 32], at(999)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// RST-10 [property]: a read changes nothing that is stored, whatever state it meets: unsettled runs, damaged
    /// journals, held queues. What is to be recovered is recovered by a commit of its own.
    #[test]
    fn a_read_changes_no_layer(acts in prop::collection::vec(0..6_u8, 0..10)) {
        let mut fixture = Fixture::with_session();
        let (mut runs, mut entries) = (0, 0);
        for act in acts {
            let head = fixture.head(SESSION);
            let (expected, pending) = (head.revision, head.pending);
            match (act, pending) {
                (0 | 1, None) => {
                    runs += 1;
                    let key = key(&format!("k{runs}"), 1);
                    let admission = Admission { key, ..admission(SESSION, expected.get(), runs) };
                    fixture.commit(Commit::Admit(admission)).unwrap();
                }
                (0 | 1, Some(_)) => {
                    let _ = fixture.append(append(runs, vec![text(1, "words")]));
                }
                (2, Some(_)) => {
                    let _ = fixture.commit(settle(expected.get(), runs, Outcome::Completed));
                }
                (3, _) => {
                    let raw = fixture.raw();
                    raw.execute("UPDATE journal SET event = 'nonsense' WHERE seq = 1", []).unwrap();
                }
                (4, _) => {
                    entries += 1;
                    let change = QueueChange::Append {
                        turn_id: turn(90 + entries),
                        text: "waits".into(),
                        agent: "demo".to_owned(),
                        model: None,
                    };
                    let held = Some(Code::StoppedByUser);
                    let (session_id, at) = (SESSION, at(800));
                    let queued = QueueCommit { session_id, expected, change, held, key: None, at };
                    let _ = fixture.commit(Commit::Queue(queued));
                }
                _ => fixture = fixture.kill(),
            }
            let before = dump(&fixture);
            read_everything(&fixture, runs);
            prop_assert_eq!(dump(&fixture), before);
        }
    }
}
