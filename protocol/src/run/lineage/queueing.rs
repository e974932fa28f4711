//! The send queue in its session: changes one at a time, and one attempt for each trigger.

use super::asks::{QueueAnswer, Start, StartAnswer};
use super::state::{Asked, Lineage, Output, Stage};
use crate::ids::{AskId, Revision, RunId, TurnId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::admission::{QueueFact, StartRefusal};
use crate::run::guards::Guards;
use crate::run::limits::{CHANGES_WAITING_MAX, RUN_ENTRIES_MAX};
use crate::run::queue::{self, Change, Queue};
use crate::run::record::{self, Author};
use crate::run::wakeups::{self, Answer};
use crate::wire::codes::Code;

impl<G: Guards> Lineage<G> {
    /// This session with the queue that was found in the store.
    pub fn with_queue(mut self, queue: Queue<G>) -> Self {
        self.queue = queue;
        self
    }

    /// The send queue.
    pub fn queue(&self) -> &Queue<G> {
        &self.queue
    }

    /// Whether nothing happens by itself: no run, no change under way, and no entry that may start.
    pub fn is_at_rest(&self) -> bool {
        let may_start = (self.queue.has_entries() && self.queue.held().is_none())
            || self.wakeups.as_ref().is_some_and(|wakeups| wakeups.has_next());
        let is_asked = !self.line.is_empty() || !self.changes.is_idle();
        let is_asked = is_asked || self.deletion.is_under_way();
        self.runs.is_empty() && self.record.is_idle() && !is_asked && !may_start
    }

    /// Whether a start of this run waits for its turn, or its message is being queued.
    pub(super) fn awaits(&self, run_id: RunId) -> bool {
        let waits = |asked: &Asked| matches!(asked, Asked::Start(start) if start.run_id == run_id);
        self.line.iter().any(waits) || self.queue.is_appending(run_id)
    }

    pub(super) fn remove_queued(
        &mut self,
        now: Instant,
        ask: AskId,
        turn_id: TurnId,
        out: &mut Outbox<Output>,
    ) {
        self.take_or_wait(now, Asked::Remove { ask, turn_id }, out);
    }

    /// By LIFE-03 refused at once while a turn may not start.
    pub(super) fn resume_queue(&mut self, now: Instant, ask: AskId, out: &mut Outbox<Output>) {
        self.take_or_wait(now, Asked::Resume { ask }, out);
    }

    pub(super) fn queue_committed(
        &mut self,
        now: Instant,
        revision: Revision,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let committed = record::Input::Committed { by: Author::Queue, revision };
        self.record.step(now, committed, &mut Outbox::new())?;
        self.drive_queue(now, queue::Input::Saved, out);
        out.push(Output::SessionChanged { revision });
        Ok(())
    }

    pub(super) fn queue_commit_failed(
        &mut self,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let failed = record::Input::Failed { by: Author::Queue };
        self.record.step(now, failed, &mut Outbox::new())?;
        self.drive_queue(now, queue::Input::SaveFailed, out);
        Ok(())
    }

    pub(super) fn queue_fact(&self) -> QueueFact {
        QueueFact {
            has_entries: self.queue.has_entries(),
            is_full: self.queue.is_full(),
            are_wakeups_paused: self.wakeups.as_ref().is_some_and(|wakeups| wakeups.is_paused()),
        }
    }

    /// Whether a turn that table A admits has to wait for changes before it.
    pub(super) fn is_changing(&self) -> bool {
        let is_written = match self.record.in_flight() {
            Some(
                Author::Queue
                | Author::Wakeups
                | Author::Change { .. }
                | Author::Deletion
                | Author::Rotation,
            ) => true,
            Some(Author::Run { .. }) | None => self.deletion.is_under_way(),
        };
        is_written || self.is_draining() || !self.line.is_empty()
    }

    /// Puts a message into the queue, when it stands first in line.
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        start: Start,
        is_next: bool,
        out: &mut Outbox<Output>,
    ) {
        if !self.is_between_commits() || !(is_next || self.line.is_empty()) {
            self.wait(Asked::Start(start), out);
            return;
        }
        self.give_back_slot(&start, out);
        let Start { ask, run_id, turn_id, .. } = start;
        let append = Change::Append { ask, run_id, turn_id };
        self.drive_queue(now, queue::Input::Asked(append), out);
    }

    /// Lets a change wait; beyond the bound it is refused, to be repeated.
    pub(super) fn wait(&mut self, asked: Asked, out: &mut Outbox<Output>) {
        if self.line.len() < CHANGES_WAITING_MAX {
            self.line.push_back(asked);
            return;
        }
        let refusal = StartRefusal::of(Code::ServerBusy);
        match asked {
            Asked::Start(start) => self.answer_start(start, StartAnswer::Refused(refusal), out),
            Asked::Remove { ask, .. } | Asked::Resume { ask } => {
                out.push(Output::QueueAnswered { ask, answer: QueueAnswer::Refused(refusal) });
            }
            Asked::Wake { ask, .. } => {
                out.push(Output::WakeupsAnswered { asks: vec![ask], answer: Answer::Full });
            }
        }
    }

    /// What waited goes on: settlements (STOP-22), steers, changes in their order, a trigger.
    pub(super) fn go_on(&mut self, now: Instant, out: &mut Outbox<Output>) {
        for i in 0..self.runs.len() {
            self.save_if_possible(i, now, out);
            self.claim_for_worker(i, now, out);
            self.hand_steer(i, now, out);
        }
        self.issue_deletion(now, out);
        self.issue_rotation(now, out);
        self.issue_change(now, out);
        while self.is_between_commits() {
            let Some(asked) = self.line.pop_front() else { break };
            self.take(now, asked, out);
        }
        if self.is_between_commits() && self.queue.must_save_hold() && self.is_free() {
            self.drive_queue(now, queue::Input::Asked(Change::Hold), out);
        }
        self.save_wakeup_count(now, out);
        self.trigger(now, out);
    }

    pub(super) fn drive_queue(
        &mut self,
        now: Instant,
        input: queue::Input,
        out: &mut Outbox<Output>,
    ) {
        let mut outputs = Outbox::new();
        self.queue
            .step(now, input, &mut outputs)
            .expect("the lineage asks a queue what its state lists");
        for output in outputs.drain() {
            self.translate_queue(now, output, out);
        }
    }

    fn translate_queue(&mut self, now: Instant, output: queue::Output, out: &mut Outbox<Output>) {
        let revision = self.record.revision();
        match output {
            queue::Output::Write { change, held } => {
                self.issue(Author::Queue);
                out.push(Output::ChangeQueue { change, held, expected: revision, at: now });
            }
            queue::Output::StartHead { turn_id } => out.push(Output::StartHead { turn_id }),
            queue::Output::Appended { ask, turn_id, position } => {
                let answer = StartAnswer::Queued { turn_id, position, revision };
                out.push(Output::StartAnswered { ask, answer });
            }
            queue::Output::Removed { ask, turn_id } => {
                let answer = QueueAnswer::Removed { turn_id, revision };
                out.push(Output::QueueAnswered { ask, answer });
            }
            queue::Output::Gone { ask } => {
                out.push(Output::QueueAnswered { ask, answer: QueueAnswer::Gone });
            }
            queue::Output::Resumed { ask, length, released } => {
                self.trigger_due |= released && G::resume_triggers();
                let answer = QueueAnswer::Resumed { length, revision };
                out.push(Output::QueueAnswered { ask, answer });
            }
            queue::Output::Failed { change } => match change {
                Change::Append { ask, .. } => {
                    out.push(Output::StartAnswered { ask, answer: StartAnswer::Unstored });
                }
                Change::Remove { ask, .. } | Change::Release { ask } => {
                    out.push(Output::QueueAnswered { ask, answer: QueueAnswer::Failed });
                }
                Change::Hold => {}
            },
        }
    }

    pub(super) fn take_or_wait(&mut self, now: Instant, asked: Asked, out: &mut Outbox<Output>) {
        if self.line.is_empty() && self.is_between_commits() {
            self.take(now, asked, out);
        } else if let (Asked::Resume { ask }, false) = (asked, self.may_resume(now)) {
            self.refuse_resume(now, ask, out);
        } else {
            self.wait(asked, out);
        }
    }

    fn take(&mut self, now: Instant, asked: Asked, out: &mut Outbox<Output>) {
        match asked {
            Asked::Start(start) => self.decide(now, start, true, out),
            Asked::Remove { ask, turn_id } => {
                let remove = Change::Remove { ask, turn_id };
                self.drive_queue(now, queue::Input::Asked(remove), out);
            }
            Asked::Resume { ask } if self.may_resume(now) => {
                let release = queue::Input::Asked(Change::Release { ask });
                self.drive_queue(now, release, out);
            }
            Asked::Resume { ask } => self.refuse_resume(now, ask, out),
            Asked::Wake { ask, wakeup, by } => {
                let offered = wakeups::Input::Offered { ask, wakeup, by };
                self.drive_wakeups(now, offered, out);
            }
        }
    }

    fn may_resume(&self, now: Instant) -> bool {
        G::may_resume(self.may_start(now).is_ok())
    }

    fn refuse_resume(&self, now: Instant, ask: AskId, out: &mut Outbox<Output>) {
        let answer = QueueAnswer::Refused(self.busy(now));
        out.push(Output::QueueAnswered { ask, answer });
    }

    /// By STR-12: exactly one attempt, as soon as the queue can be told.
    fn trigger(&mut self, now: Instant, out: &mut Outbox<Output>) {
        if !self.is_between_commits() {
            return;
        }
        let has_room = self.runs.len() < RUN_ENTRIES_MAX && self.may_start(now).is_ok();
        if self.put_off && has_room {
            self.put_off = false;
            self.trigger_due = true;
        }
        if std::mem::take(&mut self.trigger_due) && !self.stopping {
            if self.queue.has_entries() {
                self.drive_queue(now, queue::Input::Triggered, out);
            } else {
                self.drive_wakeups(now, wakeups::Input::Triggered, out);
            }
        }
    }

    /// Session and queue change only between two commits, and never while a start is under way, whose next
    /// commit would have to wait.
    pub(super) fn is_between_commits(&self) -> bool {
        self.deletion.is_none() && self.is_between_starts()
    }

    pub(super) fn is_between_starts(&self) -> bool {
        self.record.is_idle()
            && !self.is_draining()
            && self.runs.iter().all(|entry| entry.stage == Stage::Launched)
    }
}
