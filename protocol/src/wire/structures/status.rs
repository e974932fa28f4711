//! Enumerations of sessions, runs, rows and entities.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a session is doing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// A turn may start.
    Idle,
    /// A run is attachable.
    Running,
    /// A run waits for an answer.
    Waiting,
    /// Not startable, no run attachable.
    Stopping,
    /// The last turn failed.
    Errored,
    /// Recovery could not commit yet.
    Unsettled,
}

/// Phase of a run that has a row.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// Admitted, worker not running yet.
    Starting,
    /// The worker runs.
    Running,
    /// The outcome is being saved.
    Finalizing,
    /// A Stop was accepted, or the server ends the run.
    Cancelling,
}

/// How a run ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The agent finished.
    Completed,
    /// Stopped by a person.
    Cancelled,
    /// Ended by a failure.
    Failed,
    /// Ended by the server or a loss of its worker.
    Interrupted,
    /// Replaced by another turn.
    Superseded,
}

/// Status of a row.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RowStatus {
    /// Saved, not yet answered.
    Pending,
    /// Being written.
    Streaming,
    /// Finished.
    Completed,
    /// Stopped by a person.
    Cancelled,
    /// Ended by a failure.
    Failed,
    /// Ended by the server or a loss of its worker.
    Interrupted,
    /// Replaced by another turn.
    Superseded,
}

/// Status of a live entity: of a run running and the outcomes, of a job its job status.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EntityStatus {
    /// Still live.
    Running,
    /// Finished.
    Completed,
    /// Stopped by a person.
    Cancelled,
    /// Run ended by a failure.
    Failed,
    /// Run ended by the server or a loss of its worker.
    Interrupted,
    /// Run replaced by another turn.
    Superseded,
    /// Job not started.
    Pending,
    /// Job waits for a slot.
    Queued,
    /// Job ended by a failure.
    Errored,
}

/// Status of a background job.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Not started.
    Pending,
    /// Waits for a slot.
    Queued,
    /// Runs.
    Running,
    /// Finished.
    Completed,
    /// Stopped by a person.
    Cancelled,
    /// Ended by a failure.
    Errored,
}

/// Why the server ended a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The server stopped.
    Shutdown,
    /// The worker vanished.
    WorkerLost,
    /// The agent said nothing for too long.
    AgentSilent,
    /// The run reached its longest time.
    RunMax,
    /// The journal reached its bound.
    JournalFull,
    /// The store could not be written.
    StorageFailed,
    /// The session was deleted.
    Deleted,
}

/// Why a client got a manifest instead of the deltas it asked for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryReason {
    /// It knows more than the store, or another store.
    ClientAhead,
    /// It knows another schema version.
    Schema,
    /// The deltas are no longer held.
    Evicted,
    /// The server restarted.
    Restart,
    /// The deltas are too large.
    DeltaBudget,
}

impl RunPhase {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Finalizing => "finalizing",
            Self::Cancelling => "cancelling",
        }
    }
}

impl RunOutcome {
    const ALL: [Self; 5] =
        [Self::Completed, Self::Cancelled, Self::Failed, Self::Interrupted, Self::Superseded];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Superseded => "superseded",
        }
    }

    /// The outcome with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }
}

impl TerminalReason {
    const ALL: [Self; 7] = [
        Self::Shutdown,
        Self::WorkerLost,
        Self::AgentSilent,
        Self::RunMax,
        Self::JournalFull,
        Self::StorageFailed,
        Self::Deleted,
    ];

    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::WorkerLost => "worker_lost",
            Self::AgentSilent => "agent_silent",
            Self::RunMax => "run_max",
            Self::JournalFull => "journal_full",
            Self::StorageFailed => "storage_failed",
            Self::Deleted => "deleted",
        }
    }

    /// The reason with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }
}
