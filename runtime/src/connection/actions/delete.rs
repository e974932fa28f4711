//! `delete_session` (family LIFE).

use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::actions::DeleteSession;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, SessionDeleted};

use super::super::reply::ReplyTo;
use super::target::{changeable, hand_over};
use crate::hub::Hub;
use crate::ports::store::{KeyEffect, KeyRecord, KeyScope, KeyUse};
use crate::ports::{Store, World};
use crate::session::Message;

/// `delete_session`. Its key belongs to the principal, for it is asked again when there is no session.
pub(super) async fn delete<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &DeleteSession,
    reply: ReplyTo,
) {
    let key = reply.key_use();
    if let Some(used) = &key {
        let scope = KeyScope::Principal(reply.principal().id);
        match hub.store().key(scope, used.key.clone(), hub.now()).await {
            Ok(Some(record)) => return repeat(used, record, fields, reply),
            Ok(None) => {}
            Err(failure) => return reply.fail(Code::StorageFailed, &failure.to_string()),
        }
    }
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    hand_over(hub, reply.principal(), &handle, Message::Delete { reply, key }).await;
}

/// As REQ-10, REQ-15 says: equal fields get the first reply again, others are refused.
fn repeat(used: &KeyUse, record: KeyRecord, fields: &DeleteSession, reply: ReplyTo) {
    match record.effect {
        KeyEffect::Deleted { .. } if record.fingerprint == used.fingerprint => {
            let deleted = SessionDeleted {
                request_id: reply.request_id(),
                session_id: fields.session_id.clone(),
                session_revision: int(record.revision.get()),
            };
            reply.done(Frame::SessionDeleted(deleted));
        }
        KeyEffect::Deleted { .. }
        | KeyEffect::Session { .. }
        | KeyEffect::Turn { .. }
        | KeyEffect::Queued { .. }
        | KeyEffect::Removed { .. }
        | KeyEffect::Resumed { .. }
        | KeyEffect::Change => reply.refuse(|refusal| refusal, Code::IdempotencyConflict),
    }
}
