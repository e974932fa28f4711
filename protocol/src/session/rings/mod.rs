//! What a session keeps for clients that missed a little: its newest commits and the newest live deltas of its
//! entities (SES-14, SES-15). Nothing of it is durable (SES-1).
//!
//! The bodies are the driver's: it holds the body of an entry until [`Output::Drop`] names it. The machine knows
//! which numbers are covered without a gap.

mod state;
mod transitions;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::delivery::frame::EntityId;
use crate::ids::{PayloadId, PayloadRef, Revision, Seq};

pub use state::{ENTITIES_MAX, ENTRY_WEIGHT, Entry, Rings, WEIGHT_MAX};

/// What the rings of a session take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Input {
    /// Fact: a commit was made, and its delta encoded.
    CommitMade {
        /// The revision it led to.
        revision: Revision,
        /// Its delta, at most 3,584 bytes.
        payload: PayloadRef,
    },
    /// Fact: a row of an entity is durable, and its frame encoded.
    DeltaMade {
        /// The entity.
        entity: EntityId,
        /// Number of the row.
        seq: Seq,
        /// Its frame, at most 3,584 bytes.
        payload: PayloadRef,
    },
    /// Command: let everything go, others need the room (SES-38).
    DropAll,
}

/// What the rings of a session give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Output {
    /// Effect: these bodies are kept no more.
    Drop {
        /// The bodies.
        payloads: Vec<PayloadId>,
    },
}
