//! Handlers: one for each action this release serves. Each ends in exactly one answer (ACT-5).

mod agents;
mod delete;
mod errors;
mod greeting;
mod history;
mod list;
mod queue;
mod results;
mod rewrite;
mod runs;
mod session;
mod target;
mod update;

use std::sync::Arc;

use runwarden_protocol::wire::Received;
use runwarden_protocol::wire::actions::Action;
use runwarden_protocol::wire::codes::Code;

use super::registry::Accepted;
use super::reply::{ReplyTo, Subject};
use crate::hub::Hub;
use crate::ports::{Store, World};
pub(super) use greeting::welcome;

/// Accepts an action and runs its handler beside everything else.
pub(super) fn start<W: World, S: Store>(hub: &Hub<W, S>, reply: ReplyTo) {
    match reply.accept() {
        Accepted::Execute(reply) => execute(hub, reply),
        Accepted::Conflict(reply) => reply.refuse(|refusal| refusal, Code::IdempotencyConflict),
        Accepted::Full(reply) => reply.refuse(|refusal| refusal, Code::ServerBusy),
        Accepted::Repeats(reply, text) => reply.repeat(&text),
        Accepted::Shares => {}
    }
}

/// Refuses an action that never starts; its outcome can be asked for like any other.
pub(super) fn refuse(reply: ReplyTo, code: Code) {
    match reply.accept_only() {
        Accepted::Execute(reply) | Accepted::Conflict(reply) | Accepted::Full(reply) => {
            reply.refuse(|refusal| refusal, code);
        }
        Accepted::Repeats(reply, text) => reply.repeat(&text),
        Accepted::Shares => {}
    }
}

fn execute<W: World, S: Store>(hub: &Hub<W, S>, reply: ReplyTo) {
    match reply.subject() {
        Subject::Action(received) => hub.world().spawn(handle(hub.clone(), received, reply)),
        Subject::Message(refused) if refused.code.recorded() => {
            reply.fail(refused.code, &refused.to_string());
        }
        Subject::Message(refused) => reply.refuse(|refusal| refusal, refused.code),
    }
}

async fn handle<W: World, S: Store>(hub: Hub<W, S>, received: Arc<Received>, reply: ReplyTo) {
    match &received.action {
        Action::ListSessions(fields) => list::list_sessions(&hub, fields, reply).await,
        Action::ListAgents {} => agents::list(&hub, reply),
        Action::UpdateSession(fields) => update::update(&hub, fields, reply).await,
        Action::DeleteSession(fields) => delete::delete(&hub, fields, reply).await,
        Action::CreateSession(fields) => session::create(&hub, fields, reply).await,
        Action::OpenSession(fields) => session::open(&hub, fields, reply).await,
        Action::CloseSession(fields) => session::close(&hub, fields, reply).await,
        Action::LoadHistory(fields) => history::load(&hub, fields, reply).await,
        Action::GetStream(fields) => session::get_stream(&hub, fields, reply).await,
        Action::SendMessage(fields) => runs::send_message(&hub, fields, reply).await,
        Action::SteerRun(fields) => runs::steer(&hub, fields, reply).await,
        Action::Rewrite(fields) => rewrite::rewrite(&hub, fields, reply).await,
        Action::StopRun(fields) => runs::stop(&hub, fields, reply).await,
        Action::ListQueue(fields) => queue::list(&hub, fields, reply).await,
        Action::RemoveQueued(fields) => queue::remove(&hub, fields, reply).await,
        Action::ResumeQueue(fields) => queue::resume(&hub, fields, reply).await,
        Action::ListQuestions(fields) => runs::list_questions(&hub, fields, reply).await,
        Action::AnswerQuestion(fields) => runs::answer(&hub, fields, reply).await,
        Action::ListUserErrors(fields) => errors::list(&hub, fields, reply).await,
        Action::AcknowledgeUserError(fields) => errors::acknowledge(&hub, fields, reply).await,
        Action::GetRequestResult(fields) => results::get(&hub, fields, reply),
        Action::Hello(_)
        | Action::Ping {}
        | Action::GetGraph(_)
        | Action::GetDetail(_)
        | Action::ListBranches(_)
        | Action::SetHead(_)
        | Action::ListJobs(_)
        | Action::JobCommand(_)
        | Action::ManageList(_)
        | Action::ManageApply(_)
        | Action::GetMetrics {}
        | Action::ScanState {}
        | Action::PlanCleanup(_)
        | Action::ConfirmCleanup(_) => {
            reply.fail(Code::UnknownAction, "an action this release does not serve was started");
        }
    }
}
