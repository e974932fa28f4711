use serde::{Deserialize, Serialize};

use crate::ids::{PayloadId, SteerId};
use crate::wire::codes::Code;
use crate::wire::limits;

/// Most unsettled steers of one run (STEER_CAP, STR-08).
pub const STEERS_MAX: usize = limits::RETURNED_STEERS_MAX;

/// The steers of one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Steers {
    pub(super) state: State,
    /// Accepted and not read, in order.
    pub(super) unsettled: Vec<SteerId>,
    /// An agent that waits for the next one, with the body of the row that will say so.
    pub(super) reader: Option<PayloadId>,
}

/// Where the box stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Before the first invocation.
    Shut,
    /// In phase `running`.
    Open,
    /// Afterwards. Nothing opens it again.
    Closed,
}

/// A steer that is offered, with the facts its acceptance depends on (STR-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Offer {
    /// A fresh id.
    pub steer_id: SteerId,
    /// The run has an open channel in STREAMS.
    pub is_live: bool,
    /// The token is unset and the run is the owner.
    pub may_act: bool,
    /// An agent is registered for the run.
    pub has_agent: bool,
    /// Its agent takes steers.
    pub is_supported: bool,
}

/// What happens to steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// An invocation was admitted; nobody has asked it for anything yet.
    Invoked,
    /// A steer is offered.
    Offered(Offer),
    /// The agent of the present invocation wants the next one.
    Wanted {
        /// Body of the row that will say so.
        payload: PayloadId,
    },
    /// The token is unset and the journal takes a row: the oldest may go to the agent that waits.
    MayHandOver,
    /// The invocation returned: what it asked for is handed to nobody.
    Returned,
    /// Stop, the last drain, a fence, or the loss of the worker: what is unsettled is returned.
    Closed,
}

/// What steers cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// It is bound to this run.
    Accepted {
        /// The steer.
        steer_id: SteerId,
    },
    /// It had no effect (STR-02).
    Refused {
        /// Why.
        reason: Code,
    },
    /// The agent reads it now.
    Consumed {
        /// The steer.
        steer_id: SteerId,
        /// Body of the row that says so.
        payload: PayloadId,
    },
}

impl Steers {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = STEERS_MAX * size_of::<SteerId>();

    /// The steers of a run that begins.
    pub const fn new() -> Self {
        Self { state: State::Shut, unsettled: Vec::new(), reader: None }
    }

    /// The steers of a run that was found without settlement: these are returned by it.
    pub const fn found(unsettled: Vec<SteerId>) -> Self {
        Self { state: State::Closed, unsettled, reader: None }
    }

    /// Whether an agent waits for one that is there.
    pub fn is_due(&self) -> bool {
        self.state == State::Open && self.reader.is_some() && !self.unsettled.is_empty()
    }

    /// The state of the box.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Accepted and not read, in order; once the box is closed these are returned (STR-07).
    pub fn unsettled(&self) -> &[SteerId] {
        &self.unsettled
    }
}

impl Default for Steers {
    fn default() -> Self {
        Self::new()
    }
}
