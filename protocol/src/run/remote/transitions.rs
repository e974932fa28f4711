use super::state::{Input, Output, REMOTE_STOP_WAIT, Remote};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for Remote {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        *self = match (*self, input) {
            (Self::Starting, Input::StopAsked) => Self::AwaitingId { since: now },
            (Self::Running, Input::StopAsked) => {
                out.push(Output::StopRemote);
                Self::Asked { since: now }
            }
            // A repeated Stop waits with the first.
            (Self::AwaitingId { .. } | Self::Asked { .. }, Input::StopAsked) => *self,
            (Self::Starting, Input::Identified) => Self::Running,
            (Self::AwaitingId { since }, Input::Identified) => {
                out.push(Output::StopRemote);
                Self::Asked { since }
            }
            (Self::Owed, Input::Identified) => {
                out.push(Output::StopRemote);
                Self::Stopped
            }
            (Self::Asked { .. }, Input::StopTaken) => {
                out.push(Output::Accept);
                Self::Stopped
            }
            (Self::Asked { .. }, Input::StopRefused) => {
                out.push(Output::Refuse);
                Self::Running
            }
            // The Stop was accepted without it.
            (Self::Stopped, Input::StopTaken | Input::StopRefused) => Self::Stopped,
            (Self::Running | Self::Asked { .. } | Self::Stopped, Input::Identified)
            | (Self::Owed | Self::Stopped, Input::StopAsked)
            | (
                Self::Starting | Self::Running | Self::AwaitingId { .. } | Self::Owed,
                Input::StopTaken | Input::StopRefused,
            ) => return Err(Reject::Local("remote_unlisted")),
        };
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let is_due = |since: Instant| now >= since.plus(REMOTE_STOP_WAIT);
        match *self {
            Self::AwaitingId { since } if is_due(since) => {
                *self = Self::Owed;
                out.push(Output::Accept);
            }
            Self::Asked { since } if is_due(since) => {
                *self = Self::Stopped;
                out.push(Output::Accept);
            }
            Self::Starting
            | Self::Running
            | Self::AwaitingId { .. }
            | Self::Asked { .. }
            | Self::Owed
            | Self::Stopped => {}
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        match *self {
            Self::AwaitingId { since } | Self::Asked { since } => {
                Some((since.plus(REMOTE_STOP_WAIT), TimerKind::RemoteStopWait))
            }
            Self::Starting | Self::Running | Self::Owed | Self::Stopped => None,
        }
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::AwaitingId { .. } => "awaiting id",
            Self::Asked { .. } => "asked",
            Self::Owed => "owed",
            Self::Stopped => "stopped",
        }
    }
}
