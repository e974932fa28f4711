//! The error payload. One is made by `errors::builder` or read back, and checked both times (ENV-8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{BuildError, timestamp};
use crate::wire::limits::MESSAGE_CHARS_MAX;
use crate::wire::{Code, is_safe};

/// One failure as a client may see it: exactly twelve fields (ENV-1).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "UncheckedErrorData")]
#[schemars(!try_from)]
pub struct ErrorData {
    /// Names the failure: `err_` and 32 lowercase hex digits.
    error_id: String,
    /// Request that failed.
    request_id: Option<String>,
    /// Where the failure happened.
    scope: Scope,
    /// Registered code.
    code: Code,
    /// Registered text of the code, at most 256 characters.
    message: String,
    /// Action that failed.
    action: Option<String>,
    /// Session concerned.
    session_id: Option<String>,
    /// Job, entity or other server object concerned.
    operation_id: Option<String>,
    /// Whether sending the same action again is safe and may succeed.
    retryable: bool,
    /// How bad it is.
    severity: Severity,
    /// Finds the detail in the diagnostic log: `corr_` and 32 lowercase hex digits.
    correlation_id: String,
    /// Time, in the form `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    occurred_at: String,
}

impl ErrorData {
    /// Names the failure: `err_` and 32 lowercase hex digits.
    pub fn error_id(&self) -> &str {
        &self.error_id
    }

    /// Request that failed.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Where the failure happened.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Registered code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Registered text of the code (ENV-4).
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Action that failed.
    pub fn action(&self) -> Option<&str> {
        self.action.as_deref()
    }

    /// Session concerned.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Job, entity or other server object concerned.
    pub fn operation_id(&self) -> Option<&str> {
        self.operation_id.as_deref()
    }

    /// Whether sending the same action again is safe and may succeed.
    pub fn retryable(&self) -> bool {
        self.retryable
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Finds the full detail in the diagnostic log: `corr_` and 32 lowercase hex digits.
    pub fn correlation_id(&self) -> &str {
        &self.correlation_id
    }

    /// Time, in the form `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub fn occurred_at(&self) -> &str {
        &self.occurred_at
    }
}

/// Where a failure happened.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// In a session.
    Session,
    /// In a background job.
    Job,
    /// In the settings.
    Settings,
    /// In a channel.
    Channel,
    /// In an agent.
    Agent,
    /// Between client and server.
    Transport,
    /// In the server as a whole.
    System,
}

/// How bad a failure is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something was refused.
    Warning,
    /// Something failed.
    Error,
    /// The server cannot go on.
    Fatal,
}

/// The fields of an error payload before they were checked.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct UncheckedErrorData {
    pub(crate) error_id: String,
    pub(crate) request_id: Option<String>,
    pub(crate) scope: Scope,
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) action: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) operation_id: Option<String>,
    pub(crate) retryable: bool,
    pub(crate) severity: Severity,
    pub(crate) correlation_id: String,
    pub(crate) occurred_at: String,
}

impl UncheckedErrorData {
    fn check(&self) -> Result<(), BuildError> {
        check_id("error_id", "err_", &self.error_id)?;
        check_id("correlation_id", "corr_", &self.correlation_id)?;
        check_safe("request_id", self.request_id.as_deref())?;
        check_safe("action", self.action.as_deref())?;
        check_safe("session_id", self.session_id.as_deref())?;
        check_safe("operation_id", self.operation_id.as_deref())?;
        let chars = self.message.chars().count();
        if !(1..=MESSAGE_CHARS_MAX).contains(&chars) || self.message.chars().any(char::is_control) {
            return Err(BuildError::MessageNotPrintable);
        }
        if self.code == Code::ConnectionLost && self.scope != Scope::Transport {
            return Err(BuildError::ScopeNotTransport);
        }
        if self.severity > self.code.severity().max(Severity::Warning) {
            return Err(BuildError::SeverityAboveCode);
        }
        timestamp::parse(&self.occurred_at).ok_or(BuildError::TimeOutsideRange)?;
        Ok(())
    }
}

impl TryFrom<UncheckedErrorData> for ErrorData {
    type Error = BuildError;

    fn try_from(fields: UncheckedErrorData) -> Result<Self, BuildError> {
        fields.check()?;
        Ok(Self {
            error_id: fields.error_id,
            request_id: fields.request_id,
            scope: fields.scope,
            code: fields.code,
            message: fields.message,
            action: fields.action,
            session_id: fields.session_id,
            operation_id: fields.operation_id,
            retryable: fields.retryable,
            severity: fields.severity,
            correlation_id: fields.correlation_id,
            occurred_at: fields.occurred_at,
        })
    }
}

fn check_id(field: &'static str, prefix: &str, text: &str) -> Result<(), BuildError> {
    let lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let digits = text.strip_prefix(prefix).unwrap_or_default();
    if digits.len() == 32 && digits.bytes().all(lower_hex) {
        Ok(())
    } else {
        Err(BuildError::IdMalformed(field))
    }
}

fn check_safe(field: &'static str, text: Option<&str>) -> Result<(), BuildError> {
    if text.is_none_or(is_safe) { Ok(()) } else { Err(BuildError::TextUnsafe(field)) }
}
