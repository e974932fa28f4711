use super::state::{CHANGES_WAITING_MAX, Change, ChangeKind, Changes, Input, Obstacle, Output};
use crate::ids::AskId;
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::guards::Guards;

impl<G: Guards> Machine for Changes<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = Self::WAITING_MAX;

    fn step(
        &mut self,
        _now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match (self.in_flight, input) {
            (_, Input::Asked { change, may_start }) => return self.ask(change, may_start, out),
            (None, Input::MayIssue { may_start }) => self.issue(may_start, out),
            (Some(change), Input::Committed { ask }) if change.ask == ask => {
                self.in_flight = None;
                out.push(Output::Done(change));
            }
            (Some(change), Input::Failed { ask }) if change.ask == ask => {
                self.in_flight = None;
                out.push(Output::Refused { ask, obstacle: Obstacle::Store });
            }
            (None, Input::Withdrawn) => {
                for change in self.waiting.drain(..) {
                    let obstacle = Obstacle::Deleted;
                    out.push(Output::Refused { ask: change.ask, obstacle });
                }
            }
            (Some(_), Input::MayIssue { .. } | Input::Withdrawn) => {
                return Err(Reject::Local("commit_in_flight"));
            }
            (None | Some(_), Input::Committed { .. } | Input::Failed { .. }) => {
                return Err(Reject::Local("change_not_issued"));
            }
        }
        Ok(())
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        self.waiting.len() * size_of::<Change>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match (self.in_flight, self.waiting.is_empty()) {
            (None, true) => "none",
            (None, false) => "waiting",
            (Some(_), true) => "in flight",
            (Some(_), false) => "in flight, more waiting",
        }
    }
}

impl<G: Guards> Changes<G> {
    fn ask(
        &mut self,
        change: Change,
        may_start: bool,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if self.holds(change.ask) {
            return Err(Reject::Local("ask_reused"));
        }
        let ask = change.ask;
        let bound = match change.kind {
            ChangeKind::Description | ChangeKind::Agent => CHANGES_WAITING_MAX,
            ChangeKind::Usage => Self::WAITING_MAX,
        };
        if !Self::is_allowed(change, may_start) {
            out.push(Output::Refused { ask, obstacle: Obstacle::Busy });
        } else if self.waiting.len() >= bound {
            out.push(Output::Refused { ask, obstacle: Obstacle::Full });
        } else {
            self.waiting.push_back(change);
        }
        Ok(())
    }

    fn issue(&mut self, may_start: bool, out: &mut Outbox<Output>) {
        while let Some(change) = self.waiting.pop_front() {
            let ask = change.ask;
            if Self::is_allowed(change, may_start) {
                self.in_flight = Some(change);
                out.push(Output::Issue { ask });
                return;
            }
            out.push(Output::Refused { ask, obstacle: Obstacle::Busy });
        }
    }

    fn is_allowed(change: Change, may_start: bool) -> bool {
        match change.kind {
            ChangeKind::Agent => G::may_change_agent(may_start),
            ChangeKind::Description | ChangeKind::Usage => true,
        }
    }

    fn holds(&self, ask: AskId) -> bool {
        self.in_flight.iter().chain(&self.waiting).any(|change| change.ask == ask)
    }
}
