//! Whose rings go.

use super::state::{Held, RingBudget, counted};
use super::{Input, Output};
use crate::ids::SessionId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

/// What one session is counted as by [`Machine::weight`].
const SESSION_WEIGHT: usize = 32;

impl Machine for RingBudget {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(&mut self, _: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match input {
            Input::Sized { session, bytes: 0 } => {
                self.sessions.retain(|held| held.session != session);
            }
            Input::Sized { session, bytes } => {
                let bytes = counted(bytes);
                match self.sessions.iter_mut().find(|held| held.session == session) {
                    Some(held) => held.bytes = bytes,
                    None => self.sessions.push(Held { session, bytes, asked: false }),
                }
                self.make_room(out);
            }
            Input::Read { session } => {
                if let Some(at) = self.place_of(session) {
                    let held = self.sessions.remove(at);
                    self.sessions.push(held);
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, _: Instant, _: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        self.sessions.len() * SESSION_WEIGHT
    }

    /// Never: sessions come and go.
    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        if self.sessions.is_empty() {
            "empty"
        } else if self.sessions.iter().any(|held| held.asked) {
            "asking"
        } else {
            "holding"
        }
    }
}

impl RingBudget {
    fn place_of(&self, session: SessionId) -> Option<usize> {
        self.sessions.iter().position(|held| held.session == session)
    }

    fn make_room(&mut self, out: &mut Outbox<Output>) {
        let mut bytes = self.bytes();
        let mut sessions = Vec::new();
        for held in self.sessions.iter_mut().filter(|held| !held.asked) {
            if bytes <= self.bytes_max {
                break;
            }
            held.asked = true;
            bytes -= held.bytes;
            sessions.push(held.session);
        }
        if !sessions.is_empty() {
            out.push(Output::Drop { sessions });
        }
    }
}
