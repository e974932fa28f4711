use runwarden_runtime::ports::store::ListSessions;

use super::*;

fn list(principal: PrincipalId) -> ListSessions {
    ListSessions { principal, query: None, archived: false, after: None, limit: 100 }
}

fn ids(fixture: &Fixture, list: ListSessions) -> Vec<u64> {
    let heads = block_on(fixture.store.sessions(list)).unwrap();
    heads.iter().map(|head| head.session_id.number()).collect()
}

/// LIST-1 [property]: the order is strictly descending by activity and id, ids above the sign bit included, and
/// cursors of any page size deliver each session once.
#[test]
fn sessions_are_listed_newest_first_each_once() {
    let fixture = Fixture::new();
    let sessions = [(1, 5), (u64::MAX, 5), (u64::MAX / 2 + 1, 5), (2, 9), (3, 1)];
    for (number, millis) in sessions {
        fixture.commit(create(SessionId::new(number), millis)).unwrap();
    }
    let expected = [2, u64::MAX, u64::MAX / 2 + 1, 1, 3];
    for limit in 1..=6 {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = ListSessions { after, limit, ..list(OWNER) };
            let heads = block_on(fixture.store.sessions(page)).unwrap();
            let Some(last) = heads.last() else { break };
            after = Some((last.activity_at, last.session_id));
            found.extend(heads.iter().map(|head| head.session_id.number()));
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn a_list_shows_own_and_shared_sessions_that_match() {
    let fixture = Fixture::new();
    for (number, title) in [(1, "Übung macht"), (2, "den MEISTER"), (3, "übrig")] {
        let Commit::CreateSession(new) = create(SessionId::new(number), number) else {
            unreachable!()
        };
        let new = NewSession { title: title.to_owned(), ..new };
        fixture.commit(Commit::CreateSession(new)).unwrap();
    }
    let query =
        |text: &str| ids(&fixture, ListSessions { query: Some(text.to_owned()), ..list(OWNER) });
    assert_eq!(query("ÜB"), [3, 1]);
    assert_eq!(query("meister"), [2]);
    assert_eq!(query("%"), [] as [u64; 0]);
    assert_eq!(query(""), [3, 2, 1]);
    let other = PrincipalId::new(2);
    assert_eq!(ids(&fixture, list(other)), [] as [u64; 0]);
    fixture.raw().execute("UPDATE sessions SET shared = 1 WHERE title = 'übrig'", []).unwrap();
    assert_eq!(ids(&fixture, list(other)), [3]);
    fixture.raw().execute("UPDATE sessions SET archived = 1 WHERE title = 'übrig'", []).unwrap();
    assert_eq!(ids(&fixture, list(OWNER)), [2, 1]);
    assert_eq!(ids(&fixture, ListSessions { archived: true, ..list(OWNER) }), [3]);
}

#[test]
fn rows_are_read_by_position_within_their_bounds() {
    let fixture = Fixture::with_session();
    for run in 1..=5 {
        fixture.commit(admit(run * 2 - 1, run)).unwrap();
        fixture.append(append(run, vec![text(1, "answer")])).unwrap();
        fixture.commit(settle(run * 2, run, Outcome::Completed)).unwrap();
    }
    let read = |before, rows_max, bytes_max| {
        let read = ReadRows { session_id: SESSION, before, rows_max, bytes_max };
        let page = block_on(fixture.store.rows(read)).unwrap();
        assert_eq!(page.total, 10);
        (page.start, page.rows.len())
    };
    assert_eq!(read(None, 4, usize::MAX), (6, 4));
    assert_eq!(read(Some(6), 4, usize::MAX), (2, 4));
    assert_eq!(read(Some(2), 4, usize::MAX), (0, 2));
    assert_eq!(read(Some(0), 4, usize::MAX), (0, 0));
    assert_eq!(read(Some(99), 1, usize::MAX), (9, 1));
    assert_eq!(read(None, 4, 0), (9, 1), "the first row is always read");
    let one = fixture.rows(SESSION).rows[9].body.as_deref().unwrap().len()
        + serde_json::to_string(&fixture.rows(SESSION).rows[9].items).unwrap().len();
    let user = "message of run 5".len() + "[]".len();
    assert_eq!(read(None, 4, one + user), (8, 2));
    assert_eq!(read(None, 4, one + user - 1), (9, 1));
    let tail = block_on(fixture.store.chain_tail(SESSION, 3)).unwrap();
    let rows = fixture.rows(SESSION).rows;
    let newest: Vec<MessageId> = rows[7..].iter().map(|row| row.message_id).collect();
    assert_eq!((tail.length, tail.revision.get(), tail.ids), (10, 11, newest));
    let unknown = block_on(fixture.store.chain_tail(SessionId::new(99), 3));
    assert_eq!(unknown, Err(StoreFailure::Missing("session")));
}
