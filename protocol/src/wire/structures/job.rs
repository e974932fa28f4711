//! Background jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorData, JobStatus};

/// A background job of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Job concerned.
    pub job_id: String,
    /// Session concerned.
    pub session_id: String,
    /// Current status.
    pub status: JobStatus,
    /// Text to show.
    pub label: String,
    /// Row it belongs to.
    pub parent_message_id: Option<String>,
    /// Unix milliseconds of creation.
    pub created_at: i64,
    /// Unix milliseconds at which it started.
    pub started_at: Option<i64>,
    /// Unix milliseconds at which it ended.
    pub completed_at: Option<i64>,
    /// Number of its newest live delta.
    pub stream_seq: i64,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Error of the failure, if one is to be shown.
    pub error: Option<ErrorData>,
}
