use super::{CallResult, Input, Output, State, Worker};
use crate::ids::AgentId;
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::run::guards::{Gate, Owner, Rules};
use crate::run::settlement::Failure;

const AGENT: AgentId = AgentId::new(1);
const OTHER: AgentId = AgentId::new(2);
const OPEN: Gate = Gate { token_unset: true, live: true, owner: Owner::ThisRun };

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
        let mut inputs = vec![
            Input::Constructed { agent: AGENT },
            Input::ConstructionFailed,
            Input::Returned { result: CallResult::Completed },
            Input::Returned { result: CallResult::Failed { failure: Failure { retryable: true } } },
            Input::Exited,
        ];
        for gate in gates() {
            inputs.push(Input::Began { gate, cached: None });
            inputs.push(Input::Began { gate, cached: Some(AGENT) });
            inputs.push(Input::RegistrationAsked { gate });
            inputs.push(Input::InvocationAsked { gate, agent: AGENT });
            inputs.push(Input::InvocationAsked { gate, agent: OTHER });
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
