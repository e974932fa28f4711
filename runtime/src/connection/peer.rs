//! One connection as the rest of the server sees it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;
use std::task::Waker;

use runwarden_protocol::delivery::connection::Input;
use runwarden_protocol::delivery::sender;
use runwarden_protocol::ids::{ConnectionId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::wire::limits::SESSIONS_OPEN_MAX;

use crate::hub::{Principal, lock};
use crate::outbound::Outbound;

/// A connection: whom it acts for, what it sends, and what its driver has to be told.
#[derive(Debug)]
pub struct Peer {
    /// Names the connection.
    pub id: ConnectionId,
    /// Whom it acts for.
    pub principal: Principal,
    /// What it sends.
    pub outbound: Outbound,
    inbox: Mutex<Inbox>,
}

/// Facts for the driver. At most one per unanswered action, subscription or stage of a stop waits.
#[derive(Debug, Default)]
struct Inbox {
    facts: VecDeque<Input>,
    sessions: BTreeSet<SessionId>,
    waker: Option<Waker>,
    gone: bool,
}

impl Peer {
    /// A connection opened at `now`.
    pub(super) fn new(id: ConnectionId, principal: Principal, now: Instant) -> Self {
        Self { id, principal, outbound: Outbound::new(now), inbox: Mutex::default() }
    }

    /// The server stops: from now on few actions are served (ACT-10).
    pub fn server_stops(&self) {
        self.tell(Input::StopServer);
    }

    /// The last run is settled and announced, or its time is over.
    pub fn runs_settled(&self) {
        self.tell(Input::RunsSettled);
    }

    /// A manifest or resume is about to be enqueued. `false` when 8 other sessions are open already;
    /// then the action is refused `limit_reached` (RATE-10). Also `false` once the connection is gone:
    /// nothing would end the subscription.
    pub fn session_opened(&self, session: SessionId) -> bool {
        let mut inbox = lock(&self.inbox);
        let has_room =
            inbox.sessions.contains(&session) || inbox.sessions.len() < SESSIONS_OPEN_MAX;
        if inbox.gone || !has_room {
            return false;
        }
        inbox.sessions.insert(session);
        drop(inbox);
        self.tell(Input::SessionOpened { session });
        true
    }

    /// The subscription has ended, and with it what was owed for it (DI-20).
    pub fn session_closed(&self, session: SessionId) {
        lock(&self.inbox).sessions.remove(&session);
        // Marks have no time, so none is needed to forget them.
        self.outbound.feed(Instant::ZERO, sender::Input::SessionClosed { session });
        self.tell(Input::SessionClosed { session });
    }

    /// The driver has ended: nothing is told to it any more, and no session is opened.
    pub(super) fn leaves(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.gone = true;
        inbox.facts.clear();
        inbox.waker = None;
    }

    /// Hands a fact to the driver and wakes it.
    pub(super) fn tell(&self, fact: Input) {
        let mut inbox = lock(&self.inbox);
        if inbox.gone {
            return;
        }
        inbox.facts.push_back(fact);
        let waker = inbox.waker.take();
        drop(inbox);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the facts, and keeps `waker` for when there are more.
    pub(super) fn facts(&self, waker: &Waker) -> VecDeque<Input> {
        let mut inbox = lock(&self.inbox);
        if inbox.waker.as_ref().is_none_or(|known| !known.will_wake(waker)) {
            inbox.waker = Some(waker.clone());
        }
        std::mem::take(&mut inbox.facts)
    }
}
