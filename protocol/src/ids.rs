//! Names of things. Inside the machines an id is one integer; on the wire it is a prefixed text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text is not an id of the wanted kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of the form {prefix}0123456789abcdef")]
pub struct IdError {
    prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// What the text form begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id with this number.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The number behind the id.
            pub const fn number(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{:016x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                parse(text, $prefix).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// A session: one conversation.
    SessionId, "ses_"
);
id!(
    /// A run: one execution of a turn. Never reused.
    RunId, "run_"
);
id!(
    /// A stored message; the message id of a user turn is its turn id.
    MessageId, "msg_"
);
id!(
    /// A question a run asks.
    QuestionId, "que_"
);
id!(
    /// A background job.
    JobId, "job_"
);
id!(
    /// A steer sent to a run.
    SteerId, "steer_"
);
id!(
    /// A wakeup: a turn that an internal producer asks for, known by this identity (STR-14).
    WakeupId, "wake_"
);
id!(
    /// One part of a run's live content.
    ItemId, "item_"
);
id!(
    /// One network attachment of a client.
    ConnectionId, "conn_"
);
id!(
    /// One constructed agent object.
    AgentId, "agt_"
);
id!(
    /// An identity a request acts for. Never shown to clients (AUTH-7).
    PrincipalId, "pri_"
);
id!(
    /// A body kept outside the machines: text, a value, a frame.
    PayloadId, "pay_"
);
id!(
    /// A caller that waits for the reply to one action.
    AskId, "ask_"
);
id!(
    /// The random identity of a store's history (JRN-22).
    StoreId, ""
);

/// The turn a run executes is named by the message id of its user row.
pub type TurnId = MessageId;

fn parse(text: &str, prefix: &'static str) -> Result<u64, IdError> {
    let error = IdError { prefix };
    let digits = text.strip_prefix(prefix).ok_or(error)?;
    let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if digits.len() != 16 || !digits.bytes().all(lower_hex) {
        return Err(error);
    }
    u64::from_str_radix(digits, 16).map_err(|_| error)
}

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Before the first one.
            pub const ZERO: Self = Self(0);

            /// The counter with this value.
            pub const fn new(value: u64) -> Self {
                Self(value)
            }

            /// The value.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The counter moved forward by `by`.
            pub const fn plus(self, by: u64) -> Self {
                Self(self.0.saturating_add(by))
            }
        }
    };
}

counter!(
    /// Number of a row in a run's journal, counted from 1; 0 means no row yet.
    Seq
);
counter!(
    /// Counter of the commits of a session.
    Revision
);

/// A body outside the machines: its id and its size as JSON text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PayloadRef {
    /// Where the body is kept.
    pub id: PayloadId,
    /// Bytes of the body in its serialized JSON form.
    pub json_bytes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_through_their_text() {
        let id = RunId::new(0x0123_4567_89ab_cdef);
        assert_eq!(id.to_string(), "run_0123456789abcdef");
        assert_eq!("run_0123456789abcdef".parse(), Ok(id));
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"run_0123456789abcdef\"");
        assert_eq!(serde_json::from_str::<RunId>("\"run_0123456789abcdef\"").unwrap(), id);
    }

    #[test]
    fn foreign_and_sloppy_ids_are_refused() {
        for text in
            ["", "run_", "ses_0123456789abcdef", "run_0123456789ABCDEF", "run_+123456789abcdef"]
        {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
