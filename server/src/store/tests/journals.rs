use runwarden_protocol::ids::{QuestionId, Seq};
use runwarden_protocol::journal::row::JournalRow;
use runwarden_runtime::ports::store::{JournalPage, PAGE_BYTES_MAX, PAGE_ROWS_MAX};

use super::*;

fn running(run: u64) -> Fixture {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, run)).unwrap();
    fixture
}

fn page(fixture: &Fixture, run: u64, after: u64) -> Result<JournalPage, StoreFailure> {
    block_on(fixture.store.journal(RunId::new(run), Seq::new(after)))
}

/// JRN-02 [unit]: every field of a row comes back as it was given.
#[test]
fn rows_come_back_as_they_were_given() {
    let fixture = running(5);
    let question_id = QuestionId::new(8);
    let asked = NewRow {
        event: RowEvent::QuestionAsked { question_id },
        created_at: at(4),
        body: "{\"prompt\":\"?\"}".into(),
    };
    let resolved = NewRow { event: RowEvent::QuestionResolved { question_id }, ..asked.clone() };
    let given =
        vec![text(1, "line\r\n\u{2028}\0ß"), asked, resolved, content(2, ItemKind::Tool, "1")];
    fixture.append(append(5, given.clone())).unwrap();
    let stored = page(&fixture, 5, 0).unwrap();
    assert!(!stored.more);
    for (index, (row, given)) in stored.rows.iter().zip(&given).enumerate() {
        let expected = JournalRow {
            run_id: RunId::new(5),
            session_id: SESSION,
            seq: Seq::new(index as u64 + 1),
            created_at: given.created_at,
            event: given.event,
            body: given.body.to_string(),
        };
        assert_eq!(*row, expected);
    }
    assert_eq!(page(&fixture, 5, 2).unwrap().rows, stored.rows[2..]);
    assert_eq!(page(&fixture, 5, 4).unwrap().rows, []);
    assert_eq!(page(&fixture, 5, 99).unwrap().rows, []);
}

#[test]
fn a_page_of_rows_ends_at_its_bounds() {
    let fixture = running(5);
    for _ in 0..(PAGE_ROWS_MAX + 1) / 64 {
        fixture.append(append(5, vec![text(1, ""); 64])).unwrap();
    }
    assert!(!page(&fixture, 5, 0).unwrap().more);
    fixture.append(append(5, vec![text(1, "")])).unwrap();
    let first = page(&fixture, 5, 0).unwrap();
    assert_eq!((first.rows.len(), first.more), (PAGE_ROWS_MAX, true));
    assert_eq!(page(&fixture, 5, PAGE_ROWS_MAX as u64).unwrap().rows.len(), 1);
    assert!(!page(&fixture, 5, 1).unwrap().more);
}

#[test]
fn a_page_of_bytes_ends_before_the_row_that_exceeds_it() {
    let fixture = running(5);
    let half = "x".repeat(PAGE_BYTES_MAX / 2);
    let large = "x".repeat(PAGE_BYTES_MAX + 1);
    let rows = [half.as_str(), &half, "y", &large, "z"].map(|body| text(1, body));
    fixture.append(append(5, rows.to_vec())).unwrap();
    let lengths = |after| {
        let page = page(&fixture, 5, after).unwrap();
        (page.rows.len(), page.more)
    };
    assert_eq!(lengths(0), (2, true));
    assert_eq!(lengths(2), (1, true));
    assert_eq!(lengths(3), (1, true));
    assert_eq!(lengths(4), (1, false));
}

#[test]
fn a_run_with_a_bad_row_is_quarantined_alone() {
    let fixture = running(5);
    fixture
        .append(append(5, vec![text(1, "a"), text(1, "b"), content(2, ItemKind::Tool, "1")]))
        .unwrap();
    let other = SessionId::new(11);
    fixture.commit(create(other, 1)).unwrap();
    fixture.commit(Commit::Admit(admission(other, 1, 6))).unwrap();
    fixture.append(Append { session_id: other, ..append(6, vec![text(1, "fine")]) }).unwrap();
    let raw = fixture.raw();
    for (damage, reason) in [
        ("UPDATE journal SET body = '{' WHERE seq = 3", "row 3: its value is not JSON"),
        ("UPDATE journal SET body = x'ff' WHERE seq = 3", "row 3: its body is not text"),
        ("UPDATE journal SET event = 'other' WHERE seq = 3", "row 3: "),
        ("UPDATE journal SET session_id = 0 WHERE seq = 2", "row 2: it belongs to another session"),
        ("DELETE FROM journal WHERE seq = 2", "row 2 is missing"),
        ("DELETE FROM journal WHERE seq > 1", "row 2 is missing"),
    ] {
        raw.execute(damage, []).unwrap();
        let before = page(&fixture, 5, 0).unwrap();
        assert!(before.more && before.rows.iter().all(|row| row.run_id == RunId::new(5)));
        let last = before.rows.len() as u64;
        let Err(StoreFailure::Quarantined { run_id, reason: found }) = page(&fixture, 5, last)
        else {
            panic!("{damage}");
        };
        assert_eq!(run_id, RunId::new(5));
        assert!(found.starts_with(reason), "{found}");
    }
    assert_eq!(page(&fixture, 6, 0).unwrap().rows.len(), 1);
    let settled = fixture.commit(settle(2, 5, Outcome::Interrupted)).unwrap();
    assert_eq!(settled.terminal_seq, Some(Seq::new(4)), "the session is not held by a bad journal");
    assert_eq!(fixture.rows(SESSION).rows[1].body.as_deref(), Some("a"));
}

#[test]
fn rows_are_taken_for_a_known_run_of_the_session_and_without_terminal() {
    let fixture = running(5);
    let unknown = fixture.append(append(6, vec![text(1, "a")]));
    assert_eq!(unknown, Err(StoreFailure::Missing("run")));
    let foreign = Append { session_id: SessionId::new(99), ..append(5, vec![text(1, "a")]) };
    assert_eq!(fixture.append(foreign), Err(StoreFailure::Missing("run of this session")));
    let terminal =
        NewRow { event: RowEvent::Terminal { outcome: Outcome::Completed }, ..text(1, "{}") };
    let refused = fixture.append(append(5, vec![text(1, "a"), terminal]));
    assert!(matches!(refused, Err(StoreFailure::Unavailable(_))));
    assert_eq!(page(&fixture, 5, 0).unwrap().rows, []);
    assert_eq!(page(&fixture, 6, 0), Err(StoreFailure::Missing("run")));
}

/// JRN-10 [property]: a terminal is the outcome wherever it stands, and recovery does not add another.
#[test]
fn a_terminal_without_settlement_is_found_and_kept() {
    let fixture = running(5);
    fixture.append(append(5, vec![text(1, "a"), text(1, "b")])).unwrap();
    let raw = fixture.raw();
    raw.execute(
        "UPDATE journal SET event = 'terminal', outcome = 'failed', body = '{}' WHERE seq = 1",
        [],
    )
    .unwrap();
    let unsettled = block_on(fixture.store.unsettled()).unwrap();
    assert_eq!(unsettled[0].terminal, Some(Outcome::Failed));
    let other = fixture.commit(settle(2, 5, Outcome::Interrupted));
    assert_eq!(other, Err(StoreFailure::Ended { outcome: Outcome::Failed }));
    assert_eq!(
        fixture.head(SESSION).revision,
        Revision::new(2),
        "the refusal took nothing with it"
    );
    let settled = fixture.commit(settle(2, 5, Outcome::Failed)).unwrap();
    assert_eq!(settled.terminal_seq, Some(Seq::new(1)));
}

#[test]
fn one_refused_change_of_a_batch_takes_no_other_with_it() {
    let fixture = running(5);
    let store = &fixture.store;
    let results = block_on(async {
        let mut calls: Vec<_> = (0..100)
            .map(|call| {
                let run = if call % 3 == 0 { 6 } else { 5 };
                Box::pin(store.append(append(run, vec![text(1, "x")])))
            })
            .collect();
        let mut results = Vec::new();
        for call in &mut calls {
            // Every call is sent before the first answer is awaited.
            results.push(poll_once(call.as_mut()).await);
        }
        let mut answers = Vec::new();
        for (call, result) in calls.into_iter().zip(results) {
            answers.push(match result {
                Some(answer) => answer,
                None => call.await,
            });
        }
        answers
    });
    let mut next = 1;
    for (call, result) in results.into_iter().enumerate() {
        if call % 3 == 0 {
            assert_eq!(result, Err(StoreFailure::Missing("run")));
        } else {
            assert_eq!(result, Ok(Persisted { first_seq: Seq::new(next), count: 1 }));
            next += 1;
        }
    }
    assert_eq!(page(&fixture, 5, 0).unwrap().rows.len() as u64, next - 1);
}
