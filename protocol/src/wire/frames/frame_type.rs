//! Names of the frame types.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Type of a frame (2.6).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FrameType {
    /// Answer to `hello`.
    Welcome,
    /// Answer to `ping`.
    Pong,
    /// Sent after silence.
    Heartbeat,
    /// State of the server.
    Status,
    /// The page belongs to another build.
    ReloadRequired,
    /// State must be read anew.
    RecoveryRequired,
    /// A delta will not be delivered.
    SyncRequired,
    /// A failure, or a refusal without a frame of its own.
    OperationError,
    /// Legacy form of an error, off by default.
    ActionError,
    /// Open error records.
    UserErrorsList,
    /// An acknowledgement took effect.
    UserErrorAcknowledged,
    /// Errors that are closed.
    OperationRecovered,
    /// What became of an earlier request.
    RequestResult,
    /// A page of sessions.
    SessionsList,
    /// A list entry changed.
    SessionItem,
    /// The agents.
    AgentsList,
    /// A session was made.
    SessionCreated,
    /// A session was changed.
    SessionUpdated,
    /// A session was deleted.
    SessionDeleted,
    /// A session opened without known values.
    SessionManifest,
    /// What happened since the known values.
    SessionResume,
    /// Changes of commits.
    SessionDelta,
    /// The subscription ended.
    SessionClosed,
    /// The session goes on in another one.
    SessionRotated,
    /// A page of history.
    HistoryPage,
    /// Branches of a session.
    BranchesList,
    /// The head was moved.
    HeadSet,
    /// A message was accepted.
    MessageAck,
    /// A change of a session had no effect.
    MessageRefused,
    /// Answer to a Stop.
    StopResult,
    /// Answer to a steer.
    SteerResult,
    /// An answer had no effect.
    AnswerRefused,
    /// A run entered another phase.
    RunStatus,
    /// The queue of a session.
    QueueList,
    /// A message was taken out of the queue.
    QueueRemoved,
    /// The queue goes on.
    QueueResumed,
    /// Text appended to an item.
    StreamText,
    /// New value of an item.
    StreamUpdate,
    /// Rows that show nothing.
    StreamNote,
    /// Fate of a steer.
    SteerSettled,
    /// The live content of an entity.
    StreamState,
    /// An entity ended.
    StreamTerminal,
    /// A question is open.
    QuestionAsked,
    /// A question is closed.
    QuestionResolved,
    /// Open questions of a session.
    QuestionsList,
    /// A job changed.
    JobStatus,
    /// A command to a job was accepted.
    JobAccepted,
    /// Jobs.
    JobsList,
    /// Managed things of one kind.
    ManagedList,
    /// A managed thing was changed.
    ManagedApplied,
    /// The graph of a session.
    GraphSummary,
    /// A piece of one node's content.
    NodeDetail,
    /// A part of a logical frame.
    Fragment,
    /// Metrics of the server.
    MetricsSnapshot,
    /// Sizes of the state directory.
    StateReport,
    /// What a cleanup would remove.
    CleanupPlan,
    /// What a cleanup removed.
    CleanupReport,
}

/// The text names no frame type of this protocol version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown frame type; a newer server may have sent it: ignore the frame")]
pub struct UnknownFrameType;

impl FrameType {
    /// Every frame type, in the order of 2.6.
    pub const ALL: &'static [Self] = &[
        Self::Welcome,
        Self::Pong,
        Self::Heartbeat,
        Self::Status,
        Self::ReloadRequired,
        Self::RecoveryRequired,
        Self::SyncRequired,
        Self::OperationError,
        Self::ActionError,
        Self::UserErrorsList,
        Self::UserErrorAcknowledged,
        Self::OperationRecovered,
        Self::RequestResult,
        Self::SessionsList,
        Self::SessionItem,
        Self::AgentsList,
        Self::SessionCreated,
        Self::SessionUpdated,
        Self::SessionDeleted,
        Self::SessionManifest,
        Self::SessionResume,
        Self::SessionDelta,
        Self::SessionClosed,
        Self::SessionRotated,
        Self::HistoryPage,
        Self::BranchesList,
        Self::HeadSet,
        Self::MessageAck,
        Self::MessageRefused,
        Self::StopResult,
        Self::SteerResult,
        Self::AnswerRefused,
        Self::RunStatus,
        Self::QueueList,
        Self::QueueRemoved,
        Self::QueueResumed,
        Self::StreamText,
        Self::StreamUpdate,
        Self::StreamNote,
        Self::SteerSettled,
        Self::StreamState,
        Self::StreamTerminal,
        Self::QuestionAsked,
        Self::QuestionResolved,
        Self::QuestionsList,
        Self::JobStatus,
        Self::JobAccepted,
        Self::JobsList,
        Self::ManagedList,
        Self::ManagedApplied,
        Self::GraphSummary,
        Self::NodeDetail,
        Self::Fragment,
        Self::MetricsSnapshot,
        Self::StateReport,
        Self::CleanupPlan,
        Self::CleanupReport,
    ];

    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Welcome => "welcome",
            Self::Pong => "pong",
            Self::Heartbeat => "heartbeat",
            Self::Status => "status",
            Self::ReloadRequired => "reload_required",
            Self::RecoveryRequired => "recovery_required",
            Self::SyncRequired => "sync_required",
            Self::OperationError => "operation_error",
            Self::ActionError => "action_error",
            Self::UserErrorsList => "user_errors_list",
            Self::UserErrorAcknowledged => "user_error_acknowledged",
            Self::OperationRecovered => "operation_recovered",
            Self::RequestResult => "request_result",
            Self::SessionsList => "sessions_list",
            Self::SessionItem => "session_item",
            Self::AgentsList => "agents_list",
            Self::SessionCreated => "session_created",
            Self::SessionUpdated => "session_updated",
            Self::SessionDeleted => "session_deleted",
            Self::SessionManifest => "session_manifest",
            Self::SessionResume => "session_resume",
            Self::SessionDelta => "session_delta",
            Self::SessionClosed => "session_closed",
            Self::SessionRotated => "session_rotated",
            Self::HistoryPage => "history_page",
            Self::BranchesList => "branches_list",
            Self::HeadSet => "head_set",
            Self::MessageAck => "message_ack",
            Self::MessageRefused => "message_refused",
            Self::StopResult => "stop_result",
            Self::SteerResult => "steer_result",
            Self::AnswerRefused => "answer_refused",
            Self::RunStatus => "run_status",
            Self::QueueList => "queue_list",
            Self::QueueRemoved => "queue_removed",
            Self::QueueResumed => "queue_resumed",
            Self::StreamText => "stream_text",
            Self::StreamUpdate => "stream_update",
            Self::StreamNote => "stream_note",
            Self::SteerSettled => "steer_settled",
            Self::StreamState => "stream_state",
            Self::StreamTerminal => "stream_terminal",
            Self::QuestionAsked => "question_asked",
            Self::QuestionResolved => "question_resolved",
            Self::QuestionsList => "questions_list",
            Self::JobStatus => "job_status",
            Self::JobAccepted => "job_accepted",
            Self::JobsList => "jobs_list",
            Self::ManagedList => "managed_list",
            Self::ManagedApplied => "managed_applied",
            Self::GraphSummary => "graph_summary",
            Self::NodeDetail => "node_detail",
            Self::Fragment => "fragment",
            Self::MetricsSnapshot => "metrics_snapshot",
            Self::StateReport => "state_report",
            Self::CleanupPlan => "cleanup_plan",
            Self::CleanupReport => "cleanup_report",
        }
    }

    /// Whether a large frame of this type may be sent in fragments (column F).
    pub fn fragmentable(self) -> bool {
        match self {
            Self::UserErrorsList
            | Self::SessionsList
            | Self::AgentsList
            | Self::SessionManifest
            | Self::SessionResume
            | Self::HistoryPage
            | Self::BranchesList
            | Self::QueueList
            | Self::QueueRemoved
            | Self::StreamState
            | Self::StreamTerminal
            | Self::QuestionsList
            | Self::JobsList
            | Self::ManagedList
            | Self::GraphSummary
            | Self::NodeDetail
            | Self::StateReport
            | Self::CleanupPlan
            | Self::CleanupReport => true,
            Self::Welcome
            | Self::Pong
            | Self::Heartbeat
            | Self::Status
            | Self::ReloadRequired
            | Self::RecoveryRequired
            | Self::SyncRequired
            | Self::OperationError
            | Self::ActionError
            | Self::UserErrorAcknowledged
            | Self::OperationRecovered
            | Self::RequestResult
            | Self::SessionItem
            | Self::SessionCreated
            | Self::SessionUpdated
            | Self::SessionDeleted
            | Self::SessionDelta
            | Self::SessionClosed
            | Self::SessionRotated
            | Self::HeadSet
            | Self::MessageAck
            | Self::MessageRefused
            | Self::StopResult
            | Self::SteerResult
            | Self::AnswerRefused
            | Self::RunStatus
            | Self::QueueResumed
            | Self::StreamText
            | Self::StreamUpdate
            | Self::StreamNote
            | Self::SteerSettled
            | Self::QuestionAsked
            | Self::QuestionResolved
            | Self::JobStatus
            | Self::JobAccepted
            | Self::ManagedApplied
            | Self::Fragment
            | Self::MetricsSnapshot => false,
        }
    }
}

impl fmt::Display for FrameType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for FrameType {
    type Err = UnknownFrameType;

    fn from_str(text: &str) -> Result<Self, UnknownFrameType> {
        let found = Self::ALL.iter().find(|frame_type| frame_type.as_str() == text);
        found.copied().ok_or(UnknownFrameType)
    }
}
