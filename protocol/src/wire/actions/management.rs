//! Actions of owners.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};
use crate::wire::JsonObject;

/// Lists managed things.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ManageList {
    /// Kind concerned.
    pub kind: ManageKind,
}

impl ReadFields for ManageList {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { kind: fields.choice("kind")? })
    }
}

/// Kinds of managed things.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ManageKind {
    /// Settings of the server.
    Settings,
    /// Channels.
    Channels,
    /// Agents.
    Agents,
}

/// Changes a managed thing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ManageApply {
    /// Kind concerned.
    pub kind: ManageKind,
    /// What to do.
    pub op: ManageOperation,
    /// Item concerned.
    pub item_id: Option<String>,
    /// New value.
    pub value: Option<JsonObject>,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for ManageApply {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            kind: fields.choice("kind")?,
            op: fields.choice("op")?,
            item_id: fields.optional_id("item_id")?,
            value: fields.optional_object("value")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

/// What to do with a managed thing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ManageOperation {
    /// Set its value.
    Set,
    /// Add it.
    Add,
    /// Remove it.
    Remove,
    /// Bind it.
    Bind,
    /// Unbind it.
    Unbind,
    /// Give it another name.
    Alias,
}

/// Plans a cleanup of the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PlanCleanup {
    /// Categories to clean, 1 to 32.
    pub categories: Vec<String>,
    /// Whether protected ones are meant too.
    pub include_protected: bool,
}

impl ReadFields for PlanCleanup {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            categories: fields.categories("categories")?,
            include_protected: fields.boolean("include_protected")?,
        })
    }
}

/// Carries out a planned cleanup.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmCleanup {
    /// Names the plan.
    pub plan_token: String,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for ConfirmCleanup {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            plan_token: fields.id("plan_token")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

impl ManageKind {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Channels => "channels",
            Self::Agents => "agents",
        }
    }
}
