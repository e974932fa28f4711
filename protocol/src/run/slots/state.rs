use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, PrincipalId, RunId, SessionId};
use crate::instant::Instant;

/// Runs of the server at once, by default (RUNS_MAX).
pub const SERVER_RUNS_MAX: u32 = 64;

/// Runs of one principal at once, by default (RUNS_MAX).
pub const PRINCIPAL_RUNS_MAX: u32 = 16;

/// When a refused start may be repeated, in milliseconds (RATE-6).
pub const SLOT_RETRY_AFTER_MS: u64 = 1_000;

/// Sessions that may wait for a slot at once.
pub const WAITERS_MAX: usize = 4_096;

/// How many runs may exist at once; both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SlotLimits {
    /// Runs of the server.
    pub server_runs_max: u32,
    /// Runs of one principal.
    pub principal_runs_max: u32,
}

impl Default for SlotLimits {
    fn default() -> Self {
        Self { server_runs_max: SERVER_RUNS_MAX, principal_runs_max: PRINCIPAL_RUNS_MAX }
    }
}

/// Which bound refused a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotLimit {
    /// Runs of the server.
    Server,
    /// Runs of the principal.
    Principal,
}

impl SlotLimit {
    /// The name a refusal carries in `limit` (RATE-6).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "runs_max",
            Self::Principal => "runs_max_per_principal",
        }
    }
}

/// What is asked of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// A start wants a slot.
    Acquire {
        /// Who waits for the answer.
        ask: AskId,
        /// Who starts.
        principal: PrincipalId,
        /// The run the slot is for.
        run_id: RunId,
    },
    /// The run has no row any more, or never got one.
    Release {
        /// The run.
        run_id: RunId,
    },
    /// The head of a session's queue waits for a slot.
    Wait {
        /// The session; it waits once.
        session: SessionId,
        /// Who starts.
        principal: PrincipalId,
        /// Since when it waits; the oldest is woken first.
        since: Instant,
    },
    /// The session that was woken has nothing to start: another one may have the slot.
    Pass,
}

/// What the slots answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The run holds a slot until it is released.
    Granted {
        /// Who waits for the answer.
        ask: AskId,
        /// The run.
        run_id: RunId,
    },
    /// All slots are taken: refuse the start `server_busy` (LIM-03).
    Refused {
        /// Who waits for the answer.
        ask: AskId,
        /// The bound that was reached.
        limit: SlotLimit,
        /// Its value.
        max: u32,
        /// When the start may be repeated, in milliseconds.
        retry_after_ms: u64,
    },
    /// A slot is free for the head of this session's queue (LIM-03).
    Woken {
        /// The session; it waits no longer.
        session: SessionId,
    },
    /// Too many sessions wait: this one is tried again at its next trigger only.
    NotWaiting {
        /// The session.
        session: SessionId,
    },
}

/// A session whose queue waits for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Waiter {
    pub(super) session: SessionId,
    pub(super) principal: PrincipalId,
    pub(super) since: Instant,
}

/// Who holds a slot, and who waits for one. Weight: one entry per run and per principal, both bounded by the
/// server's runs, and one per waiting session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Slots {
    pub(super) limits: SlotLimits,
    pub(super) runs: BTreeMap<RunId, PrincipalId>,
    /// Runs of each principal that has at least one.
    pub(super) counts: BTreeMap<PrincipalId, u32>,
    /// Sessions that wait, the oldest first.
    #[serde(default)]
    pub(super) waiters: Vec<Waiter>,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new(SlotLimits::default())
    }
}

impl Slots {
    /// All slots free.
    pub const fn new(limits: SlotLimits) -> Self {
        Self { limits, runs: BTreeMap::new(), counts: BTreeMap::new(), waiters: Vec::new() }
    }

    /// Slots taken on the server.
    pub fn taken(&self) -> u32 {
        u32::try_from(self.runs.len()).unwrap_or(u32::MAX)
    }

    /// Slots a principal has taken.
    pub fn taken_by(&self, principal: PrincipalId) -> u32 {
        self.counts.get(&principal).copied().unwrap_or(0)
    }

    /// The bounds in force.
    pub const fn limits(&self) -> SlotLimits {
        self.limits
    }
}
