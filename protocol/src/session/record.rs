//! The durable document of a session (L12): its head and its rows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ItemId, MessageId, PrincipalId, Revision, RunId, Seq, SessionId, TurnId};
use crate::instant::Instant;
use crate::journal::row::{ItemKind, Outcome, Reason};
use crate::wire::codes::Code;

/// Everything of a session but its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionHead {
    /// The session.
    pub session_id: SessionId,
    /// Who made it and alone may change it (PRIN-3).
    pub owner: PrincipalId,
    /// Title, at most 256 characters; empty until the first message names it (LIST-4).
    pub title: String,
    /// Number of commits so far (SES-2).
    pub revision: Revision,
    /// Reductions of the visible transcript so far (SDB-03).
    pub transcript_generation: u64,
    /// Rows kept by the newest reduction (SDB-04).
    pub transcript_generation_baseline: u64,
    /// The revision of the newest reduction: rows from before it that are not in the transcript were removed
    /// (RST-07).
    #[serde(default)]
    pub truncation_watermark: Revision,
    /// The agent chosen for the session.
    pub agent: String,
    /// The model chosen for the session, where the agent offers a choice.
    pub model: Option<String>,
    /// Hidden from the normal list.
    pub archived: bool,
    /// Readable by every principal.
    pub shared: bool,
    /// When the session was made.
    pub created_at: Instant,
    /// When a user turn was accepted or an answer settled last (SDB-01).
    pub activity_at: Instant,
    /// Rows of the transcript.
    pub message_count: u64,
    /// The row the session ends in.
    pub head_id: Option<MessageId>,
    /// The accepted, unsettled turn (L3).
    pub pending: Option<PendingTurn>,
    /// Sum of the usage of the settled runs (USE-02).
    pub usage: Usage,
    /// Messages that wait in the send queue (table 5.10).
    pub queue_length: u64,
    /// Why none of them starts.
    pub queue_held: Option<Code>,
}

/// Accepted input that is not settled (CTX-02).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTurn {
    /// The turn.
    pub turn_id: TurnId,
    /// The run that owns it; also the session's active run.
    pub run_id: RunId,
    /// The user's words.
    pub text: String,
    /// When it was accepted.
    pub pending_started_at: Instant,
    /// Agent in force at the run's start (AGT-05).
    pub agent: String,
    /// Model in force at the run's start.
    pub model: Option<String>,
}

/// Usage of a run or a session; `None` means not known (USE-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens.
    pub input: Option<u64>,
    /// Output tokens.
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    pub cached: Option<u64>,
    /// Price in millionths of the configured currency.
    #[serde(default)]
    pub cost: Option<u64>,
    /// Tokens of the model's window in use after the run.
    #[serde(default)]
    pub context_used: Option<u64>,
    /// Size of that window in tokens.
    #[serde(default)]
    pub context_max: Option<u64>,
}

impl Usage {
    /// A usage of which nothing is known.
    pub const UNKNOWN: Self = Self {
        input: None,
        output: None,
        cached: None,
        cost: None,
        context_used: None,
        context_max: None,
    };

    /// What is known once `later` was learned of the same run: each of its known values replaces the one
    /// before.
    #[must_use]
    pub fn learned(self, later: Self) -> Self {
        Self {
            input: later.input.or(self.input),
            output: later.output.or(self.output),
            cached: later.cached.or(self.cached),
            cost: later.cost.or(self.cost),
            context_used: later.context_used.or(self.context_used),
            context_max: later.context_max.or(self.context_max),
        }
    }
}

/// Who a row is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A user turn.
    User,
    /// The answer of a run, or the partial row of one that did not complete.
    Assistant,
    /// A marker.
    System,
}

/// A visible row that says how a run ended without completing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// A user stopped the run (STOP-09).
    Cancelled,
    /// The run was found dead, or the server ended it (RST-02, RST-12).
    Interrupted,
}

/// A row of the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRow {
    /// The row; of a user row the turn id.
    pub message_id: MessageId,
    /// Who it is from.
    pub role: Role,
    /// How its run ended; a user row carries `Completed`.
    pub status: Outcome,
    /// The row it follows.
    pub predecessor: Option<MessageId>,
    /// When it was made.
    pub created_at: Instant,
    /// The text: of a user row the prompt, of an answer the concatenation of its text items.
    pub body: Option<String>,
    /// The run it belongs to.
    pub run_id: RunId,
    /// Agent of an answer (LIST-8).
    pub agent: Option<String>,
    /// Model of an answer.
    pub model: Option<String>,
    /// Usage of an answer.
    pub usage: Option<Usage>,
    /// Items of an answer in order of their first seq.
    pub items: Vec<StoredItem>,
    /// What a system row marks.
    pub marker: Option<Marker>,
    /// Why the server ended the run of the row; read with it from the run's settlement, and not stored again.
    #[serde(default, skip)]
    pub reason: Option<Reason>,
    /// The commit that made or changed it last.
    pub session_revision: Revision,
}

/// One item of a settled answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredItem {
    /// The item.
    pub item_id: ItemId,
    /// Its kind.
    pub item_kind: ItemKind,
    /// Its first row.
    pub first_seq: Seq,
    /// Its last row.
    pub last_seq: Seq,
    /// Of an item of kind text: how many Unicode scalar values of the row's body it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chars: Option<u64>,
    /// Of a thinking or interim item: its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of any other item: its newest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}
