//! From a start to its answer: reservation, durable writes, launch, compensation.

use super::asks::{Start, StartAnswer};
use super::state::{Asked, Lineage, Output, RunEntry, RunLimits, Stage};
use crate::ids::{AskId, Revision, RunId, Seq, TurnId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::journal::run_journal::RunJournal;
use crate::journal::turn_journal::{self, TurnJournal};
use crate::machine::{Machine, Outbox, Reject};
use crate::run::Phase;
use crate::run::admission::{Admission, SlotFact, StartRefusal, table_a};
use crate::run::guards::Guards;
use crate::run::limits::RUN_ENTRIES_MAX;
use crate::run::questions::Questions;
use crate::run::reclaim::Reclaim;
use crate::run::record::{self, Author};
use crate::run::row::Row;
use crate::run::settlement::{Settlement, Verdict};
use crate::run::steer::Steers;
use crate::run::stop::{self, Stop};
use crate::run::worker::Worker;
use crate::run::{ownership, pending, queue, wakeups};
use crate::wire::codes::Code;

/// Retry hint when workers of reclaimed runs still hold all entries of the session.
const ENTRIES_RETRY_MS: u32 = 10_000;

impl<G: Guards> Lineage<G> {
    pub(super) fn start(
        &mut self,
        now: Instant,
        start: Start,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if self.holds(start.run_id) || self.awaits(start.run_id) {
            return Err(Reject::Local("run_id_reused"));
        }
        let is_due =
            self.queue.is_starting() && self.queue.entries().first() == Some(&start.turn_id);
        if start.facts.is_head && !is_due {
            return Err(Reject::Local("head_not_starting"));
        }
        if start.facts.is_wakeup && !self.is_wakeup_due() {
            return Err(Reject::Local("wakeup_not_starting"));
        }
        self.decide(now, start, false, out);
        Ok(())
    }

    /// Answers a start by table A; `is_next` when it waited and stands first in line now.
    pub(super) fn decide(
        &mut self,
        now: Instant,
        start: Start,
        is_next: bool,
        out: &mut Outbox<Output>,
    ) {
        let is_drained = start.facts.is_head || start.facts.is_wakeup;
        if is_drained && self.deletion.is_under_way() {
            // Nothing starts between its Stop and a deletion; what was to start keeps its place (STR-13), and has
            // its attempt when the deletion fails.
            self.put_off = true;
            self.attempt_refused(now, &start, Code::SessionBusy, out);
            return self.answer_start(start, StartAnswer::Refused(self.busy(now)), out);
        }
        let is_saving = self.runs.iter().any(|entry| entry.settlement.is_saving());
        if is_saving && !is_next && !G::decides_at_once() {
            return self.wait(Asked::Start(start), out);
        }
        let answer = match table_a::<G>(
            &start.facts,
            self.may_start(now),
            self.queue_fact(),
            self.record.revision(),
        ) {
            Admission::Queued => return self.enqueue(now, start, is_next, out),
            Admission::Admitted(_) if !is_drained && !is_next && self.is_changing() => {
                return self.wait(Asked::Start(start), out);
            }
            Admission::Admitted(reclaim) => {
                if let Some(run_id) = reclaim {
                    let i = self.index(run_id).expect("may_start names a run of this session");
                    self.reclaim(i, now, out);
                }
                if self.runs.len() < RUN_ENTRIES_MAX && self.record.is_idle() {
                    self.reserve(now, start, out);
                    return;
                }
                self.put_off |= is_drained;
                let refusal = StartRefusal::of(Code::ServerBusy);
                StartAnswer::Refused(StartRefusal {
                    retry_after_ms: Some(ENTRIES_RETRY_MS),
                    ..refusal
                })
            }
            Admission::Repeated => StartAnswer::Repeated,
            Admission::Refused(refusal) => StartAnswer::Refused(refusal),
        };
        if is_drained {
            let code = match answer {
                StartAnswer::Refused(refusal) => refusal.code,
                StartAnswer::Started { .. }
                | StartAnswer::Queued { .. }
                | StartAnswer::Unstored
                | StartAnswer::Repeated => Code::IdempotencyConflict,
            };
            self.attempt_refused(now, &start, code, out);
        }
        self.answer_start(start, answer, out);
    }

    /// The start of what waited was refused (STR-13).
    fn attempt_refused(
        &mut self,
        now: Instant,
        start: &Start,
        code: Code,
        out: &mut Outbox<Output>,
    ) {
        if start.facts.is_head {
            self.drive_queue(now, queue::Input::HeadRefused { code }, out);
        } else {
            self.drive_wakeups(now, wakeups::Input::Refused { code }, out);
        }
    }

    /// Ends a start that reserved nothing.
    pub(super) fn answer_start(&self, start: Start, answer: StartAnswer, out: &mut Outbox<Output>) {
        self.give_back_slot(&start, out);
        out.push(Output::StartAnswered { ask: start.ask, answer });
    }

    pub(super) fn give_back_slot(&self, start: &Start, out: &mut Outbox<Output>) {
        if start.facts.slot == SlotFact::Granted {
            out.push(Output::ReleaseSlot { run_id: start.run_id });
        }
    }

    /// By ADM-08: everything a run consists of appears in this step.
    fn reserve(&mut self, now: Instant, start: Start, out: &mut Outbox<Output>) {
        let Start { ask, run_id, turn_id, facts } = start;
        let expected = self.record.revision();
        self.issue(Author::Run { run_id });
        if let Some(owner) = self.ownership.owner().filter(|_| G::replaces_owner()) {
            self.own(ownership::Input::Released { run_id: owner });
        }
        if G::reserves_owner() {
            self.own(ownership::Input::Taken { run_id });
        }
        let stage = Stage::Admitting { ask };
        let mut entry = RunEntry::reserved(now, run_id, turn_id, stage, &self.limits);
        let is_head = facts.is_head;
        entry.is_head = is_head;
        entry.rewrites = facts.rewrites.is_some();
        // An idle transition that found nothing waiting is over: none of its attempts is left for what is queued
        // behind this turn (STR-12).
        self.trigger_due &= is_head || facts.is_wakeup;
        self.runs.push(entry);
        if facts.is_wakeup {
            self.drive_wakeups(now, wakeups::Input::Reserved { run_id }, out);
        }
        let wakeups = self.wakeups.as_ref().and_then(|wakeups| wakeups.on_acceptance(run_id));
        out.push(Output::Admit { run_id, turn_id, expected, is_head, wakeups, at: now });
    }

    pub(super) fn committed(
        &mut self,
        i: usize,
        now: Instant,
        revision: Revision,
        terminal_seq: Option<Seq>,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let (run_id, turn_id, stage) =
            (self.runs[i].run_id, self.runs[i].turn_id, self.runs[i].stage);
        if stage == Stage::Launched && !self.runs[i].settlement.is_saving() {
            return Err(Reject::Local("commit_not_issued"));
        }
        let settled = self.steers_to_settle(i).len();
        let journal = &self.runs[i].journal;
        let is_next = |seq| journal.is_next_after(settled, seq);
        // A terminal that recovery found is the one (JRN-10).
        if journal.outcome().is_none() && terminal_seq.is_some_and(|seq| !is_next(seq)) {
            return Err(Reject::Local("terminal_seq_not_next"));
        }
        let mut outputs = Outbox::new();
        let by = Author::Run { run_id };
        // `superseded` alone leaves the session record as it is.
        let is_beside = self.runs[i].settlement.outcome_wanted() == Some(Outcome::Superseded);
        let answered = if is_beside {
            record::Input::CommittedBeside { by, revision }
        } else {
            record::Input::Committed { by, revision }
        };
        self.record.step(now, answered, &mut outputs)?;
        match stage {
            Stage::Admitting { ask } => {
                let pending_started_at = self.runs[i].started_at;
                self.pend(pending::Input::Saved { turn_id, run_id, pending_started_at });
                self.turn(i, turn_journal::Input::Submitted);
                if self.runs[i].is_head {
                    self.drive_queue(now, queue::Input::HeadAccepted, out);
                }
                self.wakeups_accepted(now, run_id, out);
                if let Some(agent) = self.cache.filter(|_| self.runs[i].rewrites) {
                    // It knows what the rewrite removed (LIFE-05).
                    self.retire(agent, out);
                }
                self.runs[i].stage = Stage::Launching { ask };
                out.push(Output::SessionChanged { revision });
                let since = pending_started_at;
                out.push(Output::PhaseChanged { run_id, phase: Phase::Starting, since });
                out.push(Output::Launch { run_id });
            }
            Stage::Compensating { ask } => {
                self.pend(pending::Input::Cleared { run_id });
                self.turn(i, turn_journal::Input::Ended(Outcome::Failed));
                if self.runs[i].is_head && G::returns_head() {
                    let code = self.hold_of_failed_launch();
                    self.drive_queue(now, queue::Input::HeadReturned { turn_id, code }, out);
                }
                if self.is_wakeup_turn(run_id) {
                    self.drive_wakeups(now, wakeups::Input::Returned, out);
                }
                self.launch_refused(i, ask, now, out);
            }
            Stage::Launched => self.saved(i, now, revision, terminal_seq, out),
            Stage::Launching { .. } => unreachable_commit(),
        }
        Ok(())
    }

    pub(super) fn commit_failed(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let (run_id, stage) = (self.runs[i].run_id, self.runs[i].stage);
        if stage == Stage::Launched && !self.runs[i].settlement.is_saving() {
            return Err(Reject::Local("commit_not_issued"));
        }
        let by = Author::Run { run_id };
        self.record.step(now, record::Input::Failed { by }, &mut Outbox::new())?;
        match stage {
            // Nothing was written, so nothing has to be compensated in the store.
            Stage::Admitting { ask } => {
                if self.runs[i].is_head {
                    let refused = queue::Input::HeadRefused { code: Code::LaunchFailed };
                    self.drive_queue(now, refused, out);
                }
                if self.is_reserved_for_wakeup(run_id) {
                    let refused = wakeups::Input::Refused { code: Code::LaunchFailed };
                    self.drive_wakeups(now, refused, out);
                }
                self.launch_refused(i, ask, now, out);
            }
            Stage::Compensating { ask } => {
                self.answer_refused_start(i, ask, out);
                self.hand_to_recovery(i, now, Verdict::worker_lost(), out);
            }
            Stage::Launched => self.save_failed(i, now, out),
            Stage::Launching { .. } => unreachable_commit(),
        }
        Ok(())
    }

    pub(super) fn launched(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let Stage::Launching { ask } = self.runs[i].stage else {
            return Err(Reject::Local("not_launching"));
        };
        let entry = &mut self.runs[i];
        entry.stage = Stage::Launched;
        let answer = StartAnswer::Started {
            run_id: entry.run_id,
            turn_id: entry.turn_id,
            pending_started_at: entry.started_at,
            revision: self.record.revision(),
        };
        out.push(Output::StartAnswered { ask, answer });
        if entry.ending.is_some() {
            self.drive_stop(i, now, stop::Input::EndedByServer { invoked: None }, out);
        } else if entry.stop.is_held() {
            self.drive_stop(i, now, stop::Input::Released { invoked: None }, out);
        }
        Ok(())
    }

    pub(super) fn launch_failed(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let Stage::Launching { ask } = self.runs[i].stage else {
            return Err(Reject::Local("not_launching"));
        };
        if !G::compensates() {
            self.answer_refused_start(i, ask, out);
            return Ok(());
        }
        let run_id = self.runs[i].run_id;
        self.runs[i].stage = Stage::Compensating { ask };
        let expected = self.record.revision();
        self.issue(Author::Run { run_id });
        let is_returned = self.runs[i].is_head && G::returns_head();
        let requeue = is_returned.then(|| self.hold_of_failed_launch());
        let wakeups = self.wakeups.as_ref().and_then(|wakeups| wakeups.on_compensation(run_id));
        out.push(Output::Compensate { run_id, expected, requeue, wakeups, at: now });
        Ok(())
    }

    /// By STR-13: a hold that stands keeps its code.
    fn hold_of_failed_launch(&self) -> Code {
        self.queue.held().unwrap_or(Code::LaunchFailed)
    }

    /// By REC-08: everything of the run goes, compared by its id, and the start is answered.
    fn launch_refused(&mut self, i: usize, ask: AskId, now: Instant, out: &mut Outbox<Output>) {
        let run_id = self.runs[i].run_id;
        self.runs[i].token_set = true;
        self.runs[i].live = false;
        let ended = stop::Input::RunEnded { outcome: Outcome::Failed };
        self.drive_stop(i, now, ended, out);
        self.remove_row(i, now, out);
        self.own(ownership::Input::Released { run_id });
        self.answer_refused_start(i, ask, out);
        out.push(Output::SessionChanged { revision: self.record.revision() });
        out.push(Output::Forget { run_id });
        self.runs.remove(i);
    }

    fn answer_refused_start(&mut self, i: usize, ask: AskId, out: &mut Outbox<Output>) {
        self.runs[i].stage = Stage::Launched;
        let answer = StartAnswer::Refused(StartRefusal::of(Code::LaunchFailed));
        out.push(Output::StartAnswered { ask, answer });
    }
}

impl<G: Guards> RunEntry<G> {
    pub(super) fn reserved(
        now: Instant,
        run_id: RunId,
        turn_id: TurnId,
        stage: Stage,
        limits: &RunLimits,
    ) -> Self {
        Self {
            run_id,
            turn_id,
            started_at: now,
            last_output_at: now,
            stage,
            live: true,
            token_set: false,
            row: Row::reserved(now),
            worker: Worker::reserved(),
            stop: Stop::default(),
            settlement: Settlement::default(),
            reclaim: Reclaim::new(limits.unwind),
            journal: RunJournal::new(),
            turn: TurnJournal::new(),
            questions: Questions::with_timeout(limits.ask_timeout),
            steers: Steers::new(),
            has_output: false,
            wanted: None,
            ending: None,
            retry_at: None,
            slot: true,
            is_head: false,
            rewrites: false,
            remote: None,
        }
    }
}

/// While its worker is being launched no commit of a run is unanswered: the record refuses the answer first.
fn unreachable_commit() -> ! {
    unreachable!("the session record takes answers of issued commits only")
}
