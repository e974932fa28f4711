//! Pruning of journals.

use runwarden_protocol::ids::Seq;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::session::rewrite::Reduction;
use runwarden_runtime::ports::change::{Change, SessionChange};
use runwarden_runtime::ports::store::JournalFate;

use super::super::column::Column;
use super::super::retention::ROWS_PER_STEP;
use super::*;

const RETENTION: Duration = Duration::from_secs(60);

/// A session with one settled run that has so many rows.
fn settled(rows: usize) -> Fixture {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    for first in (0..rows).step_by(64) {
        let batch = (first..rows.min(first + 64)).map(|row| text(1, &format!("{row} ")));
        fixture.append(append(5, batch.collect())).unwrap();
    }
    fixture.commit(settle(2, 5, Outcome::Completed)).unwrap();
    fixture
}

/// The time from which the journal of run 5 is old enough, and a microsecond earlier.
fn due() -> (Instant, Instant) {
    let due = at(55).plus(RETENTION);
    (due, Instant::from_micros(due.as_micros() - 1))
}

fn step(fixture: &Fixture, now: Instant) -> bool {
    block_on(fixture.store.prune(now, RETENTION)).unwrap()
}

/// Prunes what is to be pruned; how many steps it took.
fn prune(fixture: &Fixture) -> usize {
    (0..100).take_while(|_| step(fixture, due().0)).count()
}

fn rows_of(fixture: &Fixture, run: u64) -> usize {
    let sql = "SELECT count(*) FROM journal WHERE run_id = ?1";
    let column = RunId::new(run).to_column();
    let count: i64 = fixture.raw().query_row(sql, [column], |row| row.get(0)).unwrap();
    usize::try_from(count).unwrap()
}

fn fate(fixture: &Fixture) -> JournalFate {
    block_on(fixture.store.run(RunId::new(5))).unwrap().unwrap().journal
}

/// JRN-18 [unit], KEEP-5 [unit]: a journal goes when its time has passed and the transcript holds all it says, not a
/// microsecond before, a bounded number of rows at a time; the run and its outcome stay known.
#[test]
fn a_journal_goes_when_its_time_has_passed() {
    let fixture = settled(2 * ROWS_PER_STEP);
    assert!(!step(&fixture, due().1));
    assert_eq!(fate(&fixture), JournalFate::Kept);
    assert!(step(&fixture, due().0), "it is judged");
    assert_eq!(fate(&fixture), JournalFate::Pruned, "from here on nobody reads it");
    let mut left = 2 * ROWS_PER_STEP + 1;
    while step(&fixture, due().0) {
        let now = rows_of(&fixture, 5);
        assert!(left - now <= ROWS_PER_STEP, "{left} to {now}");
        left = now;
    }
    assert_eq!(left, 0);
    let run = block_on(fixture.store.run(RunId::new(5))).unwrap().unwrap();
    assert_eq!(run.outcome, Some(Outcome::Completed));
    assert_eq!(run.last_seq, Seq::new(2 * ROWS_PER_STEP as u64 + 1));
    let read = block_on(fixture.store.journal(RunId::new(5), Seq::ZERO));
    assert!(matches!(read, Err(StoreFailure::Missing(_))), "{read:?}");
    let late = fixture.append(append(5, vec![text(1, "late")]));
    assert_eq!(late, Err(StoreFailure::Ended { outcome: Outcome::Completed }));
    assert_eq!(fixture.rows(SESSION).total, 2, "the transcript stays");
}

#[test]
fn a_journal_stays_that_the_transcript_does_not_hold() {
    for damage in [
        "UPDATE messages SET body = 'less' WHERE role = 'assistant'",
        "UPDATE messages SET items = '[]' WHERE role = 'assistant'",
        "DELETE FROM messages WHERE role = 'assistant'",
        "DELETE FROM journal WHERE seq = 2",
        "UPDATE journal SET event = 'other' WHERE seq = 2",
    ] {
        let fixture = settled(3);
        fixture.raw().execute(damage, []).unwrap();
        let before = rows_of(&fixture, 5);
        assert_eq!(prune(&fixture), 1, "it is judged once: {damage}");
        assert_eq!((rows_of(&fixture, 5), fate(&fixture)), (before, JournalFate::Kept));
    }
}

#[test]
fn a_run_that_is_not_settled_keeps_its_journal() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    fixture.append(append(5, vec![text(1, "a")])).unwrap();
    assert_eq!((prune(&fixture), rows_of(&fixture, 5)), (0, 1));
}

#[test]
fn a_turn_that_was_removed_on_purpose_holds_no_journal() {
    let fixture = settled(3);
    let removal = SessionChange {
        session_id: SESSION,
        expected: Revision::new(3),
        at: at(60),
        key: None,
        what: Change::Reduction(Reduction { kept: 0 }),
    };
    fixture.commit(Commit::Change(removal)).unwrap();
    assert_eq!(prune(&fixture), 2);
    assert_eq!((rows_of(&fixture, 5), fate(&fixture)), (0, JournalFate::Pruned));
}

#[test]
fn a_pruned_journal_is_no_damage_and_survives_a_restart() {
    let fixture = settled(ROWS_PER_STEP);
    assert!(step(&fixture, due().0) && step(&fixture, due().0));
    let fixture = fixture.kill();
    assert_eq!(prune(&fixture), 1, "it goes on where it was");
    let found = super::super::inspect::sessions(&fixture.state.sessions_db(), true).unwrap();
    assert_eq!(found.content.unwrap().quarantined, []);
}
