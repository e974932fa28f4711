//! Error records and logins as the store keeps them.

use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::instant::Instant;

/// An error record (ErrorData as JSON text, and what the store orders and selects by).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredError {
    /// `err_` and 32 hex digits.
    pub error_id: String,
    /// Milliseconds since 1970 UTC.
    pub occurred_at_ms: u64,
    /// The session it belongs to.
    pub session_id: Option<SessionId>,
    /// The request it answers.
    pub request_id: Option<String>,
    /// The ErrorData as JSON text.
    pub data: String,
    /// When it was closed; `None` while open.
    pub closed_at: Option<Instant>,
}

/// Which errors to list.
#[derive(Clone, Debug)]
pub struct ListErrors {
    /// Whose.
    pub principal: PrincipalId,
    /// Only those of this session.
    pub session_id: Option<SessionId>,
    /// Only those after this place of the order.
    pub after: Option<(u64, String)>,
    /// At most this many, 1 to 101.
    pub limit: usize,
    /// For expiry (ERR-3).
    pub now: Instant,
}

/// A login made by `/v1/login`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// SHA-256 of the cookie's value.
    pub token_hash: [u8; 32],
    /// Whose.
    pub principal: PrincipalId,
    /// When it ends.
    pub expires_at: Instant,
}
