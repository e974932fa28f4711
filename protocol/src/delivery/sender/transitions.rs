//! Transitions of table 5.2: inputs, timers, batches and the end.

use super::admission::{drop_payloads, resolve};
use super::guards::SenderGuards;
use super::marks::{MarkKey, Unit};
use super::state::{InFlight, SenderQueue};
use super::{Fate, Input, Outcome, Output, WaiterId};
use crate::delivery::limits::{
    BATCH_BYTES_MAX, BATCH_FRAMES_MAX, HEARTBEAT_AFTER, SEND_STALL, WAITERS_MAX,
};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::wire::close::Close;

/// How a queue ends: what its waiters learn, and what the connection is closed with.
struct Ending {
    offered: Option<WaiterId>,
    queued: Fate,
    in_flight: Fate,
    reason: Option<Close>,
}

impl<G: SenderGuards> Machine for SenderQueue<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 6;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match input {
            Input::Offer(offer) => {
                if offer.waiter.is_some() && self.waiters >= WAITERS_MAX {
                    return Err(Reject::Local("too_many_waiters"));
                }
                self.offer(now, offer, out);
            }
            Input::Sent => self.sent(now, out)?,
            Input::WriteProgressed => self.timers.progress_at = now,
            Input::TransportFailed => self.fail(out),
            Input::Stop => self.stop(out),
            Input::EntityRestored { session, entity } => {
                self.marks.clear(MarkKey::Gap(Unit { session, entity: Some(entity) }));
            }
            Input::SessionRestored { session } => {
                self.marks.clear(MarkKey::Gap(Unit { session, entity: None }));
            }
            Input::SessionClosed { session } => self.marks.clear_session(session),
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        if self.stall_at().is_some_and(|due| due <= now) {
            return self.fail(out);
        }
        if self.heartbeat_at().is_some_and(|due| due <= now) {
            self.timers.handed_at = now;
            out.push(Output::OfferHeartbeat);
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        let stall = self.stall_at().map(|due| (due, TimerKind::SendStall));
        let heartbeat = self.heartbeat_at().map(|due| (due, TimerKind::Heartbeat));
        match (stall, heartbeat) {
            (Some(stall), Some(heartbeat)) if stall.0 <= heartbeat.0 => Some(stall),
            (stall, heartbeat) => heartbeat.or(stall),
        }
    }

    fn weight(&self) -> usize {
        self.held_bytes()
    }

    /// Never: a closed queue still answers offers with a refusal (table 5.1, last row).
    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match (self.closed, &self.in_flight) {
            (true, _) => "closed",
            (false, Some(_)) => "sending",
            (false, None) => "idle",
        }
    }
}

impl<G: SenderGuards> SenderQueue<G> {
    /// Hands the next batch to the transport if none is in flight (SND-1).
    pub(super) fn transmit(&mut self, now: Instant, out: &mut Outbox<Output>) {
        if self.in_flight.is_some() || self.queued.is_empty() {
            return;
        }
        let count = self.batch_len();
        let mut batch = InFlight { frames: count, bytes: 0, reply_bytes: 0, waiters: Vec::new() };
        let mut frames = Vec::with_capacity(count);
        for mut slot in self.queued.drain(..count) {
            batch.bytes += slot.bytes;
            batch.reply_bytes += if slot.frame.key.is_reply() { slot.bytes } else { 0 };
            batch.waiters.append(&mut slot.waiters);
            self.foreign_queued -= usize::from(slot.frame.key.is_foreign());
            frames.push(slot.frame);
        }
        self.queued_bytes -= batch.bytes;
        self.in_flight = Some(batch);
        self.timers.handed_at = now;
        self.timers.progress_at = now;
        out.push(Output::Transmit { frames });
    }

    /// Handles a queue that cannot hold what must not be lost (SND-16, SND-22, SND-28).
    pub(super) fn overflow(&mut self, offered: Option<WaiterId>, out: &mut Outbox<Output>) {
        out.push(Output::Reported { outcome: Outcome::Refused });
        let ending = Ending {
            offered,
            queued: Fate::Overflow,
            in_flight: Fate::Stopped,
            reason: Some(Close::StateRecoveryAfterOverflow),
        };
        self.close(ending, out);
    }

    /// How many frames from the head make the next batch: at least one.
    fn batch_len(&self) -> usize {
        let mut bytes = 0;
        let fitting = self
            .queued
            .iter()
            .take(BATCH_FRAMES_MAX)
            .take_while(|slot| {
                bytes += slot.bytes;
                bytes <= BATCH_BYTES_MAX
            })
            .count();
        fitting.max(1)
    }

    fn sent(&mut self, now: Instant, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if self.closed {
            return Ok(());
        }
        let Some(batch) = self.in_flight.take() else {
            return Err(Reject::Local("nothing_in_flight"));
        };
        self.reply_bytes -= batch.reply_bytes;
        self.waiters -= batch.waiters.len();
        resolve(batch.waiters, Fate::Sent, out);
        self.transmit(now, out);
        if self.marks.len() > 0 {
            let owed = self.marks.serve::<G>(self.frames(), self.bytes());
            if !owed.is_empty() {
                out.push(Output::Owe { owed });
            }
        }
        Ok(())
    }

    fn fail(&mut self, out: &mut Outbox<Output>) {
        let ending = Ending {
            offered: None,
            queued: Fate::SendFailure,
            in_flight: Fate::SendFailure,
            reason: Some(Close::StateRecoveryAfterFailure),
        };
        self.close(ending, out);
    }

    fn stop(&mut self, out: &mut Outbox<Output>) {
        let ending =
            Ending { offered: None, queued: Fate::Stopped, in_flight: Fate::Stopped, reason: None };
        self.close(ending, out);
    }

    /// Resolves every waiter, frees everything and closes (SND-26).
    fn close(&mut self, ending: Ending, out: &mut Outbox<Output>) {
        if self.closed {
            return;
        }
        self.closed = true;
        let (mut waiters, mut payloads) = (Vec::new(), Vec::new());
        for slot in std::mem::take(&mut self.queued) {
            waiters.extend(slot.waiters);
            payloads.extend(slot.frame.parts.ids());
        }
        waiters.extend(ending.offered);
        resolve(waiters, ending.queued, out);
        if let Some(batch) = self.in_flight.take() {
            resolve(batch.waiters, ending.in_flight, out);
        }
        drop_payloads(payloads, out);
        self.queued_bytes = 0;
        self.foreign_queued = 0;
        self.reply_bytes = 0;
        self.waiters = 0;
        self.marks.clear_all();
        self.absorbed.clear();
        if let Some(reason) = ending.reason {
            out.push(Output::Close { reason });
        }
    }

    fn stall_at(&self) -> Option<Instant> {
        self.in_flight.as_ref().map(|_| self.timers.progress_at.plus(SEND_STALL))
    }

    fn heartbeat_at(&self) -> Option<Instant> {
        (!self.closed).then(|| self.timers.handed_at.plus(HEARTBEAT_AFTER))
    }
}
