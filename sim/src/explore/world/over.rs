//! What is over: of a run that nothing can change any more, and of a closed agent, a state keeps only what
//! somebody can still be told of it. Histories that lead to the same future are one state.

use std::hash::{Hash, Hasher};

use runwarden_protocol::ids::AgentId;
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::guards::Guards;
use smallvec::SmallVec;

use super::runs::{AgentModel, Due, RunModel, Start};
use super::take::id;
use super::{Broken, FEW, World};

/// Agents of one run have numbers from this times the run's number on.
const AGENTS_PER_RUN: u64 = 16;

/// What can still be told of a run that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Over {
    start: Option<Start>,
    is_admitted: bool,
    terminal: Option<Outcome>,
}

impl<G: Guards> World<G> {
    /// What must hold of a run from its end on; asked at once, since its history is not looked at again.
    pub(super) fn check_ends(&self) -> Result<(), Broken> {
        self.numbered()
            .filter(|(run, model)| self.is_over(*run, model))
            .try_for_each(|(run, model)| self.check_over(run, model))
    }

    /// Whether nothing can change the run any more: no one waits, works or writes for it, and the machine
    /// has forgotten it.
    fn is_over(&self, run: u8, model: &RunModel) -> bool {
        model.due == Due::Nothing
            && !model.is_awaited()
            && !self.lineage.holds(id(run))
            && self.store.pending != Some(run)
            && self.store.calls.iter().all(|call| call.run != run)
            && !self.has_open_question(run)
            && !model.may_act_late()
            && !model.is_message()
            && self.client.is_none()
    }

    pub(super) fn hash_runs<H: Hasher>(&self, state: &mut H) {
        let mut over = SmallVec::<[Over; FEW]>::new();
        for (run, model) in self.numbered() {
            let stored = self.store.run(run);
            if self.is_over(run, model) {
                let start = self.conditions.keyed.then_some(model.start);
                let (is_admitted, terminal) = (stored.is_admitted, stored.terminal);
                // One that was refused has no id to ask by.
                if start.is_some() || model.has_run() {
                    over.push(Over { start, is_admitted, terminal });
                }
            } else {
                (run, model, stored).hash(state);
                if model.is_message() {
                    self.turns_of(run).hash(state);
                }
            }
        }
        // A run that is not over begins with its number, which is never zero.
        0_u8.hash(state);
        over.sort_unstable();
        over.hash(state);
        self.store.revision.hash(state);
        self.store.pending.hash(state);
        self.store.calls.hash(state);
        if self.conditions.queues {
            (&self.store.queue, self.store.held).hash(state);
        }
        if self.conditions.queues || self.conditions.steers || self.conditions.wakeups {
            // Not every request of a client is a start there, so what is left of them does not tell.
            self.runs.len().hash(state);
        }
        let key_used_by = self.store.key_used_by;
        (key_used_by.is_some(), key_used_by.filter(|_| self.conditions.keyed)).hash(state);
    }

    /// A closed agent counts while somebody may close it again in another's name (INV-OWN).
    pub(super) fn hash_agents<H: Hasher>(&self, state: &mut H) {
        let mut counted = 0_u8;
        for agent in &self.agents {
            let is_owner_alive = agent
                .registered_by
                .is_some_and(|run| !self.is_over(run, &self.runs[usize::from(run) - 1]));
            if !agent.is_closed || is_owner_alive {
                agent.hash(state);
                counted += 1;
            }
        }
        counted.hash(state);
    }

    /// The id of the next agent that `run` constructs.
    pub(super) fn next_agent(&self, run: u8) -> AgentId {
        let first = u64::from(run) * AGENTS_PER_RUN;
        let is_of_run = |agent: &&AgentModel| agent.id.number() / AGENTS_PER_RUN == u64::from(run);
        AgentId::new(first + self.agents.iter().filter(is_of_run).count() as u64)
    }

    pub(super) fn agent(&mut self, id: AgentId) -> &mut AgentModel {
        let agent = self.agents.iter_mut().find(|agent| agent.id == id);
        agent.expect("the machine names agents that were constructed")
    }

    pub(super) fn is_closed(&self, id: AgentId) -> bool {
        self.agents.iter().any(|agent| agent.id == id && agent.is_closed)
    }
}
