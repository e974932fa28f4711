//! The one builder of error payloads (ENV-8). What it made, and what it read back, is valid.

use super::timestamp;
use crate::wire::actions::{Action, ActionName, ParseRefusal};
use crate::wire::codes::Retryable;
use crate::wire::structures::{ErrorData, Scope, UncheckedErrorData};
use crate::wire::{Code, echo};

/// What makes one failure unlike every other. Not copyable: each failure takes a fresh one (ENV-3).
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Random number behind `error_id`.
    pub error_id: u128,
    /// Random number behind `correlation_id`.
    pub correlation_id: u128,
    /// Guarded wall clock, Unix milliseconds (ENV-5).
    pub occurred_at_ms: i64,
}

/// The payload would not be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The code belongs to clients and their transport.
    #[error("use scope transport with code connection_lost")]
    ScopeNotTransport,
    /// The code leaves it open whether a repetition may succeed.
    #[error("state whether the failed turn or job may be retried")]
    RetryableMissing,
    /// The code fixes whether a repetition may succeed.
    #[error("leave retryable to the code; only a turn or a job states its own")]
    RetryableFixed,
    /// The time has no text of four-digit year.
    #[error("use a time between 1970 and the end of the year 9999")]
    TimeOutsideRange,
    /// An id is not a prefix and 32 lowercase hex digits.
    #[error("{0} is not its prefix and 32 lowercase hex digits")]
    IdMalformed(&'static str),
    /// A text that must be safe is not.
    #[error("{0} is not 1 to 128 characters without control characters")]
    TextUnsafe(&'static str),
    /// The message is empty, too long or not printable.
    #[error("the message is not 1 to 256 printable characters")]
    MessageNotPrintable,
    /// The severity is above what the code allows.
    #[error("a code that is not recorded has severity warning at most")]
    SeverityAboveCode,
}

/// Collects what is known of a failure, then makes its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBuilder {
    code: Code,
    scope: Scope,
    action: Option<String>,
    session_id: Option<String>,
    operation_id: Option<String>,
    request_id: Option<String>,
    retryable: Option<bool>,
}

impl ErrorBuilder {
    /// A failure with a registered code, somewhere.
    pub fn new(code: Code, scope: Scope) -> Self {
        Self {
            code,
            scope,
            action: None,
            session_id: None,
            operation_id: None,
            request_id: None,
            retryable: None,
        }
    }

    /// A failure of an action: its name, scope, session and request id (ACT-7).
    pub fn of_action(code: Code, action: &Action, request_id: Option<&str>) -> Self {
        Self::new(code, action.scope())
            .action(action.name().as_str())
            .session(action.session_id())
            .request(request_id)
    }

    /// The error of a message that is not an action (ACT-2, ACT-3, ACT-4).
    pub fn of_refusal(refusal: &ParseRefusal) -> Self {
        let builder = Self::new(refusal.code, refusal.scope)
            .session(refusal.session_id.as_deref())
            .request(refusal.request_id.as_deref());
        match &refusal.action {
            Some(action) => builder.action(action),
            None => builder,
        }
    }

    /// Action that failed; left out when unsafe (ENV-6).
    pub fn action(self, action: &str) -> Self {
        Self { action: echo(Some(action)), ..self }
    }

    /// Session concerned; left out when unsafe (ENV-6).
    pub fn session(self, session_id: Option<&str>) -> Self {
        Self { session_id: echo(session_id), ..self }
    }

    /// Job, entity or other server object concerned; left out when unsafe (ENV-6). Nothing else
    /// fills this field, a request id least of all (ENV-7).
    pub fn operation(self, operation_id: Option<&str>) -> Self {
        Self { operation_id: echo(operation_id), ..self }
    }

    /// Request that failed; left out when unsafe (ENV-6).
    pub fn request(self, request_id: Option<&str>) -> Self {
        Self { request_id: echo(request_id), ..self }
    }

    /// Whether the failed turn or job may be retried; only for codes that leave it open.
    pub fn retryable(self, retryable: bool) -> Self {
        Self { retryable: Some(retryable), ..self }
    }

    /// Makes the payload.
    ///
    /// # Errors
    /// A [`BuildError`] that says which part is outside its type (ENV-2).
    pub fn build(self, stamp: Stamp) -> Result<ErrorData, BuildError> {
        let retryable = self.resolved_retryable()?;
        let occurred_at =
            timestamp::format(stamp.occurred_at_ms).ok_or(BuildError::TimeOutsideRange)?;
        ErrorData::try_from(UncheckedErrorData {
            error_id: format!("err_{:032x}", stamp.error_id),
            request_id: self.request_id,
            scope: self.scope,
            code: self.code,
            message: self.code.message().to_owned(),
            action: self.action,
            session_id: self.session_id,
            operation_id: self.operation_id,
            retryable,
            severity: self.code.severity(),
            correlation_id: format!("corr_{:032x}", stamp.correlation_id),
            occurred_at,
        })
    }

    fn resolved_retryable(&self) -> Result<bool, BuildError> {
        match (self.code.retryable(), self.retryable) {
            (Retryable::AsStated, Some(stated)) => Ok(stated),
            (Retryable::AsStated, None) => Err(BuildError::RetryableMissing),
            (Retryable::Always | Retryable::Never | Retryable::ByKind, Some(_)) => {
                Err(BuildError::RetryableFixed)
            }
            (Retryable::Always, None) => Ok(true),
            (Retryable::Never, None) => Ok(false),
            (Retryable::ByKind, None) => Ok(self.reads()),
        }
    }

    /// Whether the action is known and has no effects; without an action a repetition is not safe.
    fn reads(&self) -> bool {
        let name = self.action.as_deref().and_then(|action| action.parse::<ActionName>().ok());
        name.is_some_and(|name| !name.kind().changes())
    }
}
