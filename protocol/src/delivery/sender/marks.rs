//! Marks: what was not delivered and is still owed to the client (delivery.md 5.2, M).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Owed;
use super::guards::SenderGuards;
use crate::delivery::frame::{EntityId, FrameKey};
use crate::delivery::limits::{ABSORBED_MAX, MARKS_MAX};
use crate::ids::SessionId;
use crate::wire::frames::SyncReason;

/// What a gap stands for: an entity's rows, or the commits of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Unit {
    pub(super) session: SessionId,
    pub(super) entity: Option<EntityId>,
}

impl Unit {
    /// The unit a delta belongs to.
    pub(super) fn of(key: &FrameKey) -> Option<Self> {
        if !key.is_delta() {
            return None;
        }
        key.session().map(|session| Self { session, entity: key.entity() })
    }
}

/// Names a mark; at most one mark per name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MarkKey {
    /// Some delta will not be delivered.
    Gap(Unit),
    /// The newest snapshot, state frame or owed control frame could not be queued.
    Owed(FrameKey),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Mark {
    /// Rank among the standing marks: the order they were set in.
    order: usize,
    /// Size of the refused frame.
    bytes: usize,
    /// Why there is a gap; unused for owed frames.
    reason: SyncReason,
    /// Whether the driver was told since the mark was set.
    served: bool,
}

/// The marks of one connection, at most 1,024.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Marks(BTreeMap<MarkKey, Mark>);

impl Marks {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_gap(&self, unit: Unit) -> bool {
        !self.0.is_empty() && self.0.contains_key(&MarkKey::Gap(unit))
    }

    /// How many more marks `keys` would be.
    pub(super) fn room_for(&self, keys: &[MarkKey]) -> bool {
        let added = keys.iter().filter(|key| !self.0.contains_key(key)).count();
        self.0.len() + added <= MARKS_MAX
    }

    /// Sets a mark. An owed frame is asked for again; a gap that stands stays as it is.
    /// The caller has checked [`Marks::room_for`].
    pub(super) fn set(&mut self, key: MarkKey, bytes: usize, reason: SyncReason) {
        if let Some(mark) = self.0.get_mut(&key) {
            if matches!(key, MarkKey::Owed(_)) {
                mark.bytes = bytes;
                mark.served = false;
            }
            return;
        }
        let order = self.0.len();
        self.0.insert(key, Mark { order, bytes, reason, served: false });
    }

    /// The `sync_required` of a standing gap was not queued: it stays owed.
    pub(super) fn owe_sync_again(&mut self, unit: Unit) {
        if let Some(mark) = self.0.get_mut(&MarkKey::Gap(unit)) {
            mark.served = false;
        }
    }

    /// Removes a mark and says whether it stood.
    pub(super) fn clear(&mut self, key: MarkKey) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let Some(removed) = self.0.remove(&key) else { return false };
        for mark in self.0.values_mut().filter(|mark| mark.order > removed.order) {
            mark.order -= 1;
        }
        true
    }

    /// Removes what concerns a subscription to `session`; its place in the list of sessions stays owed.
    pub(super) fn clear_session(&mut self, session: SessionId) {
        let concerned = |key: &&MarkKey| match key {
            MarkKey::Gap(unit) => unit.session == session,
            MarkKey::Owed(FrameKey::SessionItem { .. }) => false,
            MarkKey::Owed(key) => key.session() == Some(session),
        };
        for key in self.0.keys().filter(concerned).copied().collect::<Vec<_>>() {
            self.clear(key);
        }
    }

    pub(super) fn clear_all(&mut self) {
        self.0.clear();
    }

    /// Takes the marks to serve now, in the order set, counting each served one as queued.
    pub(super) fn serve<G: SenderGuards>(&mut self, frames: usize, bytes: usize) -> Vec<Owed> {
        let mut due: Vec<_> = self
            .0
            .iter()
            .filter(|(_, mark)| !mark.served)
            .map(|(key, mark)| (mark.order, *key, mark.bytes, mark.reason))
            .collect();
        due.sort_unstable_by_key(|(order, ..)| *order);
        let mut owed = Vec::new();
        let (mut frames, mut bytes) = (frames, bytes);
        for (_, key, refused_bytes, reason) in due {
            if !G::drained(frames, bytes, refused_bytes) {
                continue;
            }
            frames += 1;
            bytes += match key {
                MarkKey::Gap(_) => SYNC_BYTES,
                MarkKey::Owed(_) => refused_bytes,
            };
            if let Some(mark) = self.0.get_mut(&key) {
                mark.served = true;
            }
            owed.push(to_owed(key, reason));
        }
        owed
    }
}

/// Entities whose terminal frame was admitted, the latest 4,096 (SND-18).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Absorbed {
    order: VecDeque<EntityId>,
    known: BTreeSet<EntityId>,
}

impl Absorbed {
    pub(super) fn contains(&self, entity: EntityId) -> bool {
        self.known.contains(&entity)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn remember(&mut self, entity: EntityId) {
        if !self.known.insert(entity) {
            return;
        }
        self.order.push_back(entity);
        if self.order.len() > ABSORBED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.known.clear();
    }
}

/// More bytes than a `sync_required` frame has.
const SYNC_BYTES: usize = 256;

fn to_owed(key: MarkKey, reason: SyncReason) -> Owed {
    match key {
        MarkKey::Gap(Unit { session, entity }) => Owed::SyncRequired { session, entity, reason },
        MarkKey::Owed(key) => Owed::Newest { key },
    }
}

impl Serialize for Marks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

impl<'de> Deserialize<'de> for Marks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(MarkKey, Mark)>::deserialize(deserializer)?;
        Ok(Self(pairs.into_iter().collect()))
    }
}
