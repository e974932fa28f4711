//! The send queue of a session: its changes, the start of its head, and their answers.

use std::sync::Arc;

use runwarden_protocol::ids::{AskId, Revision, RunId, TurnId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::run::admission::{KeyFact, StartFacts};
use runwarden_protocol::run::lineage::{Input, QueueAnswer, Start, StartAnswer};
use runwarden_protocol::run::queue::{Change, Queue, State};
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::actions::WhenBusy;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, MessageAck, QueueRemoved, QueueResumed};

use super::changes::refuse_start;
use super::driver::{Driver, Event, RunState, StartDetails, Waiting};
use crate::connection::ReplyTo;
use crate::dispatch::{PortAnswer, QueueCall, fact};
use crate::ports::change::Choice;
use crate::ports::store::{Admission, Commit, Committed, KeyUse, QueueChange, QueueCommit};
use crate::ports::{Store, StoreFailure, World};

/// The queue of a session is read again after this time when the store could not.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Times the queue of a session is read before the session is given up.
const READS_MAX: u32 = 5;

impl<W: World, S: Store> Driver<W, S> {
    /// Gives the machine the queue that is stored; `false` when it cannot be read.
    pub(super) async fn find_queue(&mut self) -> bool {
        if self.head.queue_length == 0 {
            return true;
        }
        for _ in 0..READS_MAX {
            match self.hub.store().queue(self.session_id).await {
                Ok(stored) => {
                    let entries = stored.entries.iter().map(|entry| entry.turn_id).collect();
                    let queue = Queue::found(entries, stored.held);
                    self.machine = self.machine.clone().with_queue(queue);
                    return true;
                }
                Err(failure) => {
                    tracing::error!(session = %self.session_id, %failure, "a queue was not read");
                }
            }
            let again = self.hub.now().plus(READ_AGAIN_AFTER);
            self.hub.world().sleep_until(again).await;
        }
        false
    }

    pub(super) fn call_queue(&mut self, call: QueueCall) {
        match call {
            QueueCall::Change { change, held, expected, at } => {
                self.change_queue(change, held, expected, at);
            }
            QueueCall::StartHead { turn_id } => self.start_head(turn_id),
        }
    }

    pub(super) fn remove_queued(&mut self, reply: ReplyTo, turn_id: TurnId, key: Option<KeyUse>) {
        let ask = self.hub.ask_id();
        self.asks.insert(ask, Waiting::Queue { reply, key, text: None });
        self.feed(Input::RemoveQueued { ask, turn_id });
    }

    pub(super) fn resume_queue(&mut self, reply: ReplyTo, key: Option<KeyUse>) {
        let ask = self.hub.ask_id();
        self.asks.insert(ask, Waiting::Queue { reply, key, text: None });
        self.feed(Input::ResumeQueue { ask });
    }

    /// Accepts the turn of the queue's head, whose words only the store has.
    pub(super) fn admit_head(
        &mut self,
        run_id: RunId,
        turn_id: TurnId,
        expected: Revision,
        at: Instant,
    ) {
        let Choice { agent, model } = self.choice_in_force();
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        (run.agent, run.model) = (agent.clone(), model.clone());
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move {
            let admitted = async {
                let text = store.queued_text(session_id, turn_id).await?;
                let text = text.ok_or(StoreFailure::Missing("queue entry"))?;
                let admission = Admission {
                    session_id,
                    expected,
                    run_id,
                    turn_id,
                    text: text.clone(),
                    is_head: true,
                    at,
                    agent,
                    model,
                    key: None,
                    reduction: None,
                };
                Ok((store.commit(Commit::Admit(admission)).await?, text))
            };
            Event::HeadAdmitted(run_id, admitted.await)
        });
    }

    pub(super) fn head_admitted(
        &mut self,
        run_id: RunId,
        admitted: Result<(Committed, Arc<str>), StoreFailure>,
    ) {
        let committed = match admitted {
            Ok((committed, text)) => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.start = Some(StartDetails { text, key: None, rewrites: None });
                }
                self.head_learned(*committed.head);
                Some((committed.revision, committed.terminal_seq))
            }
            Err(failure) => {
                tracing::error!(%run_id, %failure, "the turn of a queued message was not written");
                None
            }
        };
        self.feed(fact(PortAnswer::Committed(run_id, committed)));
    }

    /// A change was answered; of a removal with the words that were taken out.
    pub(super) fn queue_written(
        &mut self,
        removed: Option<(AskId, Arc<str>)>,
        written: Result<Committed, StoreFailure>,
    ) {
        if let Some((ask, words)) = removed
            && let Some(Waiting::Queue { text, .. }) = self.asks.get_mut(&ask)
        {
            *text = Some(words);
        }
        if let Err(failure) = &written {
            tracing::error!(session = %self.session_id, %failure, "a queue was not changed");
        }
        let revision = written.ok().map(|committed| {
            self.head_learned(*committed.head);
            committed.revision
        });
        self.feed(fact(PortAnswer::QueueCommitted(revision)));
    }

    pub(super) fn reply_queued(
        &self,
        reply: ReplyTo,
        turn_id: TurnId,
        position: u32,
        revision: u64,
    ) {
        let Choice { agent, model } = self.choice_in_force();
        let ack = MessageAck {
            request_id: reply.request_id(),
            session_id: self.session_id.to_string(),
            message_id: turn_id.to_string(),
            run_id: None,
            entity_id: None,
            queue_position: Some(i64::from(position)),
            pending_started_at: None,
            agent,
            model,
            session_revision: int(revision),
        };
        reply.done(Frame::MessageAck(Box::new(ack)));
    }

    pub(super) fn reply_queue(&mut self, ask: AskId, answer: QueueAnswer) {
        let Some(Waiting::Queue { reply, text, .. }) = self.asks.remove(&ask) else { return };
        let session_id = self.session_id.to_string();
        let request_id = reply.request_id();
        match answer {
            QueueAnswer::Removed { turn_id, revision } => {
                let removed = QueueRemoved {
                    request_id,
                    session_id,
                    message_id: turn_id.to_string(),
                    text: text.unwrap_or_default().to_string(),
                    session_revision: int(revision.get()),
                };
                reply.done(Frame::QueueRemoved(removed));
            }
            QueueAnswer::Gone => reply.refuse(|refusal| refusal, Code::Gone),
            QueueAnswer::Resumed { length, revision } => {
                let resumed = QueueResumed {
                    request_id,
                    session_id,
                    queue_length: i64::from(length),
                    session_revision: int(revision.get()),
                };
                reply.done(Frame::QueueResumed(resumed));
            }
            QueueAnswer::Refused(refusal) => refuse_start(reply, refusal),
            QueueAnswer::Failed => reply.fail(Code::StorageFailed, "the queue was not changed"),
        }
    }

    fn change_queue(
        &mut self,
        change: Change,
        held: Option<Code>,
        expected: Revision,
        at: Instant,
    ) {
        let (change, key, removes) = match change {
            Change::Append { run_id, turn_id, .. } => {
                let start = self.runs.get(&run_id).and_then(|run| run.start.as_ref());
                let text = start.map(|start| start.text.clone()).unwrap_or_default();
                let key = start.and_then(|start| start.key.clone());
                let Choice { agent, model } = self.choice_in_force();
                (QueueChange::Append { turn_id, text, agent, model }, key, None)
            }
            Change::Remove { ask, turn_id } => {
                (QueueChange::Remove { turn_id }, self.key_of(ask), Some((ask, turn_id)))
            }
            Change::Release { ask } => (QueueChange::Release, self.key_of(ask), None),
            Change::Hold => (QueueChange::Hold, None, None),
        };
        let session_id = self.session_id;
        let commit = QueueCommit { session_id, expected, change, held, key, at };
        let store = self.hub.store().clone();
        self.call(async move {
            let removed = match removes {
                None => None,
                Some((ask, turn_id)) => match store.queued_text(session_id, turn_id).await {
                    Ok(text) => text.map(|text| (ask, text)),
                    Err(failure) => return Event::QueueWritten(None, Err(failure)),
                },
            };
            Event::QueueWritten(removed, store.commit(Commit::Queue(commit)).await)
        });
    }

    /// Asks for the start of the head, as a message of the session's owner (ADM-14).
    fn start_head(&mut self, turn_id: TurnId) {
        let (run_id, ask) = (self.hub.run_id(), self.hub.ask_id());
        let facts = StartFacts {
            key: KeyFact::Unused,
            agent_available: self.hub.agent(&self.head.agent).is_some(),
            attachment_unknown: false,
            storage_low: self.hub.is_storage_low(),
            slot: self.acquire_slot(self.head.owner, run_id),
            when_busy: WhenBusy::Reject,
            is_head: true,
            is_wakeup: false,
            rewrites: None,
            liveness_unreadable: false,
        };
        let Choice { agent, model } = self.choice_in_force();
        self.runs.insert(run_id, RunState::new(agent, model));
        self.asks.insert(ask, Waiting::Head { run_id });
        self.answer_next(PortAnswer::HeadAsked(Start { ask, run_id, turn_id, facts }));
    }

    /// A free slot is one attempt to start the head; without one another session may have it.
    pub(super) fn slot_freed(&mut self) {
        self.feed(Input::QueueTriggered);
        if !self.machine.queue().is_starting() {
            self.hub.pass_slot();
        }
    }

    /// A head that found no slot waits for one, in its place since the first attempt (LIM-03).
    pub(super) fn head_answered(&mut self, answer: StartAnswer) {
        match answer {
            StartAnswer::Refused(refusal) if refusal.code == Code::ServerBusy => self.await_slot(),
            StartAnswer::Started { .. }
            | StartAnswer::Queued { .. }
            | StartAnswer::Unstored
            | StartAnswer::Repeated
            | StartAnswer::Refused(_) => self.slot_wanted_since = None,
        }
    }

    /// A message that was queued for want of a slot, in a session where a turn may start, waits for one.
    pub(super) fn await_slot_if_queued(&mut self, answer: StartAnswer) {
        let is_queued = matches!(answer, StartAnswer::Queued { .. });
        let is_waiting = self.machine.queue().state() == State::Waiting;
        if is_queued && is_waiting && self.machine.may_start(self.hub.now()).is_ok() {
            self.await_slot();
        }
    }

    fn await_slot(&mut self) {
        let since = *self.slot_wanted_since.get_or_insert(self.hub.now());
        self.hub.await_slot(self.session_id, self.head.owner, since);
    }

    fn key_of(&self, ask: AskId) -> Option<KeyUse> {
        match self.asks.get(&ask) {
            Some(Waiting::Queue { key, .. }) => key.clone(),
            Some(
                Waiting::Start { .. }
                | Waiting::Head { .. }
                | Waiting::Delete { .. }
                | Waiting::Stop(_)
                | Waiting::Steer(..)
                | Waiting::Answer(..),
            )
            | None => None,
        }
    }
}
