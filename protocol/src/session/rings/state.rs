//! The entries of the rings.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::delivery::frame::EntityId;
use crate::ids::{PayloadId, PayloadRef, Revision, Seq};
use crate::instant::{Duration, Instant};
use crate::wire::limits::{
    COMMIT_RING_ENTRIES, DELTA_BYTES_MAX, DELTA_RING_ENTRIES, KNOWN_SEQS_MAX, RING_AGE_MS,
};

/// Entities of one session with a delta ring, as many as a client can name; the one that was silent longest gives
/// its ring up for another one.
pub const ENTITIES_MAX: usize = KNOWN_SEQS_MAX;

/// What one entry is counted as beside its body, in bytes.
pub const ENTRY_WEIGHT: usize = 64;

/// Most that [`crate::machine::Machine::weight`] of the rings of one session reports.
pub const WEIGHT_MAX: usize =
    (COMMIT_RING_ENTRIES + ENTITIES_MAX * DELTA_RING_ENTRIES) * (DELTA_BYTES_MAX + ENTRY_WEIGHT);

/// Age up to which an entry is kept.
pub(super) const AGE_MAX: Duration = Duration::from_millis(RING_AGE_MS);

/// One kept delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The revision or seq it leads to.
    pub number: u64,
    /// When it was made.
    pub at: Instant,
    /// The delta.
    pub payload: PayloadRef,
}

/// The time is left out of the hash, as in the sender queue.
impl Hash for Entry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.number, self.payload).hash(state);
    }
}

/// The rings of one session (table 5.6, SES-14).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rings {
    pub(super) commits: Ring,
    /// In the order of their newest entries, the oldest first.
    pub(super) entities: Vec<EntityRing>,
    pub(super) weight: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct EntityRing {
    pub(super) entity: EntityId,
    pub(super) ring: Ring,
}

/// Entries without a gap between their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Ring {
    pub(super) entries: VecDeque<Entry>,
    /// The newest number there ever was.
    pub(super) last: u64,
}

impl Rings {
    /// Rings without an entry.
    pub fn new() -> Self {
        Self::default()
    }

    /// The commits after revision `known` up to `current`, if all of them are kept (SES-19).
    pub fn commits_after(
        &self,
        known: Revision,
        current: Revision,
    ) -> Option<impl ExactSizeIterator<Item = &Entry>> {
        self.commits.after(known.get(), current.get())
    }

    /// The live deltas of an entity after `known` up to `current`, if all of them are kept (SES-20).
    pub fn deltas_after(
        &self,
        entity: EntityId,
        known: Seq,
        current: Seq,
    ) -> Option<impl ExactSizeIterator<Item = &Entry>> {
        let ring = self.entities.iter().rev().find(|ring| ring.entity == entity)?;
        ring.ring.after(known.get(), current.get())
    }

    /// Whether no entry is kept.
    pub fn is_empty(&self) -> bool {
        self.commits.entries.is_empty() && self.entities.is_empty()
    }

    /// The bodies of all entries.
    pub fn payloads(&self) -> impl Iterator<Item = PayloadId> {
        let rings = self.entities.iter().map(|entity| &entity.ring);
        let entries = std::iter::once(&self.commits).chain(rings).flat_map(|ring| &ring.entries);
        entries.map(|entry| entry.payload.id)
    }
}

impl Ring {
    /// The entries after `known`, if they reach from there to `current` without a gap.
    fn after(&self, known: u64, current: u64) -> Option<impl ExactSizeIterator<Item = &Entry>> {
        if current != self.last || known > current {
            return None;
        }
        let missing = usize::try_from(current - known).ok()?;
        let first = self.entries.len().checked_sub(missing)?;
        Some(self.entries.range(first..))
    }
}
