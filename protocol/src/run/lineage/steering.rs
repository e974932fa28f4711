//! Steers of a run: offered by people, read by the agent of the run, returned by its settlement.

use super::asks::SteerAnswer;
use super::state::{Lineage, Output};
use crate::ids::{AskId, PayloadId, PayloadRef, RunId, SteerId};
use crate::instant::Instant;
use crate::journal::row::{RowEvent, SteerFate};
use crate::journal::run_journal::{ROW_BYTES_MAX, RowRef};
use crate::machine::{Machine, Outbox, Reject};
use crate::run::guards::{Guards, Owner};
use crate::run::steer::{self, Offer, State};
use crate::wire::codes::Code;

/// Bytes of the body of the row that says that a steer was read: `null`.
const READ_BODY_BYTES: u32 = 4;

impl<G: Guards> Lineage<G> {
    #[allow(clippy::too_many_arguments, reason = "the fields of one input")]
    pub(super) fn steer(
        &mut self,
        now: Instant,
        ask: AskId,
        run_id: RunId,
        steer_id: SteerId,
        row: RowRef,
        is_supported: bool,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let refused = |reason, out: &mut Outbox<Output>| {
            let answer = SteerAnswer::Refused { reason };
            out.push(Output::SteerAnswered { run_id, ask, answer });
            out.push(Output::Discard { payloads: vec![row.payload.id] });
        };
        let Ok(i) = self.index(run_id) else {
            refused(Code::NotRunning, out);
            return Ok(());
        };
        let (entry, gate) = (&self.runs[i], self.gate(i));
        let offer = Offer {
            steer_id,
            is_live: entry.live,
            may_act: gate.token_unset && gate.owner == Owner::ThisRun,
            has_agent: entry.worker.has_registered(),
            is_supported,
        };
        let is_open = entry.steers.state() == State::Open;
        let has_room = entry.journal.accepts_rows() && row.payload.json_bytes <= ROW_BYTES_MAX;
        if is_open && !has_room {
            refused(Code::SteerError, out);
            return Ok(());
        }
        let mut outputs = Outbox::new();
        self.runs[i].steers.step(now, steer::Input::Offered(offer), &mut outputs)?;
        for output in outputs.drain() {
            match output {
                steer::Output::Accepted { steer_id } => {
                    let answer = SteerAnswer::Accepted { steer_id };
                    out.push(Output::SteerAnswered { run_id, ask, answer });
                    self.hand_over(i, row, now, out)?;
                }
                steer::Output::Refused { reason } => refused(reason, out),
                steer::Output::Consumed { .. } => {}
            }
        }
        Ok(())
    }

    pub(super) fn steer_wanted(
        &mut self,
        now: Instant,
        run_id: RunId,
        payload: PayloadId,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let i = self.index(run_id)?;
        if !self.may_issue(i) {
            out.push(Output::Discard { payloads: vec![payload] });
            return Ok(());
        }
        let wanted = steer::Input::Wanted { payload };
        self.runs[i].steers.step(now, wanted, &mut Outbox::new())
    }

    /// The oldest steer goes to the agent that waits for one, in a step that finds the token unset (STR-05).
    pub(super) fn hand_steer(&mut self, i: usize, now: Instant, out: &mut Outbox<Output>) {
        let entry = &self.runs[i];
        if !entry.steers.is_due() || !entry.journal.accepts_rows() || !self.may_issue(i) {
            return;
        }
        let run_id = entry.run_id;
        let mut outputs = Outbox::new();
        self.runs[i]
            .steers
            .step(now, steer::Input::MayHandOver, &mut outputs)
            .expect("a steer is due only while the box is open");
        for output in outputs.drain() {
            if let steer::Output::Consumed { steer_id, payload } = output {
                let fate = SteerFate::Consumed;
                let row = RowRef {
                    event: RowEvent::SteerSettled { steer_id, fate },
                    payload: PayloadRef { id: payload, json_bytes: READ_BODY_BYTES },
                    at: now,
                };
                out.push(Output::HandSteer { run_id, steer_id });
                // The agent knows of it: no other one may begin again (table 5.2).
                self.runs[i].has_output = true;
                self.hand_over(i, row, now, out).expect("the journal takes a row");
            }
        }
    }

    pub(super) fn tell_steers(&mut self, i: usize, input: steer::Input) {
        self.runs[i]
            .steers
            .step(Instant::ZERO, input, &mut Outbox::new())
            .expect("a box is opened while its run is alive, and closed at any time");
    }
}
