//! Messages, runs, Stop, steers and the queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::structures::{Limit, QueueEntry, RunOutcome, RunPhase};
use crate::wire::{ActionName, Code};

/// A message was accepted and is stable (REQ-13).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MessageAck {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Id of the message, which is the turn id.
    pub message_id: String,
    /// Run that answers it; null when queued.
    pub run_id: Option<String>,
    /// The same as `run_id`.
    pub entity_id: Option<String>,
    /// Place in the queue, from 1; null when not queued.
    pub queue_position: Option<i64>,
    /// Unix milliseconds at which the turn began.
    pub pending_started_at: Option<i64>,
    /// Name of the agent.
    pub agent: String,
    /// Name of the model; null = the agent's default.
    pub model: Option<String>,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// A change of a session had no effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MessageRefused {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Action that was refused.
    pub action: ActionName,
    /// Session concerned.
    pub session_id: Option<String>,
    /// Registered code.
    pub code: Code,
    /// Run that blocks it.
    pub run_id: Option<String>,
    /// Phase of that run.
    pub phase: Option<RunPhase>,
    /// What `may_attach` answers for that run.
    pub attachable: Option<bool>,
    /// Session that continues this one.
    pub continuation_session_id: Option<String>,
    /// Limit that was exceeded (RATE-6).
    pub limit: Option<Limit>,
    /// Milliseconds to wait before the next attempt.
    pub retry_after_ms: Option<i64>,
}

/// Answer to a Stop (ACT-22).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StopResult {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Run concerned.
    pub run_id: String,
    /// What the Stop did.
    pub outcome: StopOutcome,
    /// How the run ended, with `already_ended`.
    pub status: Option<RunOutcome>,
    /// Why, with `refused`.
    pub code: Option<Code>,
}

/// What a Stop did.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StopOutcome {
    /// It was or had been accepted.
    Accepted,
    /// The run is settled.
    AlreadyEnded,
    /// The session never had that run.
    Unknown,
    /// It was refused.
    Refused,
}

/// Answer to a steer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SteerResult {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Run concerned.
    pub run_id: String,
    /// What became of it.
    pub outcome: SteerOutcome,
    /// Why, with `refused`.
    pub reason: Option<Code>,
    /// Limit that was exceeded (RATE-6).
    pub limit: Option<Limit>,
    /// Names the steer, with `accepted`.
    pub steer_id: Option<String>,
}

/// What became of a steer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SteerOutcome {
    /// The agent will get it.
    Accepted,
    /// It was refused.
    Refused,
}

/// A run entered another phase.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RunStatus {
    /// Session concerned.
    pub session_id: String,
    /// Run concerned.
    pub run_id: String,
    /// Phase of the run.
    pub phase: RunPhase,
    /// Unix milliseconds at which the phase began.
    pub since: i64,
}

/// The queue of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QueueList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Why the queue is held; null when it is not.
    pub held: Option<Code>,
    /// What waits, at most 64.
    pub entries: Vec<QueueEntry>,
}

/// A message was taken out of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QueueRemoved {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Message concerned.
    pub message_id: String,
    /// Its text, for the draft.
    pub text: String,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// The queue goes on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QueueResumed {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Entries that wait.
    pub queue_length: i64,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}
