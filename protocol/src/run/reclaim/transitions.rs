use super::state::{Input, Output, Reclaim, State};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::Phase;
use crate::run::guards::Guards;

impl<G: Guards> Machine for Reclaim<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match (self.state, input) {
            (State::Untouched, Input::StopAccepted) => self.state = State::Stopped { since: now },
            (State::Stopped { since }, Input::ChannelClosed) => {
                self.state = State::Closed { since };
            }
            (State::Stopped { .. } | State::Closed { .. }, Input::StartAsked) => {
                self.tick(now, out)
            }
            (State::Untouched, Input::StartAsked) => {}
            (State::Untouched | State::Stopped { .. } | State::Closed { .. }, Input::RowGone) => {
                self.state = State::Over;
            }
            (State::Untouched | State::Closed { .. }, Input::ChannelClosed)
            | (State::Stopped { .. } | State::Closed { .. }, Input::StopAccepted)
            | (
                State::Over,
                Input::StopAccepted | Input::ChannelClosed | Input::StartAsked | Input::RowGone,
            ) => return Err(Reject::Local("reclaim_unlisted")),
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let (since, live) = match self.state {
            State::Stopped { since } => (since, true),
            State::Closed { since } => (since, false),
            State::Untouched | State::Over => return,
        };
        if G::is_reclaimable(Phase::Cancelling, since, now, live, self.unwind) {
            self.state = State::Over;
            out.push(Output::Reclaim);
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        match self.state {
            State::Closed { since } => Some((since.plus(self.unwind), TimerKind::Unwind)),
            State::Untouched | State::Stopped { .. } | State::Over => None,
        }
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
    }

    fn is_terminal(&self) -> bool {
        self.state == State::Over
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Untouched => "untouched",
            State::Stopped { .. } => "stopped, channel open",
            State::Closed { .. } => "stopped, channel closed",
            State::Over => "over",
        }
    }
}
