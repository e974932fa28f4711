use proptest::prelude::*;

use super::*;
use crate::ids::{PayloadId, SteerId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use crate::wire::codes::Code;

const PAYLOAD: PayloadId = PayloadId::new(9);

fn try_step(steers: &mut Steers, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    steers.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

fn step(steers: &mut Steers, input: Input) -> Vec<Output> {
    try_step(steers, input).unwrap()
}

/// The agent asks, and gets the oldest if there is one.
fn read(steers: &mut Steers, payload: PayloadId) -> Vec<Output> {
    step(steers, Input::Wanted { payload });
    if steers.is_due() { step(steers, Input::MayHandOver) } else { Vec::new() }
}

fn id(n: u64) -> SteerId {
    SteerId::new(n)
}

fn fine(n: u64) -> Offer {
    let steer_id = id(n);
    Offer { steer_id, is_live: true, may_act: true, has_agent: true, is_supported: true }
}

fn offer(n: u64) -> Input {
    Input::Offered(fine(n))
}

fn open() -> Steers {
    let mut steers = Steers::new();
    step(&mut steers, Input::Invoked);
    steers
}

fn refused(reason: Code) -> Vec<Output> {
    vec![Output::Refused { reason }]
}

struct Small;

impl Scope<Steers> for Small {
    fn inputs(&self, _steers: &Steers) -> Vec<Input> {
        vec![
            Input::Invoked,
            offer(1),
            offer(2),
            Input::Offered(Offer { is_supported: false, ..fine(3) }),
            Input::Wanted { payload: PAYLOAD },
            Input::MayHandOver,
            Input::Returned,
            Input::Closed,
        ]
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
    assert_eq!(step(&mut shut, offer(1)), refused(Code::NotRunning));
    assert_eq!(shut, Steers::new());
    let everything_wrong =
        Offer { is_live: false, may_act: false, has_agent: false, is_supported: false, ..fine(1) };
    let mut steers = open();
    for (offered, reason) in [
        (everything_wrong, Code::StreamDead),
        (Offer { is_live: true, ..everything_wrong }, Code::NotRunning),
        (Offer { has_agent: false, is_supported: false, ..fine(1) }, Code::NoAgent),
        (Offer { is_supported: false, ..fine(1) }, Code::Unsupported),
    ] {
        assert_eq!(step(&mut steers, Input::Offered(offered)), refused(reason));
        assert_eq!(steers, open());
    }
    step(&mut steers, Input::Closed);
    assert_eq!(step(&mut steers, offer(1)), refused(Code::NotRunning));
}

/// STR-08 [unit]: the 16th unsettled steer is taken, and one more is not until one is read.
#[test]
fn a_run_holds_at_most_16_unsettled_steers() {
    let mut steers = open();
    for n in 1..=16 {
        assert_eq!(step(&mut steers, offer(n)), [Output::Accepted { steer_id: id(n) }]);
    }
    assert_eq!(step(&mut steers, offer(17)), refused(Code::SteerFull));
    let wanted = read(&mut steers, PAYLOAD);
    assert_eq!(wanted, [Output::Consumed { steer_id: id(1), payload: PAYLOAD }]);
    assert_eq!(step(&mut steers, offer(17)), [Output::Accepted { steer_id: id(17) }]);
}

#[test]
fn an_agent_that_waits_gets_the_next_one_at_once_and_only_one() {
    let mut steers = open();
    assert_eq!(read(&mut steers, PAYLOAD), []);
    let consumed = Output::Consumed { steer_id: id(1), payload: PAYLOAD };
    assert_eq!(step(&mut steers, offer(1)), [Output::Accepted { steer_id: id(1) }]);
    assert_eq!(step(&mut steers, Input::MayHandOver), [consumed]);
    assert_eq!(step(&mut steers, offer(2)), [Output::Accepted { steer_id: id(2) }]);
    assert_eq!(step(&mut steers, Input::MayHandOver), []);
    assert_eq!(steers.unsettled(), [id(2)]);
}

#[test]
fn a_rebuilt_agent_is_offered_what_the_lost_one_did_not_read() {
    let mut steers = open();
    step(&mut steers, Input::Wanted { payload: PAYLOAD });
    step(&mut steers, Input::Returned);
    assert_eq!(step(&mut steers, offer(1)), [Output::Accepted { steer_id: id(1) }]);
    step(&mut steers, Input::Invoked);
    let other = PayloadId::new(10);
    let wanted = read(&mut steers, other);
    assert_eq!(wanted, [Output::Consumed { steer_id: id(1), payload: other }]);
}

#[test]
fn nothing_is_read_after_the_end() {
    let mut steers = open();
    step(&mut steers, offer(1));
    step(&mut steers, Input::Closed);
    assert_eq!(step(&mut steers, Input::Wanted { payload: PAYLOAD }), []);
    assert_eq!(steers.unsettled(), [id(1)]);
    step(&mut steers, Input::Invoked);
    assert_eq!(steers.state(), State::Closed);
}

proptest! {
    /// Whatever happens, every accepted steer is consumed or still unsettled, never both, in order.
    #[test]
    fn every_accepted_steer_has_one_fate(choices in prop::collection::vec(0..7_u8, 0..60)) {
        let mut steers = Steers::new();
        let (mut accepted, mut consumed) = (Vec::new(), Vec::new());
        for (n, choice) in (1..).zip(choices) {
            let input = match choice {
                0 => Input::Invoked,
                1 | 2 => offer(n),
                3 => Input::Wanted { payload: PAYLOAD },
                4 => Input::Returned,
                5 => Input::MayHandOver,
                _ if n % 7 == 0 => Input::Closed,
                _ => offer(n),
            };
            for output in try_step(&mut steers, input).unwrap_or_default() {
                match output {
                    Output::Accepted { steer_id } => accepted.push(steer_id),
                    Output::Consumed { steer_id, .. } => consumed.push(steer_id),
                    Output::Refused { .. } => {}
                }
            }
            let settled: Vec<_> = consumed.iter().chain(steers.unsettled()).copied().collect();
            prop_assert_eq!(&settled, &accepted);
        }
    }
}
