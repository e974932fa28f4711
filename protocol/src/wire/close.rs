//! Why a connection is closed (2.8).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A close of a connection, with its code and reason text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Close {
    /// 1000: normal end.
    Normal,
    /// 1001: the server stops, or the connection was replaced.
    Stopping,
    /// 1001: no byte received for too long.
    LeaseExpired,
    /// 1002: no common protocol.
    ProtocolUnsupported,
    /// 1003: a binary message.
    UnsupportedMessage,
    /// 1008: credentials or Origin refused, or revoked later.
    Unauthorized,
    /// 1009: an action above [`super::limits::ACTION_BYTES_MAX`].
    MessageTooLarge,
    /// 1011: error record not committed, send failed, or no write progress.
    StateRecoveryAfterFailure,
    /// 1013: a terminal frame could not be admitted.
    StateRecoveryAfterOverflow,
    /// 1013: too many connections of a principal, or too many rate refusals.
    RateLimited,
    /// 4001: the fragment decoder of a client failed.
    StateRecoveryAfterDecoder,
}

impl Close {
    /// Every close, in the order of 2.8.
    pub const ALL: [Self; 11] = [
        Self::Normal,
        Self::Stopping,
        Self::LeaseExpired,
        Self::ProtocolUnsupported,
        Self::UnsupportedMessage,
        Self::Unauthorized,
        Self::MessageTooLarge,
        Self::StateRecoveryAfterFailure,
        Self::StateRecoveryAfterOverflow,
        Self::RateLimited,
        Self::StateRecoveryAfterDecoder,
    ];

    /// Code of the close frame.
    pub const fn code(self) -> u16 {
        match self {
            Self::Normal => 1000,
            Self::Stopping | Self::LeaseExpired => 1001,
            Self::ProtocolUnsupported => 1002,
            Self::UnsupportedMessage => 1003,
            Self::Unauthorized => 1008,
            Self::MessageTooLarge => 1009,
            Self::StateRecoveryAfterFailure => 1011,
            Self::StateRecoveryAfterOverflow | Self::RateLimited => 1013,
            Self::StateRecoveryAfterDecoder => 4001,
        }
    }

    /// Reason text of the close frame; empty for a normal end, where any text is allowed.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Normal => "",
            Self::Stopping => "stopping",
            Self::LeaseExpired => "lease_expired",
            Self::ProtocolUnsupported => "protocol_unsupported",
            Self::UnsupportedMessage => "unsupported_message",
            Self::Unauthorized => "unauthorized",
            Self::MessageTooLarge => "message_too_large",
            Self::StateRecoveryAfterFailure
            | Self::StateRecoveryAfterOverflow
            | Self::StateRecoveryAfterDecoder => "state_recovery_required",
            Self::RateLimited => "rate_limited",
        }
    }
}
