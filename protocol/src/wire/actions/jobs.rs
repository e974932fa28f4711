//! Actions on background jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};
use crate::wire::JsonObject;

/// Lists jobs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ListJobs {
    /// Session they belong to; null = all.
    pub session_id: Option<String>,
    /// Where to go on, from an earlier answer.
    pub cursor: Option<String>,
    /// Entries wanted, 1 to 100; null = 100.
    pub limit: Option<i64>,
}

impl ReadFields for ListJobs {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.optional_id("session_id")?,
            cursor: fields.optional_cursor("cursor")?,
            limit: fields.optional_list_limit("limit")?,
        })
    }
}

/// Starts, cancels or retries a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct JobCommand {
    /// Session concerned.
    pub session_id: String,
    /// What to do.
    pub command: JobOperation,
    /// Job to cancel or retry.
    pub job_id: Option<String>,
    /// Input of a job to start.
    pub input: Option<JsonObject>,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for JobCommand {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        let command = Self {
            session_id: fields.id("session_id")?,
            command: fields.choice("command")?,
            job_id: fields.optional_id("job_id")?,
            input: fields.optional_object("input")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        };
        if command.job_id.is_none() && command.command != JobOperation::Start {
            return Err(FieldRefusal::outside("job_id"));
        }
        Ok(command)
    }
}

/// What to do with a job.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JobOperation {
    /// Start one.
    Start,
    /// Cancel it.
    Cancel,
    /// Run it again.
    Retry,
}
