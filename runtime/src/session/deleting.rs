//! The deletion of the session: its commit, who is told, and what is answered from then on (LIFE-01, LIFE-02).

use runwarden_protocol::errors::timestamp;
use runwarden_protocol::ids::{AskId, ConnectionId, PrincipalId, Revision, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::run::deletion::{DeletedRun, tombstones_kept_since};
use runwarden_protocol::run::lineage::{DeletionAnswer, Input};
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, OperationRecovered, SessionDeleted};
use runwarden_protocol::wire::structures::Scope;

use super::Message;
use super::changes::refuse_start;
use super::driver::{Driver, Event, Waiting};
use crate::connection::ReplyTo;
use crate::dispatch::PortAnswer;
use crate::frames::SharedFrame;
use crate::hub::Hub;
use crate::ports::store::{Commit, Deletion, KeyUse};
use crate::ports::{Store, StoreFailure, World};

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn delete(&mut self, reply: ReplyTo, key: Option<KeyUse>) {
        let ask = self.hub.ask_id();
        self.asks.insert(ask, Waiting::Delete { reply, key });
        self.feed(Input::Delete { ask });
    }

    pub(super) fn commit_deletion(
        &mut self,
        ask: AskId,
        run: Option<DeletedRun>,
        expected: Revision,
        at: Instant,
    ) {
        let key = match self.asks.get(&ask) {
            Some(Waiting::Delete { key, .. }) => key.clone(),
            _ => None,
        };
        let deletion = Deletion {
            session_id: self.session_id,
            owner: self.head.owner,
            expected,
            run,
            key,
            at,
            tombstones_kept_since: tombstones_kept_since(at, self.hub.config().runs.unwind),
        };
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move {
            let answer = store.commit(Commit::Delete(deletion)).await;
            if let Err(failure) = &answer {
                tracing::error!(session = %session_id, %failure, "a session was not deleted");
            }
            let committed = answer.ok().map(|done| (done.revision, done.terminal_seq));
            Event::Deleted(at, PortAnswer::Deleted(committed))
        });
    }

    /// The commit was answered; the records it closed are told behind the deletion itself (ERR-20).
    pub(super) fn deletion_written(&mut self, at: Instant, answer: PortAnswer) {
        self.feed(crate::dispatch::fact(answer));
        if self.machine.is_deleted() {
            let (hub, session_id, owner) = (self.hub.clone(), self.session_id, self.head.owner);
            self.hub.world().spawn(async move {
                if let Err(failure) = tell_closed_errors(&hub, owner, session_id, at).await {
                    tracing::warn!(session = %session_id, %failure, "closed errors are not told");
                }
            });
        }
    }

    pub(super) fn deletion_answered(&mut self, ask: AskId, answer: DeletionAnswer) {
        let Some(Waiting::Delete { reply, .. }) = self.asks.remove(&ask) else { return };
        match answer {
            DeletionAnswer::Deleted { revision } => self.tell_deletion(reply, revision),
            DeletionAnswer::Refused(refusal) => refuse_start(reply, refusal),
            DeletionAnswer::Failed => {
                reply.fail(Code::StorageFailed, "a session was not deleted");
            }
        }
    }

    /// Every reader is told; from here on nobody finds the session.
    fn tell_deletion(&mut self, reply: ReplyTo, revision: Revision) {
        self.hub.forget(self.session_id);
        let frame = |request_id| {
            Frame::SessionDeleted(SessionDeleted {
                request_id,
                session_id: self.session_id.to_string(),
                session_revision: int(revision.get()),
            })
        };
        let asking: ConnectionId = reply.peer().id;
        let push = SharedFrame::push(self.hub.payload_id(), Some(self.session_id), &frame(None));
        let own = frame(reply.request_id());
        reply.done(own);
        let now = self.hub.now();
        for peer in self.hub.peers_of(self.head.owner).iter().filter(|peer| peer.id != asking) {
            peer.outbound.offer(now, &push);
        }
        for peer in std::mem::take(&mut self.subscribers).into_values() {
            peer.session_closed(self.session_id);
        }
    }

    /// What came too late for a deleted session: whoever waits for it is told so. The rest is still for the
    /// machine, whose worker may be on its way out.
    pub(super) fn outlive(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::TailRead(opening, _) => refuse(opening.into_reply()),
            Event::RunRead { reply, .. } => refuse(reply),
            Event::TargetRead(rewriting, _) => refuse(rewriting.into_reply()),
            Event::SettledRead(asked, _) => refuse(asked.into_reply()),
            Event::Message(message) => {
                if matches!(message, Message::SlotFreed) {
                    self.hub.pass_slot();
                }
                message.refuse_unknown();
            }
            Event::Looked(_) => self.refuse_held(),
            Event::HeadRead(_) | Event::ErrorsCounted(_) => {}
            other => return Some(other),
        }
        None
    }

    /// The last worker is gone: what still comes in is answered, and nothing more is taken.
    pub(super) fn leave(&mut self) {
        for message in self.close_inbox() {
            if matches!(message, Message::SlotFreed) {
                self.hub.pass_slot();
            }
            message.refuse_unknown();
        }
    }
}

impl Message {
    /// Answers what names a session that does not exist (LIFE-02).
    pub(crate) fn refuse_unknown(self) {
        match self {
            Self::Open { reply, .. }
            | Self::Close { reply }
            | Self::GetStream { reply, .. }
            | Self::Send { reply, .. }
            | Self::Update { reply, .. }
            | Self::Rewrite { reply, .. }
            | Self::Delete { reply, .. }
            | Self::RemoveQueued { reply, .. }
            | Self::ResumeQueue { reply, .. }
            | Self::Stop { reply, .. }
            | Self::Steer { reply, .. }
            | Self::Answer { reply, .. }
            | Self::ListQuestions { reply } => refuse(reply),
            Self::PeerGone { .. }
            | Self::TriggerQueue
            | Self::SlotFreed
            | Self::ServerStopping
            | Self::ErrorsChanged
            | Self::Evict
            | Self::Recover { .. }
            | Self::TakeFlight { .. }
            | Self::Report { .. }
            | Self::EndRuns { .. } => {}
        }
    }
}

pub(super) fn refuse(reply: ReplyTo) {
    reply.refuse(|refusal| refusal, Code::SessionUnknown);
}

/// The records that the deletion closed are told to every connection of their principal (ERR-20).
async fn tell_closed_errors<W: World, S: Store>(
    hub: &Hub<W, S>,
    owner: PrincipalId,
    session_id: SessionId,
    at: Instant,
) -> Result<(), StoreFailure> {
    let closed = hub.store().errors_closed_by_deletion(owner, session_id, at).await?;
    if closed.is_empty() {
        return Ok(());
    }
    let recovered = OperationRecovered {
        error_ids: closed.into_iter().map(|record| record.error_id).collect(),
        scope: Scope::Session,
        operation_id: None,
        occurred_at: timestamp::format(int(at.as_millis()))
            .expect("the guarded clock is before the year 10000"),
    };
    let frame = Frame::OperationRecovered(recovered);
    hub.push_to(owner, &SharedFrame::push(hub.payload_id(), None, &frame));
    Ok(())
}
