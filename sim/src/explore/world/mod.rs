//! One session with its clients, workers, agents, store and clock.

mod check;
mod choices;
mod conditions;
mod deletion;
mod label;
mod oddity;
mod outside;
mod over;
mod ports;
mod questions;
mod queue;
mod reading;
mod rotation;
mod runs;
mod screen;
mod slots;
mod steers;
mod store;
mod take;
mod trace;
mod wakeups;

use std::hash::{Hash, Hasher};

use runwarden_protocol::ids::{Revision, SessionId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::machine::Machine;
use runwarden_protocol::record::Record;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{Lineage, RunLimits};

use smallvec::SmallVec;

use super::budget::Budget;
use deletion::Deletion;
use outside::Outside;
use questions::QuestionModel;
use queue::QueueModel;
use reading::Reader;
use rotation::Rotation;
use runs::{AgentModel, RunModel};
use screen::Client;
use slots::SlotModel;
use steers::SteerModels;
use store::Store;
use trace::Trace;
use wakeups::WakeupModel;

pub use choices::Choice;
pub use conditions::{Conditions, Fault, Oddity};
pub use screen::ScreenChoice;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} broken: {detail}")]
pub struct Broken {
    /// Its id.
    pub rule: &'static str,
    /// What was seen.
    pub detail: String,
}

/// A state of everything.
#[derive(Clone, Debug)]
pub struct World<G: Guards> {
    conditions: Conditions,
    now: Instant,
    lineage: Lineage<G>,
    store: Store,
    /// By number, from 1; run n is the turn of client n.
    runs: SmallVec<[RunModel; FEW]>,
    agents: SmallVec<[AgentModel; FEW]>,
    questions: SmallVec<[QuestionModel; 1]>,
    queue: QueueModel,
    steering: SteerModels,
    wakeups: Option<Box<WakeupModel>>,
    outside: Outside,
    deletion: Deletion,
    rotation: Rotation,
    client: Option<Box<Client>>,
    slots: Option<Box<SlotModel>>,
    reader: Reader,
    budget: Budget,
    /// No part of the state.
    trace: Option<Box<Trace>>,
}

/// An accepted Stop frees the session within this time if the agent can be killed (STOP-20).
const STOP_BOUND: Duration = Duration::from_secs(12);

/// Runs, agents and calls that a world holds without an allocation.
const FEW: usize = 3;

/// When a world begins; not zero, so that a forgotten time shows.
const START: Instant = Instant::from_millis(1_000_000);

impl<G: Guards> World<G> {
    /// An idle session.
    pub fn new(conditions: Conditions, budget: Budget) -> Self {
        Self {
            conditions,
            now: START,
            lineage: session(SessionId::new(1), Revision::new(1)),
            store: Store::new(),
            runs: SmallVec::new(),
            agents: SmallVec::new(),
            questions: SmallVec::new(),
            queue: QueueModel::default(),
            steering: SteerModels::default(),
            wakeups: conditions.wakeups.then(Box::default),
            outside: Outside::default(),
            deletion: Deletion::default(),
            rotation: Rotation::default(),
            client: Client::new(conditions),
            slots: SlotModel::new(conditions),
            reader: Reader::default(),
            budget,
            trace: None,
        }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The state of the machine, as its matrix names it.
    pub fn state_name(&self) -> &'static str {
        self.lineage.state_name()
    }

    /// This world, and from here on the Records of its steps.
    #[must_use]
    pub fn recorded(mut self) -> Self {
        self.trace = Some(Box::default());
        self
    }

    /// The Records kept so far.
    pub fn records(&self) -> &[Record] {
        self.trace.as_ref().map_or(&[], |trace| &trace.records)
    }

    /// This world with another budget.
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }
}

impl<G: Guards> Hash for World<G> {
    /// Everything that changes; `now` is what times are relative to.
    /// A run that is over counts with what can still be asked of it, in any order.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.lineage.hash(state);
        self.hash_runs(state);
        self.hash_agents(state);
        self.questions.hash(state);
        if self.conditions.queues {
            self.queue.hash(state);
        }
        if self.conditions.steers {
            self.steering.hash(state);
        }
        if self.conditions.is_outside_busy() {
            self.outside.hash(state);
        }
        if self.conditions.deletes {
            (self.deletion, self.store.is_deleted).hash(state);
        }
        if self.conditions.rotates {
            (self.rotation, self.store.is_rotated).hash(state);
        }
        if let Some(slots) = &self.slots {
            slots.hash(state);
        }
        if self.conditions.reads {
            self.reader.hash(state);
        }
        if let Some(client) = &self.client {
            client.hash(state);
        }
        if self.conditions.wakeups {
            self.wakeups.hash(state);
        }
        self.budget.hash(state);
    }
}

fn session<G: Guards>(session_id: SessionId, revision: Revision) -> Lineage<G> {
    Lineage::new(session_id, revision, RunLimits::default())
}
