use super::state::{Cache, Entry, Input, Notice, Output, State};
use crate::ids::SessionId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

impl Machine for Cache {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(
        &mut self,
        _now: Instant,
        Input { session_id, notice }: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let held = self.entries.iter().position(|entry| entry.session_id == session_id);
        match (held.map(|i| (i, self.entries[i].state)), notice) {
            (None, Notice::Registered) => self.touch(session_id, State::InUse),
            (Some((i, State::InUse | State::Idle | State::Asked)), Notice::Registered) => {
                self.entries.remove(i);
                self.touch(session_id, State::InUse);
            }
            (Some((i, State::InUse | State::Idle)), Notice::Freed) => {
                self.entries.remove(i);
                self.touch(session_id, State::Idle);
            }
            // The question is on its way and finds no row.
            (Some((_, State::Asked)), Notice::Freed) => {}
            (Some((i, State::InUse | State::Idle | State::Asked)), Notice::Refused) => {
                self.entries[i].state = State::InUse;
            }
            (Some((i, State::InUse | State::Idle | State::Asked)), Notice::Retired) => {
                self.entries.remove(i);
            }
            (None, Notice::Freed | Notice::Refused | Notice::Retired) => {
                return Err(Reject::Local("not_cached"));
            }
        }
        self.ask_next(out);
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        size_of::<Self>() + size_of::<Entry>() * self.entries.len()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        let max = self.sessions_max as usize;
        if self.entries.len() <= max {
            "within"
        } else if self.kept() <= max {
            "evicting"
        } else {
            "over, in use"
        }
    }
}

impl Cache {
    fn touch(&mut self, session_id: SessionId, state: State) {
        self.entries.push(Entry { session_id, state });
    }

    /// Entries that stay when every question is answered by an eviction.
    fn kept(&self) -> usize {
        self.entries.iter().filter(|entry| entry.state != State::Asked).count()
    }

    /// Asks the session that used its agent longest ago and has no row, while there are too many.
    fn ask_next(&mut self, out: &mut Outbox<Output>) {
        if self.kept() <= self.sessions_max as usize {
            return;
        }
        let idle = self.entries.iter_mut().find(|entry| entry.state == State::Idle);
        if let Some(entry) = idle {
            entry.state = State::Asked;
            out.push(Output::Evict { session_id: entry.session_id });
        }
    }
}
