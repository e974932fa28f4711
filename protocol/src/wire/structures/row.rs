//! Rows of a transcript and what stands in for their large parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RowStatus, Usage};
use crate::wire::JsonObject;

/// One stored message or node of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Id of the row.
    pub message_id: String,
    /// Top-level row of its group.
    pub group_root: String,
    /// Who or what wrote it.
    pub role: Role,
    /// Unix milliseconds of creation.
    pub created_at: i64,
    /// Row it follows.
    pub predecessor: Option<String>,
    /// Row that invoked it.
    pub caller: Option<String>,
    /// Current status.
    pub status: RowStatus,
    /// Revision of the content.
    pub content_revision: i64,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Content, when it is inline.
    pub body: Option<String>,
    /// Short form, at most 512 characters.
    pub summary: Option<String>,
    /// Where the whole content is, when it is not inline.
    pub detail: Option<Marker>,
    /// Result, of a tool row.
    pub tool_result: Option<ToolResult>,
    /// Where its attachments are.
    pub attachments: Vec<Marker>,
    /// Agent that wrote it.
    pub agent: Option<String>,
    /// Model that wrote it.
    pub model: Option<String>,
    /// Tokens and cost, of the settled answer of a run.
    pub usage: Option<Usage>,
    /// Rows it refers to.
    pub refs: Vec<String>,
    /// Further values, none of which repeats a field (HIS-16).
    pub extra: JsonObject,
}

/// Who or what wrote a row.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Root of the session.
    Root,
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// Code the agent ran.
    Code,
    /// The server.
    System,
}

/// Stands in for content that is fetched with `get_detail`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Marker {
    /// Node concerned.
    pub node_id: String,
    /// Which part of the node.
    pub field: DetailField,
    /// Size of the whole, in bytes.
    pub total_bytes: i64,
    /// Revision of the content.
    pub content_revision: i64,
}

/// Which part of a node `get_detail` reads.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DetailField {
    /// Content of a row.
    Body,
    /// Model context of a row.
    Context,
    /// Output of a tool.
    ToolOutput,
    /// Tree of a runtime.
    RuntimeTree,
    /// One block of a runtime.
    RuntimeBlock,
    /// Content of a graph node.
    GraphContent,
    /// An attachment.
    Attachment,
    /// Further descendants of a group.
    Descendants,
    /// An item of a live stream.
    Item,
    /// The prompt of a question.
    Question,
}

/// Result of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Its first 32,768 bytes.
    pub text: String,
    /// Whether there is more.
    pub truncated: bool,
    /// Size of the whole, in bytes.
    pub total_bytes: i64,
    /// Whether the tool reported a failure.
    pub is_error: bool,
    /// Where the rest is.
    pub marker: Option<Marker>,
}
