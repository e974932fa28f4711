//! Reductions of a transcript: what stays, what says so, and what comes back when a turn is not launched.

use proptest::prelude::*;
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::session::record::{Role, StoredRow};
use runwarden_protocol::session::rewrite::Reduction;
use runwarden_runtime::ports::change::{Change, SessionChange};

use super::*;

fn reduce(expected: u64, kept: u64) -> Commit {
    Commit::Change(SessionChange {
        session_id: SESSION,
        expected: Revision::new(expected),
        at: at(900),
        key: None,
        what: Change::Reduction(Reduction { kept }),
    })
}

fn revision(fixture: &Fixture) -> u64 {
    fixture.head(SESSION).revision.get()
}

/// Accepts and settles a turn with an answer.
fn turn_of(fixture: &Fixture, run: u64, outcome: Outcome) {
    fixture.commit(admit(revision(fixture), run)).unwrap();
    fixture.append(append(run, vec![text(1, "an answer")])).unwrap();
    fixture.commit(settle(revision(fixture), run, outcome)).unwrap();
}

fn with_turns(turns: u64) -> Fixture {
    let fixture = Fixture::with_session();
    (1..=turns).for_each(|run| turn_of(&fixture, run, Outcome::Completed));
    fixture
}

fn ids(rows: &[StoredRow]) -> Vec<MessageId> {
    rows.iter().map(|row| row.message_id).collect()
}

/// SDB-04 [unit]: the commit that reduces states how many rows stay, 0 as well, and which revision did it.
#[test]
fn a_reduction_states_what_stays() {
    for kept in 0..4 {
        let fixture = with_turns(2);
        let before = fixture.rows(SESSION).rows;
        let committed = fixture.commit(reduce(revision(&fixture), kept)).unwrap();
        let head = fixture.head(SESSION);
        assert_eq!(head.transcript_generation_baseline, kept);
        assert_eq!((head.message_count, head.transcript_generation), (kept, 1));
        assert_eq!(
            (head.revision, head.truncation_watermark),
            (committed.revision, committed.revision)
        );
        let left = fixture.rows(SESSION).rows;
        assert_eq!(left, before[..usize::try_from(kept).unwrap()]);
        assert_eq!(head.head_id, left.last().map(|row| row.message_id));
        let fixture = fixture.kill();
        assert_eq!((fixture.head(SESSION), fixture.rows(SESSION).rows), (head, left));
    }
}

#[test]
fn a_reduction_of_another_revision_or_of_nothing_changes_nothing() {
    let fixture = with_turns(1);
    let head = fixture.head(SESSION);
    let current = head.revision;
    let stale = fixture.commit(reduce(current.get() - 1, 0));
    assert_eq!(stale, Err(StoreFailure::Conflict { current }));
    for kept in [2, 3, u64::MAX] {
        assert!(fixture.commit(reduce(current.get(), kept)).is_err(), "{kept}");
    }
    assert_eq!(fixture.head(SESSION), head);
}

fn admission_behind(fixture: &Fixture, run: u64, kept: u64) -> Commit {
    let mut admission = admission(SESSION, revision(fixture), run);
    admission.reduction = Some(Reduction { kept });
    Commit::Admit(admission)
}

/// A turn behind a reduction that is not launched leaves transcript, generation and baseline as they were; one
/// that was launched leaves nothing of what it replaced.
#[test]
fn a_turn_that_is_not_launched_brings_back_what_it_replaced() {
    let fixture = with_turns(3);
    fixture.commit(reduce(revision(&fixture), 4)).unwrap();
    let (head, rows) = (fixture.head(SESSION), fixture.rows(SESSION).rows);
    for kept in [0, 1, 3] {
        fixture.commit(admission_behind(&fixture, 10 + kept, kept)).unwrap();
        let reduced = fixture.head(SESSION);
        assert_eq!((reduced.transcript_generation, reduced.message_count), (2, kept));
        let run_id = RunId::new(10 + kept);
        let expected = reduced.revision;
        let undo = Commit::Compensate {
            session_id: SESSION,
            expected,
            run_id,
            requeue: None,
            at: at(950),
        };
        fixture.commit(undo).unwrap();
        let restored = fixture.head(SESSION);
        assert_eq!(fixture.rows(SESSION).rows, rows);
        let state = |head: &SessionHead| {
            (head.transcript_generation, head.transcript_generation_baseline, head.message_count)
        };
        assert_eq!(state(&restored), state(&head));
        assert_eq!(restored.truncation_watermark, head.truncation_watermark);
        assert_eq!(restored.head_id, head.head_id);
    }
    fixture.commit(admission_behind(&fixture, 20, 2)).unwrap();
    let fixture = fixture.kill();
    fixture.commit(settle(revision(&fixture), 20, Outcome::Interrupted)).unwrap();
    assert_eq!(ids(&fixture.rows(SESSION).rows)[..2], ids(&rows)[..2]);
    for table in ["replaced", "reductions"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let left: i64 = fixture.raw().query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

#[test]
fn a_rewrite_finds_the_turn_of_the_row_it_names() {
    let fixture = with_turns(1);
    turn_of(&fixture, 2, Outcome::Failed);
    let target = |named| block_on(fixture.store.rewrite_target(SESSION, named)).unwrap();
    let rows = fixture.rows(SESSION).rows;
    let found = target(Some(rows[1].message_id));
    assert_eq!((found.revision.get(), found.total), (revision(&fixture), 4));
    let first = found.turn.unwrap();
    assert_eq!((first.first, first.at, first.role), (0, 1, Role::Assistant));
    assert_eq!(
        (first.words.as_deref(), first.outcome),
        (Some("message of run 1"), Outcome::Completed)
    );
    let last = target(None).turn.unwrap();
    assert_eq!((last.first, last.at, last.is_answered), (2, 3, true));
    assert_eq!(last.outcome, Outcome::Failed);
    assert_eq!(target(Some(MessageId::new(7))).turn, None);
    let missing = block_on(fixture.store.rewrite_target(SessionId::new(9), None));
    assert_eq!(missing, Err(StoreFailure::Missing("session")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// SDB-03 [property], RST-07 [property]: each reduction raises the generation by 1; whatever the journals of removed
    /// runs hold, no kill, recovery or later turn brings a removed row back.
    #[test]
    fn what_was_removed_stays_removed(acts in prop::collection::vec((0..4_u8, 0..8_u64), 1..12)) {
        let mut fixture = Fixture::with_session();
        let (mut expected, mut generation) = (Vec::new(), 0);
        for (run, (act, at)) in (1..).zip(acts) {
            match act {
                0 => {
                    turn_of(&fixture, run, Outcome::Completed);
                    expected.push(format!("message of run {run}"));
                    expected.push("an answer".to_owned());
                }
                1 => {
                    // The process dies in the run, and recovery settles it.
                    fixture.commit(admit(revision(&fixture), run)).unwrap();
                    fixture.append(append(run, vec![text(1, "half")])).unwrap();
                    fixture = fixture.kill();
                    let mut recovered = settlement(revision(&fixture), run, Outcome::Interrupted);
                    recovered.recovery = true;
                    fixture.commit(Commit::Settle(recovered)).unwrap();
                    expected.push(format!("message of run {run}"));
                    expected.push("half".to_owned());
                }
                _ if at < expected.len() as u64 => {
                    fixture.commit(reduce(revision(&fixture), at)).unwrap();
                    expected.truncate(usize::try_from(at).unwrap());
                    generation += 1;
                }
                _ => fixture = fixture.kill(),
            }
            let rows = fixture.rows(SESSION).rows;
            let bodies: Vec<String> = rows.into_iter().filter_map(|row| row.body).collect();
            prop_assert_eq!(&bodies, &expected);
            let told = block_on(fixture.store.context(SESSION)).unwrap();
            let told: Vec<String> = told.into_iter().map(|said| said.text).collect();
            prop_assert_eq!(&told, &expected);
            prop_assert_eq!(fixture.head(SESSION).transcript_generation, generation);
        }
    }
}
