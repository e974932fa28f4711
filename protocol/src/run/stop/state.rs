use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

use crate::ids::{AgentId, AskId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::run::guards::{Guards, Rules};

/// Stop as one run sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Stop<G: Guards = Rules> {
    pub(super) state: State,
    pub(super) asks: Vec<AskId>,
    pub(super) escalation: Escalation,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// Where a Stop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody stopped the run.
    Quiet,
    /// A Stop waits for an answer it depends on (STOP-07).
    Held,
    /// Stop, or a server ending, was accepted; its settlement is unanswered.
    Accepted,
    /// Accepted, and its settlement was answered.
    Answered,
    /// The run was settled by its worker.
    Ended {
        /// How.
        outcome: Outcome,
    },
}

/// How far the agent was pressed to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// No invocation to end.
    None,
    /// Interrupted.
    Interrupted {
        /// Which agent.
        agent: AgentId,
        /// When.
        at: Instant,
    },
    /// Asked to end.
    Terminated {
        /// Which agent.
        agent: AgentId,
        /// When.
        at: Instant,
    },
}

/// What a Stop meets when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The reservation's durable writes or launch are unanswered.
    Reserving,
    /// The outcome is unclaimed.
    Open {
        /// The agent of an admitted, unreturned invocation.
        invoked: Option<AgentId>,
    },
    /// The worker's settlement save is in flight.
    Saving {
        /// The agent of an admitted, unreturned invocation.
        invoked: Option<AgentId>,
    },
}

/// What happens to a Stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Somebody asks to stop the run.
    Asked {
        /// Who waits for the answer.
        ask: AskId,
        /// What the Stop meets.
        moment: Moment,
    },
    /// The server ends the run (STOP-21); only while the outcome is unclaimed.
    EndedByServer {
        /// The agent of an admitted, unreturned invocation.
        invoked: Option<AgentId>,
    },
    /// What a held Stop waited for was answered, and the outcome is unclaimed.
    Released {
        /// The agent of an admitted, unreturned invocation.
        invoked: Option<AgentId>,
    },
    /// The run was settled by its worker or compensated.
    RunEnded {
        /// How.
        outcome: Outcome,
    },
    /// Recovery cannot settle the run for now: whoever waits is to ask again (RST-11).
    Unsettled,
    /// The remote backend of the run refuses to stop: nothing changes (STOP-18).
    RemoteRefused,
    /// The settlement of the accepted Stop was answered, or every try failed.
    SettlementAnswered,
    /// The interrupted agent returned, or its worker exited.
    AgentReturned,
}

/// The answer to a Stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Answer {
    /// The Stop was or had been accepted.
    Accepted,
    /// The run was over before.
    AlreadyEnded {
        /// How.
        status: Outcome,
    },
    /// The session never had this run.
    Unknown,
    /// Too many Stops of the run wait already, or the run cannot be settled for now; the code is
    /// `server_busy`.
    Refused,
    /// The remote backend of the run refuses to stop, and the run goes on (STOP-18).
    RemoteRefused,
}

/// How an agent is pressed to end (REG-11, REG-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// At acceptance.
    Interrupt,
    /// 5 s later.
    Terminate,
    /// 5 s after that.
    Kill,
}

/// What a Stop causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The Stop is accepted: STOP-02 is carried out in this step.
    Accept,
    /// Press the agent to end.
    Signal {
        /// The agent.
        agent: AgentId,
        /// How.
        signal: StopSignal,
    },
    /// Answer everybody who waits.
    Reply {
        /// Who.
        asks: Vec<AskId>,
        /// What.
        answer: Answer,
    },
}

impl<G: Guards> Default for Stop<G> {
    fn default() -> Self {
        Self {
            state: State::Quiet,
            asks: Vec::new(),
            escalation: Escalation::None,
            guards: PhantomData,
        }
    }
}

impl<G: Guards> Stop<G> {
    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether a Stop waits for an answer it depends on.
    pub fn is_held(&self) -> bool {
        self.state == State::Held
    }

    /// Whether Stop or a server ending was accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self.state, State::Accepted | State::Answered)
    }

    /// Whether the settlement of an accepted Stop was answered.
    pub fn is_answered(&self) -> bool {
        self.state == State::Answered
    }
}
