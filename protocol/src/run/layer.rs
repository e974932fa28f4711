//! The layers of state an effect may change (run-state section 2, OBS-05).

use serde::{Deserialize, Serialize};

/// One layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// L1: the visible transcript.
    Transcript,
    /// L2: the model context.
    ModelContext,
    /// L3: the pending turn.
    PendingTurn,
    /// L4: the live stream.
    LiveStream,
    /// L5: the worker registry, with the slots of its rows.
    WorkerRegistry,
    /// L6: the run journal.
    RunJournal,
    /// L7: the turn journal.
    TurnJournal,
    /// L10: sidebar and session metadata.
    SessionMetadata,
    /// L12: the session record as a document.
    SessionRecord,
    /// L13: the agent's own store.
    AgentStore,
    /// L14: the reusable cache and lifecycle handles.
    AgentCache,
    /// L15: steers, send queue and hold, wakeups.
    SendQueue,
    /// L16: approvals and questions.
    Questions,
}

impl Layer {
    /// Its name, as it is logged.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transcript => "transcript",
            Self::ModelContext => "model_context",
            Self::PendingTurn => "pending_turn",
            Self::LiveStream => "live_stream",
            Self::WorkerRegistry => "worker_registry",
            Self::RunJournal => "run_journal",
            Self::TurnJournal => "turn_journal",
            Self::SessionMetadata => "session_metadata",
            Self::SessionRecord => "session_record",
            Self::AgentStore => "agent_store",
            Self::AgentCache => "agent_cache",
            Self::SendQueue => "send_queue",
            Self::Questions => "questions",
        }
    }

    /// Whether what it holds outlives the process.
    pub const fn is_durable(self) -> bool {
        match self {
            Self::Transcript
            | Self::ModelContext
            | Self::PendingTurn
            | Self::RunJournal
            | Self::TurnJournal
            | Self::SessionMetadata
            | Self::SessionRecord
            | Self::AgentStore
            | Self::SendQueue => true,
            Self::LiveStream | Self::WorkerRegistry | Self::AgentCache | Self::Questions => false,
        }
    }
}
