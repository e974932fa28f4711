use proptest::prelude::*;

use super::*;
use crate::ids::{AskId, RunId, TurnId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use crate::run::guards::Rules;
use crate::wire::codes::Code;

const ASK: AskId = AskId::new(7);

fn try_step(queue: &mut Queue, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    queue.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

fn step(queue: &mut Queue, input: Input) -> Vec<Output> {
    try_step(queue, input).unwrap_or_else(|reject| panic!("{input:?}: {reject:?}"))
}

fn turn(n: u64) -> TurnId {
    TurnId::new(n)
}

fn append(n: u64) -> Change {
    Change::Append { ask: ASK, run_id: RunId::new(n), turn_id: turn(n) }
}

fn remove(n: u64) -> Change {
    Change::Remove { ask: ASK, turn_id: turn(n) }
}

fn release() -> Change {
    Change::Release { ask: ASK }
}

fn save(queue: &mut Queue, change: Change) -> Vec<Output> {
    let asked = step(queue, Input::Asked(change));
    assert!(matches!(asked[..], [Output::Write { .. }]), "{asked:?}");
    step(queue, Input::Saved)
}

fn with(entries: u64) -> Queue {
    Queue::found((1..=entries).map(turn).collect(), None)
}

fn held(entries: u64, code: Code) -> Queue {
    Queue::found((1..=entries).map(turn).collect(), Some(code))
}

struct Small;

impl Scope<Queue> for Small {
    fn inputs(&self, queue: &Queue) -> Vec<Input> {
        let mut inputs = vec![
            Input::Asked(remove(1)),
            Input::Asked(remove(2)),
            Input::Asked(release()),
            Input::Asked(Change::Hold),
            Input::Saved,
            Input::SaveFailed,
            Input::Triggered,
            Input::HeadAccepted,
            Input::HeadRefused { code: Code::SessionBusy },
            Input::HeadRefused { code: Code::BackendUnavailable },
            Input::StopAccepted,
            Input::HoldSaved,
            Input::Rotated,
        ];
        if queue.entries().len() < 3 {
            inputs.extend([1, 2, 3].map(|n| Input::Asked(append(n))));
            inputs.push(Input::HeadReturned { turn_id: turn(9), code: Code::LaunchFailed });
        }
        inputs
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(Queue::default(), &Small, Queue::<Rules>::WEIGHT_MAX).unwrap();
    let names: Vec<_> = report.state_names.keys().copied().collect();
    assert_eq!(names, ["empty", "held", "starting", "waiting"]);
    assert_matrix!("run_queue", &report.matrix);
}

#[test]
fn entries_keep_their_order_and_are_told_their_place() {
    let mut queue = Queue::default();
    for n in 1..=3 {
        let position = u32::try_from(n).unwrap();
        let appended = Output::Appended { ask: ASK, turn_id: turn(n), position };
        assert_eq!(save(&mut queue, append(n)), [appended]);
    }
    assert_eq!(queue.entries(), [turn(1), turn(2), turn(3)]);
    assert_eq!(step(&mut queue, Input::Triggered), [Output::StartHead { turn_id: turn(1) }]);
    step(&mut queue, Input::HeadAccepted);
    assert_eq!(queue.entries(), [turn(2), turn(3)]);
}

/// STR-08 [unit]: the 64th entry is taken, and one more is not.
#[test]
fn a_queue_holds_at_most_64_entries() {
    for (entries, is_full) in [(62, false), (63, true)] {
        let mut queue = with(entries);
        save(&mut queue, append(100));
        assert_eq!(queue.is_full(), is_full, "{entries}");
        assert_eq!(try_step(&mut queue, Input::Asked(append(101))).is_err(), is_full);
    }
}

#[test]
fn a_trigger_is_one_attempt_and_none_of_an_empty_or_held_queue() {
    for mut queue in [Queue::default(), held(1, Code::StoppedByUser)] {
        let before = queue.clone();
        assert_eq!(step(&mut queue, Input::Triggered), []);
        assert_eq!(queue, before);
    }
    let mut queue = with(1);
    assert_eq!(step(&mut queue, Input::Triggered).len(), 1);
    assert_eq!(step(&mut queue, Input::Triggered), []);
}

#[test]
fn only_a_busy_session_or_server_leaves_the_queue_without_hold() {
    for code in [Code::SessionBusy, Code::ServerBusy] {
        let mut queue = with(2);
        step(&mut queue, Input::Triggered);
        step(&mut queue, Input::HeadRefused { code });
        assert_eq!((queue.state(), queue.entries()), (State::Waiting, &[turn(1), turn(2)][..]));
    }
    for code in [Code::BackendUnavailable, Code::LaunchFailed, Code::LivenessUnreadable] {
        let mut queue = with(2);
        step(&mut queue, Input::Triggered);
        step(&mut queue, Input::HeadRefused { code });
        assert_eq!((queue.state(), queue.entries().len()), (State::Held { code }, 2));
        assert!(queue.must_save_hold());
    }
}

#[test]
fn a_failed_launch_puts_the_head_back_and_holds() {
    let mut queue = with(2);
    step(&mut queue, Input::Triggered);
    step(&mut queue, Input::HeadAccepted);
    let code = Code::LaunchFailed;
    step(&mut queue, Input::HeadReturned { turn_id: turn(1), code });
    assert_eq!((queue.state(), queue.entries()), (State::Held { code }, &[turn(1), turn(2)][..]));
    assert_eq!(queue.unsaved_hold(), None);
}

#[test]
fn a_stop_holds_what_waits_and_what_is_being_written() {
    let code = Code::StoppedByUser;
    let mut queue = with(1);
    step(&mut queue, Input::StopAccepted);
    assert_eq!((queue.held(), queue.unsaved_hold()), (Some(code), Some(code)));
    step(&mut queue, Input::HoldSaved);
    assert_eq!((queue.held(), queue.unsaved_hold()), (Some(code), None));

    let mut empty = Queue::default();
    step(&mut empty, Input::StopAccepted);
    assert_eq!(empty, Queue::default());

    for (answer, expected) in [(Input::Saved, Some(code)), (Input::SaveFailed, None)] {
        let mut queue = Queue::default();
        step(&mut queue, Input::Asked(append(1)));
        step(&mut queue, Input::StopAccepted);
        step(&mut queue, answer);
        assert_eq!((queue.held(), queue.unsaved_hold()), (expected, expected));
    }
}

#[test]
fn a_hold_that_stands_keeps_its_code() {
    let mut queue = held(1, Code::BackendUnavailable);
    step(&mut queue, Input::StopAccepted);
    assert_eq!(queue.held(), Some(Code::BackendUnavailable));
}

#[test]
fn a_removal_takes_exactly_the_named_entry_and_the_last_one_ends_a_hold() {
    let mut queue = held(3, Code::StoppedByUser);
    assert_eq!(save(&mut queue, remove(2)), [Output::Removed { ask: ASK, turn_id: turn(2) }]);
    assert_eq!(queue.entries(), [turn(1), turn(3)]);
    assert_eq!(step(&mut queue, Input::Asked(remove(2))), [Output::Gone { ask: ASK }]);
    save(&mut queue, remove(1));
    assert_eq!(queue.held(), Some(Code::StoppedByUser));
    let last = step(&mut queue, Input::Asked(remove(3)));
    assert_eq!(last, [Output::Write { change: remove(3), held: None }]);
    step(&mut queue, Input::Saved);
    assert_eq!(queue.state(), State::Empty);
}

#[test]
fn a_resumption_ends_the_hold_and_of_a_free_queue_changes_nothing() {
    let mut queue = held(2, Code::StoppedByUser);
    let resumed = Output::Resumed { ask: ASK, length: 2, released: true };
    assert_eq!(save(&mut queue, release()), [resumed]);
    assert_eq!(queue.state(), State::Waiting);
    let before = queue.clone();
    let idle = Output::Resumed { ask: ASK, length: 2, released: false };
    assert_eq!(step(&mut queue, Input::Asked(release())), [idle]);
    assert_eq!(queue, before);
}

#[test]
fn a_change_that_was_not_written_changes_nothing() {
    let start = held(2, Code::StoppedByUser);
    for change in [append(9), remove(1), release()] {
        let mut queue = start.clone();
        step(&mut queue, Input::Asked(change));
        assert_eq!(step(&mut queue, Input::SaveFailed), [Output::Failed { change }]);
        assert_eq!(queue, start);
    }
}

#[test]
fn a_hold_that_could_not_be_stored_alone_goes_with_the_next_change() {
    let mut queue = with(1);
    step(&mut queue, Input::StopAccepted);
    step(&mut queue, Input::Asked(Change::Hold));
    step(&mut queue, Input::SaveFailed);
    assert!(!queue.must_save_hold());
    assert_eq!(queue.unsaved_hold(), Some(Code::StoppedByUser));
    let written = step(&mut queue, Input::Asked(append(2)));
    let held = Some(Code::StoppedByUser);
    assert_eq!(written, [Output::Write { change: append(2), held }]);
    step(&mut queue, Input::Saved);
    assert_eq!(queue.unsaved_hold(), None);
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        (1..6_u64).prop_map(|n| Input::Asked(append(n))),
        (1..6_u64).prop_map(|n| Input::Asked(remove(n))),
        Just(Input::Asked(release())),
        Just(Input::Saved),
        Just(Input::SaveFailed),
        Just(Input::Triggered),
        Just(Input::HeadAccepted),
        Just(Input::HeadRefused { code: Code::SessionBusy }),
        Just(Input::HeadRefused { code: Code::LaunchFailed }),
        Just(Input::StopAccepted),
    ]
}

proptest! {
    /// In every order of everything, an entry leaves only when its turn was accepted or it was removed, and
    /// the rest keeps its order.
    #[test]
    fn entries_leave_only_by_acceptance_or_removal(inputs in prop::collection::vec(any_input(), 0..60)) {
        let mut queue = Queue::default();
        let mut expected: Vec<TurnId> = Vec::new();
        for input in inputs {
            let Ok(outputs) = try_step(&mut queue, input) else { continue };
            if input == Input::HeadAccepted {
                expected.remove(0);
            }
            for output in outputs {
                match output {
                    Output::Appended { turn_id, .. } => expected.push(turn_id),
                    Output::Removed { turn_id, .. } => expected.retain(|entry| *entry != turn_id),
                    Output::StartHead { turn_id } => prop_assert_eq!(Some(&turn_id), expected.first()),
                    Output::Write { .. } | Output::Gone { .. } | Output::Resumed { .. } | Output::Failed { .. } => {}
                }
            }
            prop_assert_eq!(queue.entries(), &expected[..]);
            prop_assert_eq!(queue.state() == State::Empty, expected.is_empty() && queue.held().is_none());
        }
    }
}
