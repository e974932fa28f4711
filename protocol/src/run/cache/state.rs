use serde::{Deserialize, Serialize};

use crate::ids::SessionId;

/// Sessions that keep an agent between two turns, by default (AGENT_CACHE_CAP).
pub const AGENT_CACHE_CAP: u32 = 25;

/// Who keeps an agent. Weight: one entry per session that keeps one, at most the cap and the sessions
/// with a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cache {
    pub(super) sessions_max: u32,
    /// From the one used longest ago to the one used last.
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) session_id: SessionId,
    pub(super) state: State,
}

/// What is known of a session that keeps an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It has a row: it would refuse.
    InUse,
    /// It has no row, as far as it told.
    Idle,
    /// It was asked to evict and has not answered.
    Asked,
}

/// What a session tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Input {
    /// The session.
    pub session_id: SessionId,
    /// What happened to the agent it keeps.
    pub notice: Notice,
}

/// What happened to the agent a session keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A run registered it, a new one or the one from the turn before.
    Registered,
    /// The session's row is gone; the agent stays for the next turn.
    Freed,
    /// The session was asked to evict and has a row.
    Refused,
    /// The session keeps none any more.
    Retired,
}

/// What the cache asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The session is to give up its agent; it answers `Retired` or `Refused`.
    Evict {
        /// The session.
        session_id: SessionId,
    },
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(AGENT_CACHE_CAP)
    }
}

impl Cache {
    /// No session keeps an agent; at most `sessions_max` keep one while they have no row.
    pub const fn new(sessions_max: u32) -> Self {
        Self { sessions_max, entries: Vec::new() }
    }

    /// Sessions that keep an agent.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no session keeps one.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
