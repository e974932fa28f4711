//! Nodes of a laid-out graph.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Role, RowStatus};

/// One node of `graph_summary`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct GraphNode {
    /// Row it stands for.
    pub id: String,
    /// Who or what wrote it.
    pub role: Role,
    /// Current status.
    pub status: RowStatus,
    /// Text to show, at most 80 characters.
    pub label: String,
    /// Row it follows.
    pub predecessor: Option<String>,
    /// Row that invoked it.
    pub caller: Option<String>,
    /// Vertical place.
    pub row: i64,
    /// Horizontal place.
    pub lane_offset: i64,
    /// Nesting depth.
    pub tier: i64,
}
