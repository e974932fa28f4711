//! Delivery classes, coalescing keys and routes (2.4, 2.6).

use serde::{Deserialize, Serialize};

use super::frames::{Frame, FrameType};
use super::limits::{
    CONTROL_CAP_BYTES, CONTROL_CAP_FRAMES, ORDINARY_CAP_BYTES, ORDINARY_CAP_FRAMES,
    QUEUE_BYTES_MAX, QUEUE_FRAMES_MAX,
};
use super::structures::JobStatus;

/// Delivery class of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Must arrive or be signalled lost.
    Terminal,
    /// Upkeep of the connection.
    Control,
    /// Live rows or commits; text and notes merge when contiguous.
    Append,
    /// Live state, newest wins.
    Replace,
    /// Whole lists, newest wins.
    Snapshot,
}

impl Class {
    /// Frames a queue may hold after a frame of this class was admitted (SND-3).
    pub const fn frames_cap(self) -> usize {
        match self {
            Self::Terminal => QUEUE_FRAMES_MAX,
            Self::Control => CONTROL_CAP_FRAMES,
            Self::Append | Self::Replace | Self::Snapshot => ORDINARY_CAP_FRAMES,
        }
    }

    /// Bytes a queue may hold after a frame of this class was admitted (SND-3).
    pub const fn bytes_cap(self) -> usize {
        match self {
            Self::Terminal => QUEUE_BYTES_MAX,
            Self::Control => CONTROL_CAP_BYTES,
            Self::Append | Self::Replace | Self::Snapshot => ORDINARY_CAP_BYTES,
        }
    }
}

/// Who receives a push of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// The one connection concerned.
    Connection,
    /// Connections subscribed to the session.
    Session,
    /// Connections whose principal may read the session.
    Readers,
    /// Connections of the principal of the record.
    Principal,
    /// Connections of owner role.
    Owners,
    /// Every connection.
    All,
    /// Nobody: it is only ever a reply.
    None,
}

/// Coalescing key of a push: frames with equal key may merge or displace each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Type of the frame.
    pub frame_type: FrameType,
    /// Session, where the key has one.
    pub session: Option<String>,
    /// Entity (run or job), where the key has one.
    pub entity: Option<String>,
    /// Item, steer or kind, where the key has one.
    pub part: Option<String>,
}

impl FrameType {
    /// Class of a push of this type (SND-6); a job that ended is the one exception, see [`Frame::class`].
    pub fn push_class(self) -> Class {
        match self {
            Self::Pong
            | Self::Heartbeat
            | Self::Status
            | Self::ReloadRequired
            | Self::RecoveryRequired
            | Self::SyncRequired => Class::Control,
            Self::SessionDelta | Self::StreamText | Self::StreamNote | Self::SteerSettled => {
                Class::Append
            }
            Self::SessionItem | Self::RunStatus | Self::StreamUpdate | Self::JobStatus => {
                Class::Replace
            }
            Self::QuestionsList
            | Self::JobsList
            | Self::ManagedList
            | Self::GraphSummary
            | Self::MetricsSnapshot => Class::Snapshot,
            Self::Welcome
            | Self::OperationError
            | Self::ActionError
            | Self::UserErrorsList
            | Self::UserErrorAcknowledged
            | Self::OperationRecovered
            | Self::RequestResult
            | Self::SessionsList
            | Self::AgentsList
            | Self::SessionCreated
            | Self::SessionUpdated
            | Self::SessionDeleted
            | Self::SessionManifest
            | Self::SessionResume
            | Self::SessionClosed
            | Self::SessionRotated
            | Self::HistoryPage
            | Self::BranchesList
            | Self::HeadSet
            | Self::MessageAck
            | Self::MessageRefused
            | Self::StopResult
            | Self::SteerResult
            | Self::AnswerRefused
            | Self::QueueList
            | Self::QueueRemoved
            | Self::QueueResumed
            | Self::StreamState
            | Self::StreamTerminal
            | Self::QuestionAsked
            | Self::QuestionResolved
            | Self::JobAccepted
            | Self::ManagedApplied
            | Self::NodeDetail
            | Self::Fragment
            | Self::StateReport
            | Self::CleanupPlan
            | Self::CleanupReport => Class::Terminal,
        }
    }

    /// Who receives a push of this type; a connection ask goes to its connection alone.
    pub fn route(self) -> Route {
        match self {
            Self::Welcome
            | Self::Pong
            | Self::Heartbeat
            | Self::ReloadRequired
            | Self::SyncRequired
            | Self::OperationError
            | Self::ActionError
            | Self::GraphSummary
            | Self::Fragment => Route::Connection,
            Self::Status | Self::RecoveryRequired => Route::All,
            Self::OperationRecovered => Route::Principal,
            Self::SessionItem | Self::SessionDeleted => Route::Readers,
            Self::ManagedList => Route::Owners,
            Self::SessionDelta
            | Self::SessionRotated
            | Self::RunStatus
            | Self::StreamText
            | Self::StreamUpdate
            | Self::StreamNote
            | Self::SteerSettled
            | Self::StreamTerminal
            | Self::QuestionAsked
            | Self::QuestionResolved
            | Self::QuestionsList
            | Self::JobStatus
            | Self::JobsList => Route::Session,
            Self::UserErrorsList
            | Self::UserErrorAcknowledged
            | Self::RequestResult
            | Self::SessionsList
            | Self::AgentsList
            | Self::SessionCreated
            | Self::SessionUpdated
            | Self::SessionManifest
            | Self::SessionResume
            | Self::SessionClosed
            | Self::HistoryPage
            | Self::BranchesList
            | Self::HeadSet
            | Self::MessageAck
            | Self::MessageRefused
            | Self::StopResult
            | Self::SteerResult
            | Self::AnswerRefused
            | Self::QueueList
            | Self::QueueRemoved
            | Self::QueueResumed
            | Self::StreamState
            | Self::JobAccepted
            | Self::ManagedApplied
            | Self::NodeDetail
            | Self::MetricsSnapshot
            | Self::StateReport
            | Self::CleanupPlan
            | Self::CleanupReport => Route::None,
        }
    }
}

impl Frame {
    /// Class of this frame: terminal for every reply, else that of its type (SND-6).
    pub fn class(&self) -> Class {
        if self.request_id().is_some() || self.ends_job() {
            return Class::Terminal;
        }
        self.frame_type().push_class()
    }

    /// Coalescing key of this frame; none for a terminal one.
    pub fn key(&self) -> Option<Key> {
        if self.class() == Class::Terminal {
            return None;
        }
        let entity = self.entity_id().map(str::to_owned);
        Some(Key {
            frame_type: self.frame_type(),
            session: self.session_id().map(str::to_owned),
            entity,
            part: self.key_part(),
        })
    }

    fn ends_job(&self) -> bool {
        let Self::JobStatus(job) = self else { return false };
        match job.status {
            JobStatus::Pending | JobStatus::Queued | JobStatus::Running => false,
            JobStatus::Completed | JobStatus::Cancelled | JobStatus::Errored => true,
        }
    }

    fn key_part(&self) -> Option<String> {
        match self {
            Self::StreamText(data) => Some(data.item_id.clone()),
            Self::StreamUpdate(data) => Some(data.item_id.clone()),
            Self::SteerSettled(data) => Some(data.steer_id.clone()),
            Self::ManagedList(data) => Some(data.kind.as_str().to_owned()),
            _ => None,
        }
    }
}
