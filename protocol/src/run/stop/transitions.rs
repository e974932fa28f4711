use super::state::{Answer, Escalation, Input, Moment, Output, State, Stop, StopSignal};
use crate::ids::{AgentId, AskId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::guards::Guards;
use crate::run::limits::{STOP_KILL_AFTER, STOP_TERM_AFTER, STOPS_WAITING_MAX};

impl<G: Guards> Machine for Stop<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 2;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match (self.state, input) {
            (State::Quiet | State::Held, Input::Asked { ask, moment }) => {
                self.ask(now, ask, moment, out);
            }
            (State::Accepted | State::Answered, Input::Asked { ask, .. }) => {
                if G::interrupts_again() {
                    self.interrupt_again(out);
                }
                out.push(Output::Reply { asks: vec![ask], answer: Answer::Accepted });
            }
            (State::Ended { outcome: status }, Input::Asked { ask, .. }) => {
                let answer = Answer::AlreadyEnded { status };
                out.push(Output::Reply { asks: vec![ask], answer });
            }
            (State::Quiet | State::Held, Input::EndedByServer { invoked })
            | (State::Held, Input::Released { invoked }) => self.accept(now, invoked, out),
            (State::Quiet | State::Held, Input::RunEnded { outcome }) => {
                self.state = State::Ended { outcome };
                self.reply(Answer::AlreadyEnded { status: outcome }, out);
            }
            (State::Held, Input::Unsettled) => {
                self.state = State::Quiet;
                self.reply(Answer::Refused, out);
            }
            (State::Held, Input::RemoteRefused) => {
                self.state = State::Quiet;
                self.reply(Answer::RemoteRefused, out);
            }
            (State::Accepted, Input::SettlementAnswered) => {
                self.state = State::Answered;
                self.reply(Answer::Accepted, out);
            }
            (State::Accepted | State::Answered, Input::AgentReturned) => {
                self.escalation = Escalation::None;
            }
            (
                State::Quiet | State::Accepted | State::Answered | State::Ended { .. },
                Input::Unsettled | Input::RemoteRefused,
            )
            | (
                State::Quiet,
                Input::Released { .. } | Input::SettlementAnswered | Input::AgentReturned,
            )
            | (State::Held, Input::SettlementAnswered | Input::AgentReturned)
            | (
                State::Accepted,
                Input::EndedByServer { .. } | Input::Released { .. } | Input::RunEnded { .. },
            )
            | (
                State::Answered,
                Input::EndedByServer { .. }
                | Input::Released { .. }
                | Input::RunEnded { .. }
                | Input::SettlementAnswered,
            )
            | (
                State::Ended { .. },
                Input::EndedByServer { .. }
                | Input::Released { .. }
                | Input::RunEnded { .. }
                | Input::SettlementAnswered
                | Input::AgentReturned,
            ) => return Err(Reject::Local("stop_unlisted")),
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        if let Escalation::Interrupted { agent, at } = self.escalation
            && now >= at.plus(STOP_TERM_AFTER)
        {
            self.escalation = Escalation::Terminated { agent, at: at.plus(STOP_TERM_AFTER) };
            out.push(Output::Signal { agent, signal: StopSignal::Terminate });
        }
        if let Escalation::Terminated { agent, at } = self.escalation
            && now >= at.plus(STOP_KILL_AFTER)
        {
            self.escalation = Escalation::None;
            out.push(Output::Signal { agent, signal: StopSignal::Kill });
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        match self.escalation {
            Escalation::None => None,
            Escalation::Interrupted { at, .. } => {
                Some((at.plus(STOP_TERM_AFTER), TimerKind::StopTerm))
            }
            Escalation::Terminated { at, .. } => {
                Some((at.plus(STOP_KILL_AFTER), TimerKind::StopKill))
            }
        }
    }

    fn weight(&self) -> usize {
        size_of::<Self>() + self.asks.len() * size_of::<AskId>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Quiet => "quiet",
            State::Held => "held",
            State::Accepted => "accepted",
            State::Answered => "accepted, answered",
            State::Ended { .. } => "ended",
        }
    }
}

impl<G: Guards> Stop<G> {
    fn ask(&mut self, now: Instant, ask: AskId, moment: Moment, out: &mut Outbox<Output>) {
        if self.asks.len() == STOPS_WAITING_MAX {
            out.push(Output::Reply { asks: vec![ask], answer: Answer::Refused });
            return;
        }
        self.asks.push(ask);
        match moment {
            Moment::Reserving => self.state = State::Held,
            Moment::Saving { invoked } if !G::holds_stop(true) => self.accept(now, invoked, out),
            Moment::Saving { .. } => self.state = State::Held,
            Moment::Open { invoked } => self.accept(now, invoked, out),
        }
    }

    fn accept(&mut self, now: Instant, invoked: Option<AgentId>, out: &mut Outbox<Output>) {
        self.state = State::Accepted;
        out.push(Output::Accept);
        if let Some(agent) = invoked.filter(|_| G::interrupts(true)) {
            if G::escalates() {
                self.escalation = Escalation::Interrupted { agent, at: now };
            }
            out.push(Output::Signal { agent, signal: StopSignal::Interrupt });
        }
        if G::answers_at_acceptance() {
            self.reply(Answer::Accepted, out);
        }
    }

    fn interrupt_again(&mut self, out: &mut Outbox<Output>) {
        match self.escalation {
            Escalation::Interrupted { agent, .. } | Escalation::Terminated { agent, .. } => {
                out.push(Output::Signal { agent, signal: StopSignal::Interrupt });
            }
            Escalation::None => {}
        }
    }

    fn reply(&mut self, answer: Answer, out: &mut Outbox<Output>) {
        if !self.asks.is_empty() {
            out.push(Output::Reply { asks: std::mem::take(&mut self.asks), answer });
        }
    }
}
