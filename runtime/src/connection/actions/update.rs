//! `update_session`: title, archived, agent and model.

use runwarden_protocol::wire::actions::UpdateSession;
use runwarden_protocol::wire::codes::Code;

use super::super::reply::ReplyTo;
use super::target::{changeable, hand_over};
use crate::hub::Hub;
use crate::ports::store::KeyScope;
use crate::ports::{Store, World};
use crate::session::{Message, Wanted};

/// `update_session`. Sharing is not delivered, so that `shared` can only be what it is: false.
pub(super) async fn update<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &UpdateSession,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    if fields.shared == Some(true) {
        return reply.refuse(|refusal| refusal, Code::InvalidRequest);
    }
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
    let wanted = Wanted {
        title: fields.title.clone(),
        archived: fields.archived,
        agent: fields.agent.clone(),
        model: fields.model.clone(),
    };
    let principal = reply.principal();
    let message = Message::Update { reply, wanted, key, remembered };
    hand_over(hub, principal, &handle, message).await;
}
