use super::state::{Input, Output, Row, State};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::Phase;

impl Machine for Row {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match (self.state, input) {
            (State::Starting, Input::InvocationAdmitted) => {
                self.enter(State::Running, Phase::Running, now, out);
            }
            (State::Running, Input::InvocationAdmitted) => {}
            (State::Running, Input::LastReturned)
            | (State::Starting, Input::ConstructionFailed) => {
                self.enter(State::Finalizing, Phase::Finalizing, now, out);
            }
            (State::Starting | State::Running | State::Finalizing, Input::StopAccepted) => {
                self.enter(State::Cancelling, Phase::Cancelling, now, out);
            }
            (
                State::Cancelling,
                Input::InvocationAdmitted | Input::LastReturned | Input::ConstructionFailed,
            ) => {}
            (
                State::Starting | State::Running | State::Finalizing | State::Cancelling,
                Input::Removed,
            ) => {
                self.state = State::Absent;
                self.since = now;
                out.push(Output::Gone);
            }
            (State::Starting, Input::LastReturned)
            | (State::Running, Input::ConstructionFailed)
            | (
                State::Finalizing,
                Input::InvocationAdmitted | Input::LastReturned | Input::ConstructionFailed,
            )
            | (State::Cancelling, Input::StopAccepted) => {
                return Err(Reject::Local("row_unlisted"));
            }
            (
                State::Absent,
                Input::InvocationAdmitted
                | Input::LastReturned
                | Input::ConstructionFailed
                | Input::StopAccepted
                | Input::Removed,
            ) => return Err(Reject::Local("no_row")),
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
        self.state == State::Absent
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Starting => "starting",
            State::Running => "running",
            State::Finalizing => "finalizing",
            State::Cancelling => "cancelling",
            State::Absent => "absent",
        }
    }
}

impl Row {
    fn enter(&mut self, state: State, phase: Phase, now: Instant, out: &mut Outbox<Output>) {
        self.state = state;
        self.since = now;
        out.push(Output::PhaseChanged { phase, since: now });
    }
}
