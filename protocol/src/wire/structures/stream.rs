//! The live content of an entity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorData, Marker, Row, RunOutcome, TerminalReason};
use crate::wire::JsonObject;
use crate::wire::frames::{SteerSettled, StreamNote, StreamTerminal, StreamText, StreamUpdate};

/// Tokens and cost of a run; a null is not known.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read.
    pub input: Option<i64>,
    /// Tokens written.
    pub output: Option<i64>,
    /// Tokens read from a cache.
    pub cached: Option<i64>,
    /// Millionths of the configured currency.
    pub cost: Option<i64>,
    /// Tokens of the context in use.
    pub context_used: Option<i64>,
    /// Tokens the context can hold.
    pub context_max: Option<i64>,
}

/// One part of an entity's live content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Item concerned.
    pub item_id: String,
    /// Kind of the item.
    pub item_kind: ItemKind,
    /// Seq of its first row.
    pub first_seq: i64,
    /// Seq of its newest row.
    pub last_seq: i64,
    /// Text up to `last_seq`, of a text item.
    pub text: Option<String>,
    /// Newest value, of any other item.
    pub value: Option<JsonObject>,
    /// Where the text is, when it was left out.
    pub marker: Option<Marker>,
}

/// Kind of an item.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// Answer text.
    Text,
    /// Reasoning text.
    Thinking,
    /// Text that the answer replaces.
    Interim,
    /// A tool call.
    Tool,
    /// A compression of the context.
    Compression,
    /// A notice.
    Notice,
}

/// How faithful a replay is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Its state.
    pub state: ReplayState,
    /// Why it is not complete.
    pub reason: Option<String>,
}

/// Whether a replay shows everything.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReplayState {
    /// Every row is there.
    Complete,
    /// Some live events have no row.
    Degraded,
    /// The journal cannot be trusted.
    Quarantined,
}

/// A steer and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Steer {
    /// Steer concerned.
    pub steer_id: String,
    /// What became of it.
    pub outcome: SteerState,
}

/// State of a steer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SteerState {
    /// Taken, not yet read by the agent.
    Accepted,
    /// Read by the agent.
    Consumed,
    /// Given back unread.
    Returned,
}

/// A steer given back by a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ReturnedSteer {
    /// Steer concerned.
    pub steer_id: String,
    /// Its text, at most 32,768 bytes.
    pub text: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Terminal {
    /// Its outcome.
    pub status: RunOutcome,
    /// Why the server ended it.
    pub reason: Option<TerminalReason>,
    /// Whether the subscriber was given every row.
    pub complete: bool,
    /// Continuation session whose record holds the settlement; revisions are then that session's.
    pub committed_in: Option<String>,
    /// Steers given back, at most 16.
    pub returned_steers: Vec<ReturnedSteer>,
    /// Tokens and cost; null when not known.
    pub usage: Option<Usage>,
    /// The settled answer, when it is one row that fits the entry limit.
    pub row: Option<Row>,
    /// Error of the failure, if one is to be shown.
    pub error: Option<ErrorData>,
}

/// How one entity goes on after a resume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StreamResume {
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// What the client does.
    pub mode: ResumeMode,
    /// How faithful the replay is.
    pub replay: Replay,
    /// Seq after which `deltas` start.
    pub from_seq: i64,
    /// Newest seq; null when there is none.
    pub stream_seq: Option<i64>,
    /// Rows after `from_seq`, in order.
    pub deltas: Vec<NumberedFrame>,
    /// How it ended, when it has.
    pub terminal: Option<Terminal>,
}

/// What a client does with an entity after a resume.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ResumeMode {
    /// Apply the deltas.
    Deltas,
    /// Ask with `get_stream`.
    Fetch,
    /// Nothing more comes.
    Terminal,
}

/// The data of a numbered frame with its `type` beside its fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NumberedFrame {
    /// Text of an item.
    StreamText(StreamText),
    /// New value of an item.
    StreamUpdate(StreamUpdate),
    /// Rows that show nothing.
    StreamNote(StreamNote),
    /// Fate of a steer.
    SteerSettled(SteerSettled),
    /// End of the entity.
    StreamTerminal(Box<StreamTerminal>),
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
