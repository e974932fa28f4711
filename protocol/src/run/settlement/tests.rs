use super::{Claimant, Input, Output, Settlement, State, Verdict};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use crate::run::limits::SAVE_RETRIES;

const DONE: Verdict =
    Verdict { outcome: Outcome::Completed, reason: None, marker: None, failure: None };

struct Everything;

impl Scope<Settlement> for Everything {
    fn inputs(&self, _settlement: &Settlement) -> Vec<Input> {
        let mut inputs = vec![
            Input::MaySave,
            Input::Saved,
            Input::SaveFailed { stop_held: true },
            Input::SaveFailed { stop_held: false },
            Input::Retry,
        ];
        for by in [Claimant::Worker, Claimant::Canceller, Claimant::Recovery] {
            for may_save in [true, false] {
                inputs.push(Input::Claim { by, verdict: DONE, may_save });
            }
        }
        inputs
    }
}

fn claimed(by: Claimant) -> Settlement {
    let mut settlement = Settlement::default();
    let mut out = Outbox::new();
    let claim = Input::Claim { by, verdict: DONE, may_save: true };
    settlement.step(Instant::ZERO, claim, &mut out).unwrap();
    settlement
}

fn fail(settlement: &mut Settlement, stop_held: bool) -> Vec<Output> {
    let mut out = Outbox::new();
    settlement.step(Instant::ZERO, Input::SaveFailed { stop_held }, &mut out).unwrap();
    out.drain().collect()
}

#[test]
fn the_laws_hold() {
    let report = laws(Settlement::default(), &Everything, 64).unwrap();
    assert_eq!(report.state_names.len(), 5, "every state is reached");
    assert_matrix!("run_settlement", &report.matrix);
}

#[test]
fn one_actor_holds_the_claim() {
    for by in [Claimant::Worker, Claimant::Canceller, Claimant::Recovery] {
        let mut settlement = claimed(Claimant::Worker);
        let mut out = Outbox::new();
        let claim = Input::Claim { by, verdict: DONE, may_save: true };
        assert_eq!(
            settlement.step(Instant::ZERO, claim, &mut out),
            Err(Reject::Local("outcome_claimed"))
        );
    }
}

#[test]
fn only_the_workers_claim_lapses_for_a_held_stop() {
    assert_eq!(fail(&mut claimed(Claimant::Worker), true), [Output::Lapsed]);
    for by in [Claimant::Canceller, Claimant::Recovery] {
        assert_eq!(fail(&mut claimed(by), true), [Output::Save { verdict: DONE }]);
    }
}

#[test]
fn a_save_is_tried_again_exactly_three_times() {
    let mut settlement = claimed(Claimant::Canceller);
    for _ in 0..SAVE_RETRIES {
        assert_eq!(fail(&mut settlement, false), [Output::Save { verdict: DONE }]);
    }
    assert_eq!(fail(&mut settlement, false), [Output::GaveUp { by: Claimant::Canceller }]);
    assert!(matches!(settlement.state(), State::GaveUp { .. }));
}
