use super::{CallResult, Input, Output, State, Worker};
use crate::ids::AgentId;
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;
use crate::run::guards::{Gate, Owner, Rules};
use crate::run::limits::SELF_HEAL_MAX;
use crate::run::settlement::Failure;

const AGENT: AgentId = AgentId::new(1);
const OTHER: AgentId = AgentId::new(2);
const OPEN: Gate = Gate { token_unset: true, live: true, owner: Owner::ThisRun };

const FAILED: CallResult = CallResult::Failed { failure: Failure { retryable: true } };

fn gates() -> Vec<Gate> {
    let mut gates = Vec::new();
    for token_unset in [true, false] {
        for live in [true, false] {
            for owner in [Owner::ThisRun, Owner::OtherRun, Owner::Absent] {
                gates.push(Gate { token_unset, live, owner });
            }
        }
    }
    gates
}

struct Everything;

impl Scope<Worker> for Everything {
    fn inputs(&self, _worker: &Worker) -> Vec<Input> {
        let mut inputs =
            vec![Input::Constructed { agent: AGENT }, Input::ConstructionFailed, Input::Exited];
        for gate in gates() {
            inputs.push(Input::Began { gate, cached: None });
            inputs.push(Input::Began { gate, cached: Some(AGENT) });
            inputs.push(Input::RegistrationAsked { gate });
            inputs.push(Input::InvocationAsked { gate, agent: AGENT });
            inputs.push(Input::InvocationAsked { gate, agent: OTHER });
            for result in [CallResult::Completed, FAILED, CallResult::Lost] {
                for has_output in [false, true] {
                    inputs.push(Input::Returned { result, gate, has_output });
                }
            }
        }
        inputs
    }
}

fn after(inputs: &[Input]) -> (Worker, Vec<Output>) {
    let mut worker = Worker::<Rules>::reserved();
    let mut out = Outbox::new();
    for input in inputs {
        out.drain();
        worker.step(Instant::ZERO, input.clone(), &mut out).unwrap();
    }
    let outputs = out.drain().collect();
    (worker, outputs)
}

#[test]
fn the_laws_hold() {
    let report = laws(Worker::<Rules>::reserved(), &Everything, 64).unwrap();
    assert_eq!(report.state_names.len(), 9, "{report:?}");
    assert_matrix!("run_worker", &report.matrix);
}

#[test]
fn a_worker_that_may_not_begin_constructs_nothing() {
    for gate in gates() {
        let (worker, outputs) = after(&[Input::Began { gate, cached: None }]);
        if gate.token_unset && gate.live {
            assert_eq!(outputs, [Output::Started, Output::Construct]);
        } else {
            assert_eq!((worker.state(), outputs), (State::Refused, vec![Output::Exit]));
        }
    }
}

#[test]
fn a_refused_candidate_is_cleaned_up_and_a_borrowed_agent_is_left_alone() {
    let stopped = Gate { token_unset: false, ..OPEN };
    let began = |cached| Input::Began { gate: OPEN, cached };
    let ask = Input::RegistrationAsked { gate: stopped };
    let (_, candidate) = after(&[began(None), Input::Constructed { agent: AGENT }, ask.clone()]);
    assert_eq!(candidate, [Output::CleanUp { agent: AGENT }, Output::Exit]);
    let (_, borrowed) = after(&[began(Some(AGENT)), ask]);
    assert_eq!(borrowed, [Output::Exit]);
}

/// REG-07 [unit]: an absent owner, an absent channel or an equal agent alone permits nothing.
#[test]
fn absence_and_equality_are_never_permission() {
    let registered =
        [Input::Began { gate: OPEN, cached: Some(AGENT) }, Input::RegistrationAsked { gate: OPEN }];
    for gate in gates() {
        let asked = Input::InvocationAsked { gate, agent: AGENT };
        let (_, outputs) = after(&[&registered[..], &[asked]].concat());
        let invoked = outputs.contains(&Output::Invoke { agent: AGENT });
        assert_eq!(invoked, gate.token_unset && gate.live, "{gate:?}");
        let retired = outputs.contains(&Output::Retire { agent: AGENT });
        assert_eq!(retired, !invoked && gate.owner == Owner::ThisRun, "{gate:?}");
        let (_, published) = after(&[registered[0].clone(), Input::RegistrationAsked { gate }]);
        let may = gate == OPEN;
        assert_eq!(published.contains(&Output::Publish { agent: AGENT }), may, "{gate:?}");
    }
}

#[test]
fn another_agent_than_the_registered_one_is_not_invoked() {
    let (worker, outputs) = after(&[
        Input::Began { gate: OPEN, cached: Some(AGENT) },
        Input::RegistrationAsked { gate: OPEN },
        Input::InvocationAsked { gate: OPEN, agent: OTHER },
    ]);
    assert_eq!(worker.state(), State::Refused);
    assert_eq!(outputs, [Output::Retire { agent: AGENT }, Output::Exit]);
}

/// A worker whose first call was admitted.
const CALLED: [Input; 4] = [
    Input::Began { gate: OPEN, cached: None },
    Input::Constructed { agent: AGENT },
    Input::RegistrationAsked { gate: OPEN },
    Input::InvocationAsked { gate: OPEN, agent: AGENT },
];

const LOST: Input = Input::Returned { result: CallResult::Lost, gate: OPEN, has_output: false };

/// REG-14 [unit]: a lost agent is replaced twice; the third loss ends the run.
#[test]
fn a_run_builds_at_most_two_more_agents() {
    let rebuilt = [Output::Retire { agent: AGENT }, Output::Construct];
    let result = CallResult::Lost;
    let ended = [Output::Retire { agent: AGENT }, Output::Finished { result }];
    for losses in 1..=SELF_HEAL_MAX + 1 {
        let mut inputs = CALLED.to_vec();
        for _ in 1..losses {
            inputs.push(LOST);
            inputs.extend_from_slice(&CALLED[1..]);
        }
        inputs.push(LOST);
        let (worker, outputs) = after(&inputs);
        let may_rebuild = losses <= SELF_HEAL_MAX;
        assert_eq!(outputs, if may_rebuild { rebuilt } else { ended }, "loss {losses}");
        assert_eq!(worker.rebuilds(), losses.min(SELF_HEAL_MAX));
        assert_eq!(worker.state(), if may_rebuild { State::Started } else { State::Returned });
    }
}

#[test]
fn nothing_is_rebuilt_after_a_stop_or_output_or_another_failure() {
    for gate in gates() {
        for result in [CallResult::Completed, CallResult::Interrupted, FAILED, CallResult::Lost] {
            for has_output in [false, true] {
                let returned = Input::Returned { result, gate, has_output };
                let (worker, outputs) = after(&[&CALLED[..], &[returned]].concat());
                let is_lost = result == CallResult::Lost;
                let may_rebuild = is_lost && !has_output && gate == OPEN;
                assert_eq!(outputs.contains(&Output::Construct), may_rebuild, "{gate:?}");
                let retired = outputs.contains(&Output::Retire { agent: AGENT });
                assert_eq!(retired, is_lost && gate.owner == Owner::ThisRun, "{gate:?}");
                assert_eq!(worker.state() == State::Returned, !may_rebuild);
            }
        }
    }
}

#[test]
fn a_rebuilt_agent_passes_both_gates_again() {
    let stopped = Gate { token_unset: false, ..OPEN };
    let rebuilt = [&CALLED[..], &[LOST, Input::Constructed { agent: OTHER }]].concat();
    let refused = Input::RegistrationAsked { gate: stopped };
    let (_, outputs) = after(&[&rebuilt[..], &[refused]].concat());
    assert_eq!(outputs, [Output::CleanUp { agent: OTHER }, Output::Exit]);
    let registered = [&rebuilt[..], &[Input::RegistrationAsked { gate: OPEN }]].concat();
    let refused = Input::InvocationAsked { gate: stopped, agent: OTHER };
    let (_, outputs) = after(&[&registered[..], &[refused]].concat());
    assert_eq!(outputs, [Output::Retire { agent: OTHER }, Output::Exit]);
}
