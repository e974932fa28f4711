//! Who holds how much.

use serde::{Deserialize, Serialize};

use crate::ids::SessionId;
use crate::wire::limits::RINGS_BYTES_MAX;

/// Bytes are counted in steps of this many, rounded up, so that a session reports seldom and at most 16,384 sessions
/// have rings.
pub const STEP_BYTES: usize = 16_384;

/// The bytes that rings of this size are counted as.
pub const fn counted(bytes: usize) -> usize {
    bytes.div_ceil(STEP_BYTES) * STEP_BYTES
}

/// The rings of all sessions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RingBudget {
    pub(super) bytes_max: usize,
    /// The least recently read first.
    pub(super) sessions: Vec<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) session: SessionId,
    pub(super) bytes: usize,
    /// Whether it was asked to let them go.
    pub(super) asked: bool,
}

impl Default for RingBudget {
    fn default() -> Self {
        Self::new(RINGS_BYTES_MAX)
    }
}

impl RingBudget {
    /// A budget of this many bytes.
    pub const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, sessions: Vec::new() }
    }

    /// Bytes counted now, those that are asked for left out.
    pub fn bytes(&self) -> usize {
        self.sessions.iter().filter(|held| !held.asked).map(|held| held.bytes).sum()
    }
}
