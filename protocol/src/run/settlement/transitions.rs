use super::state::{Claimant, Input, Output, Settlement, State, Verdict};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::limits::SAVE_RETRIES;

impl Machine for Settlement {
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
            (State::Unclaimed, Input::Claim { by, verdict, may_save: true })
            | (State::Claimed { by, verdict }, Input::MaySave) => self.save(by, verdict, 0, out),
            (State::Unclaimed, Input::Claim { by, verdict, may_save: false })
            | (State::GaveUp { by, verdict }, Input::Retry) => {
                self.state = State::Claimed { by, verdict };
            }
            (State::Saving { verdict, .. }, Input::Saved) => {
                self.state = State::Settled { verdict };
                out.push(Output::Settled { verdict });
            }
            (State::Saving { by: Claimant::Worker, .. }, Input::SaveFailed { stop_held: true }) => {
                self.state = State::Unclaimed;
                out.push(Output::Lapsed);
            }
            (State::Saving { by, verdict, attempt }, Input::SaveFailed { .. }) => {
                if attempt < SAVE_RETRIES {
                    self.save(by, verdict, attempt + 1, out);
                } else {
                    self.state = match by {
                        Claimant::Worker => State::Unclaimed,
                        Claimant::Canceller | Claimant::Recovery => State::GaveUp { by, verdict },
                    };
                    out.push(Output::GaveUp { by });
                }
            }
            (
                State::Claimed { .. }
                | State::Saving { .. }
                | State::Settled { .. }
                | State::GaveUp { .. },
                Input::Claim { .. },
            ) => return Err(Reject::Local("outcome_claimed")),
            (
                State::Unclaimed
                | State::Saving { .. }
                | State::Settled { .. }
                | State::GaveUp { .. },
                Input::MaySave,
            )
            | (
                State::Unclaimed
                | State::Claimed { .. }
                | State::Settled { .. }
                | State::GaveUp { .. },
                Input::Saved | Input::SaveFailed { .. },
            )
            | (
                State::Unclaimed
                | State::Claimed { .. }
                | State::Saving { .. }
                | State::Settled { .. },
                Input::Retry,
            ) => return Err(Reject::Local("settlement_unlisted")),
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
        matches!(self.state, State::Settled { .. })
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Unclaimed => "unclaimed",
            State::Claimed { .. } => "claimed",
            State::Saving { .. } => "save in flight",
            State::Settled { .. } => "settled",
            State::GaveUp { .. } => "gave up",
        }
    }
}

impl Settlement {
    fn save(&mut self, by: Claimant, verdict: Verdict, attempt: u8, out: &mut Outbox<Output>) {
        self.state = State::Saving { by, verdict, attempt };
        out.push(Output::Save { verdict });
    }
}
