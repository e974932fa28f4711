//! What a registry remembers.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Outcome;
use super::guards::{RequestGuards, Rules};
use crate::delivery::limits::{RESULT_INLINE_BYTES_MAX, RESULTS_KEPT};
use crate::ids::{AskId, SessionId};
use crate::instant::Instant;
use crate::wire::actions::ActionName;

/// Executions of one principal at once; one more is rejected, and the driver answers `server_busy`.
pub const PENDING_MAX: usize = 8_192;

/// Most that [`crate::machine::Machine::weight`] of a registry reports.
pub const WEIGHT_MAX: usize =
    PENDING_MAX * PENDING_WEIGHT + RESULTS_KEPT * (RESULT_WEIGHT + RESULT_INLINE_BYTES_MAX);

/// A 128-bit FNV-1a digest of a client's text (request id, idempotency key). Texts of one principal are only ever
/// compared with each other, so a made-up collision confuses nobody but its maker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey(u128);

impl RequestKey {
    /// The digest of `text`.
    pub const fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut hash = FNV_START;
        let mut at = 0;
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u128).wrapping_mul(FNV_PRIME);
            at += 1;
        }
        Self(hash)
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The text is not a digest of 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a digest of 32 lowercase hex digits")]
pub struct RequestKeyError;

impl FromStr for RequestKey {
    type Err = RequestKeyError;

    fn from_str(text: &str) -> Result<Self, RequestKeyError> {
        let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() != 32 || !text.bytes().all(lower_hex) {
            return Err(RequestKeyError);
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| RequestKeyError)
    }
}

impl Serialize for RequestKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The registry of one principal (table 5.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Requests<G: RequestGuards = Rules> {
    /// Executions that have not ended, shared ones included.
    pub(super) pending: BTreeMap<AskId, Pending>,
    /// The newest execution of each request.
    pub(super) results: BTreeMap<RequestKey, Entry>,
    /// Requests that have ended, oldest first.
    pub(super) finished: VecDeque<Finished>,
    /// Keys of changes under way.
    pub(super) keys: Vec<KeyInFlight>,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) request: Option<RequestKey>,
    /// The execution it shares.
    pub(super) shares: Option<AskId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The execution whose outcome counts.
    pub(super) ask: AskId,
    pub(super) action: ActionName,
    pub(super) ended: Option<Ended>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    pub(super) omitted: bool,
}

/// The time is left out of the hash, as in the sender queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finished {
    pub(super) request: RequestKey,
    pub(super) at: Instant,
}

impl Hash for Finished {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.request.hash(state);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct KeyInFlight {
    pub(super) session: Option<SessionId>,
    pub(super) key: RequestKey,
    pub(super) fingerprint: u64,
    pub(super) leader: AskId,
}

impl<G: RequestGuards> Default for Requests<G> {
    fn default() -> Self {
        Self {
            pending: BTreeMap::new(),
            results: BTreeMap::new(),
            finished: VecDeque::new(),
            keys: Vec::new(),
            guards: PhantomData,
        }
    }
}

impl<G: RequestGuards> Requests<G> {
    /// The empty registry of a principal.
    pub fn new() -> Self {
        Self::default()
    }

    /// Executions that have not ended.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Results that can be asked for.
    pub fn finished(&self) -> usize {
        self.finished.len()
    }

    /// Whether nothing is pending or kept, so that the registry may be dropped.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.finished.is_empty()
    }

    pub(super) fn held_bytes(&self) -> usize {
        let bodies: usize = self
            .results
            .values()
            .filter_map(|entry| entry.ended.filter(|ended| !ended.omitted))
            .map(|ended| ended.outcome.body().json_bytes as usize)
            .sum();
        bodies + self.pending.len() * PENDING_WEIGHT + self.finished.len() * RESULT_WEIGHT
    }
}

/// What one pending execution is counted as, with its key.
const PENDING_WEIGHT: usize = 256;
/// What one result is counted as, its body apart.
const RESULT_WEIGHT: usize = 128;
const FNV_START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
