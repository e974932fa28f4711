use super::input::Input;
use super::state::{Asked, Lineage, Output};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::cache::Notice;
use crate::run::deletion::DELETIONS_WAITING_MAX;
use crate::run::guards::Guards;
use crate::run::limits::{CHANGES_WAITING_MAX, RUN_ENTRIES_MAX};
use crate::run::steer::STEERS_MAX;
use crate::run::{settlement, worker};

impl<G: Guards> Machine for Lineage<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize =
        (16 + STEERS_MAX) * RUN_ENTRIES_MAX + 2 * CHANGES_WAITING_MAX + DELETIONS_WAITING_MAX;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let (was_free, had_row) = (self.is_free(), self.row_entry().is_some());
        if self.deletion.is_deleted() && input.names_session() && G::forgets_deleted() {
            return Err(Reject::Local("session_deleted"));
        }
        self.route(now, input, out)?;
        self.tell_cache(had_row, out);
        self.close_deleted(out);
        self.announce_idle(was_free, out);
        self.go_on(now, out);
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let (was_free, had_row) = (self.is_free(), self.row_entry().is_some());
        let mut i = 0;
        while i < self.runs.len() {
            let run_id = self.runs[i].run_id;
            self.tick_run(i, now, out);
            // A tick may end the entry, and the next one then stands in its place.
            if self.runs.get(i).is_some_and(|entry| entry.run_id == run_id) {
                i += 1;
            }
        }
        self.tell_cache(had_row, out);
        self.close_deleted(out);
        self.announce_idle(was_free, out);
        self.go_on(now, out);
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        self.runs.iter().filter_map(|entry| self.deadline_of(entry)).min()
    }

    fn weight(&self) -> usize {
        let entries = self.runs.iter().map(|entry| {
            size_of_val(entry)
                + entry.journal.weight()
                + entry.questions.weight()
                + entry.steers.weight()
                + entry.stop.weight()
        });
        let line = self.line.len() * size_of::<Asked>();
        let wakeups = self.wakeups.as_ref().map_or(0, |wakeups| wakeups.weight());
        let drained = self.queue.weight() + wakeups;
        let waiting = self.changes.weight() + drained + self.deletion.weight() + line;
        size_of::<Self>() + waiting + entries.sum::<usize>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        if self.deletion.is_deleted() {
            return "deleted";
        }
        if self.is_unsettled() {
            return "unsettled";
        }
        match self.row_entry() {
            Some(entry) => entry.row.state_name(),
            None => "idle",
        }
    }
}

impl<G: Guards> Lineage<G> {
    fn route(
        &mut self,
        now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match input {
            Input::Start(start) => self.start(now, start, out),
            Input::Stop { ask, run_id, known } => self.stop(now, ask, run_id, known, out),
            Input::Steer(offered) => self.steer(now, offered, out),
            Input::SteerWanted { run_id } => self.steer_wanted(now, run_id),
            Input::SteerRead { run_id, row } => self.steer_read(now, run_id, row, out),
            Input::Answer { ask, question_id, version } => {
                self.answer(now, ask, question_id, version, out);
                Ok(())
            }
            Input::Change(change) => self.change(now, change, out),
            Input::ChangeCommitted { ask, revision } => {
                self.change_committed(now, ask, revision, out)
            }
            Input::ChangeFailed { ask } => self.change_failed(now, ask, out),
            Input::Delete { ask } => self.delete(now, ask, out),
            Input::DeletionCommitted { revision, terminal_seq } => {
                self.deletion_committed(now, revision, terminal_seq, out)
            }
            Input::DeletionFailed => self.deletion_failed(now, out),
            Input::RotationAsked { run_id, continuation } => {
                self.rotation_asked(now, run_id, continuation, out)
            }
            Input::RotationCommitted { revision } => self.rotation_committed(now, revision, out),
            Input::RotationFailed => self.rotation_failed(now, out),
            Input::RemoveQueued { ask, turn_id } => {
                self.remove_queued(now, ask, turn_id, out);
                Ok(())
            }
            Input::ResumeQueue { ask } => {
                self.resume_queue(now, ask, out);
                Ok(())
            }
            Input::QueueTriggered => {
                self.trigger_due = true;
                Ok(())
            }
            Input::QueueCommitted { revision } => self.queue_committed(now, revision, out),
            Input::QueueCommitFailed => self.queue_commit_failed(now, out),
            Input::Wake { ask, wakeup, session_id, by } => {
                self.wake(now, ask, wakeup, session_id, by, out);
                Ok(())
            }
            Input::WakeupsCommitted { revision } => self.wakeups_committed(now, revision, out),
            Input::WakeupsCommitFailed => self.wakeups_commit_failed(now, out),
            Input::ServerStopping => {
                self.stopping = true;
                Ok(())
            }
            Input::EndByServer { run_id, reason } => {
                let i = self.index(run_id)?;
                self.end_by_server(i, now, reason, out);
                Ok(())
            }
            Input::Evict => {
                self.evict(out);
                Ok(())
            }
            Input::Recover(found) => self.recover(now, found, out),
            Input::Committed { run_id, revision, terminal_seq } => {
                let i = self.index(run_id)?;
                self.committed(i, now, revision, terminal_seq, out)
            }
            Input::CommitFailed { run_id } => {
                let i = self.index(run_id)?;
                self.commit_failed(i, now, out)
            }
            Input::SettledElsewhere { run_id, outcome, revision } => {
                let i = self.index(run_id)?;
                self.settled_elsewhere(i, now, outcome, revision, out)
            }
            Input::Persisted { run_id, first_seq, count } => {
                let i = self.index(run_id)?;
                self.persisted(i, now, first_seq, count, out)
            }
            Input::AppendFailed { run_id } => {
                let i = self.index(run_id)?;
                self.append_failed(i, now, out)
            }
            Input::Launched { run_id } => {
                let i = self.index(run_id)?;
                self.launched(i, now, out)
            }
            Input::LaunchFailed { run_id } => {
                let i = self.index(run_id)?;
                self.launch_failed(i, now, out)
            }
            Input::WorkerBegan { run_id } => self.worker_began(run_id, now, out),
            Input::AgentConstructed { run_id, agent } => {
                let i = self.index(run_id)?;
                self.drive_worker(i, now, worker::Input::Constructed { agent }, out)
            }
            Input::ConstructionFailed { run_id } => {
                let i = self.index(run_id)?;
                self.drive_worker(i, now, worker::Input::ConstructionFailed, out)
            }
            Input::RegistrationAsked { run_id } => self.registration_asked(run_id, now, out),
            Input::InvocationAsked { run_id, agent } => {
                self.invocation_asked(run_id, agent, now, out)
            }
            Input::Produced { run_id, row } => self.produced(run_id, row, now, out),
            Input::QuestionAsked { run_id, question_id, approval, row } => {
                self.question_asked(run_id, question_id, approval, row, now, out)
            }
            Input::Returned { run_id, result } => self.returned(run_id, result, now, out),
            Input::Remote { run_id, fact } => self.remote(now, run_id, fact, out),
            Input::WorkerExited { run_id } => {
                let i = self.index(run_id)?;
                self.worker_exited(i, now, out)
            }
        }
    }

    /// The last row went: from now on an eviction would be taken (REG-13).
    fn tell_cache(&self, had_row: bool, out: &mut Outbox<Output>) {
        if had_row && self.row_entry().is_none() && self.cache.is_some() {
            out.push(Output::TellCache { notice: Notice::Freed });
        }
    }

    /// The idle transition: the last row went, or the session was settled after all.
    fn announce_idle(&mut self, was_free: bool, out: &mut Outbox<Output>) {
        if !was_free && self.is_free() {
            self.trigger_due |= G::idle_triggers();
            out.push(Output::BecameIdle);
        }
    }

    fn tick_run(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        self.with_stop(i, now, out, |stop, outputs| stop.tick(now, outputs));
        self.tick_remote(i, now, out);
        self.with_questions(i, now, out, |questions, outputs| questions.tick(now, outputs));
        let run_id = self.runs[i].run_id;
        self.with_journal(i, now, out, |journal, outputs| journal.tick(now, outputs));
        if self.runs.get(i).is_none_or(|entry| entry.run_id != run_id) {
            return;
        }
        if let Some(reason) = self.limit_reached(i, now) {
            self.end_by_server(i, now, reason, out);
        }
        if self.runs[i].retry_at.is_some_and(|at| now >= at) {
            self.runs[i].retry_at = None;
            self.drive_settlement(i, now, settlement::Input::Retry, out);
            self.save_if_possible(i, now, out);
        }
        self.reclaim_if_due(i, now, out);
    }
}
