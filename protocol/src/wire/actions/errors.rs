//! Actions on error records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};

/// Lists open error records.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ListUserErrors {
    /// Where to go on, from an earlier answer.
    pub cursor: Option<String>,
    /// Entries wanted, 1 to 100; null = 100.
    pub limit: Option<i64>,
}

impl ReadFields for ListUserErrors {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            cursor: fields.optional_cursor("cursor")?,
            limit: fields.optional_list_limit("limit")?,
        })
    }
}

/// Closes an error record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AcknowledgeUserError {
    /// Error record concerned.
    pub error_id: String,
}

impl ReadFields for AcknowledgeUserError {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { error_id: fields.id("error_id")? })
    }
}
