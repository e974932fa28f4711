use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ids::{AskId, PrincipalId, RunId, SessionId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;

const ASK: AskId = AskId::new(7);

fn step(slots: &mut Slots, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    slots.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

fn acquire(principal: u64, run: u64) -> Input {
    let (principal, run_id) = (PrincipalId::new(principal), RunId::new(run));
    Input::Acquire { ask: ASK, principal, run_id }
}

fn release(run: u64) -> Input {
    Input::Release { run_id: RunId::new(run) }
}

fn wait(session: u64, principal: u64, since: u64) -> Input {
    let (session, principal) = (SessionId::new(session), PrincipalId::new(principal));
    Input::Wait { session, principal, since: Instant::from_millis(since) }
}

fn woken(session: u64) -> Result<Vec<Output>, Reject> {
    Ok(vec![Output::Woken { session: SessionId::new(session) }])
}

fn granted(run: u64) -> Result<Vec<Output>, Reject> {
    Ok(vec![Output::Granted { ask: ASK, run_id: RunId::new(run) }])
}

fn refused(limit: SlotLimit, max: u32) -> Result<Vec<Output>, Reject> {
    Ok(vec![Output::Refused { ask: ASK, limit, max, retry_after_ms: SLOT_RETRY_AFTER_MS }])
}

fn limits(server_runs_max: u32, principal_runs_max: u32) -> SlotLimits {
    SlotLimits { server_runs_max, principal_runs_max }
}

struct Small;

impl Scope<Slots> for Small {
    fn inputs(&self, _slots: &Slots) -> Vec<Input> {
        let runs = 1..=4;
        let asks = runs.clone().flat_map(|run| [acquire(1, run), acquire(2, run)]);
        let waits = [wait(1, 1, 5), wait(2, 2, 4), Input::Pass];
        asks.chain(runs.map(release)).chain(waits).collect()
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(Slots::new(limits(3, 2)), &Small, 3 * (16 + 16) + 2 * 24).unwrap();
    assert_eq!(report.state_names.keys().copied().collect::<Vec<_>>(), ["free", "full", "taken"]);
    assert_matrix!("slots", &report.matrix);
}

// LIM-03
#[test]
fn the_65th_run_of_the_server_and_the_17th_of_a_principal_are_refused() {
    let mut slots = Slots::default();
    for run in 1..=64_u64 {
        assert_eq!(step(&mut slots, acquire(run.div_ceil(16), run)), granted(run));
        if run == 16 {
            let before = slots.clone();
            assert_eq!(step(&mut slots, acquire(1, 99)), refused(SlotLimit::Principal, 16));
            assert_eq!(slots, before);
        }
    }
    assert_eq!(step(&mut slots, acquire(9, 65)), refused(SlotLimit::Server, 64));
    assert_eq!(step(&mut slots, acquire(1, 65)), refused(SlotLimit::Principal, 16));
    step(&mut slots, release(20)).unwrap();
    assert_eq!(slots.taken(), 63);
    assert_eq!(step(&mut slots, acquire(9, 65)), granted(65));
}

// LIM-03
#[test]
fn a_freed_slot_wakes_the_oldest_that_could_start() {
    let mut slots = Slots::new(limits(3, 2));
    for (principal, run) in [(1, 1), (1, 2), (2, 3)] {
        step(&mut slots, acquire(principal, run)).unwrap();
    }
    for (session, principal, since) in [(21, 1, 30), (22, 2, 20), (23, 1, 10), (23, 1, 10)] {
        assert_eq!(step(&mut slots, wait(session, principal, since)), Ok(vec![]));
    }
    // Of the principal with two runs nobody could start: its older session is passed over.
    assert_eq!(step(&mut slots, release(3)), woken(22));
    assert_eq!(step(&mut slots, Input::Pass), Ok(vec![]));
    assert_eq!(step(&mut slots, release(1)), woken(23));
    assert_eq!(step(&mut slots, Input::Pass), woken(21));
    assert_eq!(step(&mut slots, release(2)), Ok(vec![]));
    assert_eq!(step(&mut slots, wait(24, 1, 40)), woken(24));
}

#[test]
fn the_sessions_that_wait_are_bounded() {
    let mut slots = Slots::new(limits(1, 1));
    step(&mut slots, acquire(1, 1)).unwrap();
    let most = WAITERS_MAX as u64;
    for (session, is_taken) in [(most - 1, true), (most, true), (most + 1, false)] {
        while (slots.waiters.len() as u64) < session - 1 && is_taken {
            let next = slots.waiters.len() as u64 + 1;
            step(&mut slots, wait(next, 1, next)).unwrap();
        }
        let told = step(&mut slots, wait(session, 1, session)).unwrap();
        assert_eq!(told.is_empty(), is_taken, "{told:?}");
    }
}

#[test]
fn what_no_table_lists_is_turned_away() {
    let mut slots = Slots::default();
    assert_eq!(step(&mut slots, release(1)), Err(Reject::Local("slot_not_held")));
    step(&mut slots, acquire(1, 1)).unwrap();
    assert_eq!(step(&mut slots, acquire(2, 1)), Err(Reject::Local("slot_already_held")));
    step(&mut slots, release(1)).unwrap();
    assert_eq!(step(&mut slots, release(1)), Err(Reject::Local("slot_not_held")));
    assert_eq!(slots, Slots::default());
}

#[test]
fn the_state_survives_its_json_form_with_its_names() {
    let mut slots = Slots::default();
    step(&mut slots, acquire(1, 2)).unwrap();
    let value = serde_json::to_value(&slots).unwrap();
    assert_eq!(value["runs"]["run_0000000000000002"], "pri_0000000000000001");
    assert_eq!(serde_json::from_value::<Slots>(value).unwrap(), slots);
}

proptest! {
    #[test]
    fn no_bound_is_ever_passed_and_a_refusal_has_its_reason(
        acts in prop::collection::vec((any::<bool>(), 0..5_u64, 0..20_u64), 0..120),
    ) {
        let mut slots = Slots::new(limits(7, 3));
        let mut runs = BTreeMap::new();
        for (is_release, principal, run) in acts {
            let own = runs.values().filter(|owner| **owner == principal).count();
            let result = step(
                &mut slots,
                if is_release { release(run) } else { acquire(principal, run) },
            );
            let expected = match (is_release, runs.contains_key(&run)) {
                (true, true) => { runs.remove(&run); Ok(vec![]) }
                (true, false) => Err(Reject::Local("slot_not_held")),
                (false, true) => Err(Reject::Local("slot_already_held")),
                (false, false) if own == 3 => refused(SlotLimit::Principal, 3),
                (false, false) if runs.len() == 7 => refused(SlotLimit::Server, 7),
                (false, false) => { runs.insert(run, principal); granted(run) }
            };
            prop_assert_eq!(result, expected);
            prop_assert_eq!(slots.taken() as usize, runs.len());
        }
    }
}
