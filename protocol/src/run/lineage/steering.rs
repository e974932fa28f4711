//! Steers of a run: offered by people, read by the agent of the run, returned by its settlement.

use super::asks::{Offered, SteerAnswer};
use super::state::{Lineage, Output};
use crate::ids::{PayloadId, RunId};
use crate::instant::Instant;
use crate::journal::row::{RowEvent, SteerFate};
use crate::journal::run_journal::{ROW_BYTES_MAX, RowRef};
use crate::machine::{Machine, Outbox, Reject};
use crate::run::guards::{Guards, Owner};
use crate::run::steer::{self, Offer, SettledSteer};
use crate::wire::codes::Code;

impl<G: Guards> Lineage<G> {
    pub(super) fn steer(
        &mut self,
        now: Instant,
        offered: Offered,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let Offered { ask, run_id, steer_id, row, is_supported } = offered;
        let Ok(i) = self.index(run_id) else {
            let answer = SteerAnswer::Refused { reason: Code::NotRunning };
            out.push(Output::SteerAnswered { run_id, ask, answer });
            out.push(Output::Discard { payloads: vec![row.payload.id] });
            return Ok(());
        };
        let (entry, gate) = (&self.runs[i], self.gate(i));
        let offer = Offer {
            ask,
            steer_id,
            payload: row.payload.id,
            is_live: entry.live,
            may_act: gate.token_unset && gate.owner == Owner::ThisRun,
            has_agent: entry.worker.has_registered() || !G::closes_box_at_return(),
            is_supported,
            has_room: entry.journal.accepts_rows() && row.payload.json_bytes <= ROW_BYTES_MAX,
        };
        let mut outputs = Outbox::new();
        self.runs[i].steers.step(now, steer::Input::Offered(offer), &mut outputs)?;
        for output in outputs.drain() {
            if output == steer::Output::Taken {
                self.hand_over(i, row, now, out).expect("the journal has room");
            } else {
                self.translate_steer(run_id, output, out);
                out.push(Output::Discard { payloads: vec![row.payload.id] });
            }
        }
        Ok(())
    }

    pub(super) fn steer_wanted(&mut self, now: Instant, run_id: RunId) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        if self.may_issue(i) {
            self.runs[i].steers.step(now, steer::Input::Wanted, &mut Outbox::new())?;
        }
        Ok(())
    }

    /// The agent took a steer: one that it may still read is consumed (table 5.8).
    pub(super) fn steer_read(
        &mut self,
        now: Instant,
        run_id: RunId,
        row: RowRef,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        let RowEvent::SteerSettled { steer_id, fate: SteerFate::Consumed } = row.event else {
            return Err(Reject::Local("row_of_no_read_steer"));
        };
        if !self.may_issue(i) || !self.runs[i].steers.is_handed(steer_id) {
            out.push(Output::Discard { payloads: vec![row.payload.id] });
            return Ok(());
        }
        self.runs[i].steers.step(now, steer::Input::Read { steer_id }, &mut Outbox::new())?;
        // The agent knows of it: no other one may begin again (table 5.2).
        self.runs[i].has_output = true;
        if self.hand_over(i, row, now, out).is_err() {
            // Then the settlement writes the row.
            out.push(Output::Discard { payloads: vec![row.payload.id] });
        }
        Ok(())
    }

    /// The oldest steer goes to the agent that waits for one, in a step that finds the token unset (STR-05).
    pub(super) fn hand_steer(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let entry = &self.runs[i];
        if entry.steers.is_due() && entry.journal.accepts_rows() && self.may_issue(i) {
            self.drive_steers(i, now, steer::Input::MayHandOver, out);
        }
    }

    /// What the settlement of a run settles with it (STR-04).
    pub(super) fn steers_to_settle(&self, i: usize) -> Vec<SettledSteer> {
        let outcome = self.runs[i].settlement.verdict().map(|verdict| verdict.outcome);
        if outcome.is_none_or(G::settles_steers) {
            self.runs[i].steers.to_settle()
        } else {
            Vec::new()
        }
    }

    /// Rows are durable.
    pub(super) fn steer_rows_stored(
        &mut self,
        i: usize,
        now: Instant,
        rows: Vec<RowRef>,
        out: &mut Outbox<Output>,
    ) {
        for row in rows {
            match row.event {
                RowEvent::SteerAccepted { steer_id } => {
                    self.drive_steers(i, now, steer::Input::Stored { steer_id }, out);
                }
                RowEvent::SteerSettled { steer_id, .. } => {
                    self.drive_steers(i, now, steer::Input::Settled { steer_id }, out);
                }
                RowEvent::Content { .. }
                | RowEvent::QuestionAsked { .. }
                | RowEvent::QuestionResolved { .. }
                | RowEvent::Terminal { .. } => {}
            }
        }
    }

    /// Rows will not become durable: what they were to accept is not (STR-02).
    pub(super) fn steer_rows_lost(
        &mut self,
        i: usize,
        now: Instant,
        payloads: impl IntoIterator<Item = PayloadId>,
        out: &mut Outbox<Output>,
    ) {
        for payload in payloads {
            self.drive_steers(i, now, steer::Input::RowLost { payload }, out);
        }
    }

    pub(super) fn drive_steers(
        &mut self,
        i: usize,
        now: Instant,
        input: steer::Input,
        out: &mut Outbox<Output>,
    ) {
        let mut outputs = Outbox::new();
        self.runs[i]
            .steers
            .step(now, input, &mut outputs)
            .expect("the lineage tells steers what their state lists");
        let run_id = self.runs[i].run_id;
        for output in outputs.drain() {
            self.translate_steer(run_id, output, out);
        }
    }

    fn translate_steer(&self, run_id: RunId, output: steer::Output, out: &mut Outbox<Output>) {
        match output {
            steer::Output::Taken => {}
            steer::Output::Accepted { ask, steer_id } => {
                let answer = SteerAnswer::Accepted { steer_id };
                out.push(Output::SteerAnswered { run_id, ask, answer });
            }
            steer::Output::Refused { ask, reason } => {
                let answer = SteerAnswer::Refused { reason };
                out.push(Output::SteerAnswered { run_id, ask, answer });
            }
            steer::Output::HandOver { steer_id } => {
                out.push(Output::HandSteer { run_id, steer_id });
            }
        }
    }
}

/// Those among `rows` that accept or settle a steer.
pub(super) fn of_steers(rows: &[RowRef]) -> Vec<RowRef> {
    let is_of_steer = |row: &&RowRef| match row.event {
        RowEvent::SteerAccepted { .. } | RowEvent::SteerSettled { .. } => true,
        RowEvent::Content { .. }
        | RowEvent::QuestionAsked { .. }
        | RowEvent::QuestionResolved { .. }
        | RowEvent::Terminal { .. } => false,
    };
    rows.iter().filter(is_of_steer).copied().collect()
}
