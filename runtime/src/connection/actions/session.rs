//! Making, opening and closing sessions, and reading their live content.

use runwarden_protocol::ids::RunId;
use runwarden_protocol::run::storage::STORAGE_RETRY_MS;
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::Refusal;
use runwarden_protocol::wire::actions::{CloseSession, CreateSession, GetStream, OpenSession};
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, SessionCreated};

use super::super::pushes;
use super::super::reply::ReplyTo;
use super::target::{hand_over, readable};
use crate::hub::Hub;
use crate::ports::change::Choice;
use crate::ports::store::{
    Commit, Committed, KeyEffect, KeyRecord, KeyScope, KeyUse, NewSession, StoreFailure,
};
use crate::ports::{Store, World};
use crate::session::{Message, choose};

/// `create_session`.
pub(super) async fn create<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &CreateSession,
    reply: ReplyTo,
) {
    if reply.principal().read_only {
        return reply.refuse(|refusal| refusal, Code::NotPermitted);
    }
    let key = reply.key_use();
    match remembered(hub, key.as_ref(), &reply).await {
        Ok(Some(record)) => return repeat(key, record, reply),
        Ok(None) => {}
        Err(failure) => return reply.fail(Code::StorageFailed, &failure.to_string()),
    }
    let Some(Choice { agent, model }) = choice(hub, fields) else {
        return reply.refuse(|refusal| refusal, Code::BackendUnavailable);
    };
    if hub.is_storage_low() {
        let retry_after_ms = Some(i64::from(STORAGE_RETRY_MS));
        let later = |refusal: Refusal| Refusal { retry_after_ms, ..refusal };
        return reply.refuse(later, Code::StorageLow);
    }
    let session = NewSession {
        session_id: hub.session_id(),
        owner: reply.principal().id,
        title: fields.title.clone().unwrap_or_default(),
        agent,
        model,
        at: hub.now(),
        key: key.clone(),
    };
    match hub.store().commit(Commit::CreateSession(session.clone())).await {
        Ok(committed) => created(hub, committed, reply),
        // A change of the same key in another process got there first.
        Err(StoreFailure::Conflict { .. }) => match remembered(hub, key.as_ref(), &reply).await {
            Ok(Some(record)) => repeat(key, record, reply),
            Ok(None) => reply.fail(Code::StorageFailed, "a key in use was not found"),
            Err(failure) => reply.fail(Code::StorageFailed, &failure.to_string()),
        },
        Err(failure) => reply.fail(Code::StorageFailed, &failure.to_string()),
    }
}

/// `open_session`.
pub(super) async fn open<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &OpenSession,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = readable(hub, &fields.session_id, reply).await else { return };
    let principal = reply.principal();
    let (generation, known) = (fields.generation, fields.known.clone());
    hand_over(hub, principal, &handle, Message::Open { reply, generation, known }).await;
}

/// `close_session`.
pub(super) async fn close<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &CloseSession,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = readable(hub, &fields.session_id, reply).await else { return };
    hand_over(hub, reply.principal(), &handle, Message::Close { reply }).await;
}

/// `get_stream`.
pub(super) async fn get_stream<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &GetStream,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = readable(hub, &fields.session_id, reply).await else { return };
    let Ok(entity_id) = fields.entity_id.parse::<RunId>() else {
        return reply.refuse(|refusal| refusal, Code::CursorUnavailable);
    };
    let principal = reply.principal();
    let (generation, known_seq) = (fields.generation, fields.known_seq);
    let message = Message::GetStream { reply, entity_id, generation, known_seq };
    hand_over(hub, principal, &handle, message).await;
}

async fn remembered<W: World, S: Store>(
    hub: &Hub<W, S>,
    key: Option<&KeyUse>,
    reply: &ReplyTo,
) -> Result<Option<KeyRecord>, StoreFailure> {
    let Some(used) = key else { return Ok(None) };
    let scope = KeyScope::Principal(reply.principal().id);
    hub.store().key(scope, used.key.clone(), hub.now()).await
}

/// As REQ-10, REQ-15 says: equal fields get the first reply again, others are refused.
fn repeat(key: Option<KeyUse>, record: KeyRecord, reply: ReplyTo) {
    if key.is_none_or(|key| key.fingerprint != record.fingerprint) {
        return reply.refuse(|refusal| refusal, Code::IdempotencyConflict);
    }
    match record.effect {
        KeyEffect::Session { session_id, agent, model } => {
            let created = SessionCreated {
                request_id: reply.request_id(),
                session_id: session_id.to_string(),
                session_revision: int(record.revision.get()),
                agent,
                model,
            };
            reply.done(Frame::SessionCreated(created));
        }
        KeyEffect::Turn { .. }
        | KeyEffect::Queued { .. }
        | KeyEffect::Removed { .. }
        | KeyEffect::Resumed { .. }
        | KeyEffect::Deleted { .. }
        | KeyEffect::Change => {
            reply.fail(Code::HandlerError, "a key of the principal names another effect");
        }
    }
}

/// Agent and model of the new session, if the agent exists and offers the model.
fn choice<W: World, S: Store>(hub: &Hub<W, S>, fields: &CreateSession) -> Option<Choice> {
    let agent = match &fields.agent {
        Some(name) => hub.agent(name)?,
        None => hub.default_agent()?,
    };
    choose(agent, fields.model.clone()).ok()
}

fn created<W: World, S: Store>(hub: &Hub<W, S>, committed: Committed, reply: ReplyTo) {
    let head = *committed.head;
    let owner = head.owner;
    hub.push_to(owner, &pushes::session_item(hub, &head, owner, 0));
    let created = SessionCreated {
        request_id: reply.request_id(),
        session_id: head.session_id.to_string(),
        session_revision: int(head.revision.get()),
        agent: head.agent,
        model: head.model,
    };
    reply.done(Frame::SessionCreated(created));
}
