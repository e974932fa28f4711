//! Wakeups in their session: what producers ask for, and the attempt that a trigger is good for.

use super::state::{Asked, Lineage, Output};
use crate::ids::{AskId, Revision, RunId, SessionId, WakeupId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::guards::Guards;
use crate::run::record::{self, Author};
use crate::run::wakeups::{self, Answer, Wakeups};

impl<G: Guards> Lineage<G> {
    /// This session with the wakeups that were found in the store.
    pub fn with_wakeups(mut self, wakeups: Wakeups<G>) -> Self {
        self.wakeups = Some(Box::new(wakeups));
        self
    }

    /// The wakeups, if a producer ever asked for a turn.
    pub fn wakeups(&self) -> Option<&Wakeups<G>> {
        self.wakeups.as_deref()
    }

    /// By STR-15 one of another session is not taken, and by STR-16 none of a turn that is over.
    pub(super) fn wake(
        &mut self,
        now: Instant,
        ask: AskId,
        wakeup: WakeupId,
        session_id: SessionId,
        by: Option<RunId>,
        out: &mut Outbox<Output>,
    ) {
        let is_over = by.is_some_and(|run_id| !self.may_ask(run_id));
        let refused = if !G::takes_wakeup(session_id, self.session_id) {
            Some(Answer::Elsewhere)
        } else if is_over || self.deletion.is_under_way() {
            Some(Answer::Dropped)
        } else {
            None
        };
        if let Some(answer) = refused {
            return out.push(Output::WakeupsAnswered { asks: vec![ask], answer });
        }
        self.wakeups.get_or_insert_default();
        if by.is_some_and(|run_id| self.is_wakeup_turn(run_id)) {
            let offered = wakeups::Input::Offered { ask, wakeup, by };
            self.drive_wakeups(now, offered, out);
        } else {
            self.take_or_wait(now, Asked::Wake { ask, wakeup, by }, out);
        }
    }

    pub(super) fn wakeups_committed(
        &mut self,
        now: Instant,
        revision: Revision,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let committed = record::Input::Committed { by: Author::Wakeups, revision };
        self.record.step(now, committed, &mut Outbox::new())?;
        let before = self.waiting_wakeups();
        self.drive_wakeups(now, wakeups::Input::Saved, out);
        // What arrives where a turn may start is an attempt of its own, as a message is.
        let is_new = self.waiting_wakeups() > before;
        self.trigger_due |= is_new && !self.queue.has_entries() && self.may_start(now).is_ok();
        out.push(Output::SessionChanged { revision });
        Ok(())
    }

    pub(super) fn wakeups_commit_failed(
        &mut self,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let failed = record::Input::Failed { by: Author::Wakeups };
        self.record.step(now, failed, &mut Outbox::new())?;
        self.drive_wakeups(now, wakeups::Input::SaveFailed, out);
        Ok(())
    }

    /// A refused start that counts is stable too, as soon as the record is free (STR-13, STR-16).
    pub(super) fn save_wakeup_count(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let must_save = self.wakeups.as_ref().is_some_and(|wakeups| wakeups.must_save_count());
        if must_save && self.is_between_commits() && self.is_free() {
            self.drive_wakeups(now, wakeups::Input::CountAsked, out);
        }
    }

    /// The commit that accepts a turn took the claimed wakeup, or is one of a user.
    pub(super) fn wakeups_accepted(
        &mut self,
        now: Instant,
        run_id: RunId,
        out: &mut Outbox<Output>,
    ) {
        let input = if self.is_reserved_for_wakeup(run_id) {
            wakeups::Input::Accepted
        } else {
            wakeups::Input::UserAccepted
        };
        self.drive_wakeups(now, input, out);
    }

    /// Whether the start of the head of the queue, or of a wakeup, is unanswered.
    pub(super) fn is_draining(&self) -> bool {
        let is_claiming = self.wakeups.as_ref().is_some_and(|wakeups| wakeups.is_claiming());
        self.queue.is_starting() || is_claiming
    }

    pub(super) fn is_wakeup_due(&self) -> bool {
        self.wakeups.as_ref().is_some_and(|wakeups| wakeups.is_start_due())
    }

    pub(super) fn is_wakeup_turn(&self, run_id: RunId) -> bool {
        self.wakeups.as_ref().is_some_and(|wakeups| wakeups.is_of(run_id))
    }

    pub(super) fn is_reserved_for_wakeup(&self, run_id: RunId) -> bool {
        self.wakeups.as_ref().is_some_and(|wakeups| wakeups.is_reserved_for(run_id))
    }

    /// Nothing, where no producer ever asked for a turn.
    pub(super) fn drive_wakeups(
        &mut self,
        now: Instant,
        input: wakeups::Input,
        out: &mut Outbox<Output>,
    ) {
        let Some(wakeups) = &mut self.wakeups else { return };
        let mut outputs = Outbox::new();
        wakeups
            .step(now, input, &mut outputs)
            .expect("the lineage asks wakeups what their state lists");
        for output in outputs.drain() {
            match output {
                wakeups::Output::Write { written } => {
                    let expected = self.record.revision();
                    self.issue(Author::Wakeups);
                    out.push(Output::ChangeWakeups { written, expected, at: now });
                }
                wakeups::Output::Start { wakeup } => {
                    self.trigger_due |= !G::attempts_once();
                    out.push(Output::StartWakeup { wakeup });
                }
                wakeups::Output::Answered { asks, answer } => {
                    out.push(Output::WakeupsAnswered { asks, answer });
                }
            }
        }
    }

    /// Whether a run may ask for a turn: it has a row, and its outcome is not claimed.
    fn may_ask(&self, run_id: RunId) -> bool {
        self.index(run_id).is_ok_and(|i| self.runs[i].may_be_ended())
    }

    fn waiting_wakeups(&self) -> usize {
        self.wakeups.as_ref().map_or(0, |wakeups| wakeups.waiting().len())
    }
}
