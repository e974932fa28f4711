use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::store::{KeyEffect, KeyScope, QueueChange, QueueCommit};

use super::*;

fn append_entry(expected: u64, entry: u64) -> QueueCommit {
    QueueCommit {
        session_id: SESSION,
        expected: Revision::new(expected),
        change: QueueChange::Append {
            turn_id: turn(entry),
            text: format!("entry {entry}").into(),
            agent: "demo".to_owned(),
            model: None,
        },
        held: None,
        key: key(&format!("k{entry}"), entry),
        at: at(entry),
    }
}

fn change(expected: u64, change: QueueChange, held: Option<Code>) -> QueueCommit {
    QueueCommit { change, held, key: None, ..append_entry(expected, 1) }
}

/// A session at revision 4 whose queue holds the entries 1, 2 and 3.
fn with_three() -> Fixture {
    let fixture = Fixture::with_session();
    for entry in 1..=3 {
        fixture.commit(Commit::Queue(append_entry(entry, entry))).unwrap();
    }
    fixture
}

fn waiting(fixture: &Fixture) -> Vec<MessageId> {
    let queue = block_on(fixture.store.queue(SESSION)).unwrap();
    let head = fixture.head(SESSION);
    assert_eq!(head.queue_length, queue.entries.len() as u64);
    assert_eq!(head.queue_held, queue.held);
    queue.entries.iter().map(|entry| entry.turn_id).collect()
}

fn head_start(expected: u64, entry: u64) -> Commit {
    let turn_id = turn(entry);
    Commit::Admit(Admission { turn_id, is_head: true, ..admission(SESSION, expected, 50 + entry) })
}

#[test]
fn entries_survive_a_kill_in_their_order_with_their_words_and_keys() {
    let fixture = with_three().kill();
    assert_eq!(waiting(&fixture), [turn(1), turn(2), turn(3)]);
    let text = block_on(fixture.store.queued_text(SESSION, turn(2))).unwrap();
    assert_eq!(text.as_deref(), Some("entry 2"));
    let record = block_on(fixture.store.key(KeyScope::Session(SESSION), "k2".to_owned(), at(9)));
    let queued =
        KeyEffect::Queued { turn_id: turn(2), position: 2, agent: "demo".to_owned(), model: None };
    let record = record.unwrap().unwrap();
    assert_eq!((record.effect, record.revision), (queued, Revision::new(3)));
    assert_eq!(block_on(fixture.store.waiting()).unwrap().len(), 1);
}

#[test]
fn the_commit_that_accepts_the_turn_removes_exactly_its_entry() {
    let fixture = with_three();
    assert!(fixture.commit(head_start(4, 2)).is_err(), "not the head");
    assert_eq!(waiting(&fixture).len(), 3);
    fixture.commit(head_start(4, 1)).unwrap();
    let fixture = fixture.kill();
    assert_eq!(waiting(&fixture), [turn(2), turn(3)]);
    assert_eq!(fixture.head(SESSION).pending.map(|pending| pending.turn_id), Some(turn(1)));
    assert_eq!(block_on(fixture.store.queued_text(SESSION, turn(1))).unwrap(), None);
}

#[test]
fn a_failed_launch_puts_the_entry_back_to_the_head_and_holds() {
    let fixture = with_three();
    fixture.commit(head_start(4, 1)).unwrap();
    let undo = Commit::Compensate {
        session_id: SESSION,
        expected: Revision::new(5),
        run_id: RunId::new(51),
        requeue: Some(Code::LaunchFailed),
        at: at(60),
    };
    fixture.commit(undo).unwrap();
    assert_eq!(waiting(&fixture), [turn(1), turn(2), turn(3)]);
    assert_eq!(fixture.head(SESSION).queue_held, Some(Code::LaunchFailed));
    assert_eq!(block_on(fixture.store.waiting()).unwrap(), []);
    let text = block_on(fixture.store.queued_text(SESSION, turn(1))).unwrap();
    assert_eq!(text.as_deref(), Some("message of run 51"));
}

#[test]
fn a_hold_comes_with_a_settlement_and_survives_a_kill() {
    let fixture = with_three();
    fixture.commit(head_start(4, 1)).unwrap();
    let stopped = Settlement {
        turn_id: turn(1),
        hold: Some(Code::StoppedByUser),
        ..settlement(5, 51, Outcome::Cancelled)
    };
    fixture.commit(Commit::Settle(stopped)).unwrap();
    let fixture = fixture.kill();
    assert_eq!(fixture.head(SESSION).queue_held, Some(Code::StoppedByUser));
    assert_eq!(block_on(fixture.store.waiting()).unwrap(), []);
    fixture.commit(Commit::Queue(change(6, QueueChange::Release, None))).unwrap();
    assert_eq!(fixture.head(SESSION).queue_held, None);
    assert_eq!(block_on(fixture.store.waiting()).unwrap().len(), 1);
}

#[test]
fn a_removal_is_remembered_with_its_words_and_the_last_one_ends_a_hold() {
    let fixture = with_three();
    let hold = Some(Code::StoppedByUser);
    fixture.commit(Commit::Queue(change(4, QueueChange::Hold, hold))).unwrap();
    let remove = |entry: u64| QueueChange::Remove { turn_id: turn(entry) };
    let keyed = QueueCommit { key: key("gone", 8), ..change(5, remove(2), hold) };
    fixture.commit(Commit::Queue(keyed)).unwrap();
    let record = block_on(fixture.store.key(KeyScope::Session(SESSION), "gone".to_owned(), at(9)));
    let removed = KeyEffect::Removed { turn_id: turn(2), text: "entry 2".to_owned() };
    assert_eq!(record.unwrap().unwrap().effect, removed);
    let missing = fixture.commit(Commit::Queue(change(6, remove(2), hold)));
    assert_eq!(missing, Err(StoreFailure::Missing("queue entry")));
    fixture.commit(Commit::Queue(change(6, remove(1), hold))).unwrap();
    assert_eq!((waiting(&fixture), fixture.head(SESSION).queue_held), (vec![turn(3)], hold));
    fixture.commit(Commit::Queue(change(7, remove(3), hold))).unwrap();
    assert_eq!((waiting(&fixture), fixture.head(SESSION).queue_held), (vec![], None));
}

#[test]
fn a_resumption_is_remembered() {
    let fixture = with_three();
    let keyed = QueueCommit { key: key("go", 8), ..change(4, QueueChange::Release, None) };
    fixture.commit(Commit::Queue(keyed)).unwrap();
    let record = block_on(fixture.store.key(KeyScope::Session(SESSION), "go".to_owned(), at(9)));
    assert_eq!(record.unwrap().unwrap().effect, KeyEffect::Resumed { length: 3 });
}

/// Each change raises the revision by one, and a stale one changes nothing.
#[test]
fn a_stale_change_is_refused() {
    let fixture = with_three();
    let refused = fixture.commit(Commit::Queue(append_entry(3, 9)));
    assert_eq!(refused, Err(StoreFailure::Conflict { current: Revision::new(4) }));
    assert_eq!(waiting(&fixture).len(), 3);
}
