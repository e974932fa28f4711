//! Errors, their lists and their acknowledgement, and results of requests.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FrameType;
use crate::wire::JsonObject;
use crate::wire::structures::{ErrorData, Scope};

/// Legacy form of an error, off by default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ActionError {
    /// Action that failed.
    pub action: Option<String>,
    /// Registered code.
    pub code: String,
    /// Registered text.
    pub message: String,
    /// Session concerned.
    pub session_id: Option<String>,
}

/// Open error records, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct UserErrorsList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// The records.
    pub errors: Vec<ErrorData>,
    /// Revision at which each named session was read (ERR-13).
    pub session_revisions: BTreeMap<String, i64>,
    /// Where the next page starts; null on the last one.
    pub next_cursor: Option<String>,
}

/// An acknowledgement took effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct UserErrorAcknowledged {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Error record concerned.
    pub error_id: String,
}

/// Errors that are closed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct OperationRecovered {
    /// Their ids.
    pub error_ids: Vec<String>,
    /// Where they happened.
    pub scope: Scope,
    /// Server object they belong to.
    pub operation_id: Option<String>,
    /// Time in the form of `ErrorData`.
    pub occurred_at: String,
}

/// What became of an earlier request (REQ-7).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RequestResult {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// The request asked about.
    pub target_request_id: String,
    /// Its state.
    pub state: RequestState,
    /// Its action.
    pub action: Option<String>,
    /// Its reply or refusal, when done.
    pub reply: Option<RecordedReply>,
    /// Whether the reply was too large to be kept.
    pub omitted: bool,
    /// Error of the failure, if one is to be shown.
    pub error: Option<ErrorData>,
}

/// State of a request.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// Not answered yet.
    Pending,
    /// Answered by a reply or a refusal.
    Done,
    /// Answered by an error.
    Failed,
    /// Evicted or never seen.
    Unknown,
}

/// A frame as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RecordedReply {
    /// Its type.
    #[serde(rename = "type")]
    pub frame_type: FrameType,
    /// Its data.
    pub data: JsonObject,
}
