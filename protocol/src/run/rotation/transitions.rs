use super::state::{Input, Output, Rotation, Stage};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for Rotation {
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
        match (self.stage, input) {
            (Stage::None, Input::Asked { run_id, continuation }) => {
                self.stage = Stage::Wanted { run_id, continuation };
            }
            // One at a time; the agent may ask again.
            (Stage::Wanted { .. } | Stage::Saving { .. }, Input::Asked { run_id, .. }) => {
                out.push(Output::Refused { run_id });
            }
            (Stage::Wanted { run_id, continuation }, Input::MayCommit) => {
                self.stage = Stage::Saving { run_id, continuation };
                out.push(Output::Commit { run_id, continuation });
            }
            (Stage::Saving { run_id, continuation }, Input::Committed { from }) => {
                *self = Self { stage: Stage::None, parent: Some(from) };
                out.push(Output::Rotated { run_id, continuation });
            }
            (Stage::Saving { run_id, .. }, Input::Failed)
            | (Stage::Wanted { run_id, .. }, Input::Withdrawn) => {
                self.stage = Stage::None;
                out.push(Output::Refused { run_id });
            }
            (Stage::None | Stage::Saving { .. }, Input::MayCommit | Input::Withdrawn)
            | (Stage::None | Stage::Wanted { .. }, Input::Committed { .. } | Input::Failed) => {
                return Err(Reject::Local("rotation_unlisted"));
            }
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
        false
    }

    fn state_name(&self) -> &'static str {
        match self.stage {
            Stage::None => "none",
            Stage::Wanted { .. } => "wanted",
            Stage::Saving { .. } => "commit in flight",
        }
    }
}
