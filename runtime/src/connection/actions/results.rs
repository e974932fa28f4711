//! What became of an earlier request (REQ-7).

use runwarden_protocol::delivery::requests::{Found, Outcome, RequestKey};
use runwarden_protocol::wire::actions::GetRequestResult;
use runwarden_protocol::wire::frames::{Frame, RecordedReply, RequestResult, RequestState};

use super::super::reply::ReplyTo;
use crate::hub::{Hub, lock};
use crate::ports::{Store, World};

/// `get_request_result`.
pub(super) fn get<W: World, S: Store>(hub: &Hub<W, S>, fields: &GetRequestResult, reply: ReplyTo) {
    let target = RequestKey::of(&fields.target_request_id);
    let registry = hub.registry(reply.principal().id);
    let (found, text) = lock(&registry).find(hub.now(), reply.ticket(), target);
    let mut result = RequestResult {
        request_id: reply.request_id(),
        target_request_id: fields.target_request_id.clone(),
        state: RequestState::Unknown,
        action: None,
        reply: None,
        omitted: false,
        error: None,
    };
    match found {
        Found::Unknown => {}
        Found::Pending { action } => {
            result.state = RequestState::Pending;
            result.action = Some(action.as_str().to_owned());
        }
        Found::Ended { action, outcome, omitted } => {
            result.action = Some(action.as_str().to_owned());
            result.omitted = omitted;
            match outcome {
                Outcome::Done(_) | Outcome::Refused(_) => {
                    result.state = RequestState::Done;
                    result.reply = text.and_then(|text| recorded(&text));
                }
                Outcome::Failed(_) => {
                    result.state = RequestState::Failed;
                    result.error = text.and_then(|text| match serde_json::from_str(&text) {
                        Ok(Frame::OperationError(error)) => Some(*error),
                        _ => None,
                    });
                }
            }
        }
    }
    reply.done(Frame::RequestResult(Box::new(result)));
}

fn recorded(text: &str) -> Option<RecordedReply> {
    serde_json::from_str(text).ok()
}
