//! Runs without a row: found in the store, or left by their worker (RST family, REC-10).

use super::state::{Lineage, Output, RunEntry, Stage};
use crate::ids::Revision;
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::journal::run_journal::{self, RunJournal};
use crate::journal::turn_journal;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::guards::Guards;
use crate::run::record::{self, Author};
use crate::run::recovery::Found;
use crate::run::settlement::{self, Claimant, Verdict};
use crate::run::steer::{self, Steers};
use crate::run::{ownership, pending, stop};

impl<G: Guards> Lineage<G> {
    /// By RST-01: a run that the store holds unsettled is settled, unless another process may still do it (RST-03).
    pub(super) fn recover(
        &mut self,
        now: Instant,
        found: Found,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if self.holds(found.run_id) || !self.may_recover() {
            return Err(Reject::Local("not_at_start"));
        }
        let Found { run_id, turn_id, pending_started_at, last_seq, superseded_by, .. } = found;
        let accepted_at = pending_started_at.unwrap_or(now);
        let is_active = superseded_by.is_none() && self.pending.run_id().is_none();
        if is_active {
            self.pend(pending::Input::Saved { turn_id, run_id, pending_started_at: accepted_at });
        }
        if found.is_left_alone::<G>(self.limits.store, now) {
            return Ok(());
        }
        let verdict = found.verdict::<G>();
        if self.ownership.owner().is_none() {
            self.own(ownership::Input::Taken { run_id });
        }
        let mut entry =
            RunEntry::reserved(accepted_at, run_id, turn_id, Stage::Launched, &self.limits);
        entry.journal = RunJournal::resume(last_seq);
        if let Some(outcome) = found.terminal {
            let stands = run_journal::Input::Ended { outcome, seq: None };
            entry
                .journal
                .step(now, stands, &mut Outbox::new())
                .expect("a journal that was resumed can end");
        }
        // Behind a terminal no row follows.
        let has_ended = found.settled.or(found.terminal).is_some();
        entry.steers = Steers::found(found.steers.into_iter().filter(|_| !has_ended));
        entry.slot = false;
        let i = self.runs.len();
        self.runs.push(entry);
        self.turn(i, turn_journal::Input::Submitted);
        self.worker_is_gone(i);
        self.hand_to_recovery(i, now, verdict, out);
        Ok(())
    }

    /// Nothing happened yet in this process, or nothing but recoveries.
    fn may_recover(&self) -> bool {
        if self.runs.is_empty() {
            return self.record.is_idle() && self.ownership.owner().is_none();
        }
        self.runs.iter().all(|entry| entry.row.phase().is_none() && entry.is_unsettled())
    }

    /// The store says that the run is settled, and this process did not do it.
    pub(super) fn settled_elsewhere(
        &mut self,
        i: usize,
        now: Instant,
        outcome: Outcome,
        revision: Revision,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let entry = &self.runs[i];
        if entry.row.phase().is_some() {
            // Its worker learns of it as of any failed save, and recovery then finds it settled.
            return self.commit_failed(i, now, out);
        }
        let gave_up = matches!(entry.settlement.state(), settlement::State::GaveUp { .. });
        let is_saving = entry.settlement.is_saving();
        if !gave_up && !is_saving {
            return Err(Reject::Local("nothing_to_sweep"));
        }
        let mut record = self.record;
        let by = Author::Run { run_id: entry.run_id };
        if is_saving {
            record.step(now, record::Input::Failed { by }, &mut Outbox::new())?;
        }
        record.step(now, record::Input::Reread { revision }, &mut Outbox::new())?;
        self.record = record;
        self.sweep(i, now, outcome, out);
        Ok(())
    }

    /// By REC-06: every entry of exactly this run goes.
    fn sweep(&mut self, i: usize, now: Instant, outcome: Outcome, out: &mut Outbox<Output>) {
        let (run_id, turn_id) = (self.runs[i].run_id, self.runs[i].turn_id);
        let revision = self.record.revision();
        self.runs[i].token_set = true;
        self.runs[i].live = false;
        if self.runs[i].stop.is_held() {
            self.drive_stop(i, now, stop::Input::RunEnded { outcome }, out);
        }
        out.push(Output::RunEnded {
            run_id,
            turn_id,
            outcome,
            reason: None,
            failure: None,
            seq: None,
            revision,
            steers: Vec::new(),
        });
        if self.pending.run_id() == Some(run_id) {
            self.pend(pending::Input::Cleared { run_id });
        }
        if self.ownership.owner() == Some(run_id) {
            self.own(ownership::Input::Released { run_id });
        }
        out.push(Output::SessionChanged { revision });
        out.push(Output::Forget { run_id });
        self.runs.remove(i);
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
        self.drive_steers(i, now, steer::Input::Closed, out);
        self.seal(i, now, out);
        self.remove_row(i, now, out);
        self.claim(i, now, Claimant::Recovery, verdict, out);
        self.save_if_possible(i, now, out);
    }
}
