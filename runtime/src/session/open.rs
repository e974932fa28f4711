//! Opening and reading a session: manifest, live content, questions; and what starts and stops runs.

use runwarden_protocol::delivery::frame::{EntityId, FrameKey};
use runwarden_protocol::ids::{PrincipalId, RunId};
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::lineage::{Input, Start};
use runwarden_protocol::run::slots;
use runwarden_protocol::session::project::{self, ManifestParts, int};
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::session::scene::{Content, Scene};
use runwarden_protocol::wire::actions::{KnownState, WhenBusy};
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{
    Frame, Recovery, SessionClosed, SessionManifest, StreamState,
};
use runwarden_protocol::wire::limits::{CHAIN_TAIL_MAX, SCHEMA_VERSION, STREAM_STATE_BYTES_MAX};
use runwarden_protocol::wire::structures::{
    DetailField, EntityStatus, Item, Marker, NumberedFrame, RecoveryReason,
};

use super::driver::{Driver, Event, RunState, StartDetails, Waiting};
use super::live::live_value;
use super::looking::HeldStart;
use crate::connection::ReplyTo;
use crate::frames::SharedFrame;
use crate::ports::change::Choice;
use crate::ports::store::{ChainTail, KeyRecord, ListErrors, RunFacts};
use crate::ports::{Store, StoreFailure, World};
use crate::status::replay_of;

/// Error ids of a manifest.
const ERROR_IDS_MAX: usize = 100;

/// Reads of one open. Each that loses against a commit is made again; a store that keeps another revision
/// than the session, behind a commit that was written although it was answered as failed, would never win.
const READS_MAX: u32 = 64;

/// An open that waits for the store.
pub(super) struct Opening {
    reply: ReplyTo,
    reads: u32,
    generation: i64,
    known: Option<KnownState>,
}

impl Opening {
    pub(super) fn into_reply(self) -> ReplyTo {
        self.reply
    }
}

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn open(&mut self, reply: ReplyTo, generation: i64, known: Option<KnownState>) {
        let opening = Opening { reply, reads: 0, generation, known };
        self.read_tail(opening);
    }

    fn read_tail(&mut self, opening: Opening) {
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        let (principal, now) = (opening.reply.principal().id, self.hub.now());
        self.call(async move {
            let read = async {
                let head =
                    store.session(session_id).await?.ok_or(StoreFailure::Missing("session"))?;
                let tail = store.chain_tail(session_id, CHAIN_TAIL_MAX).await?;
                let list = ListErrors {
                    principal,
                    session_id: Some(session_id),
                    after: None,
                    limit: ERROR_IDS_MAX,
                    now,
                };
                // Without the error store a session opens all the same.
                let errors = store.errors(list).await.unwrap_or_default();
                let ids = errors.into_iter().map(|error| error.error_id).collect();
                Ok((head, tail, ids))
            };
            Event::TailRead(opening, read.await)
        });
    }

    /// As SES-26, SES-39 says: the manifest is of the present revision, and the subscription begins in the step
    /// that enqueues it.
    pub(super) fn tail_read(
        &mut self,
        mut opening: Opening,
        read: Result<(SessionHead, ChainTail, Vec<String>), StoreFailure>,
    ) {
        let (head, tail, errors) = match read {
            Ok(read) => read,
            Err(failure) => {
                opening.reply.fail(Code::StorageFailed, &failure.to_string());
                return;
            }
        };
        let revision = self.machine.revision();
        if head.revision != revision || tail.revision != revision {
            opening.reads += 1;
            if opening.reads < READS_MAX {
                return self.read_tail(opening);
            }
            let detail = "the store keeps another revision of the session than its machine";
            return opening.reply.fail(Code::StorageFailed, detail);
        }
        let Opening { reply, reads: _, generation, known } = opening;
        let peer = reply.peer().clone();
        if !peer.session_opened(self.session_id) {
            reply.refuse(|refusal| refusal, Code::LimitReached);
            return;
        }
        self.head = head;
        let parts = ManifestParts {
            generation,
            chain_tail: tail.ids,
            open_error_ids: errors,
            open_error_total: self.open_errors,
            open_questions: self.shown_questions(),
        };
        let manifest = project::manifest(&self.head, self.live(), parts);
        let recovery =
            known.and_then(|known| self.recovery_of(&known)).map(|reason| Recovery { reason });
        let request_id = reply.request_id();
        let frame =
            Frame::SessionManifest(Box::new(SessionManifest { request_id, manifest, recovery }));
        let behind = self.phase_frames();
        let session_id = self.session_id;
        reply.done_by(frame, |outbound, now, shared| {
            outbound.restore(now, &shared, session_id, None, &behind);
        });
        self.subscribers.insert(peer.id, peer);
    }

    /// The phase of the present run, so that a window that opens late shows it (OBS-08).
    fn phase_frames(&self) -> Vec<SharedFrame> {
        let Some(row) = self.machine.row() else { return Vec::new() };
        let frame = self.run_status(row.run_id, row.phase, row.anchor);
        let key = FrameKey::RunStatus { session: self.session_id, run: row.run_id };
        let shared = SharedFrame::whole(self.hub.payload_id(), key, &frame);
        vec![shared.with_version(self.item_version)]
    }

    /// Table 5.5.1, as far as a connection without feature `delta` is told.
    fn recovery_of(&self, known: &KnownState) -> Option<RecoveryReason> {
        if known.store_id != self.hub.store().store_id().to_string() {
            return Some(RecoveryReason::ClientAhead);
        }
        if known.schema_version != SCHEMA_VERSION {
            return Some(RecoveryReason::Schema);
        }
        let revision = int(self.machine.revision().get());
        let ahead = known.stream_seqs.iter().any(|(entity, seq)| {
            let last = entity.parse().ok().and_then(|run_id| self.machine.last_seq(run_id));
            last.is_some_and(|last| *seq > int(last.get()))
        });
        (known.session_revision > revision || ahead).then_some(RecoveryReason::ClientAhead)
    }

    pub(super) fn close(&mut self, reply: ReplyTo) {
        let peer = reply.peer().clone();
        self.subscribers.remove(&peer.id);
        peer.session_closed(self.session_id);
        self.idle_since_now();
        let closed = SessionClosed {
            request_id: reply.request_id(),
            session_id: self.session_id.to_string(),
        };
        reply.done(Frame::SessionClosed(closed));
    }

    pub(super) fn get_stream(
        &mut self,
        reply: ReplyTo,
        run_id: RunId,
        generation: Option<i64>,
        known_seq: Option<i64>,
    ) {
        let running = self.runs.contains_key(&run_id) && self.machine.may_stop(run_id);
        if !running {
            self.read_settled(reply, run_id, generation, known_seq);
            return;
        }
        let Some(run) = self.runs.get(&run_id) else { return };
        let deltas = known_seq.and_then(|known| deltas_after(run, known));
        let items = deltas.is_none().then(|| items_of(&run.scene, run_id));
        let degraded = self.machine.is_degraded(run_id) || run.scene.items_dropped() > 0;
        let row = self.machine.row().filter(|row| row.run_id == run_id);
        let state = StreamState {
            request_id: reply.request_id(),
            generation,
            session_id: self.session_id.to_string(),
            entity_id: run_id.to_string(),
            status: EntityStatus::Running,
            phase: row.map(|row| row.phase),
            replay: replay_of(degraded, None),
            stream_seq: int(run.scene.last_seq().get()),
            session_revision: int(self.machine.revision().get()),
            from_seq: deltas.as_ref().and(known_seq),
            items,
            deltas,
            steers: self.shown_steers(run_id),
        };
        self.reply_stream(reply, run_id, state);
    }

    /// As SES-34 says: the step that enqueues the state ends the gap; nothing durable is missing in it.
    pub(super) fn reply_stream(&self, reply: ReplyTo, run_id: RunId, state: StreamState) {
        let session_id = self.session_id;
        reply.done_by(Frame::StreamState(Box::new(state)), |outbound, now, shared| {
            outbound.restore(now, &shared, session_id, Some(EntityId::Run(run_id)), &[]);
        });
    }

    pub(super) fn stop(&mut self, reply: ReplyTo, run_id: RunId) {
        if self.machine.holds(run_id) {
            self.stop_known(reply, run_id, None);
            return;
        }
        let store = self.hub.store().clone();
        self.call(async move {
            let read = store.run(run_id).await;
            Event::RunRead { reply, run_id, read }
        });
    }

    pub(super) fn run_read(
        &mut self,
        reply: ReplyTo,
        run_id: RunId,
        read: Result<Option<RunFacts>, StoreFailure>,
    ) {
        match read {
            Ok(facts) => {
                let own = facts.filter(|facts| facts.session_id == self.session_id);
                self.stop_known(reply, run_id, own.as_ref());
            }
            Err(failure) => reply.fail(Code::StorageFailed, &failure.to_string()),
        }
    }

    fn stop_known(&mut self, reply: ReplyTo, run_id: RunId, facts: Option<&RunFacts>) {
        let ask = self.hub.ask_id();
        self.asks.insert(ask, Waiting::Stop(reply));
        let known = Self::known_run(facts, self.session_id);
        self.feed(Input::Stop { ask, run_id, known });
    }

    pub(super) fn send(
        &mut self,
        reply: ReplyTo,
        start: StartDetails,
        attachment_unknown: bool,
        when_busy: WhenBusy,
        remembered: Option<KeyRecord>,
    ) {
        let held = HeldStart { reply, start, attachment_unknown, when_busy, remembered };
        if self.machine.must_look(self.hub.now()) || !self.held.is_empty() {
            self.look_before(held);
        } else {
            self.start(held, false);
        }
    }

    pub(super) fn start(&mut self, held: HeldStart, liveness_unreadable: bool) {
        let HeldStart { reply, start, attachment_unknown, when_busy, remembered } = held;
        let (run_id, turn_id, ask) = (self.hub.run_id(), self.hub.message_id(), self.hub.ask_id());
        let key_fact = match (&start.key, &remembered) {
            (Some(key), Some(known)) if key.fingerprint == known.fingerprint => {
                KeyFact::SameContent
            }
            (Some(_), Some(_)) => KeyFact::OtherContent,
            (_, None) | (None, Some(_)) => KeyFact::Unused,
        };
        let slot = self.acquire_slot(reply.principal().id, run_id);
        let facts = StartFacts {
            key: key_fact,
            agent_available: self.hub.agent(&self.head.agent).is_some(),
            attachment_unknown,
            storage_low: self.hub.is_storage_low(),
            slot,
            when_busy,
            is_head: false,
            is_wakeup: false,
            rewrites: start.rewrites.map(|(expected, _)| expected),
            liveness_unreadable,
        };
        let Choice { agent, model } = self.choice_in_force();
        let mut run = RunState::new(agent, model);
        run.start = Some(start);
        self.runs.insert(run_id, run);
        self.asks.insert(ask, Waiting::Start { reply, remembered, run_id });
        self.feed(Input::Start(Start { ask, run_id, turn_id, facts }));
    }

    pub(super) fn acquire_slot(&self, principal: PrincipalId, run_id: RunId) -> SlotFact {
        match self.hub.acquire_slot(principal, run_id) {
            slots::Output::Granted { .. } => SlotFact::Granted,
            slots::Output::Refused { retry_after_ms, .. } => {
                let retry_after_ms = u32::try_from(retry_after_ms).unwrap_or(u32::MAX);
                SlotFact::Refused { retry_after_ms }
            }
            slots::Output::Woken { .. } | slots::Output::NotWaiting { .. } => {
                unreachable!("a slot that is asked for is granted or refused")
            }
        }
    }
}

/// The rows after `known`, if the ring holds them all and they are the shorter answer (SES-41).
fn deltas_after(run: &RunState, known: i64) -> Option<Vec<NumberedFrame>> {
    let known = u64::try_from(known).ok()?;
    let last = run.scene.last_seq().get();
    if run.scene.is_degraded() || known > last {
        return None;
    }
    let covered = known == last || run.ring.front().is_some_and(|first| first.seq <= known + 1);
    if !covered {
        return None;
    }
    let after = run.ring.iter().filter(|entry| entry.seq > known);
    let bytes: usize = after.clone().map(|entry| entry.frame.queued.bytes()).sum();
    (bytes <= STREAM_STATE_BYTES_MAX).then(|| after.map(|entry| entry.numbered.clone()).collect())
}

pub(super) fn items_of(scene: &Scene, run_id: RunId) -> Vec<Item> {
    let items = scene.items().map(|item| {
        let (text, value, left_out) = match &item.content {
            Content::Text(text) => (Some(text.clone()), None, None),
            Content::Value(value) => (None, Some(live_value(value)), None),
            Content::LeftOut { total_bytes } => (None, None, Some(*total_bytes)),
        };
        let marker = left_out.map(|total_bytes| Marker {
            node_id: run_id.to_string(),
            field: DetailField::Item,
            total_bytes: int(total_bytes),
            content_revision: int(item.last_seq.get()),
        });
        Item {
            item_id: item.item_id.to_string(),
            item_kind: item.item_kind,
            first_seq: int(item.first_seq.get()),
            last_seq: int(item.last_seq.get()),
            text,
            value,
            marker,
        }
    });
    items.collect()
}
