//! Frames about the connection and the server itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FrameType;
use crate::wire::JsonObject;

/// Answer to `hello`: what this connection speaks (2.3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Welcome {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Names the connection.
    pub connection_id: String,
    /// Chosen protocol version.
    pub protocol: i64,
    /// Version of the projections.
    pub schema_version: i64,
    /// Features both sides have.
    pub features: Vec<String>,
    /// Identity of the session store, 16 lowercase hex digits.
    pub store_id: String,
    /// Build of the server.
    pub server_build: String,
    /// Limits of family RATE by name (RATE-7).
    pub limits: BTreeMap<String, i64>,
}

/// Sent after silence (SND-30).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Heartbeat {
    /// Unix milliseconds of the server.
    pub server_time: i64,
}

/// State of the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Its state.
    pub state: ServerState,
}

/// State of the server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// Everything is served.
    Open,
    /// New runs and uploads are refused.
    StorageLow,
    /// The server ends.
    Stopping,
}

/// The page belongs to another build.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ReloadRequired {
    /// Build of the server.
    pub server_build: String,
}

/// State must be read anew.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryRequired {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Why.
    pub reason: RecoveryCause,
}

/// Why state must be read anew.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryCause {
    /// Events were lost.
    EventLoss,
    /// The server restarted.
    Restart,
    /// A store cannot be read.
    Storage,
}

/// A delta will not be delivered; the projection is needed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SyncRequired {
    /// Session concerned.
    pub session_id: String,
    /// Entity concerned; null for the commits of the session.
    pub entity_id: Option<String>,
    /// Why.
    pub reason: SyncReason,
}

/// Why a projection is needed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SyncReason {
    /// A delta was dropped.
    Gap,
    /// The deltas are no longer held.
    Evicted,
}

/// One part of a logical frame; the fields from `request_id` on are null above index 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// Names the transfer, 32 lowercase hex digits.
    pub transfer_id: String,
    /// Number of the part, from 0.
    pub index: i64,
    /// Part of the serialised frame.
    pub text: String,
    /// Whether it is the last part.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Request the logical frame answers.
    pub request_id: Option<String>,
    /// Size of the logical frame, in bytes.
    pub total_bytes: Option<i64>,
    /// Type of the logical frame.
    pub frame_type: Option<FrameType>,
    /// Session of the logical frame.
    pub session_id: Option<String>,
    /// Entity of the logical frame.
    pub entity_id: Option<String>,
    /// Revision of the logical frame.
    pub session_revision: Option<i64>,
}

/// Metrics of the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct MetricsSnapshot {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Values by name.
    pub values: JsonObject,
    /// What is degraded, newest, at most 100.
    pub degradations: Vec<Degradation>,
}

/// Something that works less well.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Degradation {
    /// What it is.
    pub code: String,
    /// Where.
    pub scope: String,
    /// How often.
    pub count: i64,
    /// Unix milliseconds of the newest occurrence.
    pub last_at: i64,
}
