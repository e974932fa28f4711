//! The request registry of one principal: outcomes of its actions, and its idempotency keys in flight (delivery.md
//! 4.3, table 5.3).
//!
//! Each principal has its own registry, so a result is visible to its principal only (REQ-9). The driver looks the
//! key up in the store first and hands what it found along with [`Input::Accepted`]; what it found must still be true then, so a lookup that
//! another change of the same key overtook is made again. An outcome is recorded in the
//! step that gives [`Output::Answer`], so before its reply is enqueued (REQ-6).
//!
//! Bodies belong to the driver: it holds the body of an outcome from [`Output::Answer`] with `keep` until
//! [`Output::Forget`] names it.

mod guards;
mod state;
mod transitions;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, PayloadId, PayloadRef, SessionId};
use crate::wire::actions::ActionName;

pub use guards::{RequestGuards, Rules};
pub use state::{PENDING_MAX, RequestKey, Requests, WEIGHT_MAX};

/// A use of an idempotency key by a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    /// The session the key belongs to; none for a change without session.
    pub session: Option<SessionId>,
    /// Digest of the key's text.
    pub key: RequestKey,
    /// Fingerprint of the action and its fields, request id and key left out.
    pub fingerprint: u64,
    /// What the store remembers under the key.
    pub remembered: Option<Remembered>,
}

/// A key that took effect before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// Fingerprint of the change that took effect.
    pub fingerprint: u64,
    /// Its reply.
    pub reply: PayloadRef,
}

/// How an action ended, with the data of its reply frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "state", content = "body", rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Done(PayloadRef),
    /// It was refused and had no effect.
    Refused(PayloadRef),
    /// It failed; the body is the `ErrorData`.
    Failed(PayloadRef),
}

impl Outcome {
    /// The body of the reply.
    pub const fn body(self) -> PayloadRef {
        match self {
            Self::Done(body) | Self::Refused(body) | Self::Failed(body) => body,
        }
    }
}

/// What a registry takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// Fact: an action was accepted for execution.
    Accepted {
        /// The execution's name, used once.
        ask: AskId,
        /// Digest of its request id, if it has one.
        request: Option<RequestKey>,
        /// The action.
        action: ActionName,
        /// The idempotency key it names.
        key: Option<KeyUse>,
    },
    /// Fact: the handler that [`Output::Execute`] or [`Output::RefuseConflict`] asked for has ended.
    Finished {
        /// Which execution.
        ask: AskId,
        /// How it ended.
        outcome: Outcome,
    },
    /// Command: look up the result of a request.
    Query {
        /// Who asks.
        ask: AskId,
        /// Digest of the request id asked for.
        target: RequestKey,
    },
}

/// What a registry gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Output {
    /// Effect: run the handler.
    Execute {
        /// Which execution.
        ask: AskId,
    },
    /// Effect: build the refusal `idempotency_conflict` and report it as finished (REQ-15).
    RefuseConflict {
        /// Which execution.
        ask: AskId,
    },
    /// Effect: the outcome is recorded; enqueue this reply for each, under its own request id.
    Answer {
        /// The execution and those that shared it.
        asks: Vec<AskId>,
        /// The outcome.
        outcome: Outcome,
        /// How many results refer to the body and keep it until they are forgotten.
        keep: usize,
    },
    /// Event: the result asked for (REQ-7).
    Found {
        /// Who asked.
        ask: AskId,
        /// The result.
        result: Found,
    },
    /// Effect: one reference to each of these bodies has ended.
    Forget {
        /// The bodies.
        payloads: Vec<PayloadId>,
    },
}

/// The answer to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Found {
    /// It runs.
    Pending {
        /// The action.
        action: ActionName,
    },
    /// It ended.
    Ended {
        /// The action.
        action: ActionName,
        /// How, with the reply's body.
        outcome: Outcome,
        /// Whether the body was too large to keep, so that only the outcome is told.
        omitted: bool,
    },
    /// It was never seen, or is forgotten.
    Unknown,
}
