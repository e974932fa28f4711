//! Steers of runs: offered to the session, handed to the agent, shown to everybody.

use std::sync::Arc;

use async_channel::Sender;
use runwarden_protocol::delivery::frame::{EntityId, FrameKey};
use runwarden_protocol::ids::{AskId, RunId, Seq, SteerId};
use runwarden_protocol::journal::row::{RowEvent, SteerFate};
use runwarden_protocol::json_bytes::json_text_bytes;
use runwarden_protocol::run::lineage::{Input, SteerAnswer};
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::frames::{Frame, SteerOutcome, SteerResult, SteerSettled};
use runwarden_protocol::wire::structures::{NumberedFrame, ReturnedSteer, Steer, SteerState};

use super::driver::{Driver, Waiting};
use crate::connection::ReplyTo;
use crate::frames::SharedFrame;
use crate::ports::{Store, World};

/// Body of the row that says that a steer was read.
const READ_BODY: &str = "null";

/// A steer that was accepted.
pub(super) struct AcceptedSteer {
    pub(super) steer_id: SteerId,
    text: Arc<str>,
    state: SteerState,
    /// Who gave it, until its row is shown.
    reply: Option<ReplyTo>,
}

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn steer(&mut self, reply: ReplyTo, run_id: RunId, text: &str) {
        let agent = self.runs.get(&run_id).and_then(|run| self.hub.agent(&run.agent));
        let is_supported = agent.is_some_and(|agent| agent.profile().capabilities().steer);
        let (ask, steer_id) = (self.hub.ask_id(), SteerId::new(self.hub.world().random()));
        let body = serde_json::Value::from(text).to_string();
        let json_bytes = json_text_bytes(text);
        let row = self.row(RowEvent::SteerAccepted { steer_id }, body, json_bytes);
        self.asks.insert(ask, Waiting::Steer(reply, text.into()));
        self.feed(Input::Steer { ask, run_id, steer_id, row, is_supported });
    }

    pub(super) fn steer_answered(&mut self, run_id: RunId, ask: AskId, answer: SteerAnswer) {
        let Some(Waiting::Steer(reply, text)) = self.asks.remove(&ask) else { return };
        match answer {
            SteerAnswer::Accepted { steer_id } => {
                let Some(run) = self.runs.get_mut(&run_id) else { return };
                let (state, reply) = (SteerState::Accepted, Some(reply));
                run.steers.push(AcceptedSteer { steer_id, text, state, reply });
            }
            SteerAnswer::Refused { reason } => reply.refuse(|refusal| refusal, reason),
        }
    }

    /// The agent waits for a steer; what waited before waits no longer.
    pub(super) fn steer_wanted(&mut self, run_id: RunId, reply: Sender<String>) {
        let payload = self.hub.payload_id();
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let before = run.steer_reader.replace((payload, reply));
        if let Some((unused, _)) = before {
            self.payloads.remove(&unused);
        }
        self.payloads.insert(payload, READ_BODY.into());
        if !self.try_feed(Input::SteerWanted { run_id, payload }) {
            self.payloads.remove(&payload);
        }
    }

    pub(super) fn hand_steer(&mut self, run_id: RunId, steer_id: SteerId) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let steer = run.steers.iter_mut().find(|steer| steer.steer_id == steer_id);
        if let (Some(steer), Some((_, reader))) = (steer, run.steer_reader.take()) {
            steer.state = SteerState::Consumed;
            // An agent that is gone reads nothing; its run ends.
            let _ = reader.try_send(steer.text.to_string());
        }
    }

    /// A reader that got nothing goes with its run.
    pub(super) fn forget_reader(&mut self, run_id: RunId) {
        let reader = self.runs.get_mut(&run_id).and_then(|run| run.steer_reader.take());
        if let Some((payload, _)) = reader {
            self.payloads.remove(&payload);
        }
    }

    /// The row of an accepted steer is shown: whoever gave it learns so.
    pub(super) fn steer_shown(&mut self, run_id: RunId, steer_id: SteerId) {
        let session_id = self.session_id.to_string();
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let shown = run.steers.iter_mut().find(|steer| steer.steer_id == steer_id);
        if let Some(reply) = shown.and_then(|steer| steer.reply.take()) {
            reply_accepted(reply, session_id, run_id, steer_id);
        }
    }

    /// What a settlement gives back: frames of its rows, which end before `terminal`, and the words (STR-07).
    pub(super) fn give_back(
        &mut self,
        run_id: RunId,
        returned: &[SteerId],
        terminal: Option<Seq>,
    ) -> (Vec<SharedFrame>, Vec<ReturnedSteer>) {
        let (mut frames, mut words) = (Vec::new(), Vec::new());
        for (place, steer_id) in (0_u64..).zip(returned) {
            let seq = terminal.map(|seq| seq.get().saturating_sub(returned.len() as u64) + place);
            frames.push(self.settled_frame(run_id, seq, *steer_id, SteerFate::Returned).0);
            let text = self.return_steer(run_id, *steer_id);
            words.push(ReturnedSteer { steer_id: steer_id.to_string(), text });
        }
        (frames, words)
    }

    pub(super) fn settled_frame(
        &self,
        run_id: RunId,
        seq: Option<u64>,
        steer: SteerId,
        outcome: SteerFate,
    ) -> (SharedFrame, NumberedFrame) {
        let (session, entity) = (self.session_id, EntityId::Run(run_id));
        let frame = SteerSettled {
            session_id: session.to_string(),
            entity_id: run_id.to_string(),
            steer_id: steer.to_string(),
            outcome,
            stream_seq: seq.map(int),
        };
        let key = FrameKey::SteerSettled { session, entity, steer };
        let whole = Frame::SteerSettled(frame.clone());
        let shared = SharedFrame::whole(self.hub.payload_id(), key, &whole);
        (shared, NumberedFrame::SteerSettled(frame))
    }

    pub(super) fn shown_steers(&self, run_id: RunId) -> Vec<Steer> {
        let steers = self.runs.get(&run_id).map(|run| run.steers.as_slice()).unwrap_or_default();
        let shown = steers
            .iter()
            .map(|steer| Steer { steer_id: steer.steer_id.to_string(), outcome: steer.state });
        shown.collect()
    }

    /// The words of a steer that is given back; whoever gave it learns first that it was accepted.
    fn return_steer(&mut self, run_id: RunId, steer_id: SteerId) -> String {
        self.steer_shown(run_id, steer_id);
        let Some(run) = self.runs.get_mut(&run_id) else { return String::new() };
        let steer = run.steers.iter_mut().find(|steer| steer.steer_id == steer_id);
        let Some(steer) = steer else { return String::new() };
        steer.state = SteerState::Returned;
        steer.text.to_string()
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
