//! The sending side of one connection, shared between those who offer frames and the driver that
//! writes them. The sender queue of the protocol decides; this keeps the bodies and wakes the driver.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use async_tungstenite::tungstenite::Utf8Bytes;
use runwarden_protocol::delivery::frame::{EntityId, QueuedFrame};
use runwarden_protocol::delivery::sender::{Input, Offer, Outcome, Output, Owed, SenderQueue};
use runwarden_protocol::ids::{PayloadId, SessionId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::wire::close::Close;

use crate::frames::{Body, SharedFrame, encode};

/// The outgoing half of a connection.
#[derive(Debug)]
pub struct Outbound {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    queue: SenderQueue,
    bodies: Bodies,
    batch: Option<VecDeque<Utf8Bytes>>,
    owed: Vec<Owed>,
    heartbeat: bool,
    close: Option<Close>,
    waker: Option<Waker>,
}

/// What waits for the transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Frames.
    pub frames: usize,
    /// Their bytes.
    pub bytes: usize,
    /// How long the transport has taken none of those it was handed.
    pub waiting: Duration,
}

/// What the driver of a connection has to do for its queue.
#[derive(Debug, Default)]
pub struct Work {
    /// A batch to write.
    pub batch: Option<VecDeque<Utf8Bytes>>,
    /// Frames to build and offer.
    pub owed: Vec<Owed>,
    /// Whether a heartbeat is to be offered.
    pub heartbeat: bool,
    /// Why the queue has closed.
    pub close: Option<Close>,
}

impl Outbound {
    /// The empty queue of a connection opened at `now`.
    pub fn new(now: Instant) -> Self {
        let state = State {
            queue: SenderQueue::new(now),
            bodies: Bodies::default(),
            batch: None,
            owed: Vec::new(),
            heartbeat: false,
            close: None,
            waker: None,
        };
        Self { state: Mutex::new(state) }
    }

    /// Offers one frame. Never blocks (SND-2).
    pub fn offer(&self, now: Instant, frame: &SharedFrame) -> Outcome {
        let mut state = self.lock();
        let outcome = state.offer(now, frame);
        state.wake();
        outcome
    }

    /// Offers frames in order under one lock.
    pub fn offer_all(&self, now: Instant, frames: &[SharedFrame]) {
        let mut state = self.lock();
        for frame in frames {
            state.offer(now, frame);
        }
        state.wake();
    }

    /// Offers a projection of an entity and ends its gap in the same step (SES-34); then what follows it.
    pub fn restore(
        &self,
        now: Instant,
        frame: &SharedFrame,
        session: SessionId,
        entity: Option<EntityId>,
        behind: &[SharedFrame],
    ) {
        let mut state = self.lock();
        state.offer(now, frame);
        let restored = match entity {
            Some(entity) => Input::EntityRestored { session, entity },
            None => Input::SessionRestored { session },
        };
        state.step(now, restored);
        for frame in behind {
            state.offer(now, frame);
        }
        state.wake();
    }

    /// Feeds a fact or command that is no offer.
    pub fn feed(&self, now: Instant, input: Input) {
        let mut state = self.lock();
        state.step(now, input);
        state.wake();
    }

    /// Acts on deadlines that are due.
    pub fn tick(&self, now: Instant) {
        let mut outputs = Outbox::new();
        let mut state = self.lock();
        state.queue.tick(now, &mut outputs);
        state.take(outputs);
    }

    /// The next deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.lock().queue.deadline().map(|(at, _)| at)
    }

    /// Bytes of replies in the queue (ACT-15).
    pub fn reply_bytes(&self) -> usize {
        self.lock().queue.reply_bytes()
    }

    /// How far the connection is behind (OBS-02).
    pub fn lag(&self, now: Instant) -> Lag {
        let state = self.lock();
        let queue = &state.queue;
        Lag { frames: queue.frames(), bytes: queue.bytes(), waiting: queue.waiting(now) }
    }

    /// Whether nothing is queued or in flight.
    pub fn is_idle(&self) -> bool {
        self.lock().queue.is_idle()
    }

    /// Takes what there is to do, and keeps `waker` for when there is more.
    pub fn work(&self, waker: &Waker) -> Work {
        let mut state = self.lock();
        if state.waker.as_ref().is_none_or(|known| !known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        Work {
            batch: state.batch.take(),
            owed: std::mem::take(&mut state.owed),
            heartbeat: std::mem::take(&mut state.heartbeat),
            close: state.close.take(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the queue as its last step made it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn offer(&mut self, now: Instant, frame: &SharedFrame) -> Outcome {
        for id in frame.queued.parts.ids() {
            self.bodies.hold(id, &frame.body);
        }
        let offer = Offer { frame: frame.queued.clone(), waiter: None };
        let outcome = self.step(now, Input::Offer(offer)).unwrap_or(Outcome::Refused);
        if matches!(outcome, Outcome::Refused | Outcome::Superseded) {
            frame.queued.parts.ids().for_each(|id| self.bodies.release(id));
        }
        outcome
    }

    fn step(&mut self, now: Instant, input: Input) -> Option<Outcome> {
        let mut outputs = Outbox::new();
        if let Err(reject) = self.queue.step(now, input, &mut outputs) {
            tracing::debug!(?reject, "input to a sender queue was turned away");
        }
        self.take(outputs)
    }

    fn take(&mut self, mut outputs: Outbox<Output>) -> Option<Outcome> {
        let mut reported = None;
        for output in outputs.drain() {
            match output {
                Output::Reported { outcome } => reported = Some(outcome),
                Output::Transmit { frames } => {
                    let batch = frames.iter().map(|frame| self.bodies.hand_over(frame)).collect();
                    self.batch = Some(batch);
                }
                Output::Resolved { .. } => {}
                Output::Dropped { payloads } => {
                    payloads.into_iter().for_each(|id| self.bodies.release(id));
                }
                Output::Owe { owed } => self.owed.extend(owed),
                Output::OfferHeartbeat => self.heartbeat = true,
                Output::Close { reason } => {
                    self.bodies = Bodies::default();
                    self.close = Some(reason);
                }
            }
        }
        reported
    }

    fn wake(&mut self) {
        let work =
            self.batch.is_some() || !self.owed.is_empty() || self.heartbeat || self.close.is_some();
        if work && let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Bodies the queue refers to, in the order of their ids. Ids rise and the oldest frame goes first, so that
/// almost all that happens happens at the two ends.
#[derive(Debug, Default)]
struct Bodies(VecDeque<Held>);

#[derive(Debug)]
struct Held {
    id: PayloadId,
    body: Arc<Body>,
    references: u32,
}

impl Bodies {
    fn hold(&mut self, id: PayloadId, body: &Arc<Body>) {
        match self.find(id) {
            Ok(at) => self.0[at].references += 1,
            Err(at) => self.0.insert(at, Held { id, body: body.clone(), references: 1 }),
        }
    }

    fn release(&mut self, id: PayloadId) {
        let Ok(at) = self.find(id) else { return };
        self.0[at].references -= 1;
        if self.0[at].references == 0 {
            self.0.remove(at);
        }
    }

    /// The text of a frame, whose bodies are not needed any more.
    fn hand_over(&mut self, frame: &QueuedFrame) -> Utf8Bytes {
        let held = |id| self.find(id).ok().map(|at| self.0[at].body.clone());
        let text = match frame.parts.as_slice() {
            [part] => held(part.id).map(|body| encode(frame, &[body])),
            _ => Some(encode(frame, &frame.parts.ids().filter_map(held).collect::<Vec<_>>())),
        };
        frame.parts.ids().for_each(|id| self.release(id));
        text.unwrap_or_default()
    }

    fn find(&self, id: PayloadId) -> Result<usize, usize> {
        match self.0.back() {
            Some(newest) if newest.id < id => Err(self.0.len()),
            Some(_) if self.0[0].id == id => Ok(0),
            _ => self.0.binary_search_by_key(&id, |held| held.id),
        }
    }
}
