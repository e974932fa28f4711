//! Sessions, their lists and their branches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::structures::{
    AgentItem, Manifest, Op, Question, RecoveryReason, SessionItem, StreamResume,
};

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionsList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// The sessions.
    pub sessions: Vec<SessionItem>,
    /// Where the next page starts; null on the last one.
    pub next_cursor: Option<String>,
}

/// A session as lists show it changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionItemFrame {
    /// Session concerned.
    pub session_id: String,
    /// Whether it left the list.
    pub removed: bool,
    /// The new entry; null exactly when removed.
    pub item: Option<SessionItem>,
}

/// The agents.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AgentsList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// The agents.
    pub agents: Vec<AgentItem>,
}

/// A session was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionCreated {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Name of the agent.
    pub agent: String,
    /// Name of the model; null = the agent's default.
    pub model: Option<String>,
}

/// A session was changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionUpdated {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// A session was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionDeleted {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// A session opened without known values, or that must be read anew.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionManifest {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// The manifest.
    #[serde(flatten)]
    pub manifest: Manifest,
    /// Why known values could not be used.
    pub recovery: Option<Recovery>,
}

/// Why known values could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// The reason.
    pub reason: RecoveryReason,
}

/// What happened since the known values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionResume {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Open generation of the client, echoed.
    pub generation: i64,
    /// Revision the client knew.
    pub from_revision: i64,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Changes since, in order.
    pub ops: Vec<Op>,
    /// How each entity goes on.
    pub streams: Vec<StreamResume>,
    /// Open error records of the principal.
    pub open_error_ids: Vec<String>,
    /// Open questions.
    pub open_questions: Vec<Question>,
}

/// Changes of one or more commits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionDelta {
    /// Session concerned.
    pub session_id: String,
    /// Revision before.
    pub from_revision: i64,
    /// Revision after.
    pub to_revision: i64,
    /// The changes, in order.
    pub ops: Vec<Op>,
}

/// The connection no longer receives this session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionClosed {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
}

/// The session goes on in another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionRotated {
    /// Session concerned.
    pub session_id: String,
    /// The session that goes on.
    pub continuation_session_id: String,
    /// Run that rotated it.
    pub run_id: Option<String>,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// Branches of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct BranchesList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Row the session currently ends in.
    pub head_id: Option<String>,
    /// The branches.
    pub branches: Vec<Branch>,
}

/// One branch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// Its newest row.
    pub head_id: String,
    /// Row at which it leaves.
    pub fork_id: Option<String>,
    /// Title, at most 80 characters.
    pub title: String,
    /// Unix milliseconds of its newest activity.
    pub activity_at: i64,
}

/// The head was moved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct HeadSet {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Row the session currently ends in.
    pub head_id: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}
