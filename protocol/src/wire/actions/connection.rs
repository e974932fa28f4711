//! Actions about the connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};

/// First action: protocol range, features and build of the client (2.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Lowest protocol version understood.
    pub protocol_min: i64,
    /// Highest protocol version understood.
    pub protocol_max: i64,
    /// Features understood, at most 16.
    pub features: Vec<String>,
    /// Build of the page; null for other programs.
    pub client_build: Option<String>,
}

impl ReadFields for Hello {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            protocol_min: fields.integer("protocol_min")?,
            protocol_max: fields.integer("protocol_max")?,
            features: fields.features("features")?,
            client_build: fields.optional_id("client_build")?,
        })
    }
}

/// Asks what became of an earlier request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct GetRequestResult {
    /// Id of that request.
    pub target_request_id: String,
}

impl ReadFields for GetRequestResult {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { target_request_id: fields.id("target_request_id")? })
    }
}
