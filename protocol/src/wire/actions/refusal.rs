//! Why a message is not an action.

use super::ActionName;
use crate::wire::Code;
use crate::wire::structures::{Limit, Scope};

use super::fields::FieldRefusal;

/// A message that is not an action: what is wrong, and what may be echoed of it.
///
/// Texts are present only when safe (ENV-6).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {}", .field.unwrap_or("the message"))]
pub struct ParseRefusal {
    /// `invalid_request` or `unknown_action`.
    pub code: Code,
    /// The action, when this release serves it.
    pub name: Option<ActionName>,
    /// The action as named by the client.
    pub action: Option<String>,
    /// The request id.
    pub request_id: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// The run.
    pub run_id: Option<String>,
    /// The question.
    pub question_id: Option<String>,
    /// Scope of the error (ACT-7); system for a message without registered action.
    pub scope: Scope,
    /// The limit that was exceeded (RATE-6).
    pub limit: Option<Limit>,
    /// The field that is missing or outside its type or range; for diagnosis, never sent.
    pub field: Option<&'static str>,
}

impl ParseRefusal {
    /// The refusal of a message that is not a JSON object: nothing is echoed (ACT-3).
    pub(super) fn malformed() -> Box<Self> {
        Box::new(Self {
            code: Code::InvalidRequest,
            name: None,
            action: None,
            request_id: None,
            session_id: None,
            run_id: None,
            question_id: None,
            scope: Scope::System,
            limit: None,
            field: None,
        })
    }

    pub(super) fn at(mut self: Box<Self>, refused: FieldRefusal) -> Box<Self> {
        self.field = Some(refused.field);
        self.limit = refused.limit;
        self
    }
}
