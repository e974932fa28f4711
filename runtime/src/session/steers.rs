//! Steers of runs: offered to the session, handed to the agent, shown to everybody.

use std::sync::Arc;

use async_channel::Sender;
use runwarden_protocol::ids::{AskId, RunId, Seq, SteerId};
use runwarden_protocol::journal::row::{RowEvent, SteerFate};
use runwarden_protocol::json_bytes::json_text_bytes;
use runwarden_protocol::run::lineage::{Input, Offered, SteerAnswer};
use runwarden_protocol::run::steer::SettledSteer;
use runwarden_protocol::wire::frames::{Frame, SteerOutcome, SteerResult};
use runwarden_protocol::wire::structures::{ReturnedSteer, Steer, SteerState};

use super::driver::{Driver, Waiting};
use super::live::{self, Place};
use crate::connection::ReplyTo;
use crate::frames::SharedFrame;
use crate::ports::agent::HandedSteer;
use crate::ports::steer::SteerEnd;
use crate::ports::{Store, World};

/// Body of the row that says that a steer was read.
const READ_BODY: &str = "null";

/// A steer that was accepted.
pub(super) struct AcceptedSteer {
    steer_id: SteerId,
    text: Arc<str>,
    state: SteerState,
}

impl AcceptedSteer {
    /// One that recovery found.
    pub(super) fn found((steer_id, text): (SteerId, String)) -> Self {
        Self { steer_id, text: text.into(), state: SteerState::Accepted }
    }
}

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn steer(&mut self, reply: ReplyTo, run_id: RunId, text: &str) {
        let agent = self.runs.get(&run_id).and_then(|run| self.hub.agent(&run.agent));
        let is_supported = agent.is_some_and(|agent| agent.profile().capabilities().steer);
        let (ask, steer_id) = (self.hub.ask_id(), SteerId::new(self.hub.world().random()));
        let body = serde_json::Value::from(text).to_string();
        let row = self.row(RowEvent::SteerAccepted { steer_id }, body, json_text_bytes(text));
        self.asks.insert(ask, Waiting::Steer(reply, text.into()));
        self.feed(Input::Steer(Offered { ask, run_id, steer_id, row, is_supported }));
    }

    pub(super) fn steer_answered(&mut self, run_id: RunId, ask: AskId, answer: SteerAnswer) {
        let Some(Waiting::Steer(reply, text)) = self.asks.remove(&ask) else { return };
        match answer {
            SteerAnswer::Accepted { steer_id } => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.steers.push(AcceptedSteer { steer_id, text, state: SteerState::Accepted });
                }
                reply_accepted(reply, self.session_id.to_string(), run_id, steer_id);
            }
            SteerAnswer::Refused { reason } => reply.refuse(|refusal| refusal, reason),
        }
    }

    /// The agent waits for a steer; what waited before waits no longer.
    pub(super) fn steer_wanted(&mut self, run_id: RunId, reader: Sender<HandedSteer>) {
        if let Some(run) = self.runs.get_mut(&run_id) {
            run.steer_reader = Some(reader);
            self.feed(Input::SteerWanted { run_id });
        }
    }

    pub(super) fn hand_steer(&mut self, run_id: RunId, steer_id: SteerId) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let steer = run.steers.iter().find(|steer| steer.steer_id == steer_id);
        if let (Some(steer), Some(reader)) = (steer, run.steer_reader.take()) {
            // An agent that waits no more has not read it; its next wish or its end shows so.
            let _ = reader.try_send(HandedSteer { steer_id, text: steer.text.to_string() });
        }
    }

    pub(super) fn steer_read(&mut self, run_id: RunId, steer_id: SteerId) {
        let event = RowEvent::SteerSettled { steer_id, fate: SteerFate::Consumed };
        let row = self.row(event, READ_BODY.to_owned(), READ_BODY.len());
        if !self.try_feed(Input::SteerRead { run_id, row }) {
            self.payloads.remove(&row.payload.id);
        }
    }

    /// The row that settles a steer is shown, or its settlement is.
    pub(super) fn steer_settled(&mut self, run_id: RunId, settled: SettledSteer) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let mut steers = run.steers.iter_mut();
        if let Some(steer) = steers.find(|steer| steer.steer_id == settled.steer_id) {
            steer.state = state_of(settled.fate);
        }
    }

    /// What a settlement stores of the steers it settles.
    pub(super) fn steer_ends(&self, run_id: RunId, steers: &[SettledSteer]) -> Vec<SteerEnd> {
        let end = |steer: &SettledSteer| {
            let text = self.words_of(run_id, steer.steer_id);
            SteerEnd { steer: *steer, text }
        };
        steers.iter().map(end).collect()
    }

    /// What a settlement settled: frames of its rows, which stand before `terminal`, and what it gives back
    /// (STR-07).
    pub(super) fn settle_steers(
        &mut self,
        run_id: RunId,
        steers: &[SettledSteer],
        terminal: Option<Seq>,
    ) -> (Vec<SharedFrame>, Vec<ReturnedSteer>) {
        let (mut frames, mut returned) = (Vec::new(), Vec::new());
        for (offset, steer) in (0_u64..).zip(steers) {
            let first = terminal.map(|seq| seq.get().saturating_sub(steers.len() as u64));
            let seq = first.map(|first| first + offset);
            let place = Place { session: self.session_id, run_id, base: None, seq };
            frames.push(live::settled(self.hub.payload_id(), place, *steer).0);
            self.steer_settled(run_id, *steer);
            if steer.fate == SteerFate::Returned {
                let (steer_id, text) = (steer.steer_id, self.words_of(run_id, steer.steer_id));
                returned.push(ReturnedSteer { steer_id: steer_id.to_string(), text });
            }
        }
        (frames, returned)
    }

    pub(super) fn shown_steers(&self, run_id: RunId) -> Vec<Steer> {
        let steers = self.runs.get(&run_id).map(|run| run.steers.as_slice()).unwrap_or_default();
        let shown = steers
            .iter()
            .map(|steer| Steer { steer_id: steer.steer_id.to_string(), outcome: steer.state });
        shown.collect()
    }

    fn words_of(&self, run_id: RunId, steer_id: SteerId) -> String {
        let steers = self.runs.get(&run_id).map(|run| run.steers.as_slice()).unwrap_or_default();
        let known = steers.iter().find(|steer| steer.steer_id == steer_id);
        known.map(|steer| steer.text.to_string()).unwrap_or_default()
    }
}

pub(super) const fn state_of(fate: SteerFate) -> SteerState {
    match fate {
        SteerFate::Consumed => SteerState::Consumed,
        SteerFate::Returned => SteerState::Returned,
    }
}

fn reply_accepted(reply: ReplyTo, session_id: String, run_id: RunId, steer_id: SteerId) {
    let result = SteerResult {
        request_id: reply.request_id(),
        session_id,
        run_id: run_id.to_string(),
        outcome: SteerOutcome::Accepted,
        reason: None,
        limit: None,
        steer_id: Some(steer_id.to_string()),
    };
    reply.done(Frame::SteerResult(Box::new(result)));
}
