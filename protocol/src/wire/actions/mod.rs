//! Actions: messages from client to server (2.5).

mod connection;
mod errors;
mod fields;
mod history;
mod jobs;
mod management;
mod name;
mod opening;
mod parse;
mod questions;
mod reading;
mod refusal;
mod runs;
mod sessions;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::structures::Scope;

pub use connection::{GetRequestResult, Hello};
pub use errors::{AcknowledgeUserError, ListUserErrors};
pub use history::{HistorySelector, LoadHistory, SelectorNotUnique};
pub use jobs::{JobCommand, JobOperation, ListJobs};
pub use management::{
    ConfirmCleanup, ManageApply, ManageKind, ManageList, ManageOperation, PlanCleanup,
};
pub use name::{ActionKind, ActionName, UnknownActionName};
pub use opening::{KnownState, KnownValuesIncomplete, OpenSession};
pub use parse::{parse, parse_any};
pub use questions::{AnswerQuestion, ListQuestions};
pub use reading::{GetDetail, GetGraph, GetStream};
pub use refusal::ParseRefusal;
pub use runs::{
    ListQueue, RemoveQueued, ResumeQueue, Rewrite, RewriteOperation, SendMessage, SteerRun,
    StopRun, WhenBusy,
};
pub use sessions::{
    CloseSession, CreateSession, DeleteSession, ListBranches, ListSessions, SetHead, UpdateSession,
};

/// One action with its fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Negotiates.
    Hello(Hello),
    /// Renews the lease.
    Ping {},
    /// Lists sessions.
    ListSessions(ListSessions),
    /// Lists agents.
    ListAgents {},
    /// Makes a session.
    CreateSession(CreateSession),
    /// Changes a session.
    UpdateSession(UpdateSession),
    /// Deletes a session.
    DeleteSession(DeleteSession),
    /// Subscribes to a session.
    OpenSession(OpenSession),
    /// Ends the subscription.
    CloseSession(CloseSession),
    /// Reads a page of history.
    LoadHistory(LoadHistory),
    /// Reads the live content of an entity.
    GetStream(GetStream),
    /// Reads the graph.
    GetGraph(GetGraph),
    /// Reads content behind a marker.
    GetDetail(GetDetail),
    /// Lists branches.
    ListBranches(ListBranches),
    /// Moves the head.
    SetHead(SetHead),
    /// Changes the transcript at a message.
    Rewrite(Rewrite),
    /// Submits a message.
    SendMessage(SendMessage),
    /// Stops a run.
    StopRun(StopRun),
    /// Gives a running agent a hint.
    SteerRun(SteerRun),
    /// Lists what waits.
    ListQueue(ListQueue),
    /// Takes a message out of the queue.
    RemoveQueued(RemoveQueued),
    /// Lets a held queue go on.
    ResumeQueue(ResumeQueue),
    /// Lists open questions.
    ListQuestions(ListQuestions),
    /// Answers a question.
    AnswerQuestion(AnswerQuestion),
    /// Lists jobs.
    ListJobs(ListJobs),
    /// Starts, cancels or retries a job.
    JobCommand(JobCommand),
    /// Lists open error records.
    ListUserErrors(ListUserErrors),
    /// Closes an error record.
    AcknowledgeUserError(AcknowledgeUserError),
    /// Asks what became of a request.
    GetRequestResult(GetRequestResult),
    /// Lists managed things.
    ManageList(ManageList),
    /// Changes a managed thing.
    ManageApply(ManageApply),
    /// Reads the metrics.
    GetMetrics {},
    /// Measures the state directory.
    ScanState {},
    /// Plans a cleanup.
    PlanCleanup(PlanCleanup),
    /// Carries out a planned cleanup.
    ConfirmCleanup(ConfirmCleanup),
}

impl Action {
    /// Its name.
    pub fn name(&self) -> ActionName {
        match self {
            Self::Hello(_) => ActionName::Hello,
            Self::Ping {} => ActionName::Ping,
            Self::ListSessions(_) => ActionName::ListSessions,
            Self::ListAgents {} => ActionName::ListAgents,
            Self::CreateSession(_) => ActionName::CreateSession,
            Self::UpdateSession(_) => ActionName::UpdateSession,
            Self::DeleteSession(_) => ActionName::DeleteSession,
            Self::OpenSession(_) => ActionName::OpenSession,
            Self::CloseSession(_) => ActionName::CloseSession,
            Self::LoadHistory(_) => ActionName::LoadHistory,
            Self::GetStream(_) => ActionName::GetStream,
            Self::GetGraph(_) => ActionName::GetGraph,
            Self::GetDetail(_) => ActionName::GetDetail,
            Self::ListBranches(_) => ActionName::ListBranches,
            Self::SetHead(_) => ActionName::SetHead,
            Self::Rewrite(_) => ActionName::Rewrite,
            Self::SendMessage(_) => ActionName::SendMessage,
            Self::StopRun(_) => ActionName::StopRun,
            Self::SteerRun(_) => ActionName::SteerRun,
            Self::ListQueue(_) => ActionName::ListQueue,
            Self::RemoveQueued(_) => ActionName::RemoveQueued,
            Self::ResumeQueue(_) => ActionName::ResumeQueue,
            Self::ListQuestions(_) => ActionName::ListQuestions,
            Self::AnswerQuestion(_) => ActionName::AnswerQuestion,
            Self::ListJobs(_) => ActionName::ListJobs,
            Self::JobCommand(_) => ActionName::JobCommand,
            Self::ListUserErrors(_) => ActionName::ListUserErrors,
            Self::AcknowledgeUserError(_) => ActionName::AcknowledgeUserError,
            Self::GetRequestResult(_) => ActionName::GetRequestResult,
            Self::ManageList(_) => ActionName::ManageList,
            Self::ManageApply(_) => ActionName::ManageApply,
            Self::GetMetrics {} => ActionName::GetMetrics,
            Self::ScanState {} => ActionName::ScanState,
            Self::PlanCleanup(_) => ActionName::PlanCleanup,
            Self::ConfirmCleanup(_) => ActionName::ConfirmCleanup,
        }
    }

    /// Scope of its errors (ACT-7).
    pub fn scope(&self) -> Scope {
        let kind = match self {
            Self::ManageList(list) => Some(list.kind),
            Self::ManageApply(apply) => Some(apply.kind),
            _ => None,
        };
        self.name().scope_of(kind)
    }

    /// Session it names.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::UpdateSession(data) => Some(&data.session_id),
            Self::DeleteSession(data) => Some(&data.session_id),
            Self::OpenSession(data) => Some(&data.session_id),
            Self::CloseSession(data) => Some(&data.session_id),
            Self::LoadHistory(data) => Some(&data.session_id),
            Self::GetStream(data) => Some(&data.session_id),
            Self::GetGraph(data) => Some(&data.session_id),
            Self::GetDetail(data) => Some(&data.session_id),
            Self::ListBranches(data) => Some(&data.session_id),
            Self::SetHead(data) => Some(&data.session_id),
            Self::Rewrite(data) => Some(&data.session_id),
            Self::SendMessage(data) => Some(&data.session_id),
            Self::StopRun(data) => Some(&data.session_id),
            Self::SteerRun(data) => Some(&data.session_id),
            Self::ListQueue(data) => Some(&data.session_id),
            Self::RemoveQueued(data) => Some(&data.session_id),
            Self::ResumeQueue(data) => Some(&data.session_id),
            Self::ListQuestions(data) => Some(&data.session_id),
            Self::AnswerQuestion(data) => Some(&data.session_id),
            Self::ListJobs(data) => data.session_id.as_deref(),
            Self::JobCommand(data) => Some(&data.session_id),
            Self::Hello(_)
            | Self::Ping {}
            | Self::ListSessions(_)
            | Self::ListAgents {}
            | Self::CreateSession(_)
            | Self::ListUserErrors(_)
            | Self::AcknowledgeUserError(_)
            | Self::GetRequestResult(_)
            | Self::ManageList(_)
            | Self::ManageApply(_)
            | Self::GetMetrics {}
            | Self::ScanState {}
            | Self::PlanCleanup(_)
            | Self::ConfirmCleanup(_) => None,
        }
    }

    /// Names the intended effect, where the client gave one.
    pub fn idempotency_key(&self) -> Option<&str> {
        match self {
            Self::CreateSession(data) => data.idempotency_key.as_deref(),
            Self::UpdateSession(data) => data.idempotency_key.as_deref(),
            Self::DeleteSession(data) => data.idempotency_key.as_deref(),
            Self::SetHead(data) => data.idempotency_key.as_deref(),
            Self::Rewrite(data) => data.idempotency_key.as_deref(),
            Self::SendMessage(data) => data.idempotency_key.as_deref(),
            Self::RemoveQueued(data) => data.idempotency_key.as_deref(),
            Self::ResumeQueue(data) => data.idempotency_key.as_deref(),
            Self::AnswerQuestion(data) => data.idempotency_key.as_deref(),
            Self::JobCommand(data) => data.idempotency_key.as_deref(),
            Self::ManageApply(data) => data.idempotency_key.as_deref(),
            Self::ConfirmCleanup(data) => data.idempotency_key.as_deref(),
            Self::Hello(_)
            | Self::Ping {}
            | Self::ListSessions(_)
            | Self::ListAgents {}
            | Self::OpenSession(_)
            | Self::CloseSession(_)
            | Self::LoadHistory(_)
            | Self::GetStream(_)
            | Self::GetGraph(_)
            | Self::GetDetail(_)
            | Self::ListBranches(_)
            | Self::StopRun(_)
            | Self::SteerRun(_)
            | Self::ListQueue(_)
            | Self::ListQuestions(_)
            | Self::ListJobs(_)
            | Self::ListUserErrors(_)
            | Self::AcknowledgeUserError(_)
            | Self::GetRequestResult(_)
            | Self::ManageList(_)
            | Self::GetMetrics {}
            | Self::ScanState {}
            | Self::PlanCleanup(_) => None,
        }
    }
}
