//! The session an action is about: found, and permitted.

use runwarden_protocol::ids::SessionId;
use runwarden_protocol::wire::codes::Code;

use super::super::reply::ReplyTo;
use crate::hub::{Hub, Principal};
use crate::ports::{Store, World};
use crate::session::{Message, SessionHandle};

/// The session that `session_id` names, for a principal that may read it. Otherwise the action is answered,
/// in the same way for an absent and for an invisible session (AUTH-5).
pub(super) async fn readable<W: World, S: Store>(
    hub: &Hub<W, S>,
    session_id: &str,
    reply: ReplyTo,
) -> Option<(SessionHandle, ReplyTo)> {
    let Ok(session_id) = session_id.parse::<SessionId>() else {
        reply.refuse(|refusal| refusal, Code::SessionUnknown);
        return None;
    };
    match hub.session(reply.principal(), session_id).await {
        Ok(Some(handle)) => Some((handle, reply)),
        Ok(None) => {
            reply.refuse(|refusal| refusal, Code::SessionUnknown);
            None
        }
        Err(failure) => {
            reply.fail(Code::StorageFailed, &failure.to_string());
            None
        }
    }
}

/// As [`readable`], for a change: a principal that may only read is refused (PRIN-5).
pub(super) async fn changeable<W: World, S: Store>(
    hub: &Hub<W, S>,
    session_id: &str,
    reply: ReplyTo,
) -> Option<(SessionHandle, ReplyTo)> {
    let (handle, reply) = readable(hub, session_id, reply).await?;
    if reply.principal().read_only {
        reply.refuse(|refusal| refusal, Code::SessionReadOnly);
        return None;
    }
    Some((handle, reply))
}

/// Hands a message to a session, which is loaded again if it was unloaded meanwhile, and unknown if it was
/// deleted.
pub(super) async fn hand_over<W: World, S: Store>(
    hub: &Hub<W, S>,
    principal: Principal,
    handle: &SessionHandle,
    message: Message,
) {
    let Err(message) = handle.hand_over(message) else { return };
    let again = hub.session(principal, handle.session_id).await;
    let sent = match again {
        Ok(Some(handle)) => handle.hand_over(*message).is_ok(),
        Ok(None) => return message.refuse_unknown(),
        Err(_) => false,
    };
    if !sent {
        // The reply inside was dropped with the message and has answered for itself.
        tracing::warn!(session = %handle.session_id, "a session could not be loaded again");
    }
}
