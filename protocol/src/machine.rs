//! The one interface of every state machine: inputs and time in, effects and events out.

use std::fmt::Debug;
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;

use crate::instant::Instant;

/// A deterministic state machine without clock, randomness or I/O.
///
/// Inputs are commands (imperative, from the application) or facts (past tense, from the world).
/// Outputs are effects (imperative, for the driver) or events (past tense, for the application).
/// Refusals of the protocol are outputs; [`Machine::Reject`] is only for inputs no state table lists.
pub trait Machine: Clone + Eq + Hash + Serialize + DeserializeOwned {
    /// A command or a fact.
    type Input: Clone + Debug + Serialize + DeserializeOwned;
    /// An effect or an event.
    type Output: Debug + Serialize + DeserializeOwned;
    /// Why an input was turned away without any change.
    type Reject: Debug;
    /// Most outputs one step may produce.
    const OUTPUTS_MAX: usize;

    /// Takes one input at time `now`. On `Err` neither the state nor `out` changed.
    fn step(
        &mut self,
        now: Instant,
        input: Self::Input,
        out: &mut Outbox<Self::Output>,
    ) -> Result<(), Self::Reject>;

    /// Acts on every deadline that is due at `now`; does nothing before the first one.
    fn tick(&mut self, now: Instant, out: &mut Outbox<Self::Output>);

    /// The next time [`Machine::tick`] has something to do, and why.
    fn deadline(&self) -> Option<(Instant, TimerKind)>;

    /// Bytes this machine answers for: what it holds and what it keeps others holding.
    fn weight(&self) -> usize;

    /// Whether no later input can produce an output.
    fn is_terminal(&self) -> bool;

    /// The name of the current state, as the state tables write it.
    fn state_name(&self) -> &'static str;
}

/// Inputs worth trying on a machine in its present state, for exhaustive checks of small scopes.
pub trait Scope<M: Machine> {
    /// The inputs to try next; payloads small, ids from a small fixed set.
    fn inputs(&self, machine: &M) -> Vec<M::Input>;

    /// Deadlines after this instant are not explored; machines that keep instants would never end.
    fn horizon(&self) -> Instant {
        Instant::from_millis(3_600_000)
    }
}

/// Why a deadline exists.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TimerKind {
    /// A stopped row may be reclaimed (REC-01).
    Unwind,
    /// An interrupted agent is asked to end (REG-15).
    StopTerm,
    /// An interrupted agent is ended by force (REG-15).
    StopKill,
    /// A question expires (ASK-03).
    QuestionExpiry,
    /// The agent has been silent too long (LIM-02).
    AgentSilence,
    /// The run is older than it may become (LIM-01).
    RunMax,
    /// No append succeeded for too long (JRN-21).
    AppendOutage,
    /// An unsettled session is tried again (RST-11).
    UnsettledRetry,
    /// Text collected for one row is due (JRN-20).
    TextMerge,
    /// A silent connection is offered a heartbeat (OBS-01).
    Heartbeat,
    /// Bytes wait and the transport makes no progress (SND-27).
    SendStall,
    /// Nothing was received for too long (SND-27).
    ConnectionLease,
    /// A stopping connection is closed (table 5.1).
    ShutdownDrain,
    /// A finished request result is forgotten (REQ-8).
    ResultAge,
    /// An entry of a ring is too old to be kept (SES-14).
    RingAge,
    /// A Stop waits for a remote backend (STOP-17).
    RemoteStopWait,
}

/// Outputs that wait without an allocation; most steps have no more.
const INLINE: usize = 4;

/// Where a step puts its outputs. The caller owns the buffer, so nothing is retained in the machine.
#[derive(Clone, Debug)]
pub struct Outbox<T> {
    items: SmallVec<[T; INLINE]>,
}

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Outbox<T> {
    /// An empty buffer.
    pub fn new() -> Self {
        Self { items: SmallVec::new() }
    }

    /// Adds one output.
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// How many outputs wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no output waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The outputs in order.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// Takes the outputs in order and leaves the buffer empty with its capacity kept.
    pub fn drain(&mut self) -> smallvec::Drain<'_, [T; INLINE]> {
        self.items.drain(..)
    }
}

/// Which side erred when an input is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reject {
    /// Our own caller fed an input that no state table lists.
    #[error("local: {0}")]
    Local(&'static str),
    /// The peer sent something that no state table lists.
    #[error("remote: {0}")]
    Remote(&'static str),
}
