//! How runs end: Stop, server endings, the worker's own end, loss, settlement, reclamation.

use super::asks::KnownRun;
use super::state::{Lineage, Output, Stage};
use crate::ids::{AskId, QuestionId, Revision, RunId, Seq};
use crate::instant::Instant;
use crate::journal::row::{Outcome, Reason};
use crate::journal::{run_journal, turn_journal};
use crate::machine::{Machine, Outbox, Reject};
use crate::run::Phase;
use crate::run::guards::Guards;
use crate::run::limits::UNSETTLED_RETRY;
use crate::run::questions::{self, Resolution};
use crate::run::settlement::{self, Claimant, Failure, Verdict};
use crate::run::stop::{self, Answer, Moment};
use crate::run::worker::{self, CallResult};
use crate::run::{ownership, pending, queue, reclaim, row, steer, wakeups};
use crate::session::record::Marker;

impl<G: Guards> Lineage<G> {
    pub(super) fn stop(
        &mut self,
        now: Instant,
        ask: AskId,
        run_id: RunId,
        known: KnownRun,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let on_screen = self.row_entry().filter(|_| !G::stops_named_only());
        let run_id = on_screen.map_or(run_id, |entry| entry.run_id);
        let Ok(i) = self.index(run_id) else {
            let answer = match known {
                KnownRun::Never => Answer::Unknown,
                KnownRun::Ended { outcome } if G::honours_settlement() => {
                    Answer::AlreadyEnded { status: outcome }
                }
                KnownRun::Ended { .. } => Answer::Accepted,
            };
            out.push(Output::StopAnswered { run_id, asks: vec![ask], answer });
            return Ok(());
        };
        let entry = &self.runs[i];
        if !G::finds_run(entry.live) {
            out.push(Output::StopAnswered { run_id, asks: vec![ask], answer: Answer::Unknown });
            return Ok(());
        }
        if entry.row.phase().is_none() {
            self.answer_stop_of_a_gone_run(i, now, ask, out);
            return Ok(());
        }
        if entry.is_remote_call() && !entry.settlement.is_saving() && G::awaits_remote() {
            self.stop_remote(i, now, ask, out);
            return Ok(());
        }
        let registered = entry.worker.registered().filter(|_| G::presses_registered());
        let invoked = entry.worker.invoked().or(registered);
        let moment = match (entry.stage, entry.settlement.is_saving()) {
            (Stage::Admitting { .. } | Stage::Launching { .. } | Stage::Compensating { .. }, _) => {
                Moment::Reserving
            }
            (Stage::Launched, true) => Moment::Saving { invoked },
            (Stage::Launched, false) => Moment::Open { invoked },
        };
        self.drive_stop(i, now, stop::Input::Asked { ask, moment }, out);
        Ok(())
    }

    /// The run has no row any more. Until its end is stable nobody is told one (STOP-06, DI-5).
    fn answer_stop_of_a_gone_run(
        &mut self,
        i: usize,
        now: Instant,
        ask: AskId,
        out: &mut Outbox<Output>,
    ) {
        let entry = &self.runs[i];
        let run_id = entry.run_id;
        let told = match entry.settlement.outcome() {
            None if !G::awaits_recovery() => entry.settlement.verdict().map(|v| v.outcome),
            outcome => outcome,
        };
        let answer = match (told, entry.settlement.state()) {
            (Some(status), _) => Answer::AlreadyEnded { status },
            (None, settlement::State::GaveUp { .. }) if !entry.stop.is_accepted() => {
                Answer::Refused
            }
            (None, _) => {
                let moment = Moment::Reserving;
                self.drive_stop(i, now, stop::Input::Asked { ask, moment }, out);
                return;
            }
        };
        out.push(Output::StopAnswered { run_id, asks: vec![ask], answer });
    }

    /// By STOP-02 beside the claim of the outcome: token, row, journal, steers, questions, queue.
    pub(super) fn accept_stop(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let entry = &mut self.runs[i];
        entry.token_set = true;
        entry.has_output = false;
        entry.wanted = None;
        let is_by_user = entry.ending.is_none();
        let ending = entry.ending.filter(|_| G::names_ending());
        if is_by_user && G::holds_queue() {
            self.drive_queue(now, queue::Input::StopAccepted, out);
        }
        self.drive_steers(i, now, steer::Input::Closed, out);
        // A save in flight keeps its claim (OWN-11); the rules hold the Stop until it is answered.
        if !self.runs[i].settlement.is_saving() {
            let verdict = ending.unwrap_or_else(Verdict::cancelled);
            self.claim(i, now, Claimant::Canceller, verdict, out);
        }
        self.drive_row(i, now, row::Input::StopAccepted, out);
        self.drive_reclaim(i, now, reclaim::Input::StopAccepted, out);
        if G::seals() {
            self.seal(i, now, out);
        }
        if G::resolves_at_stop() {
            self.resolve_questions(i, now, Resolution::Cancelled, out);
        }
        if G::stop_releases_owner() {
            self.release_owner(self.runs[i].run_id);
        }
        if self.runs[i].worker.is_constructing() {
            out.push(Output::AbandonConstruction { run_id: self.runs[i].run_id });
        }
        if self.runs[i].worker.has_returned() && G::exits_when_overtaken() {
            // It waited to settle, which is the canceller's now: nothing else would let it go (STOP-20).
            out.push(Output::ExitWorker { run_id: self.runs[i].run_id });
        }
        out.push(Output::SessionChanged { revision: self.record.revision() });
    }

    /// By STOP-21: as an accepted Stop, with the outcome its rule names. Nothing for a run that is
    /// ending already.
    pub(super) fn end_by_server(
        &mut self,
        i: usize,
        now: Instant,
        reason: Reason,
        out: &mut Outbox<Output>,
    ) {
        let verdict = Verdict::of_server(reason);
        let entry = &mut self.runs[i];
        let held = entry.stop.is_held();
        if entry.may_be_ended() && !held {
            entry.ending = Some(verdict);
            let invoked = entry.worker.invoked();
            self.drive_stop(i, now, stop::Input::EndedByServer { invoked }, out);
        } else if !matches!(entry.stage, Stage::Launched) && entry.ending.is_none() {
            entry.ending = Some(verdict);
        }
    }

    pub(super) fn worker_finished(
        &mut self,
        i: usize,
        now: Instant,
        result: CallResult,
        out: &mut Outbox<Output>,
    ) {
        if self.runs[i].stop.is_accepted() {
            self.drive_stop(i, now, stop::Input::AgentReturned, out);
            out.push(Output::ExitWorker { run_id: self.runs[i].run_id });
            return;
        }
        // A rebuild that fails finds the row in `running`: its first call was admitted.
        let returned = match self.runs[i].row.phase() {
            Some(Phase::Starting) => row::Input::ConstructionFailed,
            Some(Phase::Running | Phase::Finalizing | Phase::Cancelling) | None => {
                row::Input::LastReturned
            }
        };
        self.drive_row(i, now, returned, out);
        if G::closes_box_at_return() {
            self.drive_steers(i, now, steer::Input::Closed, out);
        }
        if G::resolves_at_end() {
            self.resolve_questions(i, now, Resolution::Interrupted, out);
        }
        self.runs[i].wanted = Some(Verdict::of_call(result));
        self.claim_for_worker(i, now, out);
    }

    /// The worker claims its outcome once every row it issued is answered.
    pub(super) fn claim_for_worker(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let entry = &self.runs[i];
        let Some(verdict) = entry.wanted else { return };
        let owns = G::may_write(self.ownership.seen_by(entry.run_id));
        if entry.journal.is_idle() && self.record.is_idle() && owns {
            self.runs[i].wanted = None;
            self.claim(i, now, Claimant::Worker, verdict, out);
            self.save_if_possible(i, now, out);
        }
    }

    pub(super) fn claim(
        &mut self,
        i: usize,
        now: Instant,
        by: Claimant,
        verdict: Verdict,
        out: &mut Outbox<Output>,
    ) {
        let claim = settlement::Input::Claim { by, verdict, may_save: false };
        self.drive_settlement(i, now, claim, out);
    }

    /// Issues a claimed settlement as soon as the batch in flight is answered (STOP-22).
    pub(super) fn save_if_possible(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let entry = &self.runs[i];
        let claimed = matches!(entry.settlement.state(), settlement::State::Claimed { .. });
        let is_deleted = self.deletion.is_under_way();
        if claimed
            && !is_deleted
            && self.record.is_idle()
            && G::may_settle(entry.journal.in_flight())
        {
            self.drive_settlement(i, now, settlement::Input::MaySave, out);
        }
    }

    /// The settlement is committed: nothing changes the outcome any more.
    pub(super) fn saved(
        &mut self,
        i: usize,
        now: Instant,
        revision: Revision,
        terminal_seq: Option<Seq>,
        out: &mut Outbox<Output>,
    ) {
        let by = self.runs[i].settlement.claimant();
        let verdict = self.runs[i].settlement.verdict().expect("a saved settlement was claimed");
        let (run_id, turn_id) = (self.runs[i].run_id, self.runs[i].turn_id);
        let outcome = verdict.outcome;
        self.drive_settlement(i, now, settlement::Input::Saved, out);
        self.runs[i].retry_at = None;
        if self.queue.unsaved_hold().is_some() {
            self.drive_queue(now, queue::Input::HoldSaved, out);
        }
        self.drive_wakeups(now, wakeups::Input::Settled { run_id, outcome }, out);
        self.turn(i, turn_journal::Input::Ended(outcome));
        let steers = self.steers_to_settle(i);
        let rows = if terminal_seq.is_some() { steers.len() } else { 0 };
        let settled =
            run_journal::Input::SettledRows { count: u32::try_from(rows).unwrap_or(u32::MAX) };
        let ended = run_journal::Input::Ended { outcome, seq: terminal_seq };
        self.with_journal(i, now, out, |journal, outputs| {
            if journal.outcome().is_none() {
                journal.step(now, settled, outputs).expect("nothing is in flight");
                journal.step(now, ended, outputs).expect("a run is settled once");
            }
        });
        if self.pending.run_id() == Some(run_id) {
            self.pend(pending::Input::Cleared { run_id });
        }
        let Verdict { reason, failure, .. } = verdict;
        let seq = terminal_seq;
        if by != Some(Claimant::Canceller) || G::shows_cancelled() {
            out.push(Output::RunEnded {
                run_id,
                turn_id,
                outcome,
                reason,
                failure,
                seq,
                revision,
                steers: if G::lists_returned() { steers } else { Vec::new() },
            });
        }
        self.close_channel(i, now, out);
        match by {
            Some(Claimant::Worker) => self.settled_by_worker(i, now, outcome, out),
            Some(Claimant::Canceller) => self.cancelled(i, now, out),
            Some(Claimant::Recovery) if self.runs[i].stop.is_held() => {
                self.drive_stop(i, now, stop::Input::RunEnded { outcome }, out);
            }
            Some(Claimant::Recovery) | None => {}
        }
        if self.runs[i].row.phase().is_none() {
            self.release_owner(run_id);
        }
        out.push(Output::SessionChanged { revision });
        self.finish(i, out);
    }

    /// By OWN-14: row, ownership, channel and stream-owner entry go in the step that learns of the commit.
    fn settled_by_worker(
        &mut self,
        i: usize,
        now: Instant,
        outcome: Outcome,
        out: &mut Outbox<Output>,
    ) {
        self.worker_is_gone(i);
        if let Some(agent) = self.cache.filter(|_| G::closes_shared()) {
            out.push(Output::Close { agent });
        }
        self.drive_stop(i, now, stop::Input::RunEnded { outcome }, out);
        if self.runs[i].row.phase().is_some() && G::frees_at_settlement() {
            self.remove_row(i, now, out);
        }
    }

    fn cancelled(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        if !self.runs[i].stop.is_answered() {
            self.drive_stop(i, now, stop::Input::SettlementAnswered, out);
        }
        if self.runs[i].worker.is_gone() {
            self.unwind(i, now, out);
        }
    }

    pub(super) fn save_failed(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        if self.runs[i].stop.is_accepted() && !G::keeps_claim() {
            return;
        }
        // A worker's claim lapses for a deletion as it does for a Stop.
        let stop_held = self.runs[i].stop.is_held() || self.deletion.is_wanted();
        self.drive_settlement(i, now, settlement::Input::SaveFailed { stop_held }, out);
    }

    /// Every try of a settlement failed: the session is unsettled and tried again (RST-11).
    pub(super) fn gave_up(
        &mut self,
        i: usize,
        now: Instant,
        by: Claimant,
        out: &mut Outbox<Output>,
    ) {
        if by != Claimant::Worker {
            self.runs[i].retry_at = Some(now.plus(UNSETTLED_RETRY));
        }
        match by {
            Claimant::Worker => {
                self.worker_is_gone(i);
                self.hand_to_recovery(i, now, Verdict::worker_lost(), out);
            }
            Claimant::Canceller => {
                self.close_channel(i, now, out);
                self.cancelled(i, now, out);
            }
            Claimant::Recovery if self.runs[i].stop.is_held() => {
                self.drive_stop(i, now, stop::Input::Unsettled, out);
            }
            Claimant::Recovery => {}
        }
        out.push(Output::SessionChanged { revision: self.record.revision() });
    }

    pub(super) fn worker_exited(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        self.must_be_launched(i)?;
        self.runs[i].worker.step(now, worker::Input::Exited, &mut Outbox::new())?;
        self.runs[i].has_output = false;
        let entry = &self.runs[i];
        if entry.stop.is_accepted() {
            self.drive_stop(i, now, stop::Input::AgentReturned, out);
            if self.runs[i].stop.is_answered() {
                self.unwind(i, now, out);
            }
            self.finish(i, out);
        } else if entry.row.phase().is_some() && !entry.settlement.is_claimed() {
            self.resolve_questions(i, now, Resolution::Interrupted, out);
            self.runs[i].wanted = None;
            let verdict = self.runs[i].ending.unwrap_or_else(Verdict::worker_lost);
            self.hand_to_recovery(i, now, verdict, out);
        } else {
            self.finish(i, out);
        }
        Ok(())
    }

    /// By REC-04, when it is due.
    pub(super) fn reclaim_if_due(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        if self.runs[i].row.phase().is_none() {
            return;
        }
        let mut outputs = Outbox::new();
        self.runs[i].reclaim.tick(now, &mut outputs);
        if outputs.drain().any(|output| output == reclaim::Output::Reclaim) {
            self.unwind(i, now, out);
        }
    }

    pub(super) fn reclaim(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        self.drive_reclaim(i, now, reclaim::Input::StartAsked, out);
    }

    /// The row of a stopped run goes, with its ownership if it is still this run's.
    pub(super) fn unwind(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        if self.runs[i].row.phase().is_none() {
            return;
        }
        let run_id = self.runs[i].run_id;
        self.remove_row(i, now, out);
        let is_reclaimed = !self.runs[i].worker.is_gone();
        if self.runs[i].settlement.outcome().is_some()
            && (!is_reclaimed || G::reclaim_frees_owner())
        {
            self.release_owner(run_id);
        }
        out.push(Output::SessionChanged { revision: self.record.revision() });
    }

    pub(super) fn remove_row(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        self.drive_row(i, now, row::Input::Removed, out);
        let over = self.runs[i].reclaim.is_terminal();
        if !over {
            self.drive_reclaim(i, now, reclaim::Input::RowGone, out);
        }
        if std::mem::take(&mut self.runs[i].slot) {
            out.push(Output::ReleaseSlot { run_id: self.runs[i].run_id });
        }
    }

    /// Forgets an entry that has neither row nor worker nor an outstanding settlement.
    pub(super) fn finish(&mut self, i: usize, out: &mut Outbox<Output>) {
        let entry = &self.runs[i];
        let owes = entry.owes_remote_stop() && G::remembers_owed_stop();
        if entry.row.phase().is_some() || entry.settlement.outcome().is_none() || owes {
            return;
        }
        if self.runs[i].worker.is_gone() {
            out.push(Output::Forget { run_id: self.runs[i].run_id });
            self.runs.remove(i);
        }
    }

    fn close_channel(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let open = std::mem::replace(&mut self.runs[i].live, false);
        if open && self.runs[i].stop.is_accepted() && self.runs[i].row.phase().is_some() {
            self.drive_reclaim(i, now, reclaim::Input::ChannelClosed, out);
        }
    }

    fn release_owner(&mut self, run_id: RunId) {
        if self.ownership.owner() == Some(run_id) {
            self.own(ownership::Input::Released { run_id });
        }
    }

    fn resolve_questions(
        &mut self,
        i: usize,
        now: Instant,
        outcome: Resolution,
        out: &mut Outbox<Output>,
    ) {
        self.with_questions(i, now, out, |questions, outputs| {
            // Questions that are closed already stay as they are.
            let _ = questions.step(now, questions::Input::ResolveAll { outcome }, outputs);
        });
    }

    pub(super) fn answer(
        &mut self,
        now: Instant,
        ask: AskId,
        question_id: QuestionId,
        version: u64,
        out: &mut Outbox<Output>,
    ) {
        let holder = self
            .runs
            .iter()
            .position(|entry| entry.questions.open().any(|open| open.question_id == question_id));
        let Some(i) = holder else {
            out.push(Output::AnswerRefused { ask, question_id });
            return;
        };
        self.with_questions(i, now, out, |questions, outputs| {
            let answered = questions::Input::Answered { ask, question_id, version };
            questions.step(now, answered, outputs).expect("an answer is taken or refused");
        });
        self.runs[i].last_output_at = now;
    }
}

impl Verdict {
    /// A user stopped the run.
    pub fn cancelled() -> Self {
        let marker = Some(Marker::Cancelled);
        Self { outcome: Outcome::Cancelled, reason: None, marker, failure: None }
    }

    /// Recovery found the run without settlement, row or worker (RST-02).
    pub fn found_dead() -> Self {
        let marker = Some(Marker::Interrupted);
        Self { outcome: Outcome::Interrupted, reason: None, marker, failure: None }
    }

    /// The journal states an outcome already (RST-02).
    pub fn as_journaled(outcome: Outcome) -> Self {
        Self { outcome, reason: None, marker: None, failure: None }
    }

    /// The worker was lost (REC-10).
    pub fn worker_lost() -> Self {
        Self { reason: Some(Reason::WorkerLost), ..Self::failed(true) }
    }

    /// The server ends the run (STOP-21).
    pub fn of_server(reason: Reason) -> Self {
        match reason {
            Reason::Shutdown => Self { reason: Some(reason), ..Self::found_dead() },
            Reason::Deleted => Self { reason: Some(reason), ..Self::cancelled() },
            Reason::WorkerLost | Reason::AgentSilent | Reason::StorageFailed => {
                Self { reason: Some(reason), ..Self::failed(true) }
            }
            Reason::RunMax | Reason::JournalFull => {
                Self { reason: Some(reason), ..Self::failed(false) }
            }
        }
    }

    fn of_call(result: CallResult) -> Self {
        match result {
            CallResult::Completed => Self::as_journaled(Outcome::Completed),
            CallResult::Interrupted | CallResult::Lost => Self::failed(true),
            CallResult::Failed { failure } => Self::failed(failure.retryable),
        }
    }

    fn failed(retryable: bool) -> Self {
        let failure = Some(Failure { retryable });
        Self { outcome: Outcome::Failed, reason: None, marker: None, failure }
    }
}
