use super::state::{Input, Pending};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for Pending {
    type Input = Input;
    type Output = ();
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 0;

    fn step(&mut self, _now: Instant, input: Input, _out: &mut Outbox<()>) -> Result<(), Reject> {
        match (*self, input) {
            (Self::None, Input::Saved { turn_id, run_id, pending_started_at }) => {
                *self = Self::Turn { turn_id, run_id, pending_started_at };
            }
            (Self::Turn { run_id, .. }, Input::Cleared { run_id: cleared })
                if run_id == cleared =>
            {
                *self = Self::None;
            }
            (Self::Turn { .. }, Input::Saved { .. }) => return Err(Reject::Local("turn_pending")),
            (Self::None | Self::Turn { .. }, Input::Cleared { .. }) => {
                return Err(Reject::Local("another_turn"));
            }
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<()>) {}

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
        match self {
            Self::None => "none",
            Self::Turn { .. } => "aged",
        }
    }
}
