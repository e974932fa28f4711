//! The send queue: listed from the store, changed by the session (family LIFE).

use runwarden_protocol::ids::TurnId;
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::actions::{ListQueue, RemoveQueued, ResumeQueue};
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, QueueList, QueueRemoved, QueueResumed};
use runwarden_protocol::wire::structures::QueueEntry;

use super::super::reply::ReplyTo;
use super::target::{changeable, hand_over, readable};
use crate::hub::Hub;
use crate::ports::store::{KeyEffect, KeyRecord, KeyScope, KeyUse, StoredQueue};
use crate::ports::{Store, StoreFailure, World};
use crate::session::{Message, SessionHandle};

/// `list_queue`, served at any time (LIFE-03).
pub(super) async fn list<W: World, S: Store>(hub: &Hub<W, S>, fields: &ListQueue, reply: ReplyTo) {
    let Some((handle, reply)) = readable(hub, &fields.session_id, reply).await else { return };
    match hub.store().queue(handle.session_id).await {
        Ok(queue) => {
            let request_id = reply.request_id();
            let session_id = fields.session_id.clone();
            reply.done(Frame::QueueList(shown(queue, request_id, session_id)));
        }
        // It was deleted since it was found.
        Err(StoreFailure::Missing(_)) => reply.refuse(|refusal| refusal, Code::SessionUnknown),
        Err(failure) => reply.fail(Code::StorageFailed, &failure.to_string()),
    }
}

/// `remove_queued`. An id that no message can have is gone.
pub(super) async fn remove<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &RemoveQueued,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    let Some((key, reply)) = fresh_key(hub, &handle, reply).await else { return };
    let Ok(turn_id) = fields.message_id.parse::<TurnId>() else {
        return reply.refuse(|refusal| refusal, Code::Gone);
    };
    let principal = reply.principal();
    hand_over(hub, principal, &handle, Message::RemoveQueued { reply, turn_id, key }).await;
}

/// `resume_queue`.
pub(super) async fn resume<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &ResumeQueue,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    let Some((key, reply)) = fresh_key(hub, &handle, reply).await else { return };
    let principal = reply.principal();
    hand_over(hub, principal, &handle, Message::ResumeQueue { reply, key }).await;
}

/// The key of a change, unless it was used before: then the first reply is given again (REQ-10), or the change
/// is refused (REQ-15).
async fn fresh_key<W: World, S: Store>(
    hub: &Hub<W, S>,
    handle: &SessionHandle,
    reply: ReplyTo,
) -> Option<(Option<KeyUse>, ReplyTo)> {
    let Some(used) = reply.key_use() else { return Some((None, reply)) };
    let scope = KeyScope::Session(handle.session_id);
    match hub.store().key(scope, used.key.clone(), hub.now()).await {
        Ok(None) => Some((Some(used), reply)),
        Ok(Some(record)) if record.fingerprint == used.fingerprint => {
            repeat(handle, record, reply);
            None
        }
        Ok(Some(_)) => {
            reply.refuse(|refusal| refusal, Code::IdempotencyConflict);
            None
        }
        Err(failure) => {
            reply.fail(Code::StorageFailed, &failure.to_string());
            None
        }
    }
}

fn repeat(handle: &SessionHandle, record: KeyRecord, reply: ReplyTo) {
    let request_id = reply.request_id();
    let session_id = handle.session_id.to_string();
    let session_revision = int(record.revision.get());
    match record.effect {
        KeyEffect::Removed { turn_id, text } => {
            let message_id = turn_id.to_string();
            let removed =
                QueueRemoved { request_id, session_id, message_id, text, session_revision };
            reply.done(Frame::QueueRemoved(removed));
        }
        KeyEffect::Resumed { length } => {
            let queue_length = i64::from(length);
            let resumed = QueueResumed { request_id, session_id, queue_length, session_revision };
            reply.done(Frame::QueueResumed(resumed));
        }
        KeyEffect::Turn { .. }
        | KeyEffect::Queued { .. }
        | KeyEffect::Change
        | KeyEffect::Deleted { .. }
        | KeyEffect::Session { .. } => {
            reply.fail(Code::HandlerError, "the key of a queue's change names another effect");
        }
    }
}

fn shown(queue: StoredQueue, request_id: Option<String>, session_id: String) -> QueueList {
    let entries = (1..).zip(queue.entries).map(|(position, entry)| QueueEntry {
        message_id: entry.turn_id.to_string(),
        position,
        summary: entry.summary,
        attachments: Vec::new(),
        created_at: int(entry.created_at.as_millis()),
    });
    QueueList {
        request_id,
        session_id,
        session_revision: int(queue.revision.get()),
        held: queue.held,
        entries: entries.collect(),
    }
}
