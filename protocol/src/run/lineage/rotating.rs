//! The rotation of the session inside a run: everything that names the session moves in one step (OWN-06).

use super::asks::StartAnswer;
use super::state::{Asked, Lineage, Output};
use crate::ids::{Revision, RunId, SessionId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::Phase;
use crate::run::admission::StartRefusal;
use crate::run::guards::Guards;
use crate::run::queue::{self, Queue};
use crate::run::record::{self, Author};
use crate::run::{ownership, rotation, wakeups};
use crate::wire::codes::Code;

impl<G: Guards> Lineage<G> {
    /// The member of the lineage that the present session continues, if it is a continuation.
    pub fn parent(&self) -> Option<SessionId> {
        self.rotation.parent()
    }

    /// An agent that may not issue anything any more rotates nothing.
    pub(super) fn rotation_asked(
        &mut self,
        now: Instant,
        run_id: RunId,
        continuation: SessionId,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if continuation == self.session_id || self.rotation.parent() == Some(continuation) {
            return Err(Reject::Local("continuation_not_new"));
        }
        let i = self.index(run_id)?;
        if !self.may_rotate(i) {
            out.push(Output::RotationRefused { run_id });
            return Ok(());
        }
        self.drive_rotation(now, rotation::Input::Asked { run_id, continuation }, out)
    }

    /// Commits what is wanted, as soon as no other commit is unanswered.
    pub(super) fn issue_rotation(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let Some(run_id) = self.rotation.wanted() else { return };
        let is_due = self.index(run_id).is_ok_and(|i| self.may_rotate(i));
        let input = match (is_due, self.is_between_commits()) {
            (false, _) => rotation::Input::Withdrawn,
            (true, true) => rotation::Input::MayCommit,
            (true, false) => return,
        };
        self.drive_rotation(now, input, out).expect("a rotation that is wanted may be issued");
    }

    pub(super) fn rotation_committed(
        &mut self,
        now: Instant,
        revision: Revision,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let committed = record::Input::Committed { by: Author::Rotation, revision };
        self.record.step(now, committed, &mut Outbox::new())?;
        let from = self.session_id;
        self.drive_rotation(now, rotation::Input::Committed { from }, out)?;
        out.push(Output::SessionChanged { revision });
        Ok(())
    }

    pub(super) fn rotation_failed(
        &mut self,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let failed = record::Input::Failed { by: Author::Rotation };
        self.record.step(now, failed, &mut Outbox::new())?;
        self.drive_rotation(now, rotation::Input::Failed, out)
    }

    fn may_rotate(&self, i: usize) -> bool {
        let entry = &self.runs[i];
        let is_working =
            entry.worker.invoked().is_some() && entry.row.phase() == Some(Phase::Running);
        // Wakeups stay with the session they were made for (STR-15).
        let has_wakeups = self.wakeups().is_some_and(|wakeups| !wakeups.waiting().is_empty())
            || self.is_wakeup_turn(entry.run_id);
        is_working && !has_wakeups && self.deletion.is_none() && G::may_issue(self.gate(i))
    }

    fn drive_rotation(
        &mut self,
        now: Instant,
        input: rotation::Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let mut outputs = Outbox::new();
        self.rotation.step(now, input, &mut outputs)?;
        for output in outputs.drain() {
            match output {
                rotation::Output::Commit { run_id, continuation } => {
                    let expected = self.record.revision();
                    self.issue(Author::Rotation);
                    let from = self.session_id;
                    out.push(Output::Rotate { run_id, from, continuation, expected, at: now });
                }
                rotation::Output::Rotated { run_id, continuation } => {
                    self.move_to(now, run_id, continuation, out);
                }
                rotation::Output::Refused { run_id } => {
                    out.push(Output::RotationRefused { run_id });
                }
            }
        }
        Ok(())
    }

    /// The continuation is the session from here on. What the machine holds of it is keyed by lineage and run, so
    /// it moves by the name alone; the queue is held, and starts that wait were sent to the parent.
    fn move_to(
        &mut self,
        now: Instant,
        run_id: RunId,
        continuation: SessionId,
        out: &mut Outbox<Output>,
    ) {
        let from = std::mem::replace(&mut self.session_id, continuation);
        if !G::moves_owner() && self.ownership.owner() == Some(run_id) {
            self.own(ownership::Input::Released { run_id });
        }
        if G::moves_queue() {
            self.drive_queue(now, queue::Input::Rotated, out);
        } else {
            self.queue = Queue::default();
        }
        (self.trigger_due, self.put_off) = (false, false);
        let revision = self.record.revision();
        out.push(Output::SessionRotated { run_id, from, continuation, revision });
        for asked in std::mem::take(&mut self.line) {
            match asked {
                Asked::Start(start) => {
                    let refusal = StartRefusal::of(Code::SessionRotated);
                    self.answer_start(start, StartAnswer::Refused(refusal), out);
                }
                Asked::Wake { ask, .. } => {
                    let answer = wakeups::Answer::Elsewhere;
                    out.push(Output::WakeupsAnswered { asks: vec![ask], answer });
                }
                Asked::Remove { .. } | Asked::Resume { .. } => self.line.push_back(asked),
            }
        }
    }
}
