//! `rewrite`: edit, regenerate, retry, undo, clear and truncate (family LIFE).

use runwarden_protocol::ids::{MessageId, Revision};
use runwarden_protocol::wire::actions::Rewrite;
use runwarden_protocol::wire::codes::Code;

use super::super::reply::ReplyTo;
use super::target::{changeable, hand_over};
use crate::hub::Hub;
use crate::ports::store::KeyScope;
use crate::ports::{Store, World};
use crate::session::{Message, WantedRewrite};

/// `rewrite`. A revision that no session can be at is an old one; an id that no message can have names nothing.
pub(super) async fn rewrite<W: World, S: Store>(hub: &Hub<W, S>, fields: &Rewrite, reply: ReplyTo) {
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    let key = reply.key_use();
    let remembered = match &key {
        None => None,
        Some(used) => {
            let scope = KeyScope::Session(handle.session_id);
            match hub.store().key(scope, used.key.clone(), hub.now()).await {
                Ok(remembered) => remembered,
                Err(failure) => return reply.fail(Code::StorageFailed, &failure.to_string()),
            }
        }
    };
    let named = match fields.message_id.as_deref().map(str::parse::<MessageId>) {
        Some(Err(_)) => return reply.refuse(|refusal| refusal, Code::InvalidRequest),
        Some(Ok(message_id)) => Some(message_id),
        None => None,
    };
    let expected = Revision::new(u64::try_from(fields.expected_revision).unwrap_or(0));
    let wanted = WantedRewrite { op: fields.op, named, text: fields.text.clone(), expected };
    let principal = reply.principal();
    let message = Message::Rewrite { reply, wanted, key, remembered };
    hand_over(hub, principal, &handle, message).await;
}
