//! The deletion of the session: its run is stopped first, and ends in the same commit (LIFE-01).

use super::asks::{DeletionAnswer, QueueAnswer, StartAnswer};
use super::state::{Asked, Lineage, Output, RunEntry};
use crate::ids::{AskId, Revision, Seq};
use crate::instant::Instant;
use crate::journal::row::Reason;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::admission::StartRefusal;
use crate::run::changes;
use crate::run::deletion::{self, DeletedRun};
use crate::run::guards::Guards;
use crate::run::queue::Queue;
use crate::run::record::{self, Author};
use crate::run::settlement;
use crate::run::wakeups::Answer;
use crate::wire::codes::Code;

impl<G: Guards> Lineage<G> {
    /// Whether the session is deleted: every action that names it is answered `session_unknown` (LIFE-02).
    pub fn is_deleted(&self) -> bool {
        self.deletion.is_deleted()
    }

    /// Whether it is deleted and the last worker is gone.
    pub fn is_over(&self) -> bool {
        self.is_deleted() && self.runs.is_empty()
    }

    pub(super) fn delete(
        &mut self,
        now: Instant,
        ask: AskId,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        self.drive_deletion(now, deletion::Input::Asked { ask }, out)
    }

    /// Stops the run, and issues the deletion once nothing else is to be answered first.
    pub(super) fn issue_deletion(&mut self, now: Instant, out: &mut Outbox<Output>) {
        if !self.deletion.is_wanted() {
            return;
        }
        for i in 0..self.runs.len() {
            self.end_by_server(i, now, Reason::Deleted, out);
        }
        if !self.is_between_starts() {
            return;
        }
        let is_open = |entry: &RunEntry<G>| entry.settlement.outcome().is_none();
        let open = self.runs.iter().position(is_open).filter(|_| G::ends_run_with_deletion());
        let Some(i) = open else {
            self.commit_deletion(now, None, out);
            return;
        };
        let entry = &self.runs[i];
        let is_claimed = entry.settlement.is_claimed();
        if is_claimed && G::may_settle(entry.journal.in_flight()) {
            let run = self.claim_for_deletion(i, now);
            self.commit_deletion(now, Some(run), out);
        }
    }

    pub(super) fn deletion_committed(
        &mut self,
        now: Instant,
        revision: Revision,
        terminal_seq: Option<Seq>,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let ended = self.runs.iter().position(|entry| entry.settlement.is_saving());
        let is_next = |seq| {
            ended.is_some_and(|i| {
                let settled = self.runs[i].steers.to_settle().len();
                self.runs[i].journal.is_next_after(settled, seq)
            })
        };
        if terminal_seq.is_some_and(|seq| !is_next(seq)) {
            return Err(Reject::Local("terminal_seq_not_next"));
        }
        let committed = record::Input::Committed { by: Author::Deletion, revision };
        self.record.step(now, committed, &mut Outbox::new())?;
        if let Some(i) = ended {
            self.saved(i, now, revision, terminal_seq, out);
        }
        self.drive_deletion(now, deletion::Input::Committed, out)?;
        self.queue = Queue::default();
        self.wakeups = None;
        (self.trigger_due, self.put_off) = (false, false);
        self.withdraw(now, out);
        Ok(())
    }

    /// The session stays; the run that was stopped for it is settled by itself.
    pub(super) fn deletion_failed(
        &mut self,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let failed = record::Input::Failed { by: Author::Deletion };
        self.record.step(now, failed, &mut Outbox::new())?;
        self.drive_deletion(now, deletion::Input::Failed, out)?;
        if let Some(i) = self.runs.iter().position(|entry| entry.settlement.is_saving()) {
            self.save_failed(i, now, out);
        }
        Ok(())
    }

    /// The kept agent of a deleted session goes when no row is left that may still press it.
    pub(super) fn close_deleted(&mut self, out: &mut Outbox<Output>) {
        if let Some(agent) = self.cache
            && self.is_deleted()
            && self.row_entry().is_none()
        {
            self.retire(agent, out);
        }
    }

    /// The deletion takes the place of the settlement that was claimed.
    fn claim_for_deletion(&mut self, i: usize, now: Instant) -> DeletedRun {
        let entry = &mut self.runs[i];
        if matches!(entry.settlement.state(), settlement::State::GaveUp { .. }) {
            entry.retry_at = None;
            entry
                .settlement
                .step(now, settlement::Input::Retry, &mut Outbox::new())
                .expect("a settlement that gave up is tried again");
        }
        entry
            .settlement
            .step(now, settlement::Input::MaySave, &mut Outbox::new())
            .expect("a claimed settlement is saved");
        let verdict = entry.settlement.verdict().expect("it was claimed with a verdict");
        let steers = u32::try_from(entry.steers.to_settle().len()).unwrap_or(u32::MAX);
        DeletedRun { run_id: entry.run_id, turn_id: entry.turn_id, verdict, steers }
    }

    fn commit_deletion(&mut self, now: Instant, run: Option<DeletedRun>, out: &mut Outbox<Output>) {
        let mut outputs = Outbox::new();
        self.deletion
            .step(now, deletion::Input::MayCommit, &mut outputs)
            .expect("a deletion that is wanted may be committed");
        for output in outputs.drain() {
            if let deletion::Output::Commit { ask } = output {
                let expected = self.record.revision();
                self.issue(Author::Deletion);
                out.push(Output::Delete { ask, run, expected, at: now });
            }
        }
    }

    fn drive_deletion(
        &mut self,
        now: Instant,
        input: deletion::Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let mut outputs = Outbox::new();
        self.deletion.step(now, input, &mut outputs)?;
        for output in outputs.drain() {
            let (ask, answer) = match output {
                deletion::Output::Deleted { ask } => {
                    let revision = self.record.revision();
                    (ask, DeletionAnswer::Deleted { revision })
                }
                deletion::Output::Unknown { ask } => {
                    (ask, DeletionAnswer::Refused(StartRefusal::of(Code::SessionUnknown)))
                }
                deletion::Output::Full { ask } => {
                    (ask, DeletionAnswer::Refused(StartRefusal::of(Code::ServerBusy)))
                }
                deletion::Output::Failed { ask } => (ask, DeletionAnswer::Failed),
                deletion::Output::Commit { .. } => continue,
            };
            out.push(Output::DeletionAnswered { ask, answer });
        }
        Ok(())
    }

    /// Whoever waited for a commit of the session learns that it is gone (LIFE-02).
    fn withdraw(&mut self, now: Instant, out: &mut Outbox<Output>) {
        self.drive_changes(now, changes::Input::Withdrawn, out)
            .expect("no change is unanswered beside a deletion");
        let refusal = StartRefusal::of(Code::SessionUnknown);
        for asked in std::mem::take(&mut self.line) {
            match asked {
                Asked::Start(start) => {
                    self.answer_start(start, StartAnswer::Refused(refusal), out);
                }
                Asked::Remove { ask, .. } | Asked::Resume { ask } => {
                    out.push(Output::QueueAnswered { ask, answer: QueueAnswer::Refused(refusal) });
                }
                Asked::Wake { ask, .. } => {
                    out.push(Output::WakeupsAnswered { asks: vec![ask], answer: Answer::Dropped });
                }
            }
        }
    }
}
