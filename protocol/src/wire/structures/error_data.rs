//! The error payload. Only `errors::builder` makes one (ENV-8), so its fields cannot be set elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::Code;

/// One failure as a client may see it: exactly twelve fields (ENV-1).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
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
