//! What a sender queue remembers, and what it lets others see.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::WaiterId;
use super::guards::{Rules, SenderGuards};
use super::marks::{Absorbed, Marks, Unit};
use crate::delivery::frame::{EntityId, QueuedFrame};
use crate::delivery::limits::{ABSORBED_MAX, MARKS_MAX, QUEUE_BYTES_MAX, WAITERS_MAX};
use crate::ids::SessionId;
use crate::instant::{Duration, Instant};

/// Most that [`crate::machine::Machine::weight`] of a sender queue reports.
pub const WEIGHT_MAX: usize = QUEUE_BYTES_MAX
    + MARKS_MAX * MARK_BYTES
    + ABSORBED_MAX * ABSORBED_BYTES
    + WAITERS_MAX * WAITER_BYTES;

/// The sender queue of one connection (table 5.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct SenderQueue<G: SenderGuards = Rules> {
    pub(super) closed: bool,
    pub(super) queued: VecDeque<Slot>,
    pub(super) queued_bytes: usize,
    pub(super) foreign_queued: usize,
    pub(super) in_flight: Option<InFlight>,
    /// Bytes of replies, queued or in flight.
    pub(super) reply_bytes: usize,
    /// Waiters of all frames, queued or in flight.
    pub(super) waiters: usize,
    pub(super) marks: Marks,
    pub(super) absorbed: Absorbed,
    pub(super) timers: Timers,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// A frame that waits for the transport.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) frame: QueuedFrame,
    pub(super) bytes: usize,
    pub(super) waiters: Vec<WaiterId>,
}

/// What is left of a batch once the driver has its frames.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct InFlight {
    pub(super) frames: usize,
    pub(super) bytes: usize,
    pub(super) reply_bytes: usize,
    pub(super) waiters: Vec<WaiterId>,
}

/// Times of the last events. They are left out of the hash, so that states that differ only by when they were
/// reached count as one; the deadlines they lead to are compared relative to now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Timers {
    /// The transport was last handed something, or a heartbeat was offered.
    pub(super) handed_at: Instant,
    /// The transport last made progress with the batch in flight.
    pub(super) progress_at: Instant,
}

impl Hash for Timers {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<G: SenderGuards> SenderQueue<G> {
    /// The empty queue of a connection opened at `now`.
    pub fn new(now: Instant) -> Self {
        Self {
            closed: false,
            queued: VecDeque::new(),
            queued_bytes: 0,
            foreign_queued: 0,
            in_flight: None,
            reply_bytes: 0,
            waiters: 0,
            marks: Marks::default(),
            absorbed: Absorbed::default(),
            timers: Timers { handed_at: now, progress_at: now },
            guards: PhantomData,
        }
    }

    /// N: frames of the queue, those in flight included (DI-1).
    pub fn frames(&self) -> usize {
        self.queued.len() + self.in_flight.as_ref().map_or(0, |batch| batch.frames)
    }

    /// B: bytes of the queue, those in flight included (DI-1).
    pub fn bytes(&self) -> usize {
        self.queued_bytes + self.in_flight.as_ref().map_or(0, |batch| batch.bytes)
    }

    /// Bytes of replies in the queue, those in flight included (ACT-15).
    pub fn reply_bytes(&self) -> usize {
        self.reply_bytes
    }

    /// How long the batch in flight has made no progress; zero when none is (OBS-02).
    pub fn waiting(&self, now: Instant) -> Duration {
        let since = self.in_flight.as_ref().map(|_| self.timers.progress_at);
        since.map_or(Duration::ZERO, |since| now.age_of(since))
    }

    /// Marks that stand (SND-28).
    pub fn marks(&self) -> usize {
        self.marks.len()
    }

    /// Whether rows of `entity`, or commits of the session if none, were lost on this connection and are not
    /// made good yet (SND-9).
    pub fn is_gap(&self, session: SessionId, entity: Option<EntityId>) -> bool {
        self.marks.is_gap(Unit { session, entity })
    }

    /// Whether nothing is queued or in flight.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.in_flight.is_none()
    }

    /// Whether the queue has closed; it refuses every offer from then on (SND-2).
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The frames that wait behind the batch in flight, oldest first.
    pub fn queued(&self) -> impl Iterator<Item = &QueuedFrame> {
        self.queued.iter().map(|slot| &slot.frame)
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.bytes()
            + self.marks.len() * MARK_BYTES
            + self.absorbed.len() * ABSORBED_BYTES
            + self.waiters * WAITER_BYTES
    }
}

/// What one mark is counted as.
const MARK_BYTES: usize = 96;
/// What one remembered entity is counted as.
const ABSORBED_BYTES: usize = 32;
/// What one waiter is counted as.
const WAITER_BYTES: usize = 8;
