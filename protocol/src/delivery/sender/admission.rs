//! Admission of one frame: the ten steps of table 5.2.

use super::guards::SenderGuards;
use super::marks::{MarkKey, Unit};
use super::state::{SenderQueue, Slot};
use super::{Fate, Offer, Outcome, Output, WaiterId};
use crate::delivery::frame::{EntityId, FrameKey, QueuedFrame, TerminalRole};
use crate::ids::PayloadId;
use crate::instant::Instant;
use crate::machine::Outbox;
use crate::wire::Class;
use crate::wire::frames::SyncReason;

/// What the queue will do with an offered frame.
enum Decision {
    /// Leave everything as it is.
    Refuse,
    /// Refuse, and remember what is owed.
    RefuseAndMark,
    /// Leave the queued frame of its key, which is not older.
    Supersede,
    /// Merge into the frame at this position.
    Merge { position: usize, merged_bytes: usize },
    /// Append, then remove the frame at this position.
    Displace { position: usize },
    /// Append.
    Append,
    /// Evict deltas until it fits, then append.
    Evict,
    /// Close.
    Overflow,
}

impl<G: SenderGuards> SenderQueue<G> {
    pub(super) fn offer(&mut self, now: Instant, offer: Offer, out: &mut Outbox<Output>) {
        let bytes = offer.frame.bytes();
        match self.decide(&offer.frame, bytes) {
            Decision::Refuse => self.refuse(offer.waiter, out),
            Decision::RefuseAndMark => self.refuse_and_mark(offer, bytes, out),
            Decision::Supersede => {
                out.push(Output::Reported { outcome: Outcome::Superseded });
                resolve(offer.waiter.into_iter().collect(), Fate::Superseded, out);
            }
            Decision::Merge { position, merged_bytes } => {
                self.merge(position, merged_bytes, offer);
                out.push(Output::Reported { outcome: Outcome::Coalesced });
            }
            Decision::Displace { position } => self.displace(position, offer, bytes, out),
            Decision::Append => {
                self.append(offer, bytes, false);
                out.push(Output::Reported { outcome: Outcome::Admitted });
            }
            Decision::Evict => self.evict_for(offer, bytes, out),
            Decision::Overflow => self.overflow(offer.waiter, out),
        }
        self.transmit(now, out);
    }

    /// Steps 1 to 7.
    fn decide(&self, frame: &QueuedFrame, bytes: usize) -> Decision {
        if self.closed {
            return Decision::Refuse;
        }
        let absorbed = frame.key.entity().is_some_and(|entity| self.absorbed.contains(entity));
        if absorbed && G::refuses_absorbed(frame) {
            return Decision::Refuse;
        }
        if frame.key.class() == Class::Terminal {
            return self.decide_terminal(frame, bytes);
        }
        let gap = Unit::of(&frame.key).is_some_and(|unit| self.marks.is_gap(unit));
        if gap && G::refuses_gap(frame) {
            return Decision::Refuse;
        }
        match frame.key.class() {
            Class::Append => self.decide_append(frame, bytes),
            Class::Replace | Class::Snapshot | Class::Control => self.decide_keyed(frame, bytes),
            Class::Terminal => self.decide_terminal(frame, bytes),
        }
    }

    /// Steps 4, 6 and 7.
    fn decide_append(&self, frame: &QueuedFrame, bytes: usize) -> Decision {
        if let Some((position, tail)) = self.newest_of_session(frame) {
            let merged_bytes = if tail.frame.key == frame.key {
                tail.frame.merged_bytes(tail.bytes, frame)
            } else {
                tail.bytes + bytes
            };
            if frame.key.is_mergeable() && G::may_merge(&tail.frame, frame, merged_bytes) {
                let grown = self.bytes() - tail.bytes + merged_bytes;
                return if G::admits(Class::Append, self.frames(), grown) {
                    Decision::Merge { position, merged_bytes }
                } else {
                    Decision::RefuseAndMark
                };
            }
        }
        self.decide_tail(frame, bytes)
    }

    /// Steps 5, 6 and 7.
    fn decide_keyed(&self, frame: &QueuedFrame, bytes: usize) -> Decision {
        let Some(position) = self.queued.iter().rposition(|slot| slot.frame.key == frame.key)
        else {
            return self.decide_tail(frame, bytes);
        };
        let old = &self.queued[position];
        if !G::is_newer(&old.frame, frame) {
            return Decision::Supersede;
        }
        if G::admits(frame.key.class(), self.frames(), self.bytes() - old.bytes + bytes) {
            Decision::Displace { position }
        } else {
            Decision::RefuseAndMark
        }
    }

    /// Steps 6 and 7.
    fn decide_tail(&self, frame: &QueuedFrame, bytes: usize) -> Decision {
        if G::admits(frame.key.class(), self.frames() + 1, self.bytes() + bytes) {
            Decision::Append
        } else {
            Decision::RefuseAndMark
        }
    }

    /// Steps 8 and 9.
    fn decide_terminal(&self, frame: &QueuedFrame, bytes: usize) -> Decision {
        if frame.key.is_foreign() && !G::admits_foreign(self.foreign_queued) {
            return Decision::Refuse;
        }
        let (frames, total) = (self.frames() + 1, self.bytes() + bytes);
        if G::admits(Class::Terminal, frames, total) {
            return Decision::Append;
        }
        let (evictable, evictable_bytes) = self
            .queued
            .iter()
            .filter(|slot| G::evicts(&slot.frame))
            .fold((0, 0), |(count, sum), slot| (count + 1, sum + slot.bytes));
        if G::admits(Class::Terminal, frames - evictable, total - evictable_bytes) {
            Decision::Evict
        } else {
            Decision::Overflow
        }
    }

    fn newest_of_session(&self, frame: &QueuedFrame) -> Option<(usize, &Slot)> {
        let session = frame.key.session()?;
        let position =
            self.queued.iter().rposition(|slot| slot.frame.key.session() == Some(session))?;
        Some((position, &self.queued[position]))
    }

    fn refuse(&self, waiter: Option<WaiterId>, out: &mut Outbox<Output>) {
        out.push(Output::Reported { outcome: Outcome::Refused });
        let fate = if self.closed { Fate::Stopped } else { Fate::Superseded };
        resolve(waiter.into_iter().collect(), fate, out);
    }

    /// Step 7: deltas mark a gap, snapshots and state frames a dirty key; three control frames stay owed.
    fn refuse_and_mark(&mut self, offer: Offer, bytes: usize, out: &mut Outbox<Output>) {
        let key = offer.frame.key;
        let mark = match key {
            FrameKey::SyncRequired { session, entity } => {
                self.marks.owe_sync_again(Unit { session, entity });
                None
            }
            FrameKey::Pong | FrameKey::Heartbeat | FrameKey::Status => None,
            _ => Some(Unit::of(&key).map_or(MarkKey::Owed(key), MarkKey::Gap)),
        };
        if let Some(mark) = mark {
            if !self.marks.room_for(&[mark]) {
                return self.overflow(offer.waiter, out);
            }
            self.marks.set(mark, bytes, SyncReason::Gap);
        }
        self.refuse(offer.waiter, out);
    }

    fn merge(&mut self, position: usize, merged_bytes: usize, offer: Offer) {
        let slot = &mut self.queued[position];
        self.queued_bytes = self.queued_bytes - slot.bytes + merged_bytes;
        slot.bytes = merged_bytes;
        slot.frame.merge(offer.frame);
        slot.waiters.extend(offer.waiter);
        self.waiters += usize::from(offer.waiter.is_some());
    }

    fn displace(&mut self, position: usize, offer: Offer, bytes: usize, out: &mut Outbox<Output>) {
        let Some(old) = self.remove(position) else { return };
        self.append(offer, bytes, false);
        if let Some(slot) = self.queued.back_mut() {
            let mut waiters = old.waiters;
            waiters.append(&mut slot.waiters);
            slot.waiters = waiters;
        }
        out.push(Output::Reported { outcome: Outcome::Coalesced });
        drop_payloads(old.frame.parts.ids().collect(), out);
    }

    /// Appends a frame that fits; `evicted` says whether rows of its own entity made room for it (step 10).
    fn append(&mut self, offer: Offer, bytes: usize, evicted: bool) {
        let Offer { mut frame, waiter } = offer;
        match frame.key {
            FrameKey::Terminal { session, role: TerminalRole::End { entity } } => {
                frame.complete = G::complete(self.end_entity(session, entity), evicted);
            }
            key if key.is_delta() => {}
            key => {
                self.marks.clear(MarkKey::Owed(key));
            }
        }
        self.foreign_queued += usize::from(frame.key.is_foreign());
        self.reply_bytes += if frame.key.is_reply() { bytes } else { 0 };
        self.queued_bytes += bytes;
        self.waiters += usize::from(waiter.is_some());
        self.queued.push_back(Slot { frame, bytes, waiters: waiter.into_iter().collect() });
    }

    /// Remembers that an entity ended and says whether a gap stood.
    fn end_entity(&mut self, session: Option<crate::ids::SessionId>, entity: EntityId) -> bool {
        self.absorbed.remember(entity);
        session.is_some_and(|session| {
            self.marks.clear(MarkKey::Gap(Unit { session, entity: Some(entity) }))
        })
    }

    /// Step 9: evicts whole units, oldest delta first, until the frame fits (SND-14).
    fn evict_for(&mut self, offer: Offer, bytes: usize, out: &mut Outbox<Output>) {
        let own = match offer.frame.key {
            FrameKey::Terminal { session: Some(session), role: TerminalRole::End { entity } } => {
                Some(Unit { session, entity: Some(entity) })
            }
            _ => None,
        };
        let units = self.units_to_evict(bytes);
        let marks: Vec<_> = units
            .iter()
            .filter(|unit| Some(**unit) != own)
            .map(|unit| MarkKey::Gap(*unit))
            .collect();
        if !self.marks.room_for(&marks) {
            return self.overflow(offer.waiter, out);
        }
        let (waiters, payloads) = self.evict(&units);
        for mark in marks {
            self.marks.set(mark, 0, SyncReason::Evicted);
        }
        let evicted = own.is_some_and(|own| units.contains(&own));
        self.append(offer, bytes, evicted);
        out.push(Output::Reported { outcome: Outcome::Admitted });
        resolve(waiters, Fate::Superseded, out);
        drop_payloads(payloads, out);
    }

    /// The units whose deltas have to go, in order, so that a terminal frame of `bytes` fits.
    fn units_to_evict(&self, bytes: usize) -> Vec<Unit> {
        let (mut frames, mut total) = (self.frames() + 1, self.bytes() + bytes);
        let mut units = Vec::new();
        for slot in &self.queued {
            if G::admits(Class::Terminal, frames, total) {
                break;
            }
            let Some(unit) = evictable_unit::<G>(&slot.frame) else { continue };
            if units.contains(&unit) {
                continue;
            }
            units.push(unit);
            for other in &self.queued {
                if evictable_unit::<G>(&other.frame) == Some(unit) {
                    frames -= 1;
                    total -= other.bytes;
                }
            }
        }
        units
    }

    fn evict(&mut self, units: &[Unit]) -> (Vec<WaiterId>, Vec<PayloadId>) {
        let (mut waiters, mut payloads) = (Vec::new(), Vec::new());
        let mut position = 0;
        while position < self.queued.len() {
            let unit = evictable_unit::<G>(&self.queued[position].frame);
            if unit.is_none_or(|unit| !units.contains(&unit)) {
                position += 1;
                continue;
            }
            let Some(slot) = self.remove(position) else { break };
            self.waiters -= slot.waiters.len();
            waiters.extend(slot.waiters);
            payloads.extend(slot.frame.parts.ids());
        }
        (waiters, payloads)
    }

    /// Takes a frame out of the queue; its waiters stay counted.
    fn remove(&mut self, position: usize) -> Option<Slot> {
        let slot = self.queued.remove(position)?;
        self.queued_bytes -= slot.bytes;
        self.foreign_queued -= usize::from(slot.frame.key.is_foreign());
        self.reply_bytes -= if slot.frame.key.is_reply() { slot.bytes } else { 0 };
        Some(slot)
    }
}

/// Resolves `waiters`, if there are any.
pub(super) fn resolve(waiters: Vec<WaiterId>, fate: Fate, out: &mut Outbox<Output>) {
    if !waiters.is_empty() {
        out.push(Output::Resolved { waiters, fate });
    }
}

/// Says that `payloads` are no longer needed, if there are any.
pub(super) fn drop_payloads(payloads: Vec<PayloadId>, out: &mut Outbox<Output>) {
    if !payloads.is_empty() {
        out.push(Output::Dropped { payloads });
    }
}

/// The unit that loses its deltas if this frame makes room. A frame without a unit is never evicted by the
/// rules; a faulty guard may name one, which then counts for its session.
fn evictable_unit<G: SenderGuards>(frame: &QueuedFrame) -> Option<Unit> {
    if !G::evicts(frame) {
        return None;
    }
    let session = frame.key.session()?;
    Some(Unit { session, entity: frame.key.entity() })
}
