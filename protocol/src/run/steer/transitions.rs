use super::state::{Input, Offer, Output, STEERS_MAX, Stage, State, Steers, Unsettled};
use crate::ids::{PayloadId, SteerId};
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
                self.take_back();
            }
            (State::Open, Input::Offered(offer)) => return self.offer(offer, out),
            (State::Shut | State::Closed, Input::Offered(Offer { ask, .. })) => {
                out.push(Output::Refused { ask, reason: Code::NotRunning });
            }
            (State::Open, Input::Wanted) => {
                self.take_back();
                self.is_wanted = true;
            }
            (State::Open, Input::MayHandOver) => self.hand_over(out),
            (State::Open, Input::Read { steer_id }) => return self.read(steer_id),
            // A row in flight when the box was closed is answered afterwards.
            (State::Open | State::Closed, Input::Stored { steer_id }) => self.stored(steer_id, out),
            (State::Open | State::Closed, Input::RowLost { payload }) => {
                self.row_lost(payload, out)
            }
            (State::Open | State::Closed, Input::Settled { steer_id }) => {
                self.unsettled.retain(|it| it.steer_id != steer_id || it.stage != Stage::Read);
            }
            // After the end of its run an agent is told nothing more.
            (State::Closed, Input::Invoked | Input::Wanted) => {}
            (State::Shut | State::Open | State::Closed, Input::Returned) => self.take_back(),
            (State::Shut | State::Open | State::Closed, Input::Closed) => {
                self.state = State::Closed;
                self.take_back();
            }
            (State::Shut, Input::RowLost { .. }) => {}
            (State::Shut, Input::Wanted | Input::Stored { .. } | Input::Settled { .. })
            | (State::Shut | State::Closed, Input::MayHandOver | Input::Read { .. }) => {
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
        self.unsettled.len() * size_of::<Unsettled>()
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
        let Offer { ask, steer_id, payload, .. } = offer;
        if self.unsettled.iter().any(|known| known.steer_id == steer_id) {
            return Err(Reject::Local("steer_id_reused"));
        }
        match self.refusal_of(offer) {
            Some(reason) => out.push(Output::Refused { ask, reason }),
            None => {
                self.unsettled.push(Unsettled { steer_id, stage: Stage::Storing { ask, payload } });
                out.push(Output::Taken);
            }
        }
        Ok(())
    }

    /// The one reason of STR-02.
    fn refusal_of(&self, offer: Offer) -> Option<Code> {
        let Offer { is_live, may_act, has_agent, is_supported, has_room, .. } = offer;
        if !is_live {
            Some(Code::StreamDead)
        } else if !may_act {
            Some(Code::NotRunning)
        } else if !has_agent {
            Some(Code::NoAgent)
        } else if !is_supported {
            Some(Code::Unsupported)
        } else if self.unsettled.len() >= STEERS_MAX {
            Some(Code::SteerFull)
        } else if !has_room {
            Some(Code::SteerError)
        } else {
            None
        }
    }

    fn stored(&mut self, stored: SteerId, out: &mut Outbox<Output>) {
        for Unsettled { steer_id, stage } in &mut self.unsettled {
            if let (true, Stage::Storing { ask, .. }) = (*steer_id == stored, *stage) {
                *stage = Stage::Accepted;
                out.push(Output::Accepted { ask, steer_id: stored });
            }
        }
    }

    fn row_lost(&mut self, lost: PayloadId, out: &mut Outbox<Output>) {
        let reason = match self.state {
            State::Open => Code::SteerError,
            State::Shut | State::Closed => Code::NotRunning,
        };
        self.unsettled.retain(|steer| match steer.stage {
            Stage::Storing { ask, payload } if payload == lost => {
                out.push(Output::Refused { ask, reason });
                false
            }
            Stage::Storing { .. } | Stage::Accepted | Stage::Handed | Stage::Read => true,
        });
    }

    fn hand_over(&mut self, out: &mut Outbox<Output>) {
        let next = self.next().filter(|_| self.is_wanted);
        if let Some(steer) = next.and_then(|next| self.unsettled.get_mut(next)) {
            steer.stage = Stage::Handed;
            self.is_wanted = false;
            out.push(Output::HandOver { steer_id: steer.steer_id });
        }
    }

    fn read(&mut self, read: SteerId) -> Result<(), Reject> {
        let handed = |it: &&mut Unsettled| it.steer_id == read && it.stage == Stage::Handed;
        let steer = self.unsettled.iter_mut().find(handed);
        steer.ok_or(Reject::Local("steer_not_handed"))?.stage = Stage::Read;
        Ok(())
    }

    /// Nobody waits any more; a steer that was handed over and not taken is with no agent again.
    fn take_back(&mut self) {
        self.is_wanted = false;
        for steer in &mut self.unsettled {
            if steer.stage == Stage::Handed {
                steer.stage = Stage::Accepted;
            }
        }
    }
}
