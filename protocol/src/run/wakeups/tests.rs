use proptest::prelude::*;

use super::*;
use crate::ids::{AskId, RunId, WakeupId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use crate::run::guards::Rules;
use crate::wire::codes::Code;

const ASK: AskId = AskId::new(7);
const RUN: RunId = RunId::new(1);

fn try_step(wakeups: &mut Wakeups, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    wakeups.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

fn step(wakeups: &mut Wakeups, input: Input) -> Vec<Output> {
    try_step(wakeups, input).unwrap_or_else(|reject| panic!("{input:?}: {reject:?}"))
}

fn wake(n: u64) -> WakeupId {
    WakeupId::new(n)
}

fn offer(n: u64) -> Input {
    Input::Offered { ask: ASK, wakeup: wake(n), by: None }
}

fn asked_by_run(n: u64) -> Input {
    Input::Offered { ask: ASK, wakeup: wake(n), by: Some(RUN) }
}

fn settled(outcome: Outcome) -> Input {
    Input::Settled { run_id: RUN, outcome }
}

fn answered(answer: Answer) -> Vec<Output> {
    vec![Output::Answered { asks: vec![ASK], answer }]
}

/// Offers, and writes what is to be written.
fn take(wakeups: &mut Wakeups, n: u64) -> Vec<Output> {
    let outputs = step(wakeups, offer(n));
    if wakeups.is_writing() { step(wakeups, Input::Saved) } else { outputs }
}

fn with(waiting: u64) -> Wakeups {
    Wakeups::found((1..=waiting).map(wake).collect(), (1..=waiting).map(wake), 0, None)
}

/// With the turn of wakeup 1 under way.
fn running(waiting: u64) -> Wakeups {
    let mut wakeups = with(waiting);
    step(&mut wakeups, Input::Triggered);
    step(&mut wakeups, Input::Reserved { run_id: RUN });
    step(&mut wakeups, Input::Accepted);
    wakeups
}

struct Small;

impl Scope<Wakeups> for Small {
    fn inputs(&self, wakeups: &Wakeups) -> Vec<Input> {
        let mut inputs = vec![
            Input::CountAsked,
            Input::Saved,
            Input::SaveFailed,
            Input::Triggered,
            Input::Reserved { run_id: RUN },
            Input::Accepted,
            Input::Refused { code: Code::SessionBusy },
            Input::Refused { code: Code::BackendUnavailable },
            Input::Returned,
            settled(Outcome::Completed),
            settled(Outcome::Failed),
            settled(Outcome::Cancelled),
            Input::UserAccepted,
            offer(1),
        ];
        if wakeups.waiting().len() < 2 {
            inputs.extend([offer(2), asked_by_run(3)]);
        }
        inputs
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(Wakeups::default(), &Small, Wakeups::<Rules>::WEIGHT_MAX).unwrap();
    let names: Vec<_> = report.state_names.keys().copied().collect();
    assert_eq!(names, ["claiming", "empty", "paused", "reserved", "running", "waiting"]);
    assert_matrix!("run_wakeups", &report.matrix);
}

#[test]
fn an_identity_is_taken_once_and_the_last_1024_are_remembered() {
    for (others, answer) in
        [(1_022, Answer::Known), (1_023, Answer::Known), (1_024, Answer::Stored)]
    {
        let mut wakeups = with(1);
        step(&mut wakeups, Input::Triggered);
        step(&mut wakeups, Input::Reserved { run_id: RUN });
        step(&mut wakeups, Input::Accepted);
        step(&mut wakeups, settled(Outcome::Completed));
        for other in 0..others {
            assert_eq!(take(&mut wakeups, 100 + other), answered(Answer::Stored));
            step(&mut wakeups, Input::Triggered);
            step(&mut wakeups, Input::Reserved { run_id: RUN });
            step(&mut wakeups, Input::Accepted);
            step(&mut wakeups, settled(Outcome::Completed));
        }
        assert_eq!(take(&mut wakeups, 1), answered(answer), "{others}");
    }
}

#[test]
fn a_session_holds_at_most_64_that_wait() {
    for (waiting, answer) in [(62, Answer::Stored), (63, Answer::Stored), (64, Answer::Full)] {
        let mut wakeups = with(waiting);
        assert_eq!(take(&mut wakeups, 1_000), answered(answer), "{waiting}");
    }
    let mut wakeups = running(64);
    assert_eq!(step(&mut wakeups, asked_by_run(1_000)), []);
    assert_eq!(step(&mut wakeups, asked_by_run(1_001)), answered(Answer::Full));
    assert_eq!(take(&mut wakeups, 1_002), answered(Answer::Full));
}

#[test]
fn a_trigger_is_one_attempt_of_the_oldest() {
    let mut wakeups = with(3);
    assert_eq!(step(&mut wakeups, Input::Triggered), [Output::Start { wakeup: wake(1) }]);
    assert_eq!(step(&mut wakeups, Input::Triggered), []);
    step(&mut wakeups, Input::Reserved { run_id: RUN });
    assert_eq!(wakeups.waiting(), [wake(1), wake(2), wake(3)]);
    step(&mut wakeups, Input::Accepted);
    assert_eq!(wakeups.waiting(), [wake(2), wake(3)]);
    assert_eq!(step(&mut Wakeups::default(), Input::Triggered), []);
}

#[test]
fn only_a_busy_session_or_server_costs_no_attempt() {
    for (code, failures) in [
        (Code::SessionBusy, 0),
        (Code::ServerBusy, 0),
        (Code::BackendUnavailable, 1),
        (Code::LaunchFailed, 1),
    ] {
        let mut wakeups = with(2);
        step(&mut wakeups, Input::Triggered);
        step(&mut wakeups, Input::Refused { code });
        assert_eq!((wakeups.failures(), wakeups.waiting().len()), (failures, 2), "{code:?}");
        assert_eq!(wakeups.must_save_count(), failures > 0);
    }
}

#[test]
fn a_failed_launch_brings_the_wakeup_back_and_counts() {
    let mut wakeups = running(2);
    let written = Written { change: Change::Return { wakeup: wake(1) }, failures: 1 };
    assert_eq!(wakeups.on_compensation(RUN), Some(written));
    step(&mut wakeups, Input::Returned);
    assert_eq!((wakeups.waiting(), wakeups.failures()), (&[wake(1), wake(2)][..], 1));
}

#[test]
fn wakeups_pause_after_3_failed_turns_in_a_row_until_a_user_is_accepted() {
    for (failures, attempts) in [(2, 1), (3, 0)] {
        let mut wakeups: Wakeups = Wakeups::found(vec![wake(9)], [], failures, None);
        assert_eq!(step(&mut wakeups, Input::Triggered).len(), attempts, "{failures}");
    }
    let mut paused: Wakeups = Wakeups::found(vec![wake(9)], [], 3, None);
    let lifted = Written { change: Change::Count, failures: 0 };
    assert_eq!(paused.on_acceptance(RUN), Some(lifted));
    step(&mut paused, Input::UserAccepted);
    assert_eq!(paused.on_acceptance(RUN), None);
    assert_eq!(step(&mut paused, Input::Triggered).len(), 1);
}

#[test]
fn what_counts_is_how_a_wakeup_turn_ended() {
    for (outcome, failures) in [
        (Outcome::Completed, 0),
        (Outcome::Failed, 3),
        (Outcome::Interrupted, 3),
        (Outcome::Cancelled, 2),
        (Outcome::Superseded, 2),
    ] {
        let mut wakeups: Wakeups = Wakeups::found(Vec::new(), [], 2, Some((wake(1), RUN)));
        let written = wakeups.on_settlement(RUN, outcome).unwrap();
        step(&mut wakeups, settled(outcome));
        assert_eq!((written.failures, wakeups.failures()), (failures, failures), "{outcome:?}");
        let other = Input::Settled { run_id: RunId::new(2), outcome: Outcome::Failed };
        step(&mut wakeups, other);
        assert_eq!(wakeups.failures(), failures, "the turn of a user counts for nothing");
    }
}

#[test]
fn only_a_completed_turn_leaves_what_it_asked_for() {
    for (outcome, answer) in [
        (Outcome::Completed, Answer::Stored),
        (Outcome::Failed, Answer::Dropped),
        (Outcome::Cancelled, Answer::Dropped),
        (Outcome::Interrupted, Answer::Dropped),
    ] {
        let mut wakeups = running(1);
        assert_eq!(step(&mut wakeups, asked_by_run(5)), []);
        assert_eq!(step(&mut wakeups, asked_by_run(5)), answered(Answer::Known));
        let kept: &[WakeupId] = if answer == Answer::Stored { &[wake(5)] } else { &[] };
        let written = wakeups.on_settlement(RUN, outcome).unwrap();
        assert_eq!(written.change, Change::Settle { adds: kept.to_vec() });
        assert_eq!(step(&mut wakeups, settled(outcome)), answered(answer), "{outcome:?}");
        assert_eq!(wakeups.waiting(), kept);
        // What was dropped had no effect, and may be asked for again.
        let again = if answer == Answer::Stored { Answer::Known } else { Answer::Stored };
        assert_eq!(take(&mut wakeups, 5), answered(again));
    }
}

#[test]
fn what_was_not_written_changes_nothing() {
    let mut wakeups = with(2);
    step(&mut wakeups, offer(9));
    assert_eq!(step(&mut wakeups, Input::SaveFailed), answered(Answer::Failed));
    assert_eq!(wakeups, with(2));
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        (1..9_u64).prop_map(offer),
        (1..9_u64).prop_map(asked_by_run),
        Just(Input::Saved),
        Just(Input::SaveFailed),
        Just(Input::CountAsked),
        Just(Input::Triggered),
        Just(Input::Reserved { run_id: RUN }),
        Just(Input::Accepted),
        Just(Input::Refused { code: Code::SessionBusy }),
        Just(Input::Refused { code: Code::LaunchFailed }),
        Just(Input::Returned),
        Just(settled(Outcome::Completed)),
        Just(settled(Outcome::Failed)),
        Just(Input::UserAccepted),
    ]
}

proptest! {
    /// In every order of everything, an identity has one turn that is not undone, or waits, or neither where it
    /// was never confirmed.
    #[test]
    fn none_is_lost_or_run_twice(inputs in prop::collection::vec(any_input(), 0..80)) {
        let mut wakeups = Wakeups::default();
        let mut turns: Vec<WakeupId> = Vec::new();
        for input in inputs {
            let (claim, running) = (wakeups.claim, wakeups.running);
            let Ok(_) = try_step(&mut wakeups, input) else { continue };
            if let (Input::Accepted, Claim::Reserved { wakeup, .. }) = (input, claim) {
                turns.push(wakeup);
            }
            if let (Input::Returned, Some((returned, _))) = (input, running) {
                turns.retain(|turn| *turn != returned);
            }
            for known in &wakeups.known {
                let waits = wakeups.waiting.iter().filter(|waiting| *waiting == known).count();
                let had = turns.iter().filter(|turn| *turn == known).count();
                prop_assert_eq!(waits + had, 1, "{:?}", known);
            }
        }
    }
}
