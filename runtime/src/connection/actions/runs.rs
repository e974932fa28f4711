//! Messages, Stop and questions: handed to the session, which decides.

use runwarden_protocol::ids::{QuestionId, RunId};
use runwarden_protocol::wire::actions::{
    AnswerQuestion, ListQuestions, SendMessage, SteerRun, StopRun,
};
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, StopOutcome, StopResult};

use super::super::reply::ReplyTo;
use super::target::{changeable, hand_over, readable};
use crate::hub::Hub;
use crate::ports::store::KeyScope;
use crate::ports::{Store, World};
use crate::session::Message;

/// `send_message`. The key is held in flight from here on, so what the store remembers of it cannot change
/// under the session.
pub(super) async fn send_message<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &SendMessage,
    reply: ReplyTo,
) {
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
    let principal = reply.principal();
    let text = fields.text.clone();
    let attachment_named = fields.attachments.as_ref().is_some_and(|named| !named.is_empty());
    let when_busy = fields.when_busy.unwrap_or_default();
    let message = Message::Send { reply, text, attachment_named, when_busy, key, remembered };
    hand_over(hub, principal, &handle, message).await;
}

/// `stop_run`. A run id that no run can have was never seen in the session (ACT-22).
pub(super) async fn stop<W: World, S: Store>(hub: &Hub<W, S>, fields: &StopRun, reply: ReplyTo) {
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    let Ok(run_id) = fields.run_id.parse::<RunId>() else {
        let unknown = StopResult {
            request_id: reply.request_id(),
            session_id: fields.session_id.clone(),
            run_id: fields.run_id.clone(),
            outcome: StopOutcome::Unknown,
            status: None,
            code: None,
        };
        return reply.done(Frame::StopResult(unknown));
    };
    hand_over(hub, reply.principal(), &handle, Message::Stop { reply, run_id }).await;
}

/// `steer_run`. A run id that no run can have does not run (STR-02).
pub(super) async fn steer<W: World, S: Store>(hub: &Hub<W, S>, fields: &SteerRun, reply: ReplyTo) {
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    let Ok(run_id) = fields.run_id.parse::<RunId>() else {
        return reply.refuse(|refusal| refusal, Code::NotRunning);
    };
    let (principal, text) = (reply.principal(), fields.text.clone());
    hand_over(hub, principal, &handle, Message::Steer { reply, run_id, text }).await;
}

/// `list_questions`.
pub(super) async fn list_questions<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &ListQuestions,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = readable(hub, &fields.session_id, reply).await else { return };
    hand_over(hub, reply.principal(), &handle, Message::ListQuestions { reply }).await;
}

/// `answer_question`. A question or version that cannot be is gone.
pub(super) async fn answer<W: World, S: Store>(
    hub: &Hub<W, S>,
    fields: &AnswerQuestion,
    reply: ReplyTo,
) {
    let Some((handle, reply)) = changeable(hub, &fields.session_id, reply).await else { return };
    let question = fields.question_id.parse::<QuestionId>().ok();
    let version = u64::try_from(fields.question_version).ok();
    let (Some(question_id), Some(version)) = (question, version) else {
        return reply.refuse(|refusal| refusal, Code::Gone);
    };
    let principal = reply.principal();
    let answer = fields.answer.clone();
    let message = Message::Answer { reply, question_id, version, answer };
    hand_over(hub, principal, &handle, message).await;
}
