//! Frames: messages from server to client (2.6).

mod connection;
mod errors;
mod frame_type;
mod history;
mod jobs;
mod management;
mod questions;
mod runs;
mod sessions;
mod streams;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::structures::{ErrorData, Job};

pub use connection::{
    Degradation, Fragment, Heartbeat, MetricsSnapshot, RecoveryCause, RecoveryRequired,
    ReloadRequired, ServerState, Status, SyncReason, SyncRequired, Welcome,
};
pub use errors::{
    ActionError, OperationRecovered, RecordedReply, RequestResult, RequestState,
    UserErrorAcknowledged, UserErrorsList,
};
pub use frame_type::{FrameType, UnknownFrameType};
pub use history::{GraphSummary, HistoryPage, NodeDetail};
pub use jobs::{JobAccepted, JobsList};
pub use management::{
    CleanupDone, CleanupFailed, CleanupPlan, CleanupReport, CleanupTarget, ManagedApplied,
    ManagedList, StateReport,
};
pub use questions::{AnswerRefused, QuestionAsked, QuestionResolved, QuestionsList};
pub use runs::{
    MessageAck, MessageRefused, QueueList, QueueRemoved, QueueResumed, RunStatus, SteerOutcome,
    SteerResult, StopOutcome, StopResult,
};
pub use sessions::{
    AgentsList, Branch, BranchesList, HeadSet, Recovery, SessionClosed, SessionCreated,
    SessionDeleted, SessionDelta, SessionItemFrame, SessionManifest, SessionResume, SessionRotated,
    SessionUpdated, SessionsList,
};
pub use streams::{
    SteerFate, SteerSettled, StreamNote, StreamState, StreamTerminal, StreamText, StreamUpdate,
    TextKind, UpdateItemKind, UpdateKind,
};

/// One frame: `{"type": …, "data": {…}}`, every field present, absent values null (2.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Frame {
    /// Answer to `hello`.
    Welcome(Welcome),
    /// Answer to `ping`.
    Pong {},
    /// Sent after silence.
    Heartbeat(Heartbeat),
    /// State of the server.
    Status(Status),
    /// The page belongs to another build.
    ReloadRequired(ReloadRequired),
    /// State must be read anew.
    RecoveryRequired(RecoveryRequired),
    /// A delta will not be delivered.
    SyncRequired(SyncRequired),
    /// A failure, or a refusal without a frame of its own.
    OperationError(Box<ErrorData>),
    /// Legacy form of an error, off by default.
    ActionError(ActionError),
    /// Open error records.
    UserErrorsList(UserErrorsList),
    /// An acknowledgement took effect.
    UserErrorAcknowledged(UserErrorAcknowledged),
    /// Errors that are closed.
    OperationRecovered(OperationRecovered),
    /// What became of an earlier request.
    RequestResult(Box<RequestResult>),
    /// A page of sessions.
    SessionsList(SessionsList),
    /// A list entry changed.
    SessionItem(Box<SessionItemFrame>),
    /// The agents.
    AgentsList(AgentsList),
    /// A session was made.
    SessionCreated(SessionCreated),
    /// A session was changed.
    SessionUpdated(SessionUpdated),
    /// A session was deleted.
    SessionDeleted(SessionDeleted),
    /// A session opened without known values.
    SessionManifest(Box<SessionManifest>),
    /// What happened since the known values.
    SessionResume(Box<SessionResume>),
    /// Changes of commits.
    SessionDelta(SessionDelta),
    /// The subscription ended.
    SessionClosed(SessionClosed),
    /// The session goes on in another one.
    SessionRotated(SessionRotated),
    /// A page of history.
    HistoryPage(Box<HistoryPage>),
    /// Branches of a session.
    BranchesList(BranchesList),
    /// The head was moved.
    HeadSet(HeadSet),
    /// A message was accepted.
    MessageAck(Box<MessageAck>),
    /// A change of a session had no effect.
    MessageRefused(Box<MessageRefused>),
    /// Answer to a Stop.
    StopResult(StopResult),
    /// Answer to a steer.
    SteerResult(Box<SteerResult>),
    /// An answer had no effect.
    AnswerRefused(AnswerRefused),
    /// A run entered another phase.
    RunStatus(RunStatus),
    /// The queue of a session.
    QueueList(QueueList),
    /// A message was taken out of the queue.
    QueueRemoved(QueueRemoved),
    /// The queue goes on.
    QueueResumed(QueueResumed),
    /// Text appended to an item.
    StreamText(StreamText),
    /// New value of an item.
    StreamUpdate(StreamUpdate),
    /// Rows that show nothing.
    StreamNote(StreamNote),
    /// Fate of a steer.
    SteerSettled(SteerSettled),
    /// The live content of an entity.
    StreamState(Box<StreamState>),
    /// An entity ended.
    StreamTerminal(Box<StreamTerminal>),
    /// A question is open.
    QuestionAsked(Box<QuestionAsked>),
    /// A question is closed.
    QuestionResolved(QuestionResolved),
    /// Open questions of a session.
    QuestionsList(QuestionsList),
    /// A job changed.
    JobStatus(Box<Job>),
    /// A command to a job was accepted.
    JobAccepted(JobAccepted),
    /// Jobs.
    JobsList(JobsList),
    /// Managed things of one kind.
    ManagedList(ManagedList),
    /// A managed thing was changed.
    ManagedApplied(ManagedApplied),
    /// The graph of a session.
    GraphSummary(GraphSummary),
    /// A piece of one node's content.
    NodeDetail(Box<NodeDetail>),
    /// A part of a logical frame.
    Fragment(Box<Fragment>),
    /// Metrics of the server.
    MetricsSnapshot(MetricsSnapshot),
    /// Sizes of the state directory.
    StateReport(StateReport),
    /// What a cleanup would remove.
    CleanupPlan(CleanupPlan),
    /// What a cleanup removed.
    CleanupReport(CleanupReport),
}

impl Frame {
    /// The frame as it goes over the transport; its size is the length of this text (SND-4).
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("every frame has string keys and no fallible value")
    }

    /// Its type.
    pub fn frame_type(&self) -> FrameType {
        match self {
            Self::Welcome(_) => FrameType::Welcome,
            Self::Pong {} => FrameType::Pong,
            Self::Heartbeat(_) => FrameType::Heartbeat,
            Self::Status(_) => FrameType::Status,
            Self::ReloadRequired(_) => FrameType::ReloadRequired,
            Self::RecoveryRequired(_) => FrameType::RecoveryRequired,
            Self::SyncRequired(_) => FrameType::SyncRequired,
            Self::OperationError(_) => FrameType::OperationError,
            Self::ActionError(_) => FrameType::ActionError,
            Self::UserErrorsList(_) => FrameType::UserErrorsList,
            Self::UserErrorAcknowledged(_) => FrameType::UserErrorAcknowledged,
            Self::OperationRecovered(_) => FrameType::OperationRecovered,
            Self::RequestResult(_) => FrameType::RequestResult,
            Self::SessionsList(_) => FrameType::SessionsList,
            Self::SessionItem(_) => FrameType::SessionItem,
            Self::AgentsList(_) => FrameType::AgentsList,
            Self::SessionCreated(_) => FrameType::SessionCreated,
            Self::SessionUpdated(_) => FrameType::SessionUpdated,
            Self::SessionDeleted(_) => FrameType::SessionDeleted,
            Self::SessionManifest(_) => FrameType::SessionManifest,
            Self::SessionResume(_) => FrameType::SessionResume,
            Self::SessionDelta(_) => FrameType::SessionDelta,
            Self::SessionClosed(_) => FrameType::SessionClosed,
            Self::SessionRotated(_) => FrameType::SessionRotated,
            Self::HistoryPage(_) => FrameType::HistoryPage,
            Self::BranchesList(_) => FrameType::BranchesList,
            Self::HeadSet(_) => FrameType::HeadSet,
            Self::MessageAck(_) => FrameType::MessageAck,
            Self::MessageRefused(_) => FrameType::MessageRefused,
            Self::StopResult(_) => FrameType::StopResult,
            Self::SteerResult(_) => FrameType::SteerResult,
            Self::AnswerRefused(_) => FrameType::AnswerRefused,
            Self::RunStatus(_) => FrameType::RunStatus,
            Self::QueueList(_) => FrameType::QueueList,
            Self::QueueRemoved(_) => FrameType::QueueRemoved,
            Self::QueueResumed(_) => FrameType::QueueResumed,
            Self::StreamText(_) => FrameType::StreamText,
            Self::StreamUpdate(_) => FrameType::StreamUpdate,
            Self::StreamNote(_) => FrameType::StreamNote,
            Self::SteerSettled(_) => FrameType::SteerSettled,
            Self::StreamState(_) => FrameType::StreamState,
            Self::StreamTerminal(_) => FrameType::StreamTerminal,
            Self::QuestionAsked(_) => FrameType::QuestionAsked,
            Self::QuestionResolved(_) => FrameType::QuestionResolved,
            Self::QuestionsList(_) => FrameType::QuestionsList,
            Self::JobStatus(_) => FrameType::JobStatus,
            Self::JobAccepted(_) => FrameType::JobAccepted,
            Self::JobsList(_) => FrameType::JobsList,
            Self::ManagedList(_) => FrameType::ManagedList,
            Self::ManagedApplied(_) => FrameType::ManagedApplied,
            Self::GraphSummary(_) => FrameType::GraphSummary,
            Self::NodeDetail(_) => FrameType::NodeDetail,
            Self::Fragment(_) => FrameType::Fragment,
            Self::MetricsSnapshot(_) => FrameType::MetricsSnapshot,
            Self::StateReport(_) => FrameType::StateReport,
            Self::CleanupPlan(_) => FrameType::CleanupPlan,
            Self::CleanupReport(_) => FrameType::CleanupReport,
        }
    }

    /// Request it answers; a frame with one is a reply, any other a push.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Welcome(data) => data.request_id.as_deref(),
            Self::RecoveryRequired(data) => data.request_id.as_deref(),
            Self::OperationError(data) => data.request_id(),
            Self::UserErrorsList(data) => data.request_id.as_deref(),
            Self::UserErrorAcknowledged(data) => data.request_id.as_deref(),
            Self::RequestResult(data) => data.request_id.as_deref(),
            Self::SessionsList(data) => data.request_id.as_deref(),
            Self::AgentsList(data) => data.request_id.as_deref(),
            Self::SessionCreated(data) => data.request_id.as_deref(),
            Self::SessionUpdated(data) => data.request_id.as_deref(),
            Self::SessionDeleted(data) => data.request_id.as_deref(),
            Self::SessionManifest(data) => data.request_id.as_deref(),
            Self::SessionResume(data) => data.request_id.as_deref(),
            Self::SessionClosed(data) => data.request_id.as_deref(),
            Self::HistoryPage(data) => data.request_id.as_deref(),
            Self::BranchesList(data) => data.request_id.as_deref(),
            Self::HeadSet(data) => data.request_id.as_deref(),
            Self::MessageAck(data) => data.request_id.as_deref(),
            Self::MessageRefused(data) => data.request_id.as_deref(),
            Self::StopResult(data) => data.request_id.as_deref(),
            Self::SteerResult(data) => data.request_id.as_deref(),
            Self::AnswerRefused(data) => data.request_id.as_deref(),
            Self::QueueList(data) => data.request_id.as_deref(),
            Self::QueueRemoved(data) => data.request_id.as_deref(),
            Self::QueueResumed(data) => data.request_id.as_deref(),
            Self::StreamState(data) => data.request_id.as_deref(),
            Self::QuestionResolved(data) => data.request_id.as_deref(),
            Self::QuestionsList(data) => data.request_id.as_deref(),
            Self::JobAccepted(data) => data.request_id.as_deref(),
            Self::JobsList(data) => data.request_id.as_deref(),
            Self::ManagedList(data) => data.request_id.as_deref(),
            Self::ManagedApplied(data) => data.request_id.as_deref(),
            Self::GraphSummary(data) => data.request_id.as_deref(),
            Self::NodeDetail(data) => data.request_id.as_deref(),
            Self::Fragment(data) => data.request_id.as_deref(),
            Self::MetricsSnapshot(data) => data.request_id.as_deref(),
            Self::StateReport(data) => data.request_id.as_deref(),
            Self::CleanupPlan(data) => data.request_id.as_deref(),
            Self::CleanupReport(data) => data.request_id.as_deref(),
            Self::Pong {}
            | Self::Heartbeat(_)
            | Self::Status(_)
            | Self::ReloadRequired(_)
            | Self::SyncRequired(_)
            | Self::ActionError(_)
            | Self::OperationRecovered(_)
            | Self::SessionItem(_)
            | Self::SessionDelta(_)
            | Self::SessionRotated(_)
            | Self::RunStatus(_)
            | Self::StreamText(_)
            | Self::StreamUpdate(_)
            | Self::StreamNote(_)
            | Self::SteerSettled(_)
            | Self::StreamTerminal(_)
            | Self::QuestionAsked(_)
            | Self::JobStatus(_) => None,
        }
    }

    /// Session it concerns.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::SyncRequired(data) => Some(&data.session_id),
            Self::OperationError(data) => data.session_id(),
            Self::ActionError(data) => data.session_id.as_deref(),
            Self::SessionItem(data) => Some(&data.session_id),
            Self::SessionCreated(data) => Some(&data.session_id),
            Self::SessionUpdated(data) => Some(&data.session_id),
            Self::SessionDeleted(data) => Some(&data.session_id),
            Self::SessionManifest(data) => Some(&data.manifest.session_id),
            Self::SessionResume(data) => Some(&data.session_id),
            Self::SessionDelta(data) => Some(&data.session_id),
            Self::SessionClosed(data) => Some(&data.session_id),
            Self::SessionRotated(data) => Some(&data.session_id),
            Self::HistoryPage(data) => Some(&data.session_id),
            Self::BranchesList(data) => Some(&data.session_id),
            Self::HeadSet(data) => Some(&data.session_id),
            Self::MessageAck(data) => Some(&data.session_id),
            Self::MessageRefused(data) => data.session_id.as_deref(),
            Self::StopResult(data) => Some(&data.session_id),
            Self::SteerResult(data) => Some(&data.session_id),
            Self::AnswerRefused(data) => Some(&data.session_id),
            Self::RunStatus(data) => Some(&data.session_id),
            Self::QueueList(data) => Some(&data.session_id),
            Self::QueueRemoved(data) => Some(&data.session_id),
            Self::QueueResumed(data) => Some(&data.session_id),
            Self::StreamText(data) => Some(&data.session_id),
            Self::StreamUpdate(data) => Some(&data.session_id),
            Self::StreamNote(data) => Some(&data.session_id),
            Self::SteerSettled(data) => Some(&data.session_id),
            Self::StreamState(data) => Some(&data.session_id),
            Self::StreamTerminal(data) => Some(&data.session_id),
            Self::QuestionAsked(data) => Some(&data.session_id),
            Self::QuestionResolved(data) => Some(&data.session_id),
            Self::QuestionsList(data) => Some(&data.session_id),
            Self::JobStatus(data) => Some(&data.session_id),
            Self::JobsList(data) => data.session_id.as_deref(),
            Self::GraphSummary(data) => Some(&data.session_id),
            Self::NodeDetail(data) => Some(&data.session_id),
            Self::Fragment(data) => data.session_id.as_deref(),
            Self::Welcome(_)
            | Self::Pong {}
            | Self::Heartbeat(_)
            | Self::Status(_)
            | Self::ReloadRequired(_)
            | Self::RecoveryRequired(_)
            | Self::UserErrorsList(_)
            | Self::UserErrorAcknowledged(_)
            | Self::OperationRecovered(_)
            | Self::RequestResult(_)
            | Self::SessionsList(_)
            | Self::AgentsList(_)
            | Self::JobAccepted(_)
            | Self::ManagedList(_)
            | Self::ManagedApplied(_)
            | Self::MetricsSnapshot(_)
            | Self::StateReport(_)
            | Self::CleanupPlan(_)
            | Self::CleanupReport(_) => None,
        }
    }

    /// Live entity it concerns.
    pub fn entity_id(&self) -> Option<&str> {
        match self {
            Self::SyncRequired(data) => data.entity_id.as_deref(),
            Self::MessageAck(data) => data.entity_id.as_deref(),
            Self::RunStatus(data) => Some(&data.run_id),
            Self::StreamText(data) => Some(&data.entity_id),
            Self::StreamUpdate(data) => Some(&data.entity_id),
            Self::StreamNote(data) => Some(&data.entity_id),
            Self::SteerSettled(data) => Some(&data.entity_id),
            Self::StreamState(data) => Some(&data.entity_id),
            Self::StreamTerminal(data) => Some(&data.entity_id),
            Self::JobStatus(data) => Some(&data.job_id),
            Self::Fragment(data) => data.entity_id.as_deref(),
            Self::Welcome(_)
            | Self::Pong {}
            | Self::Heartbeat(_)
            | Self::Status(_)
            | Self::ReloadRequired(_)
            | Self::RecoveryRequired(_)
            | Self::OperationError(_)
            | Self::ActionError(_)
            | Self::UserErrorsList(_)
            | Self::UserErrorAcknowledged(_)
            | Self::OperationRecovered(_)
            | Self::RequestResult(_)
            | Self::SessionsList(_)
            | Self::SessionItem(_)
            | Self::AgentsList(_)
            | Self::SessionCreated(_)
            | Self::SessionUpdated(_)
            | Self::SessionDeleted(_)
            | Self::SessionManifest(_)
            | Self::SessionResume(_)
            | Self::SessionDelta(_)
            | Self::SessionClosed(_)
            | Self::SessionRotated(_)
            | Self::HistoryPage(_)
            | Self::BranchesList(_)
            | Self::HeadSet(_)
            | Self::MessageRefused(_)
            | Self::StopResult(_)
            | Self::SteerResult(_)
            | Self::AnswerRefused(_)
            | Self::QueueList(_)
            | Self::QueueRemoved(_)
            | Self::QueueResumed(_)
            | Self::QuestionAsked(_)
            | Self::QuestionResolved(_)
            | Self::QuestionsList(_)
            | Self::JobAccepted(_)
            | Self::JobsList(_)
            | Self::ManagedList(_)
            | Self::ManagedApplied(_)
            | Self::GraphSummary(_)
            | Self::NodeDetail(_)
            | Self::MetricsSnapshot(_)
            | Self::StateReport(_)
            | Self::CleanupPlan(_)
            | Self::CleanupReport(_) => None,
        }
    }
}
