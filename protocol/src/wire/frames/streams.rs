//! Live content of entities.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::JsonObject;
use crate::wire::structures::{
    EntityStatus, Item, ItemKind, NumberedFrame, Replay, RunPhase, Steer, Terminal,
};

/// Text appended to an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StreamText {
    /// Session concerned.
    pub session_id: String,
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// Item concerned.
    pub item_id: String,
    /// Kind of the item.
    pub item_kind: TextKind,
    /// Seq of the previous row of the item, 0 for the first.
    pub base_seq: Option<i64>,
    /// Seq of the newest row; null without a row.
    pub stream_seq: Option<i64>,
    /// The event has no durable row.
    pub replay_degraded: bool,
    /// The text to append.
    pub text: String,
}

/// Kind of an item that is text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// Answer text.
    Text,
    /// Reasoning text.
    Thinking,
    /// Text that the answer replaces.
    Interim,
}

impl From<TextKind> for ItemKind {
    fn from(kind: TextKind) -> Self {
        match kind {
            TextKind::Text => Self::Text,
            TextKind::Thinking => Self::Thinking,
            TextKind::Interim => Self::Interim,
        }
    }
}

/// New value of an item, or of the entity as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StreamUpdate {
    /// Session concerned.
    pub session_id: String,
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// Item concerned; the kind itself for tree, progress and context.
    pub item_id: String,
    /// Kind of the item.
    pub item_kind: UpdateItemKind,
    /// What the value describes.
    pub kind: UpdateKind,
    /// Seq of the row; null without a row.
    pub stream_seq: Option<i64>,
    /// The event has no durable row.
    pub replay_degraded: bool,
    /// The whole new value.
    pub value: JsonObject,
}

/// Kind of an item that is a value.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UpdateItemKind {
    /// A tool call.
    Tool,
    /// A compression of the context.
    Compression,
    /// A notice, or a value of the entity as a whole.
    Notice,
}

impl From<UpdateItemKind> for ItemKind {
    fn from(kind: UpdateItemKind) -> Self {
        match kind {
            UpdateItemKind::Tool => Self::Tool,
            UpdateItemKind::Compression => Self::Compression,
            UpdateItemKind::Notice => Self::Notice,
        }
    }
}

/// What a value describes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UpdateKind {
    /// A tool call.
    Tool,
    /// A compression of the context.
    Compression,
    /// A notice.
    Notice,
    /// The tree of the entity.
    Tree,
    /// The progress of the entity.
    Progress,
    /// The context of the entity.
    Context,
}

/// Rows that show nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StreamNote {
    /// Session concerned.
    pub session_id: String,
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// Seq of the previous note, 0 for the first.
    pub base_seq: i64,
    /// Number of the row, or of the newest row, in the entity's journal.
    pub stream_seq: i64,
    /// Event names of the rows, at most 64.
    pub names: Vec<String>,
}

/// A steer was read or given back.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SteerSettled {
    /// Session concerned.
    pub session_id: String,
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// Steer concerned.
    pub steer_id: String,
    /// Which of both.
    pub outcome: SteerFate,
    /// Seq of the row; null without a row.
    pub stream_seq: Option<i64>,
}

/// Fate of a steer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SteerFate {
    /// Read by the agent.
    Consumed,
    /// Given back unread.
    Returned,
}

impl SteerFate {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Consumed => "consumed",
            Self::Returned => "returned",
        }
    }

    /// The fate of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Consumed, Self::Returned].into_iter().find(|fate| fate.as_str() == name)
    }
}

/// The live content of an entity at one seq.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StreamState {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Open generation of the client, echoed.
    pub generation: Option<i64>,
    /// Session concerned.
    pub session_id: String,
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// Current status.
    pub status: EntityStatus,
    /// Phase, of a run.
    pub phase: Option<RunPhase>,
    /// How faithful the replay is.
    pub replay: Replay,
    /// Number of the row, or of the newest row, in the entity's journal.
    pub stream_seq: i64,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Seq after which `deltas` start.
    pub from_seq: Option<i64>,
    /// The whole content; null when `deltas` is not.
    pub items: Option<Vec<Item>>,
    /// Rows after `from_seq`; null when `items` is not.
    pub deltas: Option<Vec<NumberedFrame>>,
    /// Steers of the run.
    pub steers: Vec<Steer>,
}

/// An entity ended; nothing of it follows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StreamTerminal {
    /// Session concerned.
    pub session_id: String,
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// Seq of the row; null when inferred by recovery.
    pub stream_seq: Option<i64>,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// How it ended.
    #[serde(flatten)]
    pub terminal: Terminal,
}
