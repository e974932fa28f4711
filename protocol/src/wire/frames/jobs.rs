//! Background jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::structures::Job;

/// A command to a job was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct JobAccepted {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Job concerned.
    pub job_id: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// Jobs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct JobsList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session they belong to; null = all.
    pub session_id: Option<String>,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Where the next page starts; null on the last one.
    pub next_cursor: Option<String>,
}
