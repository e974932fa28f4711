//! Sessions as lists and first answers show them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Question, RunPhase, SessionStatus, Usage};
use crate::wire::Code;

/// One session in a list (SDB-05).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SessionItem {
    /// Session concerned.
    pub session_id: String,
    /// Title, at most 256 characters.
    pub title: String,
    /// Current status.
    pub status: SessionStatus,
    /// Row the session currently ends in.
    pub head_id: Option<String>,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Open error records of the principal in this session.
    pub open_error_total: i64,
    /// Unix milliseconds of the newest activity.
    pub activity_at: i64,
    /// Messages of the chain.
    pub message_count: i64,
    /// Generation of the transcript.
    pub transcript_generation: i64,
    /// Generation from which unread messages are counted.
    pub transcript_generation_baseline: i64,
    /// Current run; null without one.
    pub run: Option<RunItem>,
    /// Session that continues this one.
    pub continuation_session_id: Option<String>,
    /// Entries that wait.
    pub queue_length: i64,
    /// Why the queue is held; null when it is not.
    pub queue_held: Option<Code>,
    /// Name of the agent.
    pub agent: String,
    /// Name of the model; null = the agent's default.
    pub model: Option<String>,
    /// Whether the session is archived.
    pub archived: bool,
    /// Whether other principals may read the session.
    pub shared: bool,
    /// Whether this principal may change the session.
    pub writable: bool,
    /// Sum over the runs; null when not known.
    pub usage: Option<Usage>,
}

/// The current run of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RunItem {
    /// Run concerned.
    pub run_id: String,
    /// Phase of the run.
    pub phase: RunPhase,
    /// What `may_attach` answers.
    pub attachable: bool,
}

/// One agent of `agents_list`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AgentItem {
    /// Name of the agent.
    pub agent: String,
    /// Text to show, at most 80 characters.
    pub label: String,
    /// Models it offers.
    pub models: Vec<String>,
    /// Model used when none is named.
    pub default_model: Option<String>,
    /// What it can do.
    pub capabilities: AgentCapabilities,
    /// Whose record the model context is.
    pub context: AgentContext,
    /// Whether a run could start now.
    pub available: bool,
}

/// What an agent can do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AgentCapabilities {
    /// Takes steers.
    pub steer: bool,
    /// Takes attachments.
    pub attachments: bool,
    /// Can resume its own record.
    pub resume: bool,
}

/// Where the context of an agent comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AgentContext {
    /// Built from the transcript of the session.
    Transcript,
    /// Kept by the agent.
    Own,
}

/// One message that waits for its run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QueueEntry {
    /// Message concerned.
    pub message_id: String,
    /// Place in the queue, from 1.
    pub position: i64,
    /// Short form, at most 512 characters.
    pub summary: String,
    /// Attachment ids.
    pub attachments: Vec<String>,
    /// Unix milliseconds of creation.
    pub created_at: i64,
}

/// Length and hold of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QueueState {
    /// Entries that wait.
    pub length: i64,
    /// Why the queue is held; null when it is not.
    pub held: Option<Code>,
}

/// First answer to an open: what the session is, without its rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Session concerned.
    pub session_id: String,
    /// Open generation of the client, echoed.
    pub generation: i64,
    /// Title, at most 256 characters.
    pub title: String,
    /// Current status.
    pub status: SessionStatus,
    /// Row the session currently ends in.
    pub head_id: Option<String>,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Revision of the graph.
    pub graph_revision: i64,
    /// Version of the projections.
    pub schema_version: i64,
    /// Generation of the transcript.
    pub transcript_generation: i64,
    /// Generation from which unread messages are counted.
    pub transcript_generation_baseline: i64,
    /// Name of the agent.
    pub agent: String,
    /// Name of the model; null = the agent's default.
    pub model: Option<String>,
    /// Newest ids of the chain, oldest first, at most 512.
    pub chain_tail: Vec<String>,
    /// Rows of the whole chain.
    pub chain_length: i64,
    /// Named counts.
    pub counts: BTreeMap<String, i64>,
    /// What the session can do.
    pub features: BTreeMap<String, bool>,
    /// `stream_seq` of each attachable run and each running job.
    pub running: BTreeMap<String, i64>,
    /// Length and hold of the queue.
    pub queue: QueueState,
    /// Session that continues this one.
    pub continuation_session_id: Option<String>,
    /// Open error records of the principal, at most 100.
    pub open_error_ids: Vec<String>,
    /// All of them.
    pub open_error_total: i64,
    /// Open questions, at most 100.
    pub open_questions: Vec<Question>,
}
