//! Actions that read live content, the graph and details.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};
use crate::wire::structures::DetailField;

/// Reads the live content of an entity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct GetStream {
    /// Session concerned.
    pub session_id: String,
    /// Live entity concerned: a run or a job.
    pub entity_id: String,
    /// Open generation of the client, echoed.
    pub generation: Option<i64>,
    /// Newest seq the client has.
    pub known_seq: Option<i64>,
}

impl ReadFields for GetStream {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            entity_id: fields.id("entity_id")?,
            generation: fields.optional_integer("generation")?,
            known_seq: fields.optional_integer("known_seq")?,
        })
    }
}

/// Reads the graph of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct GetGraph {
    /// Session concerned.
    pub session_id: String,
    /// Open generation of the client, echoed.
    pub generation: Option<i64>,
    /// Revision the client has.
    pub known_graph_revision: Option<i64>,
}

impl ReadFields for GetGraph {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            generation: fields.optional_integer("generation")?,
            known_graph_revision: fields.optional_integer("known_graph_revision")?,
        })
    }
}

/// Reads content behind a marker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct GetDetail {
    /// Session concerned.
    pub session_id: String,
    /// Node concerned.
    pub node_id: String,
    /// Open generation of the client, echoed.
    pub generation: Option<i64>,
    /// Which part of the node.
    pub field: DetailField,
    /// Revision the marker named.
    pub content_revision: Option<i64>,
    /// Where to go on, from an earlier answer.
    pub cursor: Option<String>,
}

impl ReadFields for GetDetail {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            node_id: fields.id("node_id")?,
            generation: fields.optional_integer("generation")?,
            field: fields.choice("field")?,
            content_revision: fields.optional_integer("content_revision")?,
            cursor: fields.optional_cursor("cursor")?,
        })
    }
}
