use super::state::{Input, Ownership};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for Ownership {
    type Input = Input;
    type Output = ();
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 0;

    fn step(&mut self, _now: Instant, input: Input, _out: &mut Outbox<()>) -> Result<(), Reject> {
        match (self.owner, input) {
            (None, Input::Taken { run_id }) => self.owner = Some(run_id),
            (Some(owner), Input::Released { run_id }) if owner == run_id => self.owner = None,
            (Some(_), Input::Taken { .. }) => return Err(Reject::Local("owned")),
            (Some(_) | None, Input::Released { .. }) => {
                return Err(Reject::Local("not_the_owner"));
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
        match self.owner {
            Some(_) => "owned",
            None => "free",
        }
    }
}
