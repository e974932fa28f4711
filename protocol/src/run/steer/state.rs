use serde::{Deserialize, Serialize};

use crate::ids::{AskId, PayloadId, SteerId};
use crate::journal::row::SteerFate;
use crate::wire::codes::Code;
use crate::wire::limits;

/// Most unsettled steers of one run (STEER_CAP, STR-08).
pub const STEERS_MAX: usize = limits::RETURNED_STEERS_MAX;

/// The steers of one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Steers {
    pub(super) state: State,
    /// Without a durable row that settles them, in the order of their offers.
    pub(super) unsettled: Vec<Unsettled>,
    /// Whether the agent of the present invocation waits for one.
    pub(super) is_wanted: bool,
}

/// A steer and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Unsettled {
    pub(super) steer_id: SteerId,
    pub(super) stage: Stage,
}

/// How far an unsettled steer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub(super) enum Stage {
    /// The row of its acceptance is not durable yet.
    Storing {
        /// Who waits for the answer.
        ask: AskId,
        /// Body of that row.
        payload: PayloadId,
    },
    /// Accepted.
    Accepted,
    /// Handed to the agent, which has not taken it yet.
    Handed,
    /// Read; the row that says so is not durable yet.
    Read,
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
    /// Who waits for the answer.
    pub ask: AskId,
    /// A fresh id.
    pub steer_id: SteerId,
    /// Body of the row that records its acceptance.
    pub payload: PayloadId,
    /// The run has an open channel in STREAMS.
    pub is_live: bool,
    /// The token is unset and the run is the owner.
    pub may_act: bool,
    /// An agent is registered for the run.
    pub has_agent: bool,
    /// Its agent takes steers.
    pub is_supported: bool,
    /// The journal takes the row.
    pub has_room: bool,
}

/// A steer with its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SettledSteer {
    /// The steer.
    pub steer_id: SteerId,
    /// Which of both.
    pub fate: SteerFate,
}

/// What happens to steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// An invocation was admitted; its agent has asked for nothing yet.
    Invoked,
    /// A steer is offered.
    Offered(Offer),
    /// The row of its acceptance is durable.
    Stored {
        /// The steer.
        steer_id: SteerId,
    },
    /// A row will not become durable: a steer it was to accept has had no effect.
    RowLost {
        /// Body of the row.
        payload: PayloadId,
    },
    /// The agent of the present invocation waits for the next one.
    Wanted,
    /// The token is unset and the journal takes a row: the oldest may go to the agent that waits.
    MayHandOver,
    /// The agent took what it was handed.
    Read {
        /// The steer.
        steer_id: SteerId,
    },
    /// The row that says that it was read is durable.
    Settled {
        /// The steer.
        steer_id: SteerId,
    },
    /// The invocation returned: what it did not read is for the next one.
    Returned,
    /// Stop, the last drain, a fence, or the loss of the worker: what is unread is returned.
    Closed,
}

/// What steers cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// It is bound to this run; its row is to be stored.
    Taken,
    /// It is accepted.
    Accepted {
        /// Who waits for the answer.
        ask: AskId,
        /// The steer.
        steer_id: SteerId,
    },
    /// It had no effect (STR-02).
    Refused {
        /// Who waits for the answer.
        ask: AskId,
        /// Why.
        reason: Code,
    },
    /// The agent may read it now.
    HandOver {
        /// The steer.
        steer_id: SteerId,
    },
}

impl Steers {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = STEERS_MAX * size_of::<Unsettled>();

    /// The steers of a run that begins.
    pub const fn new() -> Self {
        Self { state: State::Shut, unsettled: Vec::new(), is_wanted: false }
    }

    /// The unsettled steers of a run that was found without settlement: these are returned by it.
    pub fn found(steers: impl IntoIterator<Item = SteerId>) -> Self {
        let unread = |steer_id| Unsettled { steer_id, stage: Stage::Accepted };
        let unsettled = steers.into_iter().map(unread).collect();
        Self { state: State::Closed, unsettled, is_wanted: false }
    }

    /// Whether an agent waits for one that is there.
    pub fn is_due(&self) -> bool {
        self.state == State::Open && self.is_wanted && self.next().is_some()
    }

    /// Whether the agent of the present invocation holds it and may read it.
    pub fn is_handed(&self, steer_id: SteerId) -> bool {
        self.unsettled.iter().any(|it| it.steer_id == steer_id && it.stage == Stage::Handed)
    }

    /// What the settlement of the run still has to settle, in order (STR-04, STR-07).
    pub fn to_settle(&self) -> Vec<SettledSteer> {
        let settled = self.unsettled.iter().filter_map(|Unsettled { steer_id, stage }| {
            let fate = match stage {
                Stage::Storing { .. } => return None,
                Stage::Accepted | Stage::Handed => SteerFate::Returned,
                Stage::Read => SteerFate::Consumed,
            };
            Some(SettledSteer { steer_id: *steer_id, fate })
        });
        settled.collect()
    }

    /// The oldest that is accepted and with no agent.
    pub(super) fn next(&self) -> Option<usize> {
        self.unsettled.iter().position(|steer| steer.stage == Stage::Accepted)
    }
}

impl Default for Steers {
    fn default() -> Self {
        Self::new()
    }
}
