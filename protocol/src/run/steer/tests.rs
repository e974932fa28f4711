use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ids::{AskId, PayloadId, SteerId};
use crate::instant::Instant;
use crate::journal::row::SteerFate;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use crate::wire::codes::Code;

fn try_step(steers: &mut Steers, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    steers.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

fn step(steers: &mut Steers, input: Input) -> Vec<Output> {
    try_step(steers, input).unwrap()
}

fn id(n: u64) -> SteerId {
    SteerId::new(n)
}

fn fine(n: u64) -> Offer {
    Offer {
        ask: AskId::new(n),
        steer_id: id(n),
        payload: PayloadId::new(n),
        is_live: true,
        may_act: true,
        has_agent: true,
        is_supported: true,
        has_room: true,
    }
}

fn offer(n: u64) -> Input {
    Input::Offered(fine(n))
}

fn stored(n: u64) -> Input {
    Input::Stored { steer_id: id(n) }
}

fn read(n: u64) -> Input {
    Input::Read { steer_id: id(n) }
}

fn lost(n: u64) -> Input {
    Input::RowLost { payload: PayloadId::new(n) }
}

fn open() -> Steers {
    let mut steers = Steers::new();
    step(&mut steers, Input::Invoked);
    steers
}

/// Offers one and makes its row durable.
fn accept(steers: &mut Steers, n: u64) {
    assert_eq!(step(steers, offer(n)), [Output::Taken]);
    let accepted = Output::Accepted { ask: AskId::new(n), steer_id: id(n) };
    assert_eq!(step(steers, stored(n)), [accepted]);
}

/// The agent asks, and gets the oldest if there is one.
fn want(steers: &mut Steers) -> Vec<Output> {
    step(steers, Input::Wanted);
    step(steers, Input::MayHandOver)
}

fn refused(n: u64, reason: Code) -> Vec<Output> {
    vec![Output::Refused { ask: AskId::new(n), reason }]
}

fn handed(n: u64) -> Vec<Output> {
    vec![Output::HandOver { steer_id: id(n) }]
}

fn settles(steers: &Steers) -> Vec<(u64, SteerFate)> {
    steers.to_settle().into_iter().map(|it| (it.steer_id.number(), it.fate)).collect()
}

struct Small;

impl Scope<Steers> for Small {
    fn inputs(&self, _steers: &Steers) -> Vec<Input> {
        let mut inputs = vec![
            Input::Invoked,
            Input::Offered(Offer { is_supported: false, ..fine(3) }),
            Input::Wanted,
            Input::MayHandOver,
            Input::Returned,
            Input::Closed,
        ];
        for n in [1, 2] {
            let settled = Input::Settled { steer_id: id(n) };
            inputs.extend([offer(n), stored(n), lost(n), read(n), settled]);
        }
        inputs
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(Steers::new(), &Small, Steers::WEIGHT_MAX).unwrap();
    let names: Vec<_> = report.state_names.keys().copied().collect();
    assert_eq!(names, ["closed", "open", "shut"]);
    assert_matrix!("run_steer", &report.matrix);
}

/// STR-02 [unit]: a steer that is not accepted is refused with its one reason and changes nothing.
#[test]
fn each_refusal_has_its_reason_and_changes_nothing() {
    let mut shut = Steers::new();
    assert_eq!(step(&mut shut, offer(1)), refused(1, Code::NotRunning));
    assert_eq!(shut, Steers::new());
    let everything_wrong = Offer {
        is_live: false,
        may_act: false,
        has_agent: false,
        is_supported: false,
        has_room: false,
        ..fine(1)
    };
    let mut steers = open();
    for (offered, reason) in [
        (everything_wrong, Code::StreamDead),
        (Offer { is_live: true, ..everything_wrong }, Code::NotRunning),
        (Offer { has_agent: false, is_supported: false, ..fine(1) }, Code::NoAgent),
        (Offer { is_supported: false, has_room: false, ..fine(1) }, Code::Unsupported),
        (Offer { has_room: false, ..fine(1) }, Code::SteerError),
    ] {
        assert_eq!(step(&mut steers, Input::Offered(offered)), refused(1, reason));
        assert_eq!(steers, open());
    }
    step(&mut steers, offer(1));
    assert_eq!(step(&mut steers, lost(1)), refused(1, Code::SteerError));
    assert_eq!(steers, open());
    step(&mut steers, offer(1));
    step(&mut steers, Input::Closed);
    assert_eq!(step(&mut steers, lost(1)), refused(1, Code::NotRunning));
    assert_eq!(step(&mut steers, offer(2)), refused(2, Code::NotRunning));
    assert_eq!(settles(&steers), []);
}

/// STR-08 [unit]: the 16th unsettled steer is taken, and one more is not until one is settled.
#[test]
fn a_run_holds_at_most_16_unsettled_steers() {
    let mut steers = open();
    for n in 1..=16 {
        accept(&mut steers, n);
    }
    assert_eq!(step(&mut steers, offer(17)), refused(17, Code::SteerFull));
    assert_eq!(want(&mut steers), handed(1));
    step(&mut steers, read(1));
    assert_eq!(step(&mut steers, offer(17)), refused(17, Code::SteerFull));
    step(&mut steers, Input::Settled { steer_id: id(1) });
    assert_eq!(step(&mut steers, offer(17)), [Output::Taken]);
}

#[test]
fn nothing_is_accepted_or_handed_over_before_its_row_is_durable() {
    let mut steers = open();
    assert_eq!(step(&mut steers, offer(1)), [Output::Taken]);
    assert_eq!(want(&mut steers), []);
    assert!(!steers.is_due());
    step(&mut steers, stored(1));
    assert!(steers.is_due());
    assert_eq!(step(&mut steers, Input::MayHandOver), handed(1));
}

#[test]
fn an_agent_gets_one_for_each_time_it_asks_in_order() {
    let mut steers = open();
    assert_eq!(want(&mut steers), []);
    accept(&mut steers, 1);
    accept(&mut steers, 2);
    assert_eq!(step(&mut steers, Input::MayHandOver), handed(1));
    assert_eq!(step(&mut steers, Input::MayHandOver), []);
    step(&mut steers, read(1));
    assert!(try_step(&mut steers, read(1)).is_err());
    assert_eq!(want(&mut steers), handed(2));
}

#[test]
fn what_an_agent_was_handed_and_did_not_take_is_handed_over_again() {
    let mut steers = open();
    accept(&mut steers, 1);
    assert_eq!(want(&mut steers), handed(1));
    assert_eq!(want(&mut steers), handed(1));
    step(&mut steers, Input::Returned);
    assert!(try_step(&mut steers, read(1)).is_err());
    assert_eq!(step(&mut steers, Input::MayHandOver), []);
    step(&mut steers, Input::Invoked);
    assert_eq!(want(&mut steers), handed(1));
    step(&mut steers, Input::Closed);
    assert!(try_step(&mut steers, read(1)).is_err());
    assert_eq!(settles(&steers), [(1, SteerFate::Returned)]);
}

#[test]
fn a_read_steer_whose_row_was_lost_is_settled_as_consumed() {
    let mut steers = open();
    accept(&mut steers, 1);
    accept(&mut steers, 2);
    want(&mut steers);
    step(&mut steers, read(1));
    step(&mut steers, Input::Closed);
    step(&mut steers, lost(9));
    assert_eq!(settles(&steers), [(1, SteerFate::Consumed), (2, SteerFate::Returned)]);
    step(&mut steers, Input::Settled { steer_id: id(1) });
    assert_eq!(settles(&steers), [(2, SteerFate::Returned)]);
}

#[test]
fn nothing_is_read_after_the_end() {
    let mut steers = open();
    accept(&mut steers, 1);
    step(&mut steers, Input::Closed);
    assert_eq!(step(&mut steers, Input::Wanted), []);
    step(&mut steers, Input::Invoked);
    assert!(!steers.is_due());
    assert_eq!(settles(&steers), [(1, SteerFate::Returned)]);
}

proptest! {
    /// STR-07 [property]: whatever happens, the settlement returns exactly what was accepted and not read, in order.
    #[test]
    fn every_accepted_steer_has_one_fate(choices in prop::collection::vec((0..11_u8, 1..20_u64), 0..80)) {
        let mut steers = Steers::new();
        let mut fates = BTreeMap::new();
        for (time, (choice, n)) in (1..).zip(choices) {
            let n = if choice < 3 { time } else { n.min(time) };
            let input = match choice {
                0 => Input::Invoked,
                1 | 2 => offer(n),
                3 | 4 => stored(n),
                5 => lost(n),
                6 => Input::Wanted,
                7 => Input::MayHandOver,
                8 => read(n),
                9 => Input::Settled { steer_id: id(n) },
                _ if time % 7 == 0 => Input::Closed,
                _ => Input::Returned,
            };
            let Ok(outputs) = try_step(&mut steers, input) else { continue };
            if let Input::Read { steer_id } = input {
                prop_assert_eq!(fates.insert(steer_id.number(), SteerFate::Consumed), Some(SteerFate::Returned));
            }
            for output in outputs {
                if let Output::Accepted { steer_id, .. } = output {
                    prop_assert_eq!(fates.insert(steer_id.number(), SteerFate::Returned), None);
                }
            }
        }
        let returned = |(_, fate): &(u64, SteerFate)| *fate == SteerFate::Returned;
        let unread: Vec<_> = fates.into_iter().filter(returned).collect();
        let settled: Vec<_> = settles(&steers).into_iter().filter(returned).collect();
        prop_assert_eq!(settled, unread);
    }
}
