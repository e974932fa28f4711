use super::state::{Input, Output, TurnJournal};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for TurnJournal {
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
        *self = match (*self, input) {
            (Self::None, Input::Submitted) => Self::Submitted,
            (Self::Submitted, Input::WorkerStarted) => Self::WorkerStarted,
            (Self::Submitted | Self::WorkerStarted, Input::Ended(outcome)) => {
                Self::Ended { outcome }
            }
            (Self::Ended { outcome: stands }, Input::Ended(refused)) => {
                collide(stands, refused, out)?
            }
            (Self::None, Input::WorkerStarted | Input::Ended(_)) => {
                return Err(Reject::Local("turn_not_submitted"));
            }
            (Self::Submitted | Self::WorkerStarted, Input::Submitted) => {
                return Err(Reject::Local("turn_already_submitted"));
            }
            (Self::WorkerStarted, Input::WorkerStarted) => {
                return Err(Reject::Local("worker_already_started"));
            }
            (Self::Ended { .. }, Input::Submitted | Input::WorkerStarted) => {
                return Err(Reject::Local("turn_ended"));
            }
        };
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
        // A late terminal is still reported, so no state is silent for ever.
        false
    }

    fn state_name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Submitted => "submitted",
            Self::WorkerStarted => "worker_started",
            Self::Ended { .. } => "ended",
        }
    }
}

/// The same terminal twice is our own repetition; another one is a collision to report.
fn collide(
    stands: Outcome,
    refused: Outcome,
    out: &mut Outbox<Output>,
) -> Result<TurnJournal, Reject> {
    if stands == refused {
        return Err(Reject::Local("turn_ended"));
    }
    out.push(Output::Collision { stands, refused });
    Ok(TurnJournal::Ended { outcome: stands })
}
