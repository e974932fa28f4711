//! From the text of a message to a typed action, or to a refusal that names what is wrong.

use serde::Deserialize;
use serde_json::Value;

use super::fields::{FieldRefusal, Fields, ReadFields};
use super::{Action, ActionName, ManageKind, ParseRefusal};
use crate::wire::Code;
use crate::wire::envelope::{JsonObject, Received, echo};
use crate::wire::structures::Scope;

/// Reads one text message from a connection; actions this release does not serve are unknown.
///
/// # Errors
/// `unknown_action` (ACT-2) or `invalid_request` (ACT-3, ACT-4), with the field and, for a limit,
/// its name and value (RATE-6).
pub fn parse(text: &str) -> Result<Received, Box<ParseRefusal>> {
    parse_where(text, ActionName::delivered)
}

/// Reads any action of protocol 1, also those this release does not serve.
///
/// # Errors
/// As [`parse`].
pub fn parse_any(text: &str) -> Result<Received, Box<ParseRefusal>> {
    parse_where(text, |_| true)
}

fn parse_where(text: &str, known: fn(ActionName) -> bool) -> Result<Received, Box<ParseRefusal>> {
    if text == "ping" {
        return Ok(Received { request_id: None, action: Action::Ping {} });
    }
    let Ok(Value::Object(object)) = serde_json::from_str(text) else {
        return Err(ParseRefusal::malformed());
    };
    let Some(Value::String(name)) = object.get("action") else {
        return Err(
            refusal(&object, None, Code::InvalidRequest).at(FieldRefusal::outside("action"))
        );
    };
    let Some(name) = name.parse().ok().filter(|name| known(*name)) else {
        return Err(refusal(&object, None, Code::UnknownAction));
    };
    let request_id = request_id(&object, name)?;
    let action = read(name, &Fields::new(&object))
        .map_err(|field| refusal(&object, Some(name), Code::InvalidRequest).at(field))?;
    Ok(Received { request_id, action })
}

fn request_id(object: &JsonObject, name: ActionName) -> Result<Option<String>, Box<ParseRefusal>> {
    if !name.has_request_id() {
        return Ok(None);
    }
    let request_id = safe(object, "request_id");
    if request_id.is_none() && name.request_id_required() {
        let field = FieldRefusal::outside("request_id");
        return Err(refusal(object, Some(name), Code::InvalidRequest).at(field));
    }
    Ok(request_id)
}

fn refusal(object: &JsonObject, name: Option<ActionName>, code: Code) -> Box<ParseRefusal> {
    let kind = object.get("kind").and_then(|kind| ManageKind::deserialize(kind).ok());
    Box::new(ParseRefusal {
        code,
        name,
        action: safe(object, "action"),
        request_id: safe(object, "request_id"),
        session_id: safe(object, "session_id"),
        run_id: safe(object, "run_id"),
        question_id: safe(object, "question_id"),
        scope: name.map_or(Scope::System, |name| name.scope_of(kind)),
        limit: None,
        field: None,
    })
}

fn safe(object: &JsonObject, field: &str) -> Option<String> {
    echo(object.get(field).and_then(Value::as_str))
}

fn read(name: ActionName, fields: &Fields<'_>) -> Result<Action, FieldRefusal> {
    Ok(match name {
        ActionName::Hello => Action::Hello(ReadFields::read(fields)?),
        ActionName::Ping => Action::Ping {},
        ActionName::ListSessions => Action::ListSessions(ReadFields::read(fields)?),
        ActionName::ListAgents => Action::ListAgents {},
        ActionName::CreateSession => Action::CreateSession(ReadFields::read(fields)?),
        ActionName::UpdateSession => Action::UpdateSession(ReadFields::read(fields)?),
        ActionName::DeleteSession => Action::DeleteSession(ReadFields::read(fields)?),
        ActionName::OpenSession => Action::OpenSession(ReadFields::read(fields)?),
        ActionName::CloseSession => Action::CloseSession(ReadFields::read(fields)?),
        ActionName::LoadHistory => Action::LoadHistory(ReadFields::read(fields)?),
        ActionName::GetStream => Action::GetStream(ReadFields::read(fields)?),
        ActionName::GetGraph => Action::GetGraph(ReadFields::read(fields)?),
        ActionName::GetDetail => Action::GetDetail(ReadFields::read(fields)?),
        ActionName::ListBranches => Action::ListBranches(ReadFields::read(fields)?),
        ActionName::SetHead => Action::SetHead(ReadFields::read(fields)?),
        ActionName::Rewrite => Action::Rewrite(ReadFields::read(fields)?),
        ActionName::SendMessage => Action::SendMessage(ReadFields::read(fields)?),
        ActionName::StopRun => Action::StopRun(ReadFields::read(fields)?),
        ActionName::SteerRun => Action::SteerRun(ReadFields::read(fields)?),
        ActionName::ListQueue => Action::ListQueue(ReadFields::read(fields)?),
        ActionName::RemoveQueued => Action::RemoveQueued(ReadFields::read(fields)?),
        ActionName::ResumeQueue => Action::ResumeQueue(ReadFields::read(fields)?),
        ActionName::ListQuestions => Action::ListQuestions(ReadFields::read(fields)?),
        ActionName::AnswerQuestion => Action::AnswerQuestion(ReadFields::read(fields)?),
        ActionName::ListJobs => Action::ListJobs(ReadFields::read(fields)?),
        ActionName::JobCommand => Action::JobCommand(ReadFields::read(fields)?),
        ActionName::ListUserErrors => Action::ListUserErrors(ReadFields::read(fields)?),
        ActionName::AcknowledgeUserError => Action::AcknowledgeUserError(ReadFields::read(fields)?),
        ActionName::GetRequestResult => Action::GetRequestResult(ReadFields::read(fields)?),
        ActionName::ManageList => Action::ManageList(ReadFields::read(fields)?),
        ActionName::ManageApply => Action::ManageApply(ReadFields::read(fields)?),
        ActionName::GetMetrics => Action::GetMetrics {},
        ActionName::ScanState => Action::ScanState {},
        ActionName::PlanCleanup => Action::PlanCleanup(ReadFields::read(fields)?),
        ActionName::ConfirmCleanup => Action::ConfirmCleanup(ReadFields::read(fields)?),
    })
}
