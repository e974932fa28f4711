//! Changes of the session beside its runs, and what waited for their commits.

use super::asks::ChangeAnswer;
use super::state::{Lineage, Output};
use crate::ids::{AskId, Revision};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::admission::StartRefusal;
use crate::run::changes::{self, Change, ChangeKind, Obstacle};
use crate::run::guards::Guards;
use crate::run::predicates::{Blocked, may_attach};
use crate::run::record::{self, Author};
use crate::wire::codes::Code;

impl<G: Guards> Lineage<G> {
    pub(super) fn change(
        &mut self,
        now: Instant,
        change: Change,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let may_start = self.may_start(now).is_ok();
        let revision = self.record.revision();
        self.drive_changes(now, changes::Input::Asked { change, may_start, revision }, out)
    }

    pub(super) fn change_committed(
        &mut self,
        now: Instant,
        ask: AskId,
        revision: Revision,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let committed = record::Input::Committed { by: Author::Change { ask }, revision };
        self.record.step(now, committed, &mut Outbox::new())?;
        self.drive_changes(now, changes::Input::Committed { ask }, out)?;
        out.push(Output::SessionChanged { revision });
        Ok(())
    }

    pub(super) fn change_failed(
        &mut self,
        now: Instant,
        ask: AskId,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let failed = record::Input::Failed { by: Author::Change { ask } };
        self.record.step(now, failed, &mut Outbox::new())?;
        self.drive_changes(now, changes::Input::Failed { ask }, out)?;
        Ok(())
    }

    /// Issues the next change when no commit is unanswered and no start is under way.
    pub(super) fn issue_change(&mut self, now: Instant, out: &mut Outbox<Output>) {
        if self.changes.is_waiting() && self.is_between_commits() {
            let may_start = self.may_start(now).is_ok();
            let revision = self.record.revision();
            self.drive_changes(now, changes::Input::MayIssue { may_start, revision }, out)
                .expect("a change is issued only while none is unanswered");
        }
    }

    pub(super) fn drive_changes(
        &mut self,
        now: Instant,
        input: changes::Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let mut outputs = Outbox::new();
        self.changes.step(now, input, &mut outputs)?;
        for output in outputs.drain() {
            match output {
                changes::Output::Issue { ask } => {
                    self.issue(Author::Change { ask });
                    let expected = self.record.revision();
                    out.push(Output::Change { ask, expected, at: now });
                }
                changes::Output::Done(Change { ask, kind }) => {
                    let revision = self.record.revision();
                    let answer = ChangeAnswer::Committed { revision };
                    out.push(Output::ChangeAnswered { ask, answer });
                    let is_other = match kind {
                        ChangeKind::Agent | ChangeKind::Rewrite { .. } => true,
                        ChangeKind::Description | ChangeKind::Usage => false,
                    };
                    if let Some(agent) = self.cache.filter(|_| is_other) {
                        self.retire(agent, out);
                    }
                }
                changes::Output::Refused { ask, obstacle } => {
                    let answer = self.refused_change(now, obstacle);
                    out.push(Output::ChangeAnswered { ask, answer });
                }
            }
        }
        Ok(())
    }

    fn refused_change(&self, now: Instant, obstacle: Obstacle) -> ChangeAnswer {
        let refusal = match obstacle {
            Obstacle::Store => return ChangeAnswer::Failed,
            Obstacle::Full => StartRefusal::of(Code::ServerBusy),
            Obstacle::Deleted => StartRefusal::of(Code::SessionUnknown),
            Obstacle::Stale => StartRefusal::of(Code::RegenerationStale),
            Obstacle::Busy => self.busy(now),
        };
        ChangeAnswer::Refused(refusal)
    }

    /// `session_busy` with the run in the way, where one is known (ACT-23).
    pub(super) fn busy(&self, now: Instant) -> StartRefusal {
        let refusal = StartRefusal::of(Code::SessionBusy);
        match self.may_start(now) {
            Err(Blocked::Busy(row)) => StartRefusal {
                run_id: Some(row.run_id),
                phase: Some(row.phase),
                attachable: Some(may_attach::<G>(Some(row))),
                ..refusal
            },
            Err(Blocked::Pending(run_id)) => {
                StartRefusal { run_id: Some(run_id), attachable: Some(false), ..refusal }
            }
            Err(Blocked::Unsettled) | Ok(_) => refusal,
        }
    }
}
