use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::run::guards::{Gate, Guards, Rules};
use crate::run::settlement::Failure;

/// The worker of one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Worker<G: Guards = Rules> {
    pub(super) state: State,
    /// Self-heal rebuilds this run has made (REG-14).
    pub(super) rebuilds: u8,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// Where the worker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The run is reserved; its worker has not begun.
    Reserved,
    /// Begun; an agent is looked for or constructed.
    Started,
    /// There is an agent; nothing is published.
    Ready {
        /// The agent.
        agent: AgentId,
        /// Whether it was taken from the reusable cache.
        borrowed: bool,
    },
    /// Registration, cache entry and handle were published.
    Registered {
        /// The agent.
        agent: AgentId,
    },
    /// A call was admitted and has not returned.
    Invoked {
        /// The agent.
        agent: AgentId,
    },
    /// A gate refused; the exit follows.
    Refused,
    /// The last call returned, or no agent could be constructed.
    Returned,
    /// The worker has exited.
    Gone,
}

/// What happens to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// The worker's first step.
    Began {
        /// Facts of the run at this step.
        gate: Gate,
        /// The session's cached agent, if any.
        cached: Option<AgentId>,
    },
    /// An agent was constructed.
    Constructed {
        /// The agent.
        agent: AgentId,
    },
    /// No agent could be constructed.
    ConstructionFailed,
    /// The worker asks to register its agent.
    RegistrationAsked {
        /// Facts of the run at this step.
        gate: Gate,
    },
    /// The prompt is prepared and the worker asks to invoke the agent.
    InvocationAsked {
        /// Facts of the run at this step.
        gate: Gate,
        /// The agent to be invoked.
        agent: AgentId,
    },
    /// The call returned.
    Returned {
        /// How.
        result: CallResult,
        /// Facts of the run at this step.
        gate: Gate,
        /// Whether the run has produced anything that a new agent would repeat.
        has_output: bool,
    },
    /// The worker has exited.
    Exited,
}

/// How a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum CallResult {
    /// The answer is complete.
    Completed,
    /// It ended because it was asked to.
    Interrupted,
    /// It failed.
    Failed {
        /// Whether sending again may succeed.
        failure: Failure,
    },
    /// The agent's process or connection is gone: a new agent may cure it (table 5.2).
    Lost,
}

/// What a worker causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The worker may go on: `worker_started` is written (TRN-01).
    Started,
    /// Construct an agent.
    Construct,
    /// An agent is at hand; ask for its registration next.
    AskRegistration,
    /// Registration, cache entry and lifecycle handle are published in this step (REG-04).
    Publish {
        /// The agent.
        agent: AgentId,
    },
    /// Prepare the prompt; then ask for the invocation.
    Prepare {
        /// The agent.
        agent: AgentId,
    },
    /// Call the agent.
    Invoke {
        /// The agent.
        agent: AgentId,
    },
    /// Clean up a candidate that was never published (REG-09).
    CleanUp {
        /// The agent.
        agent: AgentId,
    },
    /// Retire handle and own cache entry in this step and close the agent (REG-06).
    Retire {
        /// The agent.
        agent: AgentId,
    },
    /// The worker has nothing left to do: it exits.
    Exit,
    /// The last call returned, or no agent could be constructed.
    Finished {
        /// How.
        result: CallResult,
    },
}

impl<G: Guards> Worker<G> {
    /// The worker of a fresh reservation.
    pub fn reserved() -> Self {
        Self { state: State::Reserved, rebuilds: 0, guards: PhantomData }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Self-heal rebuilds this run has made (REG-14).
    pub fn rebuilds(&self) -> u8 {
        self.rebuilds
    }

    /// The agent of an admitted, unreturned invocation.
    pub fn invoked(&self) -> Option<AgentId> {
        match self.state {
            State::Invoked { agent } => Some(agent),
            State::Reserved
            | State::Started
            | State::Ready { .. }
            | State::Registered { .. }
            | State::Refused
            | State::Returned
            | State::Gone => None,
        }
    }

    /// Whether an agent is registered for it, called or not.
    pub fn has_registered(&self) -> bool {
        matches!(self.state, State::Registered { .. } | State::Invoked { .. })
    }

    /// The agent that was registered for a call that has not been admitted yet.
    pub fn registered(&self) -> Option<AgentId> {
        match self.state {
            State::Registered { agent } => Some(agent),
            State::Reserved
            | State::Started
            | State::Ready { .. }
            | State::Invoked { .. }
            | State::Refused
            | State::Returned
            | State::Gone => None,
        }
    }

    /// Whether an agent is being constructed for it.
    pub fn is_constructing(&self) -> bool {
        self.state == State::Started
    }

    /// Whether its last call returned and it has not exited.
    pub fn has_returned(&self) -> bool {
        self.state == State::Returned
    }

    /// Whether the worker has exited.
    pub fn is_gone(&self) -> bool {
        self.state == State::Gone
    }
}
