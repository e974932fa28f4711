//! What enters the rings and what leaves them.

use super::state::{AGE_MAX, ENTITIES_MAX, ENTRY_WEIGHT, EntityRing, Entry, Ring, Rings};
use super::{Input, Output};
use crate::delivery::frame::EntityId;
use crate::ids::{PayloadId, PayloadRef};
use crate::instant::{Duration, Instant};
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::wire::limits::{COMMIT_RING_ENTRIES, DELTA_BYTES_MAX, DELTA_RING_ENTRIES};

impl Machine for Rings {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let mut dropped = Vec::new();
        match input {
            Input::CommitMade { revision, payload } => {
                self.commits.check(revision.get(), payload)?;
                let entry = Entry { number: revision.get(), at: now, payload };
                self.weight += weight_of(&entry);
                self.commits.push(entry, COMMIT_RING_ENTRIES, &mut dropped);
            }
            Input::DeltaMade { entity, seq, payload } => {
                let entry = Entry { number: seq.get(), at: now, payload };
                self.push_delta(entity, entry, &mut dropped)?;
            }
            Input::DropAll => {
                self.commits.clear(&mut dropped);
                for mut entity in self.entities.drain(..) {
                    entity.ring.clear(&mut dropped);
                }
            }
        }
        self.expire(now, &mut dropped);
        self.release(&dropped, out);
        Ok(())
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let mut dropped = Vec::new();
        self.expire(now, &mut dropped);
        self.release(&dropped, out);
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        let just_beyond = Duration::from_micros(AGE_MAX.as_micros() + 1);
        let rings = self.entities.iter().map(|entity| &entity.ring);
        let oldest = std::iter::once(&self.commits).chain(rings).filter_map(|r| r.entries.front());
        oldest.map(|entry| entry.at.plus(just_beyond)).min().map(|due| (due, TimerKind::RingAge))
    }

    fn weight(&self) -> usize {
        self.weight
    }

    /// Never: a session can always be changed again.
    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match (self.commits.entries.is_empty(), self.entities.is_empty()) {
            (true, true) => "empty",
            (false, true) => "commits",
            (true, false) => "deltas",
            (false, false) => "both",
        }
    }
}

impl Rings {
    fn push_delta(
        &mut self,
        entity: EntityId,
        entry: Entry,
        dropped: &mut Vec<Entry>,
    ) -> Result<(), Reject> {
        let at = self.entities.iter().rposition(|ring| ring.entity == entity);
        let mut ring = match at {
            Some(at) => {
                self.entities[at].ring.check(entry.number, entry.payload)?;
                self.entities.remove(at)
            }
            None => {
                let ring = EntityRing { entity, ring: Ring::default() };
                ring.ring.check(entry.number, entry.payload)?;
                if self.entities.len() == ENTITIES_MAX {
                    self.entities.remove(0).ring.clear(dropped);
                }
                ring
            }
        };
        self.weight += weight_of(&entry);
        ring.ring.push(entry, DELTA_RING_ENTRIES, dropped);
        self.entities.push(ring);
        Ok(())
    }

    fn expire(&mut self, now: Instant, dropped: &mut Vec<Entry>) {
        self.commits.expire(now, dropped);
        for entity in &mut self.entities {
            entity.ring.expire(now, dropped);
        }
        self.entities.retain(|entity| !entity.ring.entries.is_empty());
    }

    fn release(&mut self, dropped: &[Entry], out: &mut Outbox<Output>) {
        if dropped.is_empty() {
            return;
        }
        self.weight -= dropped.iter().map(weight_of).sum::<usize>();
        let payloads: Vec<PayloadId> = dropped.iter().map(|entry| entry.payload.id).collect();
        out.push(Output::Drop { payloads });
    }
}

impl Ring {
    fn check(&self, number: u64, payload: PayloadRef) -> Result<(), Reject> {
        if payload.json_bytes as usize > DELTA_BYTES_MAX {
            return Err(Reject::Local("entry_too_large"));
        }
        if number <= self.last { Err(Reject::Local("number_not_newer")) } else { Ok(()) }
    }

    /// What stands before a gap covers nothing any more.
    fn push(&mut self, entry: Entry, entries_max: usize, dropped: &mut Vec<Entry>) {
        if entry.number != self.last + 1 {
            self.clear(dropped);
        }
        if self.entries.len() == entries_max {
            dropped.extend(self.entries.pop_front());
        }
        self.last = entry.number;
        self.entries.push_back(entry);
    }

    fn clear(&mut self, dropped: &mut Vec<Entry>) {
        dropped.extend(self.entries.drain(..));
    }

    fn expire(&mut self, now: Instant, dropped: &mut Vec<Entry>) {
        while self.entries.front().is_some_and(|oldest| now.age_of(oldest.at) > AGE_MAX) {
            dropped.extend(self.entries.pop_front());
        }
    }
}

const fn weight_of(entry: &Entry) -> usize {
    entry.payload.json_bytes as usize + ENTRY_WEIGHT
}
