use runwarden_protocol::journal::row::Reason;
use runwarden_protocol::session::record::{Marker, Role};
use runwarden_runtime::ports::agent::ContextRole;
use runwarden_runtime::ports::store::{KeyEffect, KeyScope};

use super::super::keys::{KEY_AGE_MAX, KEYS_MAX};
use super::*;

#[test]
fn a_turn_goes_from_pending_to_transcript() {
    let fixture = Fixture::with_session();
    let admitted = fixture.commit(admit(1, 5)).unwrap();
    assert_eq!(admitted.revision, Revision::new(2));
    assert_eq!(admitted.head.activity_at, at(50));
    let head = fixture.head(SESSION);
    assert_eq!(head.title, "message of run 5");
    assert_eq!(head.message_count, 0);
    assert_eq!(head.pending.unwrap().text, "message of run 5");

    let start = Commit::StartWorker { session_id: SESSION, run_id: RunId::new(5), at: at(51) };
    assert_eq!(fixture.commit(start).unwrap().revision, Revision::new(2));
    let rows = vec![text(1, "Hel"), text(1, "lo"), content(2, ItemKind::Tool, r#"{"a":1}"#)];
    let persisted = fixture.append(append(5, rows)).unwrap();
    assert_eq!((persisted.first_seq.get(), persisted.count), (1, 3));

    let settled = fixture.commit(settle(2, 5, Outcome::Completed)).unwrap();
    assert_eq!(settled.revision, Revision::new(3));
    assert_eq!(settled.terminal_seq.unwrap().get(), 4);
    let page = fixture.rows(SESSION);
    let roles: Vec<Role> = page.rows.iter().map(|row| row.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    assert_eq!(page.rows[1].body.as_deref(), Some("Hello"));
    assert_eq!(page.rows[1].model.as_deref(), Some("small"));
    assert_eq!(page.rows[1].predecessor, Some(turn(5)));
    assert_eq!(page.head.pending, None);
    assert_eq!(page.head.head_id, Some(page.rows[1].message_id));
    assert_eq!(page.head.activity_at, at(55));
    let context = block_on(fixture.store.context(SESSION)).unwrap();
    let context: Vec<_> = context.iter().map(|said| (said.role, said.text.as_str())).collect();
    assert_eq!(
        context,
        [(ContextRole::User, "message of run 5"), (ContextRole::Assistant, "Hello")]
    );
    let run = block_on(fixture.store.run(RunId::new(5))).unwrap().unwrap();
    assert_eq!(run.outcome, Some(Outcome::Completed));
    assert_eq!(run.last_seq.get(), 4);
}

/// CTX-03 [property]: settling clears the pending turn and leaves the turn once in transcript and context.
#[test]
fn a_stopped_turn_leaves_prompt_and_marker() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    let stopped =
        Settlement { marker: Some(Marker::Cancelled), ..settlement(2, 5, Outcome::Cancelled) };
    fixture.commit(Commit::Settle(stopped)).unwrap();
    let page = fixture.rows(SESSION);
    let roles: Vec<Role> = page.rows.iter().map(|row| row.role).collect();
    assert_eq!(roles, [Role::User, Role::System]);
    assert_eq!(page.rows[1].marker, Some(Marker::Cancelled));
    assert_eq!(page.head.activity_at, at(50), "no output, no activity");
    assert_eq!(page.head.pending, None);
    assert_eq!(block_on(fixture.store.context(SESSION)).unwrap().len(), 1);
}

/// OWN-04 [unit]: `completed` needs the active run to be this one; another outcome also takes none.
#[test]
fn only_the_active_run_may_complete() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    let raw = fixture.raw();
    raw.execute("UPDATE sessions SET pending_turn_id = NULL", []).unwrap();
    let refused = fixture.commit(settle(2, 5, Outcome::Completed));
    assert_eq!(refused, Err(StoreFailure::Missing("active run")));
    fixture.commit(settle(2, 5, Outcome::Interrupted)).unwrap();
    fixture.commit(admit(3, 6)).unwrap();
    raw.execute("UPDATE sessions SET pending_run_id = pending_run_id + 1", []).unwrap();
    for outcome in [Outcome::Completed, Outcome::Cancelled] {
        let refused = fixture.commit(settle(4, 6, outcome));
        assert_eq!(refused, Err(StoreFailure::Missing("active run")));
    }
}

/// TRN-04 [property]: the turn ends as its run does, in one commit; a second terminal is refused and the
/// first one stands.
#[test]
fn the_first_terminal_stands() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    fixture.commit(settle(2, 5, Outcome::Cancelled)).unwrap();
    let ended = Err(StoreFailure::Ended { outcome: Outcome::Cancelled });
    assert_eq!(fixture.commit(settle(3, 5, Outcome::Completed)), ended);
    assert_eq!(fixture.commit(settle(2, 5, Outcome::Cancelled)), ended);
    let raw = fixture.raw();
    let turn: (i64, String) = raw
        .query_row("SELECT count(*), max(outcome) FROM turn_journal WHERE step = 2", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(turn, (1, "cancelled".to_owned()));
    assert_eq!(fixture.head(SESSION).revision, Revision::new(3));
}

/// JRN-09 [property]: after a terminal nothing is appended, whatever it is.
#[test]
fn an_ended_journal_takes_no_row() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    fixture.append(append(5, vec![text(1, "a")])).unwrap();
    fixture.commit(settle(2, 5, Outcome::Completed)).unwrap();
    for rows in [vec![], vec![text(1, "b")], vec![content(2, ItemKind::Notice, "1")]] {
        let refused = fixture.append(append(5, rows));
        assert_eq!(refused, Err(StoreFailure::Ended { outcome: Outcome::Completed }));
    }
    let start = Commit::StartWorker { session_id: SESSION, run_id: RunId::new(5), at: at(99) };
    assert_eq!(fixture.commit(start), Err(StoreFailure::Ended { outcome: Outcome::Completed }));
    assert_eq!(
        block_on(fixture.store.journal(RunId::new(5), Default::default())).unwrap().rows.len(),
        2
    );
}

#[test]
fn a_commit_from_another_revision_changes_nothing() {
    let fixture = Fixture::with_session();
    for expected in [0, 2] {
        let refused = fixture.commit(admit(expected, 5));
        assert_eq!(refused, Err(StoreFailure::Conflict { current: Revision::new(1) }));
    }
    assert_eq!(block_on(fixture.store.run(RunId::new(5))).unwrap(), None);
    fixture.commit(admit(1, 5)).unwrap();
    let refused = fixture.commit(settle(1, 5, Outcome::Completed));
    assert_eq!(refused, Err(StoreFailure::Conflict { current: Revision::new(2) }));
    assert!(fixture.head(SESSION).pending.is_some());
    let missing = fixture.commit(settle(2, 6, Outcome::Completed));
    assert_eq!(missing, Err(StoreFailure::Missing("run")));
}

#[test]
fn a_failed_start_is_undone_and_its_key_freed() {
    let fixture = Fixture::with_session();
    let keyed = Admission { key: key("k", 7), ..admission(SESSION, 1, 5) };
    fixture.commit(Commit::Admit(keyed)).unwrap();
    let compensate = Commit::Compensate {
        session_id: SESSION,
        expected: Revision::new(2),
        run_id: RunId::new(5),
        requeue: None,
        at: at(60),
    };
    let undone = fixture.commit(compensate).unwrap();
    assert_eq!(undone.revision, Revision::new(3));
    let head = fixture.head(SESSION);
    assert_eq!((head.pending, head.title.as_str()), (None, ""));
    let scope = KeyScope::Session(SESSION);
    assert_eq!(block_on(fixture.store.key(scope, "k".to_owned(), at(61))).unwrap(), None);
    let run = block_on(fixture.store.run(RunId::new(5))).unwrap().unwrap();
    assert_eq!(run.outcome, Some(Outcome::Failed));
    assert_eq!(block_on(fixture.store.unsettled()).unwrap(), []);
}

/// RST-06 [unit]: a recovery writes one record of what it did, without content, in the same commit.
#[test]
fn a_recovery_leaves_provenance() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    fixture.append(append(5, vec![text(1, "secret words")])).unwrap();
    let fixture = fixture.kill();
    let unsettled = block_on(fixture.store.unsettled()).unwrap();
    assert_eq!((unsettled.len(), unsettled[0].run_id), (1, RunId::new(5)));
    assert_eq!(unsettled[0].last_seq.get(), 1);
    let recovered = Settlement {
        reason: Some(Reason::WorkerLost),
        marker: Some(Marker::Interrupted),
        recovery: true,
        ..settlement(2, 5, Outcome::Interrupted)
    };
    fixture.commit(Commit::Settle(recovered)).unwrap();
    assert_eq!(fixture.rows(SESSION).rows.len(), 3);
    let raw = fixture.raw();
    let record: (String, String, String, i64, i64) = raw
        .query_row(
            "SELECT source, target, reason, rows_before, rows_after FROM provenance",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )
        .unwrap();
    let expected = ("journal".to_owned(), "transcript".to_owned(), "worker_lost".to_owned(), 0, 3);
    assert_eq!(record, expected);
}

#[test]
fn a_superseded_run_leaves_the_session_as_it_is() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    let before = fixture.head(SESSION);
    let settled = fixture.commit(settle(2, 5, Outcome::Superseded)).unwrap();
    assert_eq!(settled.revision, before.revision);
    assert_eq!(fixture.head(SESSION), before);
}

/// USE-01 [unit]: what a run used is kept with it, unknown values as unknown.
#[test]
fn usage_is_kept_with_the_run_and_summed_in_the_session() {
    let fixture = Fixture::with_session();
    let usage = Usage { input: Some(3), output: None, cached: Some(1), ..Usage::UNKNOWN };
    for (run, expected) in [(5, 1), (6, 3)] {
        fixture.commit(admit(expected, run)).unwrap();
        let settled = Settlement { usage, ..settlement(expected + 1, run, Outcome::Completed) };
        fixture.commit(Commit::Settle(settled)).unwrap();
        assert_eq!(block_on(fixture.store.run(RunId::new(run))).unwrap().unwrap().usage, usage);
    }
    let sum = Usage { input: Some(6), output: None, cached: Some(2), ..Usage::UNKNOWN };
    assert_eq!(fixture.head(SESSION).usage, sum);
}

/// OWN-15 [property]: 63, 64 and 65 settlements; the last 64 of a session are kept.
#[test]
fn the_last_settlements_are_kept() {
    let fixture = Fixture::with_session();
    let mut revision = 1;
    for (settled, kept) in (1..=65).map(|settled| (settled, settled.min(64))) {
        fixture.commit(admit(revision, settled)).unwrap();
        fixture.commit(settle(revision + 1, settled, Outcome::Completed)).unwrap();
        revision += 2;
        let raw = fixture.raw();
        let count: i64 =
            raw.query_row("SELECT count(*) FROM settlements", [], |row| row.get(0)).unwrap();
        assert_eq!(count.cast_unsigned(), kept);
    }
}

#[test]
fn a_used_key_names_its_effect_for_a_day() {
    let fixture = Fixture::with_session();
    let keyed = Admission { key: key("k", u64::MAX), ..admission(SESSION, 1, 5) };
    fixture.commit(Commit::Admit(keyed)).unwrap();
    let used_at = at(50);
    let find =
        |now| block_on(fixture.store.key(KeyScope::Session(SESSION), "k".to_owned(), now)).unwrap();
    let found = find(used_at).unwrap();
    assert_eq!((found.fingerprint, found.revision), (u64::MAX, Revision::new(2)));
    let effect = KeyEffect::Turn {
        turn_id: turn(5),
        run_id: RunId::new(5),
        pending_started_at: used_at,
        agent: "demo".to_owned(),
        model: Some("small".to_owned()),
    };
    assert_eq!(found.effect, effect);
    let end = used_at.plus(KEY_AGE_MAX);
    assert!(find(Instant::from_micros(end.as_micros() - 1)).is_some());
    assert!(find(end).is_none());
    let foreign = KeyScope::Principal(OWNER);
    assert_eq!(block_on(fixture.store.key(foreign, "k".to_owned(), used_at)).unwrap(), None);
    fixture.commit(settle(2, 5, Outcome::Completed)).unwrap();
    let again = Admission { key: key("k", 1), ..admission(SESSION, 3, 6) };
    assert!(matches!(fixture.commit(Commit::Admit(again)), Err(StoreFailure::Conflict { .. })));
    assert_eq!(fixture.head(SESSION).revision, Revision::new(3));
}

/// ADM-13 [property]: 1,023, 1,024 and 1,025 keys; the oldest is dropped first, other scopes keep theirs.
#[test]
fn the_newest_keys_of_a_scope_are_kept() {
    let fixture = Fixture::new();
    let find = |name: String| {
        block_on(fixture.store.key(KeyScope::Principal(OWNER), name, at(1))).unwrap().is_some()
    };
    let keyed = |number: u64| {
        let Commit::CreateSession(new) = create(SessionId::new(number), 1) else { unreachable!() };
        Commit::CreateSession(NewSession { key: key(&number.to_string(), 0), ..new })
    };
    fixture.commit_all((1..KEYS_MAX - 1).map(keyed));
    for number in KEYS_MAX - 1..=KEYS_MAX + 1 {
        fixture.commit(keyed(number)).unwrap();
        assert_eq!(find("1".to_owned()), number <= KEYS_MAX);
        assert!(find("2".to_owned()) && find(number.to_string()));
    }
}

#[test]
fn a_handle_is_kept_for_its_agent_until_another_one_ran() {
    let fixture = Fixture::with_session();
    let found = |agent: &str| block_on(fixture.store.conversation(SESSION, agent.into())).unwrap();
    let mut expected = 1;
    let mut run = |number: u64, agent: &str, handle: Option<&str>| {
        let admission = Admission { agent: agent.into(), ..admission(SESSION, expected, number) };
        fixture.commit(Commit::Admit(admission)).unwrap();
        let settled = settlement(expected + 1, number, Outcome::Completed);
        let settled = Settlement { conversation: handle.map(Into::into), ..settled };
        fixture.commit(Commit::Settle(settled)).unwrap();
        expected += 2;
    };
    assert_eq!(found("a"), None);
    run(5, "a", Some("one"));
    assert_eq!((found("a").as_deref(), found("b")), (Some("one"), None));
    // A run that told none, of an agent that was cut off perhaps, takes nothing away.
    run(6, "a", None);
    assert_eq!(found("a").as_deref(), Some("one"));
    run(7, "a", Some("two"));
    assert_eq!(found("a").as_deref(), Some("two"));
    run(8, "b", None);
    assert_eq!((found("a"), found("b")), (None, None));
    run(9, "b", Some("three"));
    run(10, "a", Some("four"));
    assert_eq!((found("a").as_deref(), found("b")), (Some("four"), None));
}
