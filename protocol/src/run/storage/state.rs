use serde::{Deserialize, Serialize};

/// Free bytes below which new runs are refused, by default (DISK_LOW).
pub const DISK_LOW_BYTES: u64 = 536_870_912;

/// Milliseconds after which a start that was refused `storage_low` may be tried again (RATE-6).
pub const STORAGE_RETRY_MS: u32 = 30_000;

/// Whether the store has room. Weight: constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Storage {
    pub(super) low_bytes: u64,
    pub(super) room: Room,
}

/// What the last measurement left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Room {
    Enough,
    /// The state `storage_low`.
    Low,
}

/// What the storage is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// The space that is free for the store now.
    Measured {
        /// Bytes.
        free_bytes: u64,
    },
}

/// A change that every connection is told (KEEP-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The state `storage_low` was entered.
    BecameLow,
    /// It was left.
    Recovered,
}

impl Default for Storage {
    fn default() -> Self {
        Self::new(DISK_LOW_BYTES)
    }
}

impl Storage {
    /// With room until it is measured; below `low_bytes` it is low. With 0 it never is.
    pub const fn new(low_bytes: u64) -> Self {
        Self { low_bytes, room: Room::Enough }
    }

    /// Whether new runs are refused (LIM-05).
    pub const fn is_low(&self) -> bool {
        matches!(self.room, Room::Low)
    }
}
