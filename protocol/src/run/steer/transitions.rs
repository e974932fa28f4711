use super::state::{Input, Offer, Output, STEERS_MAX, State, Steers};
use crate::ids::SteerId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::wire::codes::Code;

impl Machine for Steers {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(
        &mut self,
        _now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match (self.state, input) {
            (State::Shut | State::Open, Input::Invoked) => {
                self.state = State::Open;
                self.reader = None;
            }
            (State::Open, Input::Offered(offer)) => return self.offer(offer, out),
            (State::Shut | State::Closed, Input::Offered(_)) => {
                out.push(Output::Refused { reason: Code::NotRunning });
            }
            (State::Open, Input::Wanted { payload }) => self.reader = Some(payload),
            (State::Open, Input::MayHandOver) => self.hand_over(out),
            // After the end of its run an agent is told nothing more.
            (State::Closed, Input::Invoked | Input::Wanted { .. }) => {}
            (State::Shut | State::Open | State::Closed, Input::Returned) => self.reader = None,
            (State::Shut | State::Open | State::Closed, Input::Closed) => {
                self.state = State::Closed;
                self.reader = None;
            }
            (State::Shut, Input::Wanted { .. })
            | (State::Shut | State::Closed, Input::MayHandOver) => {
                return Err(Reject::Local("steers_unlisted"));
            }
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        self.unsettled.len() * size_of::<SteerId>()
    }

    fn is_terminal(&self) -> bool {
        // A late offer is still refused.
        false
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Shut => "shut",
            State::Open => "open",
            State::Closed => "closed",
        }
    }
}

impl Steers {
    fn offer(&mut self, offer: Offer, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let Offer { steer_id, is_live, may_act, has_agent, is_supported } = offer;
        if self.unsettled.contains(&steer_id) {
            return Err(Reject::Local("steer_id_reused"));
        }
        let refusal = if !is_live {
            Some(Code::StreamDead)
        } else if !may_act {
            Some(Code::NotRunning)
        } else if !has_agent {
            Some(Code::NoAgent)
        } else if !is_supported {
            Some(Code::Unsupported)
        } else if self.unsettled.len() >= STEERS_MAX {
            Some(Code::SteerFull)
        } else {
            None
        };
        match refusal {
            Some(reason) => out.push(Output::Refused { reason }),
            None => {
                self.unsettled.push(steer_id);
                out.push(Output::Accepted { steer_id });
            }
        }
        Ok(())
    }

    /// The oldest goes to the agent that waits, at once and for good.
    fn hand_over(&mut self, out: &mut Outbox<Output>) {
        if self.unsettled.is_empty() {
            return;
        }
        if let Some(payload) = self.reader.take() {
            let steer_id = self.unsettled.remove(0);
            out.push(Output::Consumed { steer_id, payload });
        }
    }
}
