//! Questions and their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Code;
use crate::wire::structures::{Question, QuestionOutcome};

/// A question is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QuestionAsked {
    /// Session concerned.
    pub session_id: String,
    /// The question.
    pub question: Question,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// A question is closed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QuestionResolved {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Question concerned.
    pub question_id: String,
    /// How it was resolved.
    pub outcome: QuestionOutcome,
    /// Revision of the session this was computed from.
    pub session_revision: i64,
}

/// Open questions of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct QuestionsList {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// The questions.
    pub questions: Vec<Question>,
}

/// An answer had no effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AnswerRefused {
    /// Request this frame answers; null on a push.
    pub request_id: Option<String>,
    /// Session concerned.
    pub session_id: String,
    /// Question concerned.
    pub question_id: String,
    /// Registered code.
    pub code: Code,
}
