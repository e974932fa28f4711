//! From a start to its answer: reservation, durable writes, launch, compensation.

use super::state::{Lineage, Output, RunEntry, RunLimits, Stage, Start, StartAnswer};
use crate::ids::{AskId, Revision, RunId, Seq, TurnId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::journal::run_journal::RunJournal;
use crate::journal::turn_journal::{self, TurnJournal};
use crate::machine::{Machine, Outbox, Reject};
use crate::run::Phase;
use crate::run::admission::{Admission, StartRefusal, table_a};
use crate::run::guards::Guards;
use crate::run::limits::RUN_ENTRIES_MAX;
use crate::run::questions::Questions;
use crate::run::reclaim::Reclaim;
use crate::run::record::{self, Author};
use crate::run::row::Row;
use crate::run::settlement::{Claimant, Settlement, Verdict};
use crate::run::stop::{self, Stop};
use crate::run::worker::Worker;
use crate::run::{ownership, pending};
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
        if self.holds(start.run_id) {
            return Err(Reject::Local("run_id_reused"));
        }
        let answer = match table_a::<G>(&start.facts, self.may_start(now)) {
            Admission::Admitted(reclaim) => {
                if let Some(run_id) = reclaim {
                    let i = self.index(run_id).expect("may_start names a run of this session");
                    self.reclaim(i, now, out);
                }
                if self.runs.len() < RUN_ENTRIES_MAX && self.record.is_idle() {
                    self.reserve(now, start, out);
                    return Ok(());
                }
                let refusal = StartRefusal::of(Code::ServerBusy);
                StartAnswer::Refused(StartRefusal {
                    retry_after_ms: Some(ENTRIES_RETRY_MS),
                    ..refusal
                })
            }
            Admission::Repeated => StartAnswer::Repeated,
            Admission::Refused(refusal) => StartAnswer::Refused(refusal),
        };
        if start.facts.slot == crate::run::admission::SlotFact::Granted {
            out.push(Output::ReleaseSlot { run_id: start.run_id });
        }
        out.push(Output::StartAnswered { ask: start.ask, answer });
        Ok(())
    }

    /// By ADM-08: everything a run consists of appears in this step.
    fn reserve(&mut self, now: Instant, start: Start, out: &mut Outbox<Output>) {
        let Start { ask, run_id, turn_id, .. } = start;
        let expected = self.record.revision();
        self.issue(Author::Run { run_id });
        if let Some(owner) = self.ownership.owner().filter(|_| G::replaces_owner()) {
            self.own(ownership::Input::Released { run_id: owner });
        }
        if G::reserves_owner() {
            self.own(ownership::Input::Taken { run_id });
        }
        self.runs.push(RunEntry::reserved(
            now,
            run_id,
            turn_id,
            Stage::Admitting { ask },
            &self.limits,
        ));
        out.push(Output::Admit { run_id, turn_id, expected, at: now });
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
        if terminal_seq.is_some_and(|seq| !self.runs[i].journal.is_next(seq)) {
            return Err(Reject::Local("terminal_seq_not_next"));
        }
        let mut outputs = Outbox::new();
        self.record.step(
            now,
            record::Input::Committed { by: Author::Run { run_id }, revision },
            &mut outputs,
        )?;
        match stage {
            Stage::Admitting { ask } => {
                let pending_started_at = self.runs[i].started_at;
                self.pend(pending::Input::Saved { turn_id, run_id, pending_started_at });
                self.turn(i, turn_journal::Input::Submitted);
                self.runs[i].stage = Stage::Launching { ask };
                out.push(Output::SessionChanged { revision });
                let since = pending_started_at;
                out.push(Output::PhaseChanged { run_id, phase: Phase::Starting, since });
                out.push(Output::Launch { run_id });
            }
            Stage::Compensating { ask } => {
                self.pend(pending::Input::Cleared { run_id });
                self.turn(i, turn_journal::Input::Ended(Outcome::Failed));
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
        self.record.step(
            now,
            record::Input::Failed { by: Author::Run { run_id } },
            &mut Outbox::new(),
        )?;
        match stage {
            // Nothing was written, so nothing has to be compensated in the store.
            Stage::Admitting { ask } => self.launch_refused(i, ask, now, out),
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
        out.push(Output::Compensate { run_id, expected, at: now });
        Ok(())
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

    #[allow(clippy::too_many_arguments, reason = "the fields of one input")]
    pub(super) fn recover(
        &mut self,
        now: Instant,
        run_id: RunId,
        turn_id: TurnId,
        pending_started_at: Instant,
        last_seq: Seq,
        terminal: Option<Outcome>,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if !self.runs.is_empty() || !self.record.is_idle() || self.ownership.owner().is_some() {
            return Err(Reject::Local("not_at_start"));
        }
        self.own(ownership::Input::Taken { run_id });
        self.pend(pending::Input::Saved { turn_id, run_id, pending_started_at });
        let mut entry =
            RunEntry::reserved(pending_started_at, run_id, turn_id, Stage::Launched, &self.limits);
        entry.journal = RunJournal::resume(last_seq);
        entry.slot = false;
        self.runs.push(entry);
        self.turn(0, turn_journal::Input::Submitted);
        self.worker_is_gone(0);
        let verdict = terminal.map_or_else(Verdict::found_dead, Verdict::as_journaled);
        self.hand_to_recovery(0, now, verdict, out);
        Ok(())
    }

    /// By RST-01, REC-10: the row goes and recovery claims the outcome.
    pub(super) fn hand_to_recovery(
        &mut self,
        i: usize,
        now: Instant,
        verdict: Verdict,
        out: &mut Outbox<Output>,
    ) {
        self.runs[i].token_set = true;
        self.seal(i, now, out);
        self.remove_row(i, now, out);
        self.claim(i, now, Claimant::Recovery, verdict, out);
        self.save_if_possible(i, now, out);
    }
}

impl<G: Guards> RunEntry<G> {
    fn reserved(
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
            has_output: false,
            wanted: None,
            ending: None,
            retry_at: None,
            slot: true,
        }
    }
}

/// While its worker is being launched no commit of a run is unanswered: the record refuses the answer first.
fn unreachable_commit() -> ! {
    unreachable!("the session record takes answers of issued commits only")
}
