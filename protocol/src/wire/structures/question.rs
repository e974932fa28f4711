//! Questions a run asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Marker;

/// An open request for an answer or an approval (ASK-01).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Names the question.
    pub question_id: String,
    /// Run that asks; null only for a connection ask.
    pub run_id: Option<String>,
    /// What is asked for.
    pub kind: QuestionKind,
    /// Version an answer must name.
    pub question_version: i64,
    /// Text to show; above 32,768 bytes a prefix.
    pub prompt: String,
    /// Where the whole prompt is.
    pub marker: Option<Marker>,
    /// Answers offered.
    pub options: Vec<String>,
    /// Several options may be chosen.
    pub multi: bool,
    /// A free answer is allowed.
    pub allow_custom: bool,
    /// Unix milliseconds at which it expires.
    pub expires_at: i64,
}

/// What a question asks for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// An answer.
    Question,
    /// A permission.
    Approval,
}

/// How a question was resolved (ASK-03).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum QuestionOutcome {
    /// By an answer; a "no" is one.
    Answered,
    /// By its time.
    Expired,
    /// By a Stop.
    Cancelled,
    /// By the end of its run.
    Interrupted,
}
