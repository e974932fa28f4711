//! The sender queue of one connection (table 5.2, rules SND).
//!
//! The queue decides for each offered frame whether it is admitted, merged, superseded or refused, keeps the
//! reserves for terminal and control frames, evicts live rows for a frame that must arrive, and remembers in
//! marks what the client has to fetch instead. At most one batch is in flight; it counts until it is sent.
//!
//! The driver steps the queue synchronously: for each [`Output::Owe`] it offers the frames named there before
//! it feeds any other input, and it carries out [`Output::Transmit`] one batch at a time, answering with
//! [`Input::Sent`] or [`Input::TransportFailed`]. When it offers a `stream_state` it feeds
//! [`Input::EntityRestored`] right behind it and then the rows after the capture (SES-34); with a manifest or
//! resume [`Input::SessionRestored`], and [`Input::EntityRestored`] for each entity whose rows the resume holds
//! (SES-39).
//!
//! Bodies belong to the driver. Each body of an offered frame ends in exactly one place: in
//! [`Output::Transmit`], in [`Output::Dropped`], or with the caller when the report is
//! [`Outcome::Refused`] or [`Outcome::Superseded`].

mod admission;
mod guards;
mod marks;
mod state;
mod transitions;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::frame::{EntityId, FrameKey, QueuedFrame};
use crate::ids::{PayloadId, SessionId};
use crate::wire::close::Close;
use crate::wire::frames::SyncReason;

pub use guards::{Rules, SenderGuards};
pub use state::{SenderQueue, WEIGHT_MAX};

/// A caller that waits for the fate of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WaiterId(pub u64);

/// What a sender queue takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// Command: queue a frame.
    Offer(Offer),
    /// Fact: the batch in flight was handed over completely.
    Sent,
    /// Fact: the transport accepted some bytes of the batch in flight (SND-27).
    WriteProgressed,
    /// Fact: the transport failed (SND-23).
    TransportFailed,
    /// Command: the connection stops or was lost (SND-24).
    Stop,
    /// Command: the frame just offered shows the entity as of now, so its gap ends (SES-34, SES-39).
    EntityRestored {
        /// The session of the entity.
        session: SessionId,
        /// The entity.
        entity: EntityId,
    },
    /// Command: the manifest or resume just offered shows the session as of now, so its gap ends (SES-39).
    SessionRestored {
        /// The session.
        session: SessionId,
    },
    /// Command: the connection closed the session; what was owed for it is forgotten (DI-20).
    SessionClosed {
        /// The session.
        session: SessionId,
    },
}

/// A frame to queue and, if somebody wants to know its fate, the waiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The frame.
    pub frame: QueuedFrame,
    /// Who waits for its fate.
    pub waiter: Option<WaiterId>,
}

/// What a sender queue gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Output {
    /// Event: what became of the offered frame; exactly one for each offer (SND-25).
    Reported {
        /// What became of it.
        outcome: Outcome,
    },
    /// Effect: write these frames in order, then report [`Input::Sent`]. At most 64 frames and 65,536 bytes, or
    /// one larger frame.
    Transmit {
        /// The frames.
        frames: Vec<QueuedFrame>,
    },
    /// Event: the fate of these waiters' frames (SND-19).
    Resolved {
        /// Who waited.
        waiters: Vec<WaiterId>,
        /// What happened.
        fate: Fate,
    },
    /// Effect: these bodies will not be sent; release them.
    Dropped {
        /// The bodies.
        payloads: Vec<PayloadId>,
    },
    /// Effect: build and offer these frames now, in this order (SND-10, SND-13).
    Owe {
        /// What is owed.
        owed: Vec<Owed>,
    },
    /// Effect: offer a `heartbeat` (SND-30).
    OfferHeartbeat,
    /// Effect: close the connection with this reason; the queue is closed and empty.
    Close {
        /// Why.
        reason: Close,
    },
}

/// What became of an offered frame (SND-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is in the queue.
    Admitted,
    /// It is in the queue in place of, or merged into, a frame of its key.
    Coalesced,
    /// The queue holds one of its key that is not older.
    Superseded,
    /// It is not in the queue.
    Refused,
}

/// What a waiter learns (SND-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Its frame was sent.
    Sent,
    /// A newer frame or a projection takes its place.
    Superseded,
    /// The connection closed with 1013: a frame that must arrive did not fit.
    Overflow,
    /// The connection closed with 1011: the transport failed.
    SendFailure,
    /// The connection was stopped (1001).
    Stopped,
}

/// A frame the queue could not hold when it was due and can hold now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case")]
pub enum Owed {
    /// A `sync_required` for a gap.
    SyncRequired {
        /// The session with the gap.
        session: SessionId,
        /// The entity with the gap; none for commits of the session.
        entity: Option<EntityId>,
        /// Why.
        reason: SyncReason,
    },
    /// The newest frame of this key, from its producer: a snapshot, a state frame, `recovery_required` or
    /// `reload_required`.
    Newest {
        /// Type and key.
        key: FrameKey,
    },
}
