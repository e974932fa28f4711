//! What one commit changed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EntityStatus, Question, QueueEntry, Row, SessionStatus, Usage};
use crate::wire::Code;

/// One change of a session commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// A row was added.
    RowAdded {
        /// The row.
        row: Box<Row>,
    },
    /// A row changed.
    RowChanged {
        /// The row.
        row: Box<Row>,
    },
    /// A row was removed.
    RowRemoved {
        /// Its id.
        message_id: String,
    },
    /// Too much changed to be listed.
    RowsInvalidated {
        /// First row concerned; null = all.
        from_row: Option<String>,
    },
    /// The session ends in another row.
    HeadMoved {
        /// The new head.
        head_id: String,
        /// Rows of the chain.
        chain_length: i64,
    },
    /// Fields of the session changed; an absent field did not.
    Fields(Box<SessionFields>),
    /// The graph changed.
    GraphChanged {
        /// Its new revision.
        graph_revision: i64,
    },
    /// A question was asked.
    QuestionOpened {
        /// The question.
        question: Box<Question>,
    },
    /// A question was resolved.
    QuestionClosed {
        /// Its id.
        question_id: String,
    },
    /// An entity became live.
    EntityStarted {
        /// Its id.
        entity_id: String,
    },
    /// An entity ended.
    EntityEnded {
        /// Its id.
        entity_id: String,
        /// How it ended.
        status: EntityStatus,
    },
    /// A message waits.
    QueuedAdded {
        /// The entry.
        entry: QueueEntry,
    },
    /// A message waits no longer.
    QueuedRemoved {
        /// Its id.
        message_id: String,
    },
    /// The queue is held or released.
    QueueHeld {
        /// Why; null when it is released.
        code: Option<Code>,
    },
}

/// Fields of a session that changed; an absent one did not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionFields {
    /// Title, at most 256 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Current status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// Named counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<BTreeMap<String, i64>>,
    /// What the session can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<BTreeMap<String, bool>>,
    /// Whether the session is archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Name of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Name of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens and cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Generation of the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_generation: Option<i64>,
    /// Generation from which unread messages are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_generation_baseline: Option<i64>,
}
