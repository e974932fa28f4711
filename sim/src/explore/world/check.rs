//! The checkers: each a predicate on the world, with the id of the rule or invariant it judges.

use runwarden_protocol::ids::AgentId;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::limits::UNWIND;

use super::runs::{AgentModel, Due, RunModel, Start};
use super::{Broken, World};

pub(super) fn ensure(
    holds: bool,
    rule: &'static str,
    detail: impl FnOnce() -> String,
) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { rule, detail: detail() }) }
}

impl<G: Guards> World<G> {
    /// A turn is admitted only beside runs that are over, or stopped and left behind for the whole window.
    pub(super) fn check_admission(&self, run: u8) -> Result<(), Broken> {
        for (other, model) in self.numbered().filter(|(other, _)| *other != run) {
            let is_live = model.due != Due::Nothing || self.has_row(other);
            let Some(stopped_at) = model.stopped_at else {
                ensure(!is_live, "ADM-09", || {
                    format!("run {run} is admitted beside run {other}, which is alive")
                })?;
                continue;
            };
            let is_left_behind = self.now.age_of(stopped_at) >= UNWIND;
            ensure(!is_live || is_left_behind, "ADM-02", || {
                format!("run {run} is admitted while run {other} unwinds")
            })?;
        }
        Ok(())
    }

    /// By INV-REG: after a Stop nothing is registered or invoked; by REG-04 never a closed agent.
    pub(super) fn check_agent_use(&self, run: u8, agent: AgentId) -> Result<(), Broken> {
        let stopped_at = self.runs[usize::from(run) - 1].stopped_at;
        ensure(stopped_at.is_none(), "INV-REG", || {
            format!("{agent} is registered or invoked for run {run} after its Stop")
        })?;
        let index = usize::try_from(agent.number()).expect("agents are few") - 1;
        ensure(!self.agents[index].is_closed, "INV-OWN", || {
            format!("run {run} uses {agent}, which is closed")
        })
    }

    /// By INV-EXCL: at most one unreturned invocation, leaving out reclaimed runs.
    pub(super) fn check_exclusive(&self, run: u8) -> Result<(), Broken> {
        let other = self.numbered().find(|(other, model)| {
            *other != run
                && model.is_invoked()
                && model.stopped_at.is_none_or(|at| self.now.age_of(at) < UNWIND)
        });
        ensure(other.is_none(), "INV-EXCL", || format!("a second call begins, of run {run}"))
    }

    /// By INV-TEXT: what one agent said, no other says again.
    pub(super) fn check_first_words(&self, run: u8) -> Result<(), Broken> {
        let produced = self.runs[usize::from(run) - 1].produced;
        ensure(produced == 0, "INV-TEXT", || {
            format!("run {run} is begun again behind {produced} rows of a lost agent")
        })
    }

    /// By INV-OWN: the cache never names an agent that was closed.
    fn check_cache(&self) -> Result<(), Broken> {
        let Some(agent) = self.lineage.cached_agent() else { return Ok(()) };
        let index = usize::try_from(agent.number()).expect("agents are few") - 1;
        ensure(!self.agents[index].is_closed, "INV-OWN", || {
            format!("the cache names {agent}, which is closed")
        })
    }

    /// By INV-LIVE, STOP-20: a stopped run is gone when its time is over.
    pub(super) fn check_bound(&self) -> Result<(), Broken> {
        let is_over = self.stop_bound().is_some_and(|at| self.now >= at);
        ensure(!is_over, "INV-LIVE", || {
            "the row of a stopped run outlives its time, and the session admits no turn".to_owned()
        })
    }

    /// What must hold when nothing is left that happens by itself (INV-LIVE, INV-TEXT, INV-TERM).
    pub(super) fn check_quiet(&self) -> Result<(), Broken> {
        self.check_cache()?;
        let is_busy = !self.store.calls.is_empty()
            || self.runs.iter().any(|model| model.due != Due::Nothing)
            || self.next_time().is_some();
        if is_busy {
            return Ok(());
        }
        ensure(self.lineage.may_start(self.now).is_ok(), "INV-LIVE", || {
            format!("nothing happens any more, and no turn may start: {:?}", self.lineage.row())
        })?;
        ensure(self.store.pending.is_none(), "INV-LIVE", || {
            format!("the turn of run {:?} stays pending for ever", self.store.pending)
        })?;
        for (run, model) in self.numbered() {
            self.check_over(run, model)?;
        }
        Ok(())
    }

    fn check_over(&self, run: u8, model: &RunModel) -> Result<(), Broken> {
        ensure(!model.is_awaited(), "INV-LIVE", || {
            format!("a start or Stop of run {run} is never answered")
        })?;
        let stored = self.store.run(run);
        if model.start == Start::Acknowledged {
            ensure(stored.prompts == 1, "INV-TEXT", || {
                format!("the prompt of run {run} is in the transcript {} times", stored.prompts)
            })?;
            ensure(stored.terminal.is_some(), "INV-TERM", || format!("run {run} has no terminal"))?;
        }
        ensure(stored.markers <= 1, "STOP-09", || format!("run {run} has two markers"))
    }

    pub(super) fn agent(&mut self, agent: AgentId) -> &mut AgentModel {
        let index = usize::try_from(agent.number()).expect("agents are few") - 1;
        &mut self.agents[index]
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = (u8, &RunModel)> {
        (1_u8..).zip(&self.runs)
    }

    pub(super) fn last_run(&self) -> u8 {
        u8::try_from(self.runs.len()).expect("clients are few")
    }

    fn has_row(&self, run: u8) -> bool {
        self.lineage.row().is_some_and(|row| row.run_id.number() == u64::from(run))
    }
}
