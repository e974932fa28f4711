//! Actions on messages, runs and the queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};

/// Submits a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SendMessage {
    /// Session concerned.
    pub session_id: String,
    /// The text, at most 262,144 bytes.
    pub text: String,
    /// Attachment ids, at most 10; null = none.
    pub attachments: Option<Vec<String>>,
    /// What to do while a turn may not start; null = reject.
    pub when_busy: Option<WhenBusy>,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for SendMessage {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            text: fields.message_text("text")?,
            attachments: fields.attachments("attachments")?,
            when_busy: fields.optional_choice("when_busy")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

/// What to do with a message while a turn may not start.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    /// Refuse it.
    #[default]
    Reject,
    /// Let it wait.
    Queue,
}

/// Stops a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StopRun {
    /// Session concerned.
    pub session_id: String,
    /// Run concerned.
    pub run_id: String,
}

impl ReadFields for StopRun {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { session_id: fields.id("session_id")?, run_id: fields.id("run_id")? })
    }
}

/// Gives a running agent a hint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SteerRun {
    /// Session concerned.
    pub session_id: String,
    /// Run concerned.
    pub run_id: String,
    /// The hint, at most 32,768 bytes.
    pub text: String,
}

impl ReadFields for SteerRun {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            run_id: fields.id("run_id")?,
            text: fields.steer_text("text")?,
        })
    }
}

/// Lists what waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ListQueue {
    /// Session concerned.
    pub session_id: String,
}

impl ReadFields for ListQueue {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { session_id: fields.id("session_id")? })
    }
}

/// Takes a message out of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RemoveQueued {
    /// Session concerned.
    pub session_id: String,
    /// Message concerned.
    pub message_id: String,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for RemoveQueued {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            message_id: fields.id("message_id")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

/// Lets a held queue go on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ResumeQueue {
    /// Session concerned.
    pub session_id: String,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for ResumeQueue {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

/// Changes the transcript at a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Rewrite {
    /// Session concerned.
    pub session_id: String,
    /// What to do.
    pub op: RewriteOperation,
    /// Message concerned; null for undo and clear.
    pub message_id: Option<String>,
    /// New text; only with edit, at most 262,144 bytes.
    pub text: Option<String>,
    /// Revision the client saw.
    pub expected_revision: i64,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for Rewrite {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        let rewrite = Self {
            session_id: fields.id("session_id")?,
            op: fields.choice("op")?,
            message_id: fields.optional_id("message_id")?,
            text: fields.optional_message_text("text")?,
            expected_revision: fields.integer("expected_revision")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        };
        if rewrite.message_id.is_some() != rewrite.op.names_message() {
            return Err(FieldRefusal::outside("message_id"));
        }
        if rewrite.text.is_some() != (rewrite.op == RewriteOperation::Edit) {
            return Err(FieldRefusal::outside("text"));
        }
        Ok(rewrite)
    }
}

/// What a rewrite does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RewriteOperation {
    /// Replaces a user message and runs it.
    Edit,
    /// Runs the message of an answer again.
    Regenerate,
    /// Runs a failed turn again.
    Retry,
    /// Takes the last turn back.
    Undo,
    /// Empties the transcript.
    Clear,
    /// Drops what follows a message.
    Truncate,
}

impl RewriteOperation {
    /// Whether a turn begins behind it (LIFE-05).
    pub const fn starts_turn(self) -> bool {
        match self {
            Self::Edit | Self::Regenerate | Self::Retry => true,
            Self::Undo | Self::Clear | Self::Truncate => false,
        }
    }

    /// Whether it happens at a message.
    pub const fn names_message(self) -> bool {
        match self {
            Self::Edit | Self::Regenerate | Self::Retry | Self::Truncate => true,
            Self::Undo | Self::Clear => false,
        }
    }
}
