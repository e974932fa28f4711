//! One connection of a server, from its acceptance on (table 5.1).
//!
//! The machine decides what the first action means, which action starts when, when the server stops reading from
//! the peer, and how the connection ends. The driver parses, runs handlers and writes; it names each action by a
//! ticket of its own choice and reports [`Input::ActionEnded`] once its reply is enqueued.

mod guards;
mod state;
mod transitions;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, SessionId};
use crate::wire::actions::{ActionKind, ActionName};
use crate::wire::close::Close;
use crate::wire::codes::Code;

pub use guards::{ConnectionGuards, Rules};
pub use state::{Connection, Features, Negotiation, WEIGHT_MAX};

/// How actions of one kind are scheduled (ACT-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Starts on arrival: `stop_run`, `steer_run`, `answer_question`, and everything that is answered with an error.
    Prompt,
    /// One at a time per session, in arrival order.
    Change,
    /// At most four beside the others.
    Read,
    /// As a read, and only while few bytes of replies are queued (ACT-15).
    Load,
}

impl Lane {
    /// The lane of an action; none stands for a message that names no action of this protocol.
    pub const fn of(name: Option<ActionName>) -> Self {
        let Some(name) = name else { return Self::Prompt };
        if matches!(name, ActionName::StopRun | ActionName::SteerRun | ActionName::AnswerQuestion) {
            return Self::Prompt;
        }
        match name.kind() {
            ActionKind::Upkeep => Self::Prompt,
            ActionKind::Change | ActionKind::Run => Self::Change,
            ActionKind::Read => Self::Read,
            ActionKind::Load => Self::Load,
        }
    }
}

/// What a `hello` states, as far as it decides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Lowest protocol of the client.
    pub protocol_min: i64,
    /// Highest protocol of the client.
    pub protocol_max: i64,
    /// Features of the client.
    pub features: Features,
    /// Whether it names a build other than the server's.
    pub other_build: bool,
}

/// What a connection takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// Fact: a well-formed `hello` arrived.
    HelloReceived {
        /// The driver's name for it.
        ticket: AskId,
        /// What it states.
        hello: Hello,
    },
    /// Fact: a text message other than a well-formed `hello` arrived.
    ActionReceived {
        /// The driver's name for it.
        ticket: AskId,
        /// The action; none if the message names none or is malformed.
        name: Option<ActionName>,
        /// The session it names.
        session: Option<SessionId>,
        /// Bytes of the message.
        bytes: u32,
    },
    /// Fact: a binary message arrived.
    BinaryReceived,
    /// Fact: a message above 1,048,576 bytes began to arrive; the rest is not read.
    OversizeReceived,
    /// Fact: some bytes arrived; they renew the lease (SND-27).
    BytesReceived,
    /// Fact: the outcome of an action is enqueued, or it ended without one.
    ActionEnded {
        /// Which action.
        ticket: AskId,
    },
    /// Fact: bytes of replies in the sender queue, whenever they fall while a load waits (ACT-15).
    RepliesQueued {
        /// How many.
        bytes: usize,
    },
    /// Fact: a manifest or resume was enqueued: the connection is subscribed to the session.
    SessionOpened {
        /// Which session.
        session: SessionId,
    },
    /// Fact: the subscription ended.
    SessionClosed {
        /// Which session.
        session: SessionId,
    },
    /// Command: the server stops.
    StopServer,
    /// Fact: the last run is settled and announced, or the drain time of runs is over.
    RunsSettled,
    /// Fact: nothing is queued or in flight, while [`Connection::awaits_empty_queue`] asks for it.
    QueueEmptied,
    /// Command: the credentials were revoked, or the principal logged out.
    Revoke,
    /// Fact: the record of a failure could not be committed (ERR-7).
    RecordFailed,
    /// Fact: the sender queue closed with this reason.
    SenderClosed {
        /// Why.
        reason: Close,
    },
    /// Fact: the peer closed, or the transport is gone.
    PeerClosed,
}

/// What a connection gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Output {
    /// Effect: run the handler of this action; it is unanswered until [`Input::ActionEnded`].
    Start {
        /// Which action.
        ticket: AskId,
    },
    /// Effect: answer `welcome`, with `reload_required` behind it if the builds differ. The action has ended.
    Welcome {
        /// Which action.
        ticket: AskId,
        /// The chosen protocol.
        protocol: i64,
        /// The features both sides have.
        features: Features,
        /// Whether the page has to be loaded again.
        reload: bool,
    },
    /// Effect: answer these actions with this code; they have ended and had no effect.
    Refuse {
        /// Which actions.
        tickets: Vec<AskId>,
        /// The code.
        code: Code,
    },
    /// Effect: offer a `pong`.
    OfferPong,
    /// Effect: offer `status` with state stopping.
    OfferStopping,
    /// Effect: read nothing from the peer until further notice (ACT-14).
    StopReading,
    /// Effect: read from the peer again.
    ResumeReading,
    /// Effect: end the connection: stop its sender, drop its subscriptions, snapshots and waiting actions, and
    /// resolve its connection asks. Runs and their questions go on (SND-26, ACT-16).
    Close {
        /// What to send first; none when the peer is gone already.
        reason: Option<Close>,
    },
}
