use super::{Answer, Input, Moment, Output, State, Stop, StopSignal};
use crate::ids::{AgentId, AskId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;
use crate::run::guards::Rules;
use crate::run::limits::{STOP_KILL_AFTER, STOP_TERM_AFTER, STOPS_WAITING_MAX};
use proptest::prelude::*;

const AGENT: AgentId = AgentId::new(1);

fn asked(n: u64, moment: Moment) -> Input {
    Input::Asked { ask: AskId::new(n), moment }
}

fn inputs() -> Vec<Input> {
    let mut inputs = vec![
        Input::RunEnded { outcome: Outcome::Completed },
        Input::SettlementAnswered,
        Input::AgentReturned,
        Input::Unsettled,
    ];
    for invoked in [None, Some(AGENT)] {
        inputs.push(asked(1, Moment::Open { invoked }));
        inputs.push(asked(1, Moment::Saving { invoked }));
        inputs.push(Input::EndedByServer { invoked });
        inputs.push(Input::Released { invoked });
    }
    inputs.push(asked(1, Moment::Reserving));
    inputs
}

struct FewAsks;

impl Scope<Stop> for FewAsks {
    fn inputs(&self, stop: &Stop) -> Vec<Input> {
        let few = stop.asks.len() < 2;
        inputs().into_iter().filter(|i| few || !matches!(i, Input::Asked { .. })).collect()
    }
}

fn outputs(stop: &mut Stop, now: Instant, input: Input) -> Vec<Output> {
    let mut out = Outbox::new();
    stop.step(now, input, &mut out).unwrap();
    out.drain().collect()
}

#[test]
fn the_laws_hold() {
    let report = laws(Stop::<Rules>::default(), &FewAsks, 512).unwrap();
    assert_eq!(report.state_names.len(), 5, "every state is reached");
    assert_matrix!("run_stop", &report.matrix);
}

proptest! {
    /// STOP-08 [property]: however often Stop is asked, it is accepted and interrupts at most once,
    /// and everybody who asked is answered exactly once.
    #[test]
    fn repeated_stops_add_nothing(steps in prop::collection::vec(0..13_usize, 0..24)) {
        let mut stop = Stop::<Rules>::default();
        let (mut accepts, mut interrupts, mut asks, mut answers) = (0, 0, 0, 0);
        let all = inputs();
        for step in steps {
            let input = all[step % all.len()];
            let mut out = Outbox::new();
            if stop.step(Instant::ZERO, input, &mut out).is_err() {
                continue;
            }
            asks += usize::from(matches!(input, Input::Asked { .. }));
            for output in out.drain() {
                match output {
                    Output::Accept => accepts += 1,
                    Output::Signal { signal, .. } => {
                        interrupts += usize::from(signal == StopSignal::Interrupt);
                    }
                    Output::Reply { asks, .. } => answers += asks.len(),
                }
            }
        }
        prop_assert!(accepts <= 1 && interrupts <= accepts);
        prop_assert_eq!(asks, answers + stop.asks.len());
    }
}

#[test]
fn a_stop_during_a_save_is_held_and_then_follows_the_save() {
    let saving = asked(7, Moment::Saving { invoked: None });
    let mut stop = Stop::default();
    assert_eq!(outputs(&mut stop, Instant::ZERO, saving), []);
    let ended = outputs(&mut stop, Instant::ZERO, Input::RunEnded { outcome: Outcome::Completed });
    let answer = Answer::AlreadyEnded { status: Outcome::Completed };
    assert_eq!(ended, [Output::Reply { asks: vec![AskId::new(7)], answer }]);

    let mut stop = Stop::default();
    outputs(&mut stop, Instant::ZERO, saving);
    assert_eq!(
        outputs(&mut stop, Instant::ZERO, Input::Released { invoked: None }),
        [Output::Accept]
    );
}

#[test]
fn an_agent_that_does_not_return_is_ended_by_force_in_time() {
    let mut stop = Stop::default();
    outputs(&mut stop, Instant::ZERO, asked(1, Moment::Open { invoked: Some(AGENT) }));
    let term = Instant::ZERO.plus(STOP_TERM_AFTER);
    let kill = term.plus(STOP_KILL_AFTER);
    let mut signals = Vec::new();
    let before = |at: Instant| Instant::from_micros(at.as_micros() - 1);
    for at in [before(term), term, before(kill), kill, kill.plus(STOP_KILL_AFTER)] {
        let mut out = Outbox::new();
        stop.tick(at, &mut out);
        signals.extend(out.drain().map(|output| (at, output)));
    }
    let signal = |signal| Output::Signal { agent: AGENT, signal };
    assert_eq!(signals, [(term, signal(StopSignal::Terminate)), (kill, signal(StopSignal::Kill))]);
}

#[test]
fn nothing_is_sent_to_an_agent_that_has_returned() {
    let mut stop = Stop::default();
    outputs(&mut stop, Instant::ZERO, asked(1, Moment::Open { invoked: Some(AGENT) }));
    outputs(&mut stop, Instant::from_millis(1), Input::AgentReturned);
    assert_eq!(stop.deadline(), None);
}

#[test]
fn stops_beyond_the_bound_are_refused_and_the_others_answered() {
    let mut stop = Stop::default();
    for n in 0..STOPS_WAITING_MAX as u64 {
        assert_eq!(outputs(&mut stop, Instant::ZERO, asked(n, Moment::Reserving)), []);
    }
    let refused = outputs(&mut stop, Instant::ZERO, asked(99, Moment::Reserving));
    assert_eq!(refused, [Output::Reply { asks: vec![AskId::new(99)], answer: Answer::Refused }]);
    assert_eq!(stop.state(), State::Held);
    let answered = outputs(&mut stop, Instant::ZERO, Input::RunEnded { outcome: Outcome::Failed });
    let Output::Reply { asks, .. } = &answered[0] else { panic!("{answered:?}") };
    assert_eq!(asks.len(), STOPS_WAITING_MAX);
}
