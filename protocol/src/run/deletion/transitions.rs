use super::state::{DELETIONS_WAITING_MAX, Deletion, Input, Output, State};
use crate::ids::AskId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for Deletion {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1 + DELETIONS_WAITING_MAX;

    fn step(
        &mut self,
        _now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match (self.state, input) {
            (State::None, Input::Asked { ask }) => self.state = State::Wanted { ask },
            (State::Wanted { ask: first } | State::Saving { ask: first }, Input::Asked { ask }) => {
                self.wait(first, ask, out)?;
            }
            (State::Wanted { ask }, Input::MayCommit) => {
                self.state = State::Saving { ask };
                out.push(Output::Commit { ask });
            }
            (State::Saving { ask }, Input::Committed) => {
                self.state = State::Deleted;
                out.push(Output::Deleted { ask });
                for ask in self.waiting.drain(..) {
                    out.push(Output::Unknown { ask });
                }
            }
            (State::Saving { ask }, Input::Failed) => {
                self.state = State::None;
                out.push(Output::Failed { ask });
                for ask in self.waiting.drain(..) {
                    out.push(Output::Failed { ask });
                }
            }
            (State::Deleted, Input::Asked { .. }) => return Err(Reject::Local("session_deleted")),
            (State::None | State::Saving { .. } | State::Deleted, Input::MayCommit)
            | (
                State::None | State::Wanted { .. } | State::Deleted,
                Input::Committed | Input::Failed,
            ) => return Err(Reject::Local("deletion_unlisted")),
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        size_of::<Self>() + self.waiting.len() * size_of::<AskId>()
    }

    fn is_terminal(&self) -> bool {
        self.state == State::Deleted
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::None => "none",
            State::Wanted { .. } => "wanted",
            State::Saving { .. } => "commit in flight",
            State::Deleted => "deleted",
        }
    }
}

impl Deletion {
    fn wait(&mut self, first: AskId, ask: AskId, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if ask == first || self.waiting.contains(&ask) {
            return Err(Reject::Local("ask_reused"));
        }
        if self.waiting.len() < DELETIONS_WAITING_MAX {
            self.waiting.push(ask);
        } else {
            out.push(Output::Full { ask });
        }
        Ok(())
    }
}
