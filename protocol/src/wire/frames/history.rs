//! Pages of history, the graph and details.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::structures::{DetailField, GraphNode, Row};

/// Whole groups of a captured head, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct HistoryPage {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Open generation of the client, echoed.
    pub generation: i64,
    /// Row the session currently ends in.
    pub head_id: Option<String>,
    /// Token of the captured order.
    pub snapshot: Option<String>,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Rows of the page, in order.
    pub rows: Vec<Row>,
    /// Index of the first group.
    pub start: i64,
    /// Index after the last group.
    pub end: i64,
    /// Groups of the whole order.
    pub total: i64,
    /// Cursor to older groups; null at the root.
    pub before: Option<String>,
    /// Cursor to newer groups; null at the head.
    pub after: Option<String>,
}

/// The graph of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct GraphSummary {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Open generation of the client, echoed.
    pub generation: Option<i64>,
    /// Session concerned.
    pub session_id: String,
    /// Revision of the graph.
    pub graph_revision: i64,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Whether the known revision is current.
    pub unchanged: bool,
    /// The nodes; null when unchanged.
    pub nodes: Option<Vec<GraphNode>>,
}

/// A piece of one node's content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct NodeDetail {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Open generation of the client, echoed.
    pub generation: Option<i64>,
    /// Session concerned.
    pub session_id: String,
    /// Node concerned.
    pub node_id: String,
    /// Which part of the node.
    pub field: DetailField,
    /// Revision of the content.
    pub content_revision: i64,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
    /// Byte at which the piece starts.
    pub offset: i64,
    /// Size of the whole, in bytes.
    pub total_bytes: i64,
    /// The piece.
    pub chunk: String,
    /// Where the next page starts; null on the last one.
    pub next_cursor: Option<String>,
}
