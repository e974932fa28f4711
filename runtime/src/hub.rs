//! The server's core: sessions, connections, slots and registries, over the ports.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_channel::Receiver;
use runwarden_protocol::errors::Stamp;
use runwarden_protocol::flight::Flight;
use runwarden_protocol::ids::{
    AskId, ConnectionId, MessageId, PayloadId, PrincipalId, RunId, SessionId,
};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::run::cache::{self, Cache, Notice};
use runwarden_protocol::run::lineage::{Lineage, RunLimits};
use runwarden_protocol::run::slots::{self, SlotLimits, Slots};
use runwarden_protocol::run::storage::Storage;
use runwarden_protocol::session::project::Live;
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::wire::limits::CONNECTIONS_PER_PRINCIPAL;
use runwarden_protocol::wire::structures::{ErrorData, SessionStatus};

use crate::connection::Peer;
use crate::connection::registry::Registry;
use crate::flights::KeptFlights;
use crate::frames::SharedFrame;
use crate::ports::agent::AgentFactory;
use crate::ports::store::StoredError;
use crate::ports::{Store, StoreFailure, World};
use crate::records::{RecordSink, Recorded};
use crate::session::{self, Message, SessionHandle};

const IDLE: Live = Live { status: SessionStatus::Idle, run: None };

/// What an operator configured, as far as the core needs it.
#[derive(Clone)]
pub struct HubConfig {
    /// Limits of runs.
    pub runs: RunLimits,
    /// Runs at once.
    pub slots: SlotLimits,
    /// Sessions that keep an agent between two turns (REG-13).
    pub agents_kept_max: u32,
    /// Free bytes of the store below which new runs are refused (`disk_low`, LIM-05).
    pub disk_low_bytes: u64,
    /// Build id of the server and its page (2.3).
    pub server_build: String,
    /// Agents by name; the first is the default.
    pub agents: Vec<Arc<dyn AgentFactory>>,
    /// Bytes of steps that the flight recorder keeps of a loaded session; 0 turns it off (`record_bytes_max`).
    pub record_bytes_max: usize,
    /// Takes every step of every session machine, if wanted.
    pub records: Option<Arc<dyn RecordSink>>,
}

/// Who a connection acts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The identity.
    pub id: PrincipalId,
    /// Whether it may only read (PRIN-5).
    pub read_only: bool,
}

/// The core of a server. Cheap to clone.
pub struct Hub<W: World, S: Store> {
    inner: Arc<Inner<W, S>>,
}

impl<W: World, S: Store> Clone for Hub<W, S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

struct Inner<W, S> {
    world: W,
    store: S,
    config: HubConfig,
    sessions: Mutex<Sessions>,
    live: Mutex<BTreeMap<SessionId, Live>>,
    peers: Mutex<BTreeMap<PrincipalId, BTreeMap<ConnectionId, Arc<Peer>>>>,
    registries: Mutex<BTreeMap<PrincipalId, Arc<Mutex<Registry>>>>,
    slots: Mutex<Slots>,
    cache: Mutex<Cache>,
    storage: Mutex<Storage>,
    flights: Mutex<KeptFlights>,
    next_payload: AtomicU64,
    next_ask: AtomicU64,
    stopping: AtomicBool,
    settled: AtomicBool,
}

/// The sessions in memory.
#[derive(Debug, Default)]
struct Sessions {
    handles: BTreeMap<SessionId, SessionHandle>,
    /// How many were deleted so far: a head that was read before a deletion may be of a session that is gone.
    deletions: u64,
}

impl<W: World, S: Store> Hub<W, S> {
    /// A core over these ports. Call [`Hub::recover`] before the first connection is served.
    pub fn new(world: W, store: S, config: HubConfig) -> Self {
        let slots = Slots::new(config.slots);
        let cache = Cache::new(config.agents_kept_max);
        let storage = Storage::new(config.disk_low_bytes);
        let inner = Inner {
            world,
            store,
            config,
            sessions: Mutex::default(),
            live: Mutex::default(),
            peers: Mutex::default(),
            registries: Mutex::default(),
            slots: Mutex::new(slots),
            cache: Mutex::new(cache),
            storage: Mutex::new(storage),
            flights: Mutex::default(),
            next_payload: AtomicU64::new(1),
            next_ask: AtomicU64::new(1),
            stopping: AtomicBool::new(false),
            settled: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Settles every run the last process left unsettled (RST-01). Returns when each was tried once;
    /// a session that could not commit is tried again later and does not keep the server from listening.
    ///
    /// # Errors
    /// When the store cannot say which runs are unsettled.
    pub async fn recover(&self) -> Result<usize, StoreFailure> {
        let unsettled = self.store().unsettled().await?;
        let found = unsettled.len();
        for run in unsettled {
            let (done, tried) = async_channel::bounded(1);
            let handle = self.load(run.head.clone());
            let recover = Message::Recover { run: Box::new(run), done };
            if handle.send(recover) {
                // The session answers by dropping its end, settled or not.
                let _ = tried.recv().await;
            }
        }
        self.trigger_queues().await?;
        Ok(found)
    }

    /// Process start is a trigger for every queue that waits (STR-12).
    async fn trigger_queues(&self) -> Result<(), StoreFailure> {
        for head in self.store().waiting().await? {
            self.load(head).send(Message::TriggerQueue);
        }
        Ok(())
    }

    /// Ends every run as the server stops (RST-12) and waits until each is announced.
    pub async fn end_runs(&self) {
        let mut waits = Vec::new();
        for handle in self.loaded() {
            let (done, ended) = async_channel::bounded(1);
            if handle.send(Message::EndRuns { done }) {
                waits.push(ended);
            }
        }
        for ended in waits {
            let _ = ended.recv().await;
        }
    }

    /// Whether any run has a row.
    pub fn has_runs(&self) -> bool {
        lock(&self.inner.slots).taken() > 0
    }

    /// From now on only `ping`, `stop_run` and `get_request_result` are served (ACT-10), and no queue starts
    /// its next message (RST-12).
    pub fn stop_accepting(&self) {
        self.inner.stopping.store(true, Ordering::Release);
        for peer in self.peers() {
            peer.server_stops();
        }
        for handle in self.loaded() {
            handle.send(Message::ServerStopping);
        }
    }

    /// The last run is settled and announced, or its time is over: connections close when their queues
    /// are empty.
    pub fn runs_settled(&self) {
        self.inner.settled.store(true, Ordering::Release);
        for peer in self.peers() {
            peer.runs_settled();
        }
    }

    /// Whether the server is stopping.
    pub fn is_stopping(&self) -> bool {
        self.inner.stopping.load(Ordering::Acquire)
    }

    /// Tells a connection that came late how far the stop has come.
    pub(crate) fn tell_stop(&self, peer: &Peer) {
        if self.is_stopping() {
            peer.server_stops();
        }
        if self.inner.settled.load(Ordering::Acquire) {
            peer.runs_settled();
        }
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.inner.store
    }

    /// Clock, timer, chance and tasks.
    pub fn world(&self) -> &W {
        &self.inner.world
    }

    /// The configuration.
    pub fn config(&self) -> &HubConfig {
        &self.inner.config
    }

    /// Whether the store has room.
    pub(crate) fn storage(&self) -> MutexGuard<'_, Storage> {
        lock(&self.inner.storage)
    }

    /// The sessions in memory.
    pub(crate) fn loaded(&self) -> Vec<SessionHandle> {
        lock(&self.inner.sessions).handles.values().cloned().collect()
    }

    /// Time now.
    pub fn now(&self) -> Instant {
        self.inner.world.now()
    }

    /// The agent of this name.
    pub fn agent(&self, name: &str) -> Option<&Arc<dyn AgentFactory>> {
        self.inner.config.agents.iter().find(|agent| agent.name() == name)
    }

    /// The agent of sessions that name none.
    pub fn default_agent(&self) -> Option<&Arc<dyn AgentFactory>> {
        self.inner.config.agents.first()
    }

    /// A fresh id for a body.
    pub fn payload_id(&self) -> PayloadId {
        PayloadId::new(self.inner.next_payload.fetch_add(1, Ordering::Relaxed))
    }

    /// A fresh name for a caller that waits.
    pub fn ask_id(&self) -> AskId {
        AskId::new(self.inner.next_ask.fetch_add(1, Ordering::Relaxed))
    }

    /// A fresh random session id.
    pub fn session_id(&self) -> SessionId {
        SessionId::new(self.inner.world.random())
    }

    /// A fresh random run id.
    pub fn run_id(&self) -> RunId {
        RunId::new(self.inner.world.random())
    }

    /// A fresh random message id.
    pub fn message_id(&self) -> MessageId {
        MessageId::new(self.inner.world.random())
    }

    /// Fresh ids and the time of one failure (ENV-3, ENV-5).
    pub fn stamp(&self) -> Stamp {
        let wide = || {
            (u128::from(self.inner.world.random()) << 64) | u128::from(self.inner.world.random())
        };
        let occurred_at_ms = i64::try_from(self.now().as_millis()).unwrap_or(i64::MAX);
        Stamp { error_id: wide(), correlation_id: wide(), occurred_at_ms }
    }

    /// The session of this id, loaded. `None` when there is none, or when `principal` may not read it
    /// (AUTH-5).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn session(
        &self,
        principal: Principal,
        session_id: SessionId,
    ) -> Result<Option<SessionHandle>, StoreFailure> {
        let handle = loop {
            let seen = {
                let sessions = lock(&self.inner.sessions);
                if let Some(handle) = sessions.handles.get(&session_id) {
                    break handle.clone();
                }
                sessions.deletions
            };
            let Some(head) = self.store().session(session_id).await? else { return Ok(None) };
            if let Some(handle) = self.load_unless_deleted(head, seen) {
                break handle;
            }
        };
        Ok(Some(handle).filter(|handle| handle.owner == principal.id))
    }

    /// Takes a deleted session out of memory. Its driver goes on until its last worker is gone.
    pub(crate) fn forget(&self, session_id: SessionId) {
        let mut sessions = lock(&self.inner.sessions);
        sessions.handles.remove(&session_id);
        sessions.deletions += 1;
        lock(&self.inner.live).remove(&session_id);
    }

    /// How many sessions were deleted so far in this process.
    pub(crate) fn deletions(&self) -> u64 {
        lock(&self.inner.sessions).deletions
    }

    /// What a session does now, for lists.
    pub fn live(&self, session_id: SessionId) -> Live {
        lock(&self.inner.live).get(&session_id).copied().unwrap_or(IDLE)
    }

    /// All open connections.
    pub fn peers(&self) -> Vec<Arc<Peer>> {
        lock(&self.inner.peers).values().flat_map(BTreeMap::values).cloned().collect()
    }

    /// The connections of a principal.
    pub fn peers_of(&self, principal: PrincipalId) -> Vec<Arc<Peer>> {
        let peers = lock(&self.inner.peers);
        peers.get(&principal).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Registers a connection; `false` when its principal has 64 already (RATE-3).
    pub fn attach(&self, peer: &Arc<Peer>) -> bool {
        let mut peers = lock(&self.inner.peers);
        let held = peers.entry(peer.principal.id).or_default();
        if held.len() >= CONNECTIONS_PER_PRINCIPAL {
            return false;
        }
        held.insert(peer.id, peer.clone());
        true
    }

    /// Forgets a connection and its subscriptions (SND-26).
    pub fn detach(&self, peer: &Peer) {
        let mut peers = lock(&self.inner.peers);
        if let Entry::Occupied(mut held) = peers.entry(peer.principal.id) {
            held.get_mut().remove(&peer.id);
            if held.get().is_empty() {
                held.remove();
            }
        }
        drop(peers);
        for handle in self.loaded() {
            handle.send(Message::PeerGone { connection: peer.id });
        }
    }

    /// The request registry of a principal.
    pub fn registry(&self, principal: PrincipalId) -> Arc<Mutex<Registry>> {
        lock(&self.inner.registries).entry(principal).or_default().clone()
    }

    /// Pushes one frame to every connection of a principal.
    pub fn push_to(&self, principal: PrincipalId, frame: &SharedFrame) {
        let now = self.now();
        for peer in self.peers_of(principal) {
            peer.outbound.offer(now, frame);
        }
    }

    /// Records an error in the error store (ERR-5).
    ///
    /// # Errors
    /// When the record could not be committed (ERR-7).
    pub async fn record_error(
        &self,
        principal: PrincipalId,
        error: &ErrorData,
    ) -> Result<(), StoreFailure> {
        self.store().record_error(principal, stored_error(error)).await?;
        if let Some(session_id) = error.session_id().and_then(|id| id.parse().ok()) {
            self.errors_changed(session_id);
        }
        Ok(())
    }

    /// Tells a loaded session that its open errors changed.
    pub fn errors_changed(&self, session_id: SessionId) {
        let handle = lock(&self.inner.sessions).handles.get(&session_id).cloned();
        if let Some(handle) = handle {
            handle.send(Message::ErrorsChanged);
        }
    }

    /// What the flight recorder has of a session: since it was loaded, else of its last time in memory. A
    /// session of another one than `principal`, if that is given, is unknown (AUTH-5).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn flight(
        &self,
        session_id: SessionId,
        principal: Option<PrincipalId>,
    ) -> Result<Recorded, StoreFailure> {
        if self.config().record_bytes_max == 0 {
            return Ok(Recorded::Off);
        }
        let handle = lock(&self.inner.sessions).handles.get(&session_id).cloned();
        let owner = match &handle {
            Some(handle) => Some(handle.owner),
            None => self.store().session(session_id).await?.map(|head| head.owner),
        };
        if owner.is_none() || principal.is_some() && principal != owner {
            return Ok(Recorded::Unknown);
        }
        let (reply, flight) = async_channel::bounded(1);
        let is_asked = handle.is_some_and(|handle| handle.send(Message::TakeFlight { reply }));
        let live = if is_asked { flight.recv().await.ok().flatten() } else { None };
        let flight = live.or_else(|| lock(&self.inner.flights).of(session_id));
        Ok(flight.map_or(Recorded::Nothing, |flight| Recorded::Kept(Box::new(flight))))
    }

    pub(crate) fn keep_flight(&self, session_id: SessionId, flight: Flight<Lineage>) {
        lock(&self.inner.flights).keep(session_id, flight);
    }

    pub(crate) fn acquire_slot(&self, principal: PrincipalId, run_id: RunId) -> slots::Output {
        let ask = self.ask_id();
        let mut out = Outbox::new();
        let acquire = slots::Input::Acquire { ask, principal, run_id };
        lock(&self.inner.slots)
            .step(self.now(), acquire, &mut out)
            .expect("a fresh run holds no slot");
        out.drain().next().expect("slots answer every request")
    }

    pub(crate) fn release_slot(&self, run_id: RunId) {
        self.tell_slots(slots::Input::Release { run_id });
    }

    /// The head of a session's queue waits for a slot since then (LIM-03).
    pub(crate) fn await_slot(&self, session: SessionId, principal: PrincipalId, since: Instant) {
        self.tell_slots(slots::Input::Wait { session, principal, since });
    }

    /// A session that a free slot woke has nothing to start.
    pub(crate) fn pass_slot(&self) {
        self.tell_slots(slots::Input::Pass);
    }

    fn tell_slots(&self, input: slots::Input) {
        let mut next = Some(input);
        while let Some(input) = next.take() {
            let mut out = Outbox::new();
            if let Err(reject) = lock(&self.inner.slots).step(self.now(), input, &mut out) {
                tracing::warn!(?input, ?reject, "the slots turned an input away");
            }
            for output in out.drain() {
                match output {
                    // A session that was deleted starts nothing: the next one that waits may.
                    slots::Output::Woken { session } if !self.wake(session) => {
                        next = Some(slots::Input::Pass);
                    }
                    slots::Output::NotWaiting { session } => {
                        tracing::error!(%session, "too many sessions wait for a slot");
                    }
                    slots::Output::Woken { .. }
                    | slots::Output::Granted { .. }
                    | slots::Output::Refused { .. } => {}
                }
            }
        }
    }

    fn wake(&self, session: SessionId) -> bool {
        let handle = lock(&self.inner.sessions).handles.get(&session).cloned();
        handle.is_some_and(|handle| handle.send(Message::SlotFreed))
    }

    /// Passes on what a session did with its agent; another session may have to give up its own (REG-13).
    pub(crate) fn tell_cache(&self, session_id: SessionId, notice: Notice) {
        let mut out = Outbox::new();
        let told =
            lock(&self.inner.cache).step(self.now(), cache::Input { session_id, notice }, &mut out);
        if let Err(reject) = told {
            tracing::warn!(%session_id, ?reject, "the agent cache does not know the session");
        }
        for cache::Output::Evict { session_id } in out.drain() {
            // A session that was unloaded gave up its agent before.
            if let Some(handle) = lock(&self.inner.sessions).handles.get(&session_id) {
                handle.send(Message::Evict);
            }
        }
    }

    pub(crate) fn set_live(&self, session_id: SessionId, live: Live) {
        lock(&self.inner.live).insert(session_id, live);
    }

    /// Takes a session out of memory, unless somebody wrote to it meanwhile.
    pub(crate) fn unload(&self, session_id: SessionId, inbox: &Receiver<Message>) -> bool {
        let mut sessions = lock(&self.inner.sessions);
        if !inbox.is_empty() {
            return false;
        }
        inbox.close();
        sessions.handles.remove(&session_id);
        lock(&self.inner.live).remove(&session_id);
        true
    }

    /// Takes a session out of memory that cannot go on; what waits for it is answered as failed.
    pub(crate) fn give_up(&self, session_id: SessionId, inbox: &Receiver<Message>) {
        let mut sessions = lock(&self.inner.sessions);
        inbox.close();
        sessions.handles.remove(&session_id);
        lock(&self.inner.live).remove(&session_id);
    }

    /// The session with this head, started unless it runs already. Only before the first connection is served:
    /// the head must be of a session that is there.
    pub(crate) fn load(&self, head: SessionHead) -> SessionHandle {
        let mut sessions = lock(&self.inner.sessions);
        self.load_into(&mut sessions, head)
    }

    /// As [`Hub::load`], of a head that was read after `seen` deletions; none when there were more since.
    fn load_unless_deleted(&self, head: SessionHead, seen: u64) -> Option<SessionHandle> {
        let mut sessions = lock(&self.inner.sessions);
        (sessions.deletions == seen).then(|| self.load_into(&mut sessions, head))
    }

    fn load_into(&self, sessions: &mut Sessions, head: SessionHead) -> SessionHandle {
        if let Some(handle) = sessions.handles.get(&head.session_id) {
            return handle.clone();
        }
        let session_id = head.session_id;
        let (handle, driver) = session::start(self.clone(), head);
        sessions.handles.insert(session_id, handle.clone());
        self.world().spawn(driver);
        handle
    }
}

/// An error as the store keeps it.
pub fn stored_error(error: &ErrorData) -> StoredError {
    let occurred_at_ms =
        runwarden_protocol::errors::timestamp::parse(error.occurred_at()).unwrap_or_default();
    StoredError {
        error_id: error.error_id().to_owned(),
        occurred_at_ms: u64::try_from(occurred_at_ms).unwrap_or(0),
        session_id: error.session_id().and_then(|id| id.parse().ok()),
        request_id: error.request_id().map(str::to_owned),
        data: serde_json::to_string(error).expect("error data holds strings and booleans only"),
        closed_at: None,
    }
}

/// A lock whose holder never panics between two consistent states.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
