use proptest::prelude::*;

use super::{Input, Output, RingBudget, STEP_BYTES, counted};
use crate::ids::SessionId;
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;
use crate::wire::limits::RINGS_BYTES_MAX;

fn sized(session: u64, bytes: usize) -> Input {
    Input::Sized { session: SessionId::new(session), bytes }
}

fn read(session: u64) -> Input {
    Input::Read { session: SessionId::new(session) }
}

/// Nobody.
const NONE: [u64; 0] = [];

fn give(budget: &mut RingBudget, input: Input) -> Vec<u64> {
    let mut out = Outbox::new();
    budget.step(Instant::ZERO, input, &mut out).expect("every input is listed");
    let asked = out.as_slice().iter().flat_map(|Output::Drop { sessions }| sessions);
    asked.map(|session| session.number()).collect()
}

#[test]
fn the_total_is_reached_and_not_passed() {
    for (last, asked) in [(STEP_BYTES - 1, vec![]), (STEP_BYTES, vec![]), (STEP_BYTES + 1, vec![1])]
    {
        let mut budget = RingBudget::default();
        assert_eq!(give(&mut budget, sized(1, RINGS_BYTES_MAX - STEP_BYTES)), NONE);
        assert_eq!(give(&mut budget, sized(2, last)), asked);
        assert!(budget.bytes() <= RINGS_BYTES_MAX);
    }
}

#[test]
fn the_least_recently_read_goes_first_and_is_asked_once() {
    let mut budget = RingBudget::new(3 * STEP_BYTES);
    for session in [1, 2, 3] {
        assert_eq!(give(&mut budget, sized(session, 1)), NONE);
    }
    give(&mut budget, read(1));
    assert_eq!(give(&mut budget, sized(4, 1)), [2]);
    assert_eq!(give(&mut budget, sized(4, 2)), NONE, "it is on its way");
    assert_eq!(give(&mut budget, sized(4, STEP_BYTES + 1)), [3]);
    for session in [2, 3] {
        give(&mut budget, sized(session, 0));
    }
    assert_eq!(budget.bytes(), 3 * STEP_BYTES);
    assert_eq!(give(&mut budget, sized(2, 1)), [1], "it begins anew");
}

#[test]
fn a_session_that_is_larger_than_all_goes_itself() {
    let mut budget = RingBudget::new(STEP_BYTES);
    assert_eq!(give(&mut budget, sized(1, 2 * STEP_BYTES)), [1]);
}

#[test]
fn the_laws_hold() {
    let report = laws(RingBudget::new(2 * STEP_BYTES), &Small, 3 * 32).unwrap();
    assert!(report.states > 20, "{report:?}");
    assert_matrix!("ring_budget", &report.matrix);
}

struct Small;

impl Scope<RingBudget> for Small {
    fn inputs(&self, _: &RingBudget) -> Vec<Input> {
        let sessions = [1, 2, 3].into_iter();
        sessions
            .flat_map(|n| [sized(n, 0), sized(n, 1), sized(n, STEP_BYTES + 1), read(n)])
            .collect()
    }
}

proptest! {
    /// SES-38 [property]: after each step what is held and not asked for is within the total, and who was asked is
    /// who was read least recently.
    #[test]
    fn the_total_holds(steps in prop::collection::vec((1u64..12, 0usize..5, any::<bool>()), 1..200)) {
        let total = 8 * STEP_BYTES;
        let mut budget = RingBudget::new(total);
        let mut order: Vec<(u64, usize)> = Vec::new();
        for (session, steps, reads) in steps {
            let bytes = steps * STEP_BYTES;
            if reads {
                prop_assert_eq!(give(&mut budget, read(session)), Vec::<u64>::new());
                if let Some(at) = order.iter().position(|(known, _)| *known == session) {
                    let held = order.remove(at);
                    order.push(held);
                }
                continue;
            }
            let asked = give(&mut budget, sized(session, bytes));
            match order.iter_mut().find(|(known, _)| *known == session) {
                Some(held) => held.1 = bytes,
                None => order.push((session, bytes)),
            }
            order.retain(|(_, bytes)| *bytes > 0);
            let mut expected = Vec::new();
            while order.iter().map(|(_, bytes)| bytes).sum::<usize>() > total {
                expected.push(order.remove(0).0);
            }
            prop_assert_eq!(&asked, &expected);
            for gone in asked {
                give(&mut budget, sized(gone, 0));
            }
            prop_assert!(budget.bytes() <= total);
        }
        prop_assert_eq!(counted(1), STEP_BYTES);
    }
}
