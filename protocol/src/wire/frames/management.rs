//! Settings, the state directory and its cleanup, for owners.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Code;
use crate::wire::JsonObject;
use crate::wire::actions::{ManageKind, ManageOperation};
use crate::wire::structures::Report;

/// Managed things of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ManagedList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Kind concerned.
    pub kind: ManageKind,
    /// The things.
    pub items: Vec<JsonObject>,
}

/// A managed thing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ManagedApplied {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Kind concerned.
    pub kind: ManageKind,
    /// What was done.
    pub op: ManageOperation,
    /// Item concerned.
    pub item_id: Option<String>,
}

/// Sizes of the state directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StateReport {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// The sizes.
    #[serde(flatten)]
    pub report: Report,
}

/// What a cleanup would remove.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CleanupPlan {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Names the plan.
    pub plan_token: String,
    /// One entry per category.
    pub targets: Vec<CleanupTarget>,
    /// Unix milliseconds at which the plan ends.
    pub expires_at: i64,
}

/// What a cleanup would remove of one category.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CleanupTarget {
    /// Category of the state directory.
    pub category: String,
    /// Number of files.
    pub files: i64,
    /// Bytes to remove.
    pub bytes: i64,
    /// Whether it can be had again.
    pub recoverable: bool,
    /// Removed only when asked for by name.
    pub protected: bool,
}

/// What a cleanup removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CleanupReport {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Names the plan.
    pub plan_token: String,
    /// Categories removed.
    pub done: Vec<CleanupDone>,
    /// Categories that failed.
    pub failed: Vec<CleanupFailed>,
}

/// A category that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CleanupDone {
    /// Category of the state directory.
    pub category: String,
    /// Number of files.
    pub files: i64,
    /// Bytes removed.
    pub bytes: i64,
    /// Whether it can be had again.
    pub recoverable: bool,
}

/// A category that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CleanupFailed {
    /// Category of the state directory.
    pub category: String,
    /// Registered code.
    pub code: Code,
}
