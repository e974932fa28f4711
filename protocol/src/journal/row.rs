//! What a row of a run's journal holds (JRN-02).

use serde::{Deserialize, Serialize};

use crate::ids::{ItemId, QuestionId, RunId, Seq, SessionId, SteerId};
use crate::instant::Instant;
pub use crate::wire::frames::SteerFate;
pub use crate::wire::structures::{ItemKind, RunOutcome as Outcome, TerminalReason as Reason};

/// Most bytes of text one row holds (TEXT_MERGE, JRN-20).
pub const ROW_TEXT_BYTES_MAX: usize = 3_584;

/// What a row says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RowEvent {
    /// More text of a text item, or the newest value of another item.
    Content {
        /// The item.
        item_id: ItemId,
        /// Its kind.
        item_kind: ItemKind,
    },
    /// A question was opened; shown beside the row, which travels as `stream_note`.
    QuestionAsked {
        /// The question.
        question_id: QuestionId,
    },
    /// A question was resolved.
    QuestionResolved {
        /// The question.
        question_id: QuestionId,
    },
    /// A steer was accepted; shown as `stream_note`.
    SteerAccepted {
        /// The steer.
        steer_id: SteerId,
    },
    /// A steer was read by the agent, or given back (STR-04).
    SteerSettled {
        /// The steer.
        steer_id: SteerId,
        /// Which of both.
        fate: SteerFate,
    },
    /// The semantic terminal.
    Terminal {
        /// How the run ended.
        outcome: Outcome,
    },
}

impl RowEvent {
    /// The event name of the row (JRN-02).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Content { item_kind, .. } => item_kind.as_str(),
            Self::QuestionAsked { .. } => "question_asked",
            Self::QuestionResolved { .. } => "question_resolved",
            Self::SteerAccepted { .. } => "steer_accepted",
            Self::SteerSettled { .. } => "steer_settled",
            Self::Terminal { .. } => "terminal",
        }
    }

    /// Whether the row is a semantic terminal.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Terminal { .. } => true,
            Self::Content { .. }
            | Self::QuestionAsked { .. }
            | Self::QuestionResolved { .. }
            | Self::SteerAccepted { .. }
            | Self::SteerSettled { .. } => false,
        }
    }
}

/// A stored row of a run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalRow {
    /// The run.
    pub run_id: RunId,
    /// Its session.
    pub session_id: SessionId,
    /// Number of the row, from 1 without gaps.
    pub seq: Seq,
    /// When the row was made.
    pub created_at: Instant,
    /// What happened.
    #[serde(flatten)]
    pub event: RowEvent,
    /// Text of a text item as it is; of any other row the JSON text of its value.
    pub body: String,
}
