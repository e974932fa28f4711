use super::state::{CallResult, Input, Output, State, Worker};
use crate::ids::AgentId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::guards::{Gate, Guards};

impl<G: Guards> Machine for Worker<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 2;

    fn step(
        &mut self,
        _now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match (self.state, input) {
            (State::Reserved, Input::Began { gate, cached }) => self.begin(gate, cached, out),
            (State::Started, Input::Constructed { agent }) => {
                self.state = State::Ready { agent, borrowed: false };
                out.push(Output::AskRegistration);
            }
            (State::Started, Input::ConstructionFailed) => {
                self.state = State::Returned;
                let failure = crate::run::settlement::Failure { retryable: false };
                out.push(Output::Finished { result: CallResult::Failed { failure } });
            }
            (State::Ready { agent, borrowed }, Input::RegistrationAsked { gate }) => {
                self.register(gate, agent, borrowed, out);
            }
            (State::Registered { agent: registered }, Input::InvocationAsked { gate, agent }) => {
                self.invoke(gate, registered, agent, out);
            }
            (State::Invoked { agent }, Input::Returned { result, gate, has_output }) => {
                self.returned(agent, result, gate, has_output, out);
            }
            (
                State::Reserved
                | State::Started
                | State::Ready { .. }
                | State::Registered { .. }
                | State::Invoked { .. }
                | State::Refused
                | State::Returned,
                Input::Exited,
            ) => self.state = State::Gone,
            (
                State::Gone,
                Input::Began { .. }
                | Input::Constructed { .. }
                | Input::ConstructionFailed
                | Input::RegistrationAsked { .. }
                | Input::InvocationAsked { .. }
                | Input::Returned { .. }
                | Input::Exited,
            )
            | (
                State::Refused | State::Returned,
                Input::Began { .. }
                | Input::Constructed { .. }
                | Input::ConstructionFailed
                | Input::RegistrationAsked { .. }
                | Input::InvocationAsked { .. }
                | Input::Returned { .. },
            )
            | (
                State::Reserved,
                Input::Constructed { .. }
                | Input::ConstructionFailed
                | Input::RegistrationAsked { .. }
                | Input::InvocationAsked { .. }
                | Input::Returned { .. },
            )
            | (
                State::Started,
                Input::Began { .. }
                | Input::RegistrationAsked { .. }
                | Input::InvocationAsked { .. }
                | Input::Returned { .. },
            )
            | (
                State::Ready { .. },
                Input::Began { .. }
                | Input::Constructed { .. }
                | Input::ConstructionFailed
                | Input::InvocationAsked { .. }
                | Input::Returned { .. },
            )
            | (
                State::Registered { .. },
                Input::Began { .. }
                | Input::Constructed { .. }
                | Input::ConstructionFailed
                | Input::RegistrationAsked { .. }
                | Input::Returned { .. },
            )
            | (
                State::Invoked { .. },
                Input::Began { .. }
                | Input::Constructed { .. }
                | Input::ConstructionFailed
                | Input::RegistrationAsked { .. }
                | Input::InvocationAsked { .. },
            ) => return Err(Reject::Local("worker_unlisted")),
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
    }

    fn is_terminal(&self) -> bool {
        self.is_gone()
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Reserved => "reserved",
            State::Started => "started",
            State::Ready { borrowed: false, .. } => "ready, candidate",
            State::Ready { borrowed: true, .. } => "ready, borrowed",
            State::Registered { .. } => "registered",
            State::Invoked { .. } => "invoked",
            State::Refused => "refused",
            State::Returned => "returned",
            State::Gone => "gone",
        }
    }
}

impl<G: Guards> Worker<G> {
    fn begin(&mut self, gate: Gate, cached: Option<AgentId>, out: &mut Outbox<Output>) {
        if !G::may_begin(gate) {
            self.refuse(None, out);
            return;
        }
        out.push(Output::Started);
        match cached {
            Some(agent) => {
                self.state = State::Ready { agent, borrowed: true };
                out.push(Output::AskRegistration);
            }
            None => {
                self.state = State::Started;
                out.push(Output::Construct);
            }
        }
    }

    fn register(&mut self, gate: Gate, agent: AgentId, borrowed: bool, out: &mut Outbox<Output>) {
        if G::may_register(gate) {
            self.state = State::Registered { agent };
            out.push(Output::Publish { agent });
            out.push(Output::Prepare { agent });
        } else {
            if G::publishes_refused() {
                out.push(Output::Publish { agent });
            }
            // A borrowed agent is only let go: a successor may use it (REG-09).
            self.refuse(G::cleans_up(borrowed).then_some(Output::CleanUp { agent }), out);
        }
    }

    fn invoke(
        &mut self,
        gate: Gate,
        registered: AgentId,
        agent: AgentId,
        out: &mut Outbox<Output>,
    ) {
        if G::may_invoke(gate, registered, agent) {
            self.state = State::Invoked { agent };
            out.push(Output::Invoke { agent });
        } else {
            self.refuse(G::may_retire(gate).then_some(Output::Retire { agent: registered }), out);
        }
    }

    /// A lost agent is retired, and another one is built where that may cure the failure.
    fn returned(
        &mut self,
        agent: AgentId,
        result: CallResult,
        gate: Gate,
        has_output: bool,
        out: &mut Outbox<Output>,
    ) {
        if result == CallResult::Lost && G::may_retire(gate) {
            out.push(Output::Retire { agent });
        }
        if G::may_rebuild(gate, result, has_output, self.rebuilds) {
            self.rebuilds = self.rebuilds.saturating_add(1);
            self.state = State::Started;
            out.push(Output::Construct);
        } else {
            self.state = State::Returned;
            out.push(Output::Finished { result });
        }
    }

    fn refuse(&mut self, clean_up: Option<Output>, out: &mut Outbox<Output>) {
        self.state = State::Refused;
        if let Some(clean_up) = clean_up {
            out.push(clean_up);
        }
        out.push(Output::Exit);
    }
}
