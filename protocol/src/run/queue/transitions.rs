use super::state::{Change, Input, Output, Queue, State};
use crate::ids::TurnId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::guards::Guards;
use crate::wire::codes::Code;

impl<G: Guards> Machine for Queue<G> {
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
            (State::Empty | State::Waiting | State::Held { .. }, Input::Asked(change)) => {
                self.ask(change, out)
            }
            (State::Empty | State::Waiting | State::Held { .. }, Input::Saved) => self.saved(out),
            (State::Empty | State::Waiting | State::Held { .. }, Input::SaveFailed) => {
                self.save_failed(out)
            }
            (State::Starting { .. }, Input::Asked(_) | Input::Saved | Input::SaveFailed) => {
                Err(Reject::Local("head_starting"))
            }
            (State::Waiting, Input::Triggered) => self.start_head(out),
            (State::Held { .. }, Input::Triggered) if G::may_start_head(true) => {
                self.start_head(out)
            }
            // Nothing waits, nothing may start, or the attempt is under way (STR-12, STR-20).
            (State::Empty | State::Starting { .. } | State::Held { .. }, Input::Triggered) => {
                Ok(())
            }
            (State::Starting { held }, Input::HeadAccepted) => {
                self.entries.remove(0);
                self.head_answered(held);
                Ok(())
            }
            (State::Starting { held }, Input::HeadRefused { code }) => {
                self.head_answered(held);
                if held.is_none() && G::holds_refused_head(code) {
                    self.hold(code);
                }
                Ok(())
            }
            (
                State::Empty | State::Waiting | State::Held { .. },
                Input::HeadReturned { turn_id, code },
            ) => self.head_returned(turn_id, code),
            (
                State::Empty | State::Waiting | State::Starting { held: None },
                Input::StopAccepted,
            ) => {
                self.hold_if_anything_waits(Code::StoppedByUser);
                Ok(())
            }
            (State::Held { .. } | State::Starting { held: Some(_) }, Input::StopAccepted) => Ok(()),
            (State::Held { .. } | State::Starting { held: Some(_) }, Input::HoldSaved) => {
                self.hold_unsaved = false;
                Ok(())
            }
            (State::Empty, Input::Rotated) => Ok(()),
            (State::Waiting | State::Held { .. }, Input::Rotated) => {
                self.hold(Code::SessionRotated);
                self.hold_unsaved = false;
                Ok(())
            }
            (State::Starting { .. }, Input::Rotated) => Err(Reject::Local("head_starting")),
            (
                State::Empty | State::Waiting | State::Held { .. },
                Input::HeadAccepted | Input::HeadRefused { .. },
            )
            | (State::Starting { .. }, Input::HeadReturned { .. }) => {
                Err(Reject::Local("head_not_starting"))
            }
            (State::Empty | State::Waiting | State::Starting { held: None }, Input::HoldSaved) => {
                Err(Reject::Local("not_held"))
            }
        }
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        size_of::<Self>() + self.entries.len() * size_of::<TurnId>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Empty => "empty",
            State::Waiting => "waiting",
            State::Starting { .. } => "starting",
            State::Held { .. } => "held",
        }
    }
}

impl<G: Guards> Queue<G> {
    fn ask(&mut self, change: Change, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if self.writing.is_some() {
            return Err(Reject::Local("change_unanswered"));
        }
        let held = match change {
            Change::Append { turn_id, .. } => {
                if self.is_full() || self.entries.contains(&turn_id) {
                    return Err(Reject::Local("entry_not_new_or_queue_full"));
                }
                if !G::confirms_stored() {
                    self.confirm(change, self.length() + 1, out);
                }
                self.held()
            }
            Change::Remove { ask, turn_id } => {
                if !self.entries.contains(&turn_id) {
                    out.push(if G::removes_waiting_only() {
                        Output::Gone { ask }
                    } else {
                        Output::Removed { ask, turn_id }
                    });
                    return Ok(());
                }
                // With the last entry the hold goes too (LIFE-06).
                self.held().filter(|_| self.entries.len() > 1)
            }
            Change::Release { ask } => {
                if self.held().is_none() {
                    let length = self.length();
                    out.push(Output::Resumed { ask, length, released: false });
                    return Ok(());
                }
                None
            }
            Change::Hold => {
                if self.held().is_none() {
                    return Err(Reject::Local("not_held"));
                }
                self.held()
            }
        };
        self.writing = Some((change, held));
        out.push(Output::Write { change, held });
        Ok(())
    }

    fn saved(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let (change, written) = self.writing.take().ok_or(Reject::Local("no_change_unanswered"))?;
        match change {
            Change::Append { turn_id, .. } => {
                self.entries.push(turn_id);
                if self.state == State::Empty {
                    self.state = State::Waiting;
                }
                if G::confirms_stored() {
                    self.confirm(change, self.length(), out);
                }
            }
            Change::Remove { ask, turn_id } => {
                self.entries.retain(|entry| *entry != turn_id);
                if self.entries.is_empty() {
                    self.state = State::Empty;
                }
                out.push(Output::Removed { ask, turn_id });
            }
            Change::Release { ask } => {
                self.state = State::Waiting;
                out.push(Output::Resumed { ask, length: self.length(), released: true });
            }
            Change::Hold => {}
        }
        // A Stop may have come between.
        self.hold_unsaved = self.held() != written;
        Ok(())
    }

    fn save_failed(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let (change, _) = self.writing.take().ok_or(Reject::Local("no_change_unanswered"))?;
        match change {
            Change::Append { .. } | Change::Remove { .. } | Change::Release { .. } => {}
            Change::Hold => self.hold_failed = true,
        }
        if self.entries.is_empty() {
            // A Stop held it for the entry that was not written.
            self.state = State::Empty;
            self.hold_unsaved = false;
        }
        out.push(Output::Failed { change });
        Ok(())
    }

    fn start_head(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if self.writing.is_some() {
            return Err(Reject::Local("change_unanswered"));
        }
        let turn_id = *self.entries.first().expect("a queue that waits has a head");
        self.state = State::Starting { held: None };
        out.push(Output::StartHead { turn_id });
        Ok(())
    }

    fn head_answered(&mut self, held: Option<Code>) {
        self.state = match (self.entries.is_empty(), held) {
            (true, _) => State::Empty,
            (false, Some(code)) => State::Held { code },
            (false, None) => State::Waiting,
        };
        self.hold_unsaved &= self.held().is_some();
    }

    fn head_returned(&mut self, turn_id: TurnId, code: Code) -> Result<(), Reject> {
        if self.writing.is_some() || self.is_full() || self.entries.contains(&turn_id) {
            return Err(Reject::Local("head_cannot_return"));
        }
        self.entries.insert(0, turn_id);
        self.state = if G::holds_returned_head() {
            State::Held { code: self.held().unwrap_or(code) }
        } else {
            State::Waiting
        };
        // The compensation stored both.
        self.hold_unsaved = false;
        Ok(())
    }

    fn hold_if_anything_waits(&mut self, code: Code) {
        let is_appending = matches!(self.writing, Some((Change::Append { .. }, _)));
        if self.has_entries() || is_appending {
            self.hold(code);
        }
    }

    fn hold(&mut self, code: Code) {
        self.state = match self.state {
            State::Starting { .. } => State::Starting { held: Some(code) },
            State::Empty | State::Waiting | State::Held { .. } => State::Held { code },
        };
        self.hold_unsaved = true;
        self.hold_failed = false;
    }

    fn confirm(&self, change: Change, position: u32, out: &mut Outbox<Output>) {
        if let Change::Append { ask, turn_id, .. } = change {
            out.push(Output::Appended { ask, turn_id, position });
        }
    }

    fn length(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }
}
