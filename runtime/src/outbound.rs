//! The sending side of one connection, shared between those who offer frames and the driver that
//! writes them. The sender queue of the protocol decides; this keeps the bodies and wakes the driver.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use async_tungstenite::tungstenite::Utf8Bytes;
use runwarden_protocol::delivery::frame::EntityId;
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
    /// Bodies the queue refers to, with the number of its references.
    bodies: BTreeMap<PayloadId, (Arc<Body>, u32)>,
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
            bodies: BTreeMap::new(),
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
            let entry = self.bodies.entry(id).or_insert_with(|| (frame.body.clone(), 0));
            entry.1 += 1;
        }
        let ids: Vec<_> = frame.queued.parts.ids().collect();
        let offer = Offer { frame: frame.queued.clone(), waiter: None };
        let outcome = self.step(now, Input::Offer(offer)).unwrap_or(Outcome::Refused);
        if matches!(outcome, Outcome::Refused | Outcome::Superseded) {
            self.release(&ids);
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
                    let mut batch = VecDeque::with_capacity(frames.len());
                    for frame in &frames {
                        let ids: Vec<_> = frame.parts.ids().collect();
                        let bodies: Vec<_> = ids
                            .iter()
                            .filter_map(|id| self.bodies.get(id))
                            .map(|b| b.0.clone())
                            .collect();
                        batch.push_back(encode(frame, &bodies));
                        self.release(&ids);
                    }
                    self.batch = Some(batch);
                }
                Output::Resolved { .. } => {}
                Output::Dropped { payloads } => self.release(&payloads),
                Output::Owe { owed } => self.owed.extend(owed),
                Output::OfferHeartbeat => self.heartbeat = true,
                Output::Close { reason } => {
                    self.bodies.clear();
                    self.close = Some(reason);
                }
            }
        }
        reported
    }

    fn release(&mut self, ids: &[PayloadId]) {
        for id in ids {
            if let Some(entry) = self.bodies.get_mut(id) {
                entry.1 -= 1;
                if entry.1 == 0 {
                    self.bodies.remove(id);
                }
            }
        }
    }

    fn wake(&mut self) {
        let work =
            self.batch.is_some() || !self.owed.is_empty() || self.heartbeat || self.close.is_some();
        if work && let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
