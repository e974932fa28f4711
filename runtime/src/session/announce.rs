//! What clients are told: replies, rows, phases, terminals, questions, list entries.

use runwarden_protocol::delivery::frame::{EntityId, FrameKey, TerminalRole};
use runwarden_protocol::ids::{AskId, RunId, Seq};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{Outcome, Reason, RowEvent};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::lineage::StartAnswer;
use runwarden_protocol::run::steer::SettledSteer;
use runwarden_protocol::run::stop::Answer;
use runwarden_protocol::session::project::{self, Live, LiveRun, int};
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{
    Frame, MessageAck, RunStatus, SessionItemFrame, StopOutcome, StopResult, StreamTerminal,
};
use runwarden_protocol::wire::structures::{NumberedFrame, Terminal};

use super::changes::refuse_start;
use super::driver::{Driver, Event, RING_FRAMES_MAX, RingFrame, Waiting};
use super::live::{self, Place};
use crate::connection::ReplyTo;
use crate::dispatch::Announcement;
use crate::frames::SharedFrame;
use crate::ports::store::{KeyEffect, KeyRecord};
use crate::ports::{Store, StoreFailure, World};

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn announce(&mut self, announcement: Announcement) {
        match announcement {
            Announcement::Start { ask, answer } => {
                self.start_answered(ask, answer);
            }
            Announcement::Change { ask, answer } => self.change_answered(ask, answer),
            Announcement::Queue { ask, answer } => self.reply_queue(ask, answer),
            Announcement::Steer { run_id, ask, answer } => {
                self.steer_answered(run_id, ask, answer);
            }
            Announcement::Rotated { .. } | Announcement::RotationRefused { .. } => {}
            Announcement::Deletion { ask, answer } => self.deletion_answered(ask, answer),
            Announcement::Stop { run_id, asks, answer } => {
                for ask in asks {
                    if let Some(Waiting::Stop(reply)) = self.asks.remove(&ask) {
                        self.reply_stop(reply, run_id, answer);
                    }
                }
            }
            Announcement::QuestionOpened { question_id, version, expires_at, .. } => {
                self.question_opened(question_id, version, expires_at);
            }
            Announcement::QuestionRefused { question_id } => self.question_refused(question_id),
            Announcement::QuestionsResolved { run_id, questions, outcome, ask } => {
                let waiting = ask.and_then(|ask| self.asks.remove(&ask));
                self.questions_resolved(run_id, &questions, outcome, waiting);
            }
            Announcement::AnswerRefused { ask, .. } => {
                if let Some(Waiting::Answer(reply, _)) = self.asks.remove(&ask) {
                    reply.refuse(|refusal| refusal, Code::Gone);
                }
            }
            Announcement::Rows { run_id, first_seq, rows } => {
                self.show_rows(run_id, first_seq, &rows)
            }
            Announcement::Phase { run_id, phase, since } => self.show_phase(run_id, phase, since),
            Announcement::Ended { run_id, outcome, reason, seq, revision, steers, .. } => {
                self.show_end(run_id, (outcome, reason), seq, revision.get(), &steers);
            }
            Announcement::Session { .. } => self.changed(),
            Announcement::Idle => self.changed(),
        }
    }

    fn start_answered(&mut self, ask: AskId, answer: StartAnswer) {
        let run_id = match self.asks.remove(&ask) {
            Some(Waiting::Start { reply, remembered, run_id }) => {
                self.reply_start(reply, answer, remembered);
                self.await_slot_if_queued(answer);
                run_id
            }
            Some(Waiting::Head { run_id }) => {
                self.head_answered(answer);
                run_id
            }
            Some(
                Waiting::Queue { .. }
                | Waiting::Delete { .. }
                | Waiting::Stop(_)
                | Waiting::Steer(..)
                | Waiting::Answer(..),
            )
            | None => return,
        };
        if !self.machine.holds(run_id) {
            self.runs.remove(&run_id);
        }
    }

    fn reply_start(&self, reply: ReplyTo, answer: StartAnswer, remembered: Option<KeyRecord>) {
        match answer {
            StartAnswer::Started { run_id, turn_id, pending_started_at, revision } => {
                let ack = MessageAck {
                    request_id: reply.request_id(),
                    session_id: self.session_id.to_string(),
                    message_id: turn_id.to_string(),
                    run_id: Some(run_id.to_string()),
                    entity_id: Some(run_id.to_string()),
                    queue_position: None,
                    pending_started_at: Some(int(pending_started_at.as_millis())),
                    agent: self.agent_of(run_id),
                    model: self.runs.get(&run_id).and_then(|run| run.model.clone()),
                    session_revision: int(revision.get()),
                };
                reply.done(Frame::MessageAck(Box::new(ack)));
            }
            StartAnswer::Queued { turn_id, position, revision } => {
                self.reply_queued(reply, turn_id, position, revision.get());
            }
            StartAnswer::Unstored => {
                reply.fail(Code::StorageFailed, "a message was not put into the queue");
            }
            StartAnswer::Repeated => match remembered {
                Some(KeyRecord { effect, revision, .. }) => {
                    self.reply_repeated(reply, effect, revision.get());
                }
                None => reply.fail(Code::HandlerError, "a repeated key without its effect"),
            },
            StartAnswer::Refused(refusal) => refuse_start(reply, refusal),
        }
    }

    fn reply_repeated(&self, reply: ReplyTo, effect: KeyEffect, revision: u64) {
        let (turn_id, run_id, queue_position, pending_started_at, agent, model) = match effect {
            KeyEffect::Turn { turn_id, run_id, pending_started_at, agent, model } => {
                let at = int(pending_started_at.as_millis());
                (turn_id, Some(run_id.to_string()), None, Some(at), agent, model)
            }
            KeyEffect::Queued { turn_id, position, agent, model } => {
                (turn_id, None, Some(i64::from(position)), None, agent, model)
            }
            KeyEffect::Removed { .. }
            | KeyEffect::Resumed { .. }
            | KeyEffect::Change
            | KeyEffect::Deleted { .. }
            | KeyEffect::Session { .. } => {
                reply.fail(Code::HandlerError, "the key of a message names another effect");
                return;
            }
        };
        let ack = MessageAck {
            request_id: reply.request_id(),
            session_id: self.session_id.to_string(),
            message_id: turn_id.to_string(),
            entity_id: run_id.clone(),
            run_id,
            queue_position,
            pending_started_at,
            agent,
            model,
            session_revision: int(revision),
        };
        reply.done(Frame::MessageAck(Box::new(ack)));
    }

    pub(super) fn reply_stop(&self, reply: ReplyTo, run_id: RunId, answer: Answer) {
        let (outcome, status, code) = match answer {
            Answer::Accepted => (StopOutcome::Accepted, None, None),
            Answer::AlreadyEnded { status } => (StopOutcome::AlreadyEnded, Some(status), None),
            Answer::Unknown => (StopOutcome::Unknown, None, None),
            Answer::Refused => (StopOutcome::Refused, None, Some(Code::ServerBusy)),
            Answer::RemoteRefused => (StopOutcome::Refused, None, Some(Code::RemoteRefused)),
        };
        let result = StopResult {
            request_id: reply.request_id(),
            session_id: self.session_id.to_string(),
            run_id: run_id.to_string(),
            outcome,
            status,
            code,
        };
        reply.done(Frame::StopResult(result));
    }

    fn show_rows(&mut self, run_id: RunId, first_seq: Option<Seq>, rows: &[RowRef]) {
        let mut frames = Vec::with_capacity(rows.len());
        for (offset, row) in rows.iter().enumerate() {
            let seq = first_seq.map(|first| first.plus(offset as u64));
            let body = self.payloads.remove(&row.payload.id).unwrap_or_default();
            self.show_row(run_id, seq, row, &body, &mut frames);
        }
        let now = self.hub.now();
        if let Some(run) = self.runs.get_mut(&run_id) {
            run.last_event_at = Some(now);
        }
        for peer in self.subscribers.values() {
            peer.outbound.offer_all(now, &frames);
        }
    }

    fn show_row(
        &mut self,
        run_id: RunId,
        seq: Option<Seq>,
        row: &RowRef,
        body: &str,
        frames: &mut Vec<SharedFrame>,
    ) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let base = match seq {
            Some(seq) => Some(run.scene.apply(seq, row.event, body).base_seq.get()),
            None => {
                run.scene.apply_degraded(row.event, body);
                None
            }
        };
        let place = Place { session: self.session_id, run_id, base, seq: seq.map(Seq::get) };
        let shown = live::frame(self.hub.payload_id(), place, row.event, body);
        if let Some((shared, numbered)) = shown {
            frames.push(shared.clone());
            self.keep_in_ring(place, shared, numbered);
        }
        match row.event {
            RowEvent::QuestionAsked { question_id } => self.show_question(question_id, frames),
            RowEvent::SteerSettled { steer_id, fate } => {
                self.steer_settled(run_id, SettledSteer { steer_id, fate });
            }
            RowEvent::Content { .. }
            | RowEvent::QuestionResolved { .. }
            | RowEvent::SteerAccepted { .. }
            | RowEvent::Terminal { .. } => {}
        }
    }

    fn keep_in_ring(&mut self, place: Place, frame: SharedFrame, numbered: NumberedFrame) {
        let (Some(run), Some(seq)) = (self.runs.get_mut(&place.run_id), place.seq) else { return };
        if run.ring.len() == RING_FRAMES_MAX {
            run.ring.pop_front();
        }
        run.ring.push_back(RingFrame { seq, frame, numbered });
    }

    fn show_phase(&mut self, run_id: RunId, phase: Phase, since: Instant) {
        let session = self.session_id;
        let frame = self.run_status(run_id, phase, since);
        self.item_version += 1;
        let key = FrameKey::RunStatus { session, run: run_id };
        let shared =
            SharedFrame::whole(self.hub.payload_id(), key, &frame).with_version(self.item_version);
        let now = self.hub.now();
        for peer in self.subscribers.values() {
            peer.outbound.offer(now, &shared);
        }
        self.changed();
    }

    pub(super) fn run_status(&self, run_id: RunId, phase: Phase, since: Instant) -> Frame {
        Frame::RunStatus(RunStatus {
            session_id: self.session_id.to_string(),
            run_id: run_id.to_string(),
            phase,
            since: int(since.as_millis()),
        })
    }

    fn show_end(
        &mut self,
        run_id: RunId,
        (outcome, reason): (Outcome, Option<Reason>),
        seq: Option<Seq>,
        revision: u64,
        steers: &[SettledSteer],
    ) {
        let (mut frames, returned_steers) = self.settle_steers(run_id, steers, seq);
        let run = self.runs.get(&run_id);
        let error = run.and_then(|run| run.error.clone());
        let settled = run.and_then(|run| run.settled_usage);
        let usage = settled.and_then(project::usage);
        if error.is_some() {
            self.open_errors += 1;
        }
        let terminal = Terminal {
            status: outcome,
            reason,
            complete: true,
            committed_in: None,
            returned_steers,
            usage,
            row: None,
            error,
        };
        let frame = StreamTerminal {
            session_id: self.session_id.to_string(),
            entity_id: run_id.to_string(),
            stream_seq: seq.map(|seq| int(seq.get())),
            session_revision: int(revision),
            terminal,
        };
        let entity = EntityId::Run(run_id);
        let key = FrameKey::Terminal {
            session: Some(self.session_id),
            role: TerminalRole::End { entity },
        };
        frames.push(SharedFrame::terminal(self.hub.payload_id(), key, frame));
        let now = self.hub.now();
        for peer in self.subscribers.values() {
            peer.outbound.offer_all(now, &frames);
        }
    }

    /// Something a session item shows has changed: lists learn it at once, and the head is read again
    /// for what only the store knows.
    pub(super) fn changed(&mut self) {
        if self.machine.is_deleted() {
            return;
        }
        let live = self.live();
        self.hub.set_live(self.session_id, live);
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move { Event::HeadRead(store.session(session_id).await) });
    }

    pub(super) fn head_read(&mut self, read: Result<Option<SessionHead>, StoreFailure>) {
        match read {
            Ok(Some(head)) => self.head_learned(head),
            Ok(None) => {}
            Err(failure) => tracing::warn!(session = %self.session_id, %failure, "head not read"),
        }
        self.push_item();
    }

    /// The session as the store has it; an older state may come in after a newer one (SES-27).
    pub(super) fn head_learned(&mut self, head: SessionHead) {
        if head.revision >= self.head.revision {
            self.head = head;
        }
    }

    pub(super) fn count_errors(&mut self) {
        let (store, owner) = (self.hub.store().clone(), self.head.owner);
        let session_id = self.session_id;
        self.call(async move {
            Event::ErrorsCounted(store.count_errors(owner, Some(session_id)).await)
        });
    }

    pub(super) fn errors_counted(&mut self, read: Result<u64, StoreFailure>) {
        let Ok(count) = read else { return };
        if count != self.open_errors {
            self.open_errors = count;
            self.push_item();
        }
    }

    fn push_item(&mut self) {
        let live = self.live();
        let item = project::session_item(&self.head, live, self.head.owner, self.open_errors);
        if self.shown_item.as_ref() == Some(&item) {
            return;
        }
        self.shown_item = Some(item.clone());
        let frame = Frame::SessionItem(Box::new(SessionItemFrame {
            session_id: self.session_id.to_string(),
            removed: false,
            item: Some(item),
        }));
        self.item_version += 1;
        let key = FrameKey::SessionItem { session: self.session_id };
        let shared =
            SharedFrame::whole(self.hub.payload_id(), key, &frame).with_version(self.item_version);
        self.hub.push_to(self.head.owner, &shared);
    }

    /// What the session does now.
    pub(super) fn live(&self) -> Live {
        let now = self.hub.now();
        let run = self.machine.row().map(|row| LiveRun {
            run_id: row.run_id,
            phase: row.phase,
            attachable: self.machine.may_attach(row.run_id),
            last_seq: self.machine.last_seq(row.run_id).unwrap_or_default(),
        });
        Live { status: self.machine.status(now), run }
    }

    fn agent_of(&self, run_id: RunId) -> String {
        self.runs.get(&run_id).map_or_else(|| self.head.agent.clone(), |run| run.agent.clone())
    }
}
