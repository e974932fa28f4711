//! Actions on questions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};
use crate::wire::JsonObject;

/// Lists open questions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ListQuestions {
    /// Session concerned.
    pub session_id: String,
}

impl ReadFields for ListQuestions {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { session_id: fields.id("session_id")? })
    }
}

/// Answers a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AnswerQuestion {
    /// Session concerned.
    pub session_id: String,
    /// Question concerned.
    pub question_id: String,
    /// Version of the question the client showed.
    pub question_version: i64,
    /// The answer.
    pub answer: JsonObject,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for AnswerQuestion {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            question_id: fields.id("question_id")?,
            question_version: fields.integer("question_version")?,
            answer: fields.object("answer")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}
