//! What a row of a run's journal holds (JRN-02).

use serde::{Deserialize, Serialize};

use crate::ids::{ItemId, QuestionId, RunId, Seq, SessionId};
use crate::instant::Instant;

/// Most bytes of text one row holds (TEXT_MERGE, JRN-20).
pub const ROW_TEXT_BYTES_MAX: usize = 3_584;

/// Kind of one part of a run's live content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Words of the answer.
    Text,
    /// Reasoning.
    Thinking,
    /// Progress text between steps.
    Interim,
    /// A tool call and its result.
    Tool,
    /// A compression of the context.
    Compression,
    /// Anything else worth a line.
    Notice,
}

impl ItemKind {
    /// Whether rows of this kind carry text that appends to the item.
    pub const fn is_text(self) -> bool {
        match self {
            Self::Text | Self::Thinking | Self::Interim => true,
            Self::Tool | Self::Compression | Self::Notice => false,
        }
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Interim => "interim",
            Self::Tool => "tool",
            Self::Compression => "compression",
            Self::Notice => "notice",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Text, Self::Thinking, Self::Interim, Self::Tool, Self::Compression, Self::Notice]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }
}

/// How a run ended: its one semantic terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The agent finished its answer.
    Completed,
    /// A user stopped the run.
    Cancelled,
    /// The run failed.
    Failed,
    /// The server ended the run, or found it dead at start.
    Interrupted,
    /// Another run took its place.
    Superseded,
}

impl Outcome {
    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Superseded => "superseded",
        }
    }

    /// The outcome with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Completed, Self::Cancelled, Self::Failed, Self::Interrupted, Self::Superseded]
            .into_iter()
            .find(|outcome| outcome.as_str() == name)
    }
}

/// Why a run ended, beside its outcome (delivery 2.7, terminal reason).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The server stopped (RST-12).
    Shutdown,
    /// The worker was lost (REC-10).
    WorkerLost,
    /// The agent was silent too long (LIM-02).
    AgentSilent,
    /// The run became too old (LIM-01).
    RunMax,
    /// The journal was full (JRN-17).
    JournalFull,
    /// The journal could not be written (JRN-21).
    StorageFailed,
    /// The session was deleted (LIFE-01).
    Deleted,
}

impl Reason {
    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::WorkerLost => "worker_lost",
            Self::AgentSilent => "agent_silent",
            Self::RunMax => "run_max",
            Self::JournalFull => "journal_full",
            Self::StorageFailed => "storage_failed",
            Self::Deleted => "deleted",
        }
    }

    /// The reason with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Shutdown,
            Self::WorkerLost,
            Self::AgentSilent,
            Self::RunMax,
            Self::JournalFull,
            Self::StorageFailed,
            Self::Deleted,
        ]
        .into_iter()
        .find(|reason| reason.as_str() == name)
    }
}

/// What a row says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RowEvent {
    /// More text of a text item, or the newest value of another item.
    Content {
        /// The item.
        item_id: ItemId,
        /// Its kind.
        item_kind: ItemKind,
    },
    /// A question was opened; shown beside the row, which travels as `stream_note`.
    QuestionAsked {
        /// The question.
        question_id: QuestionId,
    },
    /// A question was resolved.
    QuestionResolved {
        /// The question.
        question_id: QuestionId,
    },
    /// The semantic terminal.
    Terminal {
        /// How the run ended.
        outcome: Outcome,
    },
}

impl RowEvent {
    /// The event name of the row (JRN-02).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Content { item_kind, .. } => item_kind.as_str(),
            Self::QuestionAsked { .. } => "question_asked",
            Self::QuestionResolved { .. } => "question_resolved",
            Self::Terminal { .. } => "terminal",
        }
    }

    /// Whether the row is a semantic terminal.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Terminal { .. } => true,
            Self::Content { .. } | Self::QuestionAsked { .. } | Self::QuestionResolved { .. } => {
                false
            }
        }
    }
}

/// A stored row of a run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalRow {
    /// The run.
    pub run_id: RunId,
    /// Its session.
    pub session_id: SessionId,
    /// Number of the row, from 1 without gaps.
    pub seq: Seq,
    /// When the row was made.
    pub created_at: Instant,
    /// What happened.
    #[serde(flatten)]
    pub event: RowEvent,
    /// Text of a text item as it is; of any other row the JSON text of its value.
    pub body: String,
}
