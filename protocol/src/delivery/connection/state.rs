//! What a connection remembers, and what it lets others see.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::Lane;
use super::guards::{ConnectionGuards, Rules};
use crate::delivery::limits::{
    ACTION_BYTES_MAX, SESSIONS_OPEN_MAX, UNANSWERED_ACTIONS_MAX, UNANSWERED_BYTES_MAX,
};
use crate::ids::{AskId, SessionId};
use crate::instant::Instant;
use crate::wire::actions::ActionName;
use crate::wire::close::Close;

/// Most that [`crate::machine::Machine::weight`] of a connection reports: the last action read may pass the bound.
pub const WEIGHT_MAX: usize = UNANSWERED_BYTES_MAX
    + ACTION_BYTES_MAX
    + UNANSWERED_ACTIONS_MAX * ACTION_WEIGHT
    + SESSIONS_OPEN_MAX * SESSION_WEIGHT;

/// Optional parts of the protocol (delivery.md 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Features {
    /// Large frames are divided.
    pub fragments: bool,
    /// Commits are sent as deltas, and sessions are resumed.
    pub delta: bool,
}

/// What the first action made of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Negotiation {
    /// Nothing arrived yet.
    Awaited,
    /// It has not negotiated and has no features.
    Baseline,
    /// It has negotiated these features.
    Done(Features),
}

/// One connection (table 5.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Connection<G: ConnectionGuards = Rules> {
    pub(super) phase: Phase,
    pub(super) offered: Features,
    pub(super) negotiation: Negotiation,
    pub(super) reading: bool,
    /// Unanswered actions in arrival order.
    pub(super) actions: Vec<Action>,
    pub(super) sessions: BTreeSet<SessionId>,
    pub(super) reply_bytes: usize,
    pub(super) timers: Timers,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    Open,
    /// The server stops; runs are not settled yet.
    Stopping,
    /// What is queued is sent, then the connection is closed.
    Draining(Close),
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Action {
    pub(super) ticket: AskId,
    pub(super) name: Option<ActionName>,
    pub(super) session: Option<SessionId>,
    pub(super) bytes: u32,
    pub(super) started: bool,
}

impl Action {
    pub(super) fn lane(&self) -> Lane {
        Lane::of(self.name)
    }

    pub(super) fn opens(&self) -> Option<SessionId> {
        self.session.filter(|_| self.name == Some(ActionName::OpenSession))
    }
}

/// Times of the last events, left out of the hash as in the sender queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Timers {
    pub(super) received_at: Instant,
    pub(super) drain_since: Instant,
}

impl Hash for Timers {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<G: ConnectionGuards> Connection<G> {
    /// A connection accepted at `now` by a server that offers `features`.
    pub fn new(now: Instant, features: Features) -> Self {
        Self {
            phase: Phase::Open,
            offered: features,
            negotiation: Negotiation::Awaited,
            reading: true,
            actions: Vec::new(),
            sessions: BTreeSet::new(),
            reply_bytes: 0,
            timers: Timers { received_at: now, drain_since: now },
            guards: PhantomData,
        }
    }

    /// What the first action made of it.
    pub fn negotiation(&self) -> Negotiation {
        self.negotiation
    }

    /// The features in force.
    pub fn features(&self) -> Features {
        match self.negotiation {
            Negotiation::Awaited | Negotiation::Baseline => Features::default(),
            Negotiation::Done(features) => features,
        }
    }

    /// Whether the connection is subscribed to `session`.
    pub fn is_subscribed(&self, session: SessionId) -> bool {
        self.sessions.contains(&session)
    }

    /// The sessions it is subscribed to.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.sessions.iter().copied()
    }

    /// Unanswered actions, waiting or running.
    pub fn unanswered(&self) -> usize {
        self.actions.len()
    }

    /// Whether the server reads from the peer.
    pub fn is_reading(&self) -> bool {
        self.reading
    }

    /// Whether a load waits for replies to leave; the driver then reports what is queued (ACT-15).
    pub fn awaits_replies(&self) -> bool {
        self.actions.iter().any(|action| !action.started && action.lane() == Lane::Load)
    }

    /// Whether the connection closes once its queue is empty.
    pub fn awaits_empty_queue(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    pub(super) fn unanswered_bytes(&self) -> usize {
        self.actions.iter().map(|action| action.bytes as usize).sum()
    }

    /// Sessions that are open or being opened.
    pub(super) fn taken_sessions(&self) -> BTreeSet<SessionId> {
        let opening = self.actions.iter().filter(|action| action.started).filter_map(Action::opens);
        self.sessions.iter().copied().chain(opening).collect()
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.unanswered_bytes()
            + self.actions.len() * ACTION_WEIGHT
            + self.sessions.len() * SESSION_WEIGHT
    }
}

/// What one action is counted as, its text apart.
const ACTION_WEIGHT: usize = 48;
/// What one subscription is counted as.
const SESSION_WEIGHT: usize = 16;
