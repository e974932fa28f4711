use super::state::{CHANGES_WAITING_MAX, Change, ChangeKind, Changes, Input, Obstacle, Output};
use crate::ids::{AskId, Revision};
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
            (_, Input::Asked { change, may_start, revision }) => {
                return self.ask(change, (may_start, revision), out);
            }
            (None, Input::MayIssue { may_start, revision }) => {
                self.issue((may_start, revision), out)
            }
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
        now: (bool, Revision),
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if self.holds(change.ask) {
            return Err(Reject::Local("ask_reused"));
        }
        let ask = change.ask;
        let bound = match change.kind {
            ChangeKind::Description | ChangeKind::Agent | ChangeKind::Rewrite { .. } => {
                CHANGES_WAITING_MAX
            }
            ChangeKind::Usage => Self::WAITING_MAX,
        };
        if let Some(obstacle) = Self::obstacle(change, now) {
            out.push(Output::Refused { ask, obstacle });
        } else if self.waiting.len() >= bound {
            out.push(Output::Refused { ask, obstacle: Obstacle::Full });
        } else {
            self.waiting.push_back(change);
        }
        Ok(())
    }

    fn issue(&mut self, now: (bool, Revision), out: &mut Outbox<Output>) {
        while let Some(change) = self.waiting.pop_front() {
            let ask = change.ask;
            let Some(obstacle) = Self::obstacle(change, now) else {
                self.in_flight = Some(change);
                out.push(Output::Issue { ask });
                return;
            };
            out.push(Output::Refused { ask, obstacle });
        }
    }

    /// What stands in the way of a change now, in the order of table A: an older revision, then a run.
    fn obstacle(change: Change, (may_start, revision): (bool, Revision)) -> Option<Obstacle> {
        match change.kind {
            ChangeKind::Rewrite { expected } if !G::rewrites_at(expected, revision) => {
                Some(Obstacle::Stale)
            }
            ChangeKind::Agent | ChangeKind::Rewrite { .. } => {
                (!G::may_change_agent(may_start)).then_some(Obstacle::Busy)
            }
            ChangeKind::Description | ChangeKind::Usage => None,
        }
    }

    fn holds(&self, ask: AskId) -> bool {
        self.in_flight.iter().chain(&self.waiting).any(|change| change.ask == ask)
    }
}
