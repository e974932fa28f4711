//! Drives one sub-machine and translates what it puts out.

use super::state::{Lineage, Output};
use super::steering::of_steers;
use crate::ids::{AgentId, QuestionId, RunId, Seq};
use crate::instant::Instant;
use crate::journal::run_journal::{self, RowRef, RunJournal};
use crate::journal::turn_journal;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::cache::Notice;
use crate::run::guards::Guards;
use crate::run::questions::{self, Questions};
use crate::run::record::{self, Author};
use crate::run::settlement::{self, Claimant};
use crate::run::stop::{self, Stop};
use crate::run::worker::{self, CallResult};
use crate::run::{ownership, pending, reclaim, row, steer};

impl<G: Guards> Lineage<G> {
    pub(super) fn worker_began(
        &mut self,
        run_id: RunId,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        self.must_be_launched(i)?;
        let began = worker::Input::Began { gate: self.gate(i), cached: self.cache };
        self.drive_worker(i, now, began, out)
    }

    pub(super) fn registration_asked(
        &mut self,
        run_id: RunId,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        if self.runs[i].journal.in_flight() && !G::registers_beside_appends() {
            return Ok(());
        }
        let gate = self.gate(i);
        self.drive_worker(i, now, worker::Input::RegistrationAsked { gate }, out)
    }

    pub(super) fn invocation_asked(
        &mut self,
        run_id: RunId,
        agent: AgentId,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        let gate = self.gate(i);
        self.drive_worker(i, now, worker::Input::InvocationAsked { gate, agent }, out)
    }

    pub(super) fn returned(
        &mut self,
        run_id: RunId,
        result: CallResult,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        self.drive_steers(i, now, steer::Input::Returned, out);
        let gate = self.gate(i);
        let has_output = std::mem::take(&mut self.runs[i].has_output);
        self.drive_worker(i, now, worker::Input::Returned { result, gate, has_output }, out)
    }

    pub(super) fn produced(
        &mut self,
        run_id: RunId,
        row: RowRef,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        if !self.may_issue(i) {
            out.push(Output::Discard { payloads: vec![row.payload.id] });
            return Ok(());
        }
        self.hand_over(i, row, now, out)?;
        if let Ok(i) = self.index(run_id) {
            self.runs[i].last_output_at = now;
            self.runs[i].has_output = true;
        }
        Ok(())
    }

    pub(super) fn question_asked(
        &mut self,
        run_id: RunId,
        question_id: QuestionId,
        approval: bool,
        row: RowRef,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        if !self.may_issue(i) {
            out.push(Output::QuestionRefused { question_id });
            out.push(Output::Discard { payloads: vec![row.payload.id] });
            return Ok(());
        }
        if self.runs[i].questions.open().any(|open| open.question_id == question_id) {
            return Err(Reject::Local("question_id_reused"));
        }
        let open_before = self.runs[i].questions.open().count();
        if self.runs[i].questions.is_full() {
            out.push(Output::QuestionRefused { question_id });
            out.push(Output::Discard { payloads: vec![row.payload.id] });
            return Ok(());
        }
        self.hand_over(i, row, now, out)?;
        let Ok(i) = self.index(run_id) else { return Ok(()) };
        if self.runs[i].stop.is_accepted() {
            out.push(Output::QuestionRefused { question_id });
            return Ok(());
        }
        self.with_questions(i, now, out, |questions, outputs| {
            let asked = questions::Input::Asked { question_id, approval };
            questions.step(now, asked, outputs).expect("a fresh question below the bound");
        });
        debug_assert_eq!(self.runs[i].questions.open().count(), open_before + 1);
        self.runs[i].last_output_at = now;
        self.runs[i].has_output = true;
        out.push(Output::SessionChanged { revision: self.record.revision() });
        Ok(())
    }

    pub(super) fn persisted(
        &mut self,
        i: usize,
        now: Instant,
        first_seq: Seq,
        count: u32,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        self.drive_journal(i, now, run_journal::Input::Persisted { first_seq, count }, out)
    }

    pub(super) fn append_failed(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        self.drive_journal(i, now, run_journal::Input::AppendFailed, out)
    }

    /// Rows that were not issued are dropped; from now on the journal takes none (STOP-05).
    pub(super) fn seal(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        self.with_journal(i, now, out, |journal, outputs| {
            // A journal that is sealed already stays as it is.
            let _ = journal.step(now, run_journal::Input::Seal, outputs);
        });
    }

    pub(super) fn may_issue(&self, i: usize) -> bool {
        self.runs[i].worker.invoked().is_some() && G::may_issue(self.gate(i))
    }

    pub(super) fn hand_over(
        &mut self,
        i: usize,
        row: RowRef,
        now: Instant,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        self.drive_journal(i, now, run_journal::Input::HandOver(row), out)
    }

    pub(super) fn drive_worker(
        &mut self,
        i: usize,
        now: Instant,
        input: worker::Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let mut outputs = Outbox::new();
        self.runs[i].worker.step(now, input, &mut outputs)?;
        let run_id = self.runs[i].run_id;
        for output in outputs.drain() {
            match output {
                worker::Output::Started => {
                    self.turn(i, turn_journal::Input::WorkerStarted);
                    out.push(Output::StartWorker { run_id, at: now });
                }
                worker::Output::Construct => out.push(Output::Construct { run_id }),
                worker::Output::AskRegistration => out.push(Output::AskRegistration { run_id }),
                worker::Output::Publish { agent } => {
                    self.cache = Some(agent);
                    self.handle = Some(agent);
                    out.push(Output::TellCache { notice: Notice::Registered });
                }
                worker::Output::Prepare { agent } => {
                    if G::opens_box_at_registration() {
                        self.drive_steers(i, now, steer::Input::Invoked, out);
                    }
                    out.push(Output::Prepare { run_id, agent });
                }
                worker::Output::Invoke { agent } => {
                    self.drive_row(i, now, row::Input::InvocationAdmitted, out);
                    self.runs[i].last_output_at = now;
                    self.drive_steers(i, now, steer::Input::Invoked, out);
                    out.push(Output::Invoke { run_id, agent });
                }
                worker::Output::CleanUp { agent } => out.push(Output::CleanUp { agent }),
                worker::Output::Retire { agent } => self.retire(agent, out),
                worker::Output::Exit => out.push(Output::ExitWorker { run_id }),
                worker::Output::Finished { result } => {
                    self.worker_finished(i, now, result, out);
                }
            }
        }
        Ok(())
    }

    pub(super) fn drive_stop(
        &mut self,
        i: usize,
        now: Instant,
        input: stop::Input,
        out: &mut Outbox<Output>,
    ) {
        self.with_stop(i, now, out, |stop, outputs| {
            stop.step(now, input, outputs).expect("the lineage asks a Stop what its state lists");
        });
    }

    pub(super) fn with_stop(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
        drive: impl FnOnce(&mut Stop<G>, &mut Outbox<stop::Output>),
    ) {
        let mut outputs = Outbox::new();
        drive(&mut self.runs[i].stop, &mut outputs);
        let run_id = self.runs[i].run_id;
        for output in outputs.drain() {
            match output {
                stop::Output::Accept => self.accept_stop(i, now, out),
                stop::Output::Signal { agent, signal } => {
                    out.push(Output::Signal { run_id, agent, signal });
                }
                stop::Output::Reply { asks, answer } => {
                    out.push(Output::StopAnswered { run_id, asks, answer });
                }
            }
        }
        self.save_if_possible(i, now, out);
    }

    pub(super) fn drive_settlement(
        &mut self,
        i: usize,
        now: Instant,
        input: settlement::Input,
        out: &mut Outbox<Output>,
    ) {
        let by = self.runs[i].settlement.claimant();
        let mut outputs = Outbox::new();
        self.runs[i]
            .settlement
            .step(now, input, &mut outputs)
            .expect("the lineage asks a settlement what its state lists");
        for output in outputs.drain() {
            match output {
                settlement::Output::Save { .. }
                    if by == Some(Claimant::Canceller)
                        && !G::finds_session(self.runs[i].worker.is_gone()) => {}
                settlement::Output::Save { verdict } => {
                    let (run_id, turn_id) = (self.runs[i].run_id, self.runs[i].turn_id);
                    let expected = self.record.revision();
                    let recovery = by == Some(Claimant::Recovery);
                    let wakeups = self.wakeups.as_ref();
                    let wakeups = wakeups.and_then(|w| w.on_settlement(run_id, verdict.outcome));
                    self.issue(Author::Run { run_id });
                    out.push(Output::Settle {
                        run_id,
                        turn_id,
                        expected,
                        verdict,
                        recovery,
                        hold: self.queue.unsaved_hold(),
                        steers: self.steers_to_settle(i),
                        wakeups,
                        at: now,
                    });
                }
                settlement::Output::Settled { .. } => {}
                // The deletion that it lapsed for ends the run by itself.
                settlement::Output::Lapsed if !self.runs[i].stop.is_held() => {}
                settlement::Output::Lapsed => {
                    let invoked = self.runs[i].worker.invoked();
                    self.drive_stop(i, now, stop::Input::Released { invoked }, out);
                }
                settlement::Output::GaveUp { by } => self.gave_up(i, now, by, out),
            }
        }
    }

    pub(super) fn drive_row(
        &mut self,
        i: usize,
        now: Instant,
        input: row::Input,
        out: &mut Outbox<Output>,
    ) {
        let mut outputs = Outbox::new();
        self.runs[i]
            .row
            .step(now, input, &mut outputs)
            .expect("the lineage moves a row as its state lists");
        let run_id = self.runs[i].run_id;
        for output in outputs.drain() {
            match output {
                row::Output::PhaseChanged { phase, since } => {
                    out.push(Output::PhaseChanged { run_id, phase, since });
                }
                row::Output::Gone => {}
            }
        }
    }

    pub(super) fn drive_reclaim(
        &mut self,
        i: usize,
        now: Instant,
        input: reclaim::Input,
        out: &mut Outbox<Output>,
    ) {
        let mut outputs = Outbox::new();
        self.runs[i]
            .reclaim
            .step(now, input, &mut outputs)
            .expect("the lineage tells reclamation what its state lists");
        for output in outputs.drain() {
            match output {
                reclaim::Output::Reclaim => self.unwind(i, now, out),
            }
        }
    }

    fn drive_journal(
        &mut self,
        i: usize,
        now: Instant,
        input: run_journal::Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let mut result = Ok(());
        self.with_journal(i, now, out, |journal, outputs| {
            result = journal.step(now, input, outputs);
        });
        result
    }

    pub(super) fn with_journal(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
        drive: impl FnOnce(&mut RunJournal, &mut Outbox<run_journal::Output>),
    ) {
        let mut outputs = Outbox::new();
        drive(&mut self.runs[i].journal, &mut outputs);
        let run_id = self.runs[i].run_id;
        for output in outputs.drain() {
            match output {
                run_journal::Output::Append { rows } => out.push(Output::Append { run_id, rows }),
                run_journal::Output::Published { first_seq, rows } => {
                    let of_steers = of_steers(&rows);
                    out.push(Output::Published { run_id, first_seq, rows });
                    self.steer_rows_stored(i, now, of_steers, out);
                }
                run_journal::Output::PublishedDegraded { rows } => {
                    let lost = of_steers(&rows);
                    out.push(Output::PublishedDegraded { run_id, rows });
                    self.steer_rows_lost(i, now, lost.iter().map(|row| row.payload.id), out);
                }
                run_journal::Output::Discarded { payloads } => {
                    let lost = payloads.iter().copied();
                    self.steer_rows_lost(i, now, lost, out);
                    out.push(Output::Discard { payloads });
                }
                run_journal::Output::Answered => {
                    self.save_if_possible(i, now, out);
                    self.claim_for_worker(i, now, out);
                }
                run_journal::Output::EndRun { reason } => self.end_by_server(i, now, reason, out),
            }
        }
    }

    pub(super) fn with_questions(
        &mut self,
        i: usize,
        now: Instant,
        out: &mut Outbox<Output>,
        drive: impl FnOnce(&mut Questions<G>, &mut Outbox<questions::Output>),
    ) {
        let mut outputs = Outbox::new();
        drive(&mut self.runs[i].questions, &mut outputs);
        let run_id = self.runs[i].run_id;
        for output in outputs.drain() {
            match output {
                questions::Output::Opened { question_id, version, expires_at } => {
                    out.push(Output::QuestionOpened { run_id, question_id, version, expires_at });
                }
                questions::Output::RefusedToAgent { question_id } => {
                    out.push(Output::QuestionRefused { question_id });
                }
                questions::Output::Resolved { questions, outcome, ask } => {
                    self.runs[i].last_output_at = now;
                    out.push(Output::QuestionsResolved { run_id, questions, outcome, ask });
                    out.push(Output::SessionChanged { revision: self.record.revision() });
                }
                questions::Output::AnswerRefused { ask, question_id } => {
                    out.push(Output::AnswerRefused { ask, question_id });
                }
            }
        }
    }

    pub(super) fn worker_is_gone(&mut self, i: usize) {
        if !self.runs[i].worker.is_gone() {
            self.runs[i]
                .worker
                .step(Instant::ZERO, worker::Input::Exited, &mut Outbox::new())
                .expect("a worker that is not gone can exit");
        }
    }

    pub(super) fn turn(&mut self, i: usize, input: turn_journal::Input) {
        self.runs[i]
            .turn
            .step(Instant::ZERO, input, &mut Outbox::new())
            .expect("a turn is submitted, started and ended once, in this order");
    }

    pub(super) fn pend(&mut self, input: pending::Input) {
        self.pending
            .step(Instant::ZERO, input, &mut Outbox::new())
            .expect("a session has one pending turn, cleared by its own run");
    }

    pub(super) fn own(&mut self, input: ownership::Input) {
        self.ownership
            .step(Instant::ZERO, input, &mut Outbox::new())
            .expect("ownership is taken when free and released by its owner");
    }

    pub(super) fn issue(&mut self, by: Author) {
        self.record
            .step(Instant::ZERO, record::Input::Issued { by }, &mut Outbox::new())
            .expect("a commit is issued only while none is unanswered");
    }
}
