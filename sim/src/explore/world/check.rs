//! The checkers: each a predicate on the world, with the id of the rule or invariant it judges.

use runwarden_protocol::ids::{AgentId, RunId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::limits::UNWIND;
use runwarden_protocol::wire::structures::SessionStatus;

use super::runs::{Due, RunModel, Start};
use super::store::Turn;
use super::{Broken, World};

/// Far shorter than the window, far longer than an agent takes to end.
const SHORT: Duration = Duration::from_secs(60);

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
                let rule = if model.is_invoked() { "ADM-03" } else { "ADM-09" };
                ensure(!is_live, rule, || {
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
        ensure(!self.is_closed(agent), "INV-OWN", || {
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
        ensure(!self.is_closed(agent), "INV-OWN", || {
            format!("the cache names {agent}, which is closed")
        })
    }

    /// What must hold after every step, whatever happens by itself.
    pub(super) fn check_step(&self) -> Result<(), Broken> {
        self.check_cache()?;
        self.check_owner()?;
        self.check_views()?;
        self.check_questions()?;
        self.check_queue()?;
        self.check_screen()?;
        self.check_slots()?;
        let is_unpressed = |model: &RunModel| {
            let Due::Call { is_interrupted, .. } = model.due else { return false };
            model.stopped_at.is_some() && !is_interrupted
        };
        let unpressed = self.numbered().find(|(_, model)| is_unpressed(model));
        ensure(unpressed.is_none(), "REG-11", || {
            format!("the agent of a stopped run is not interrupted: {unpressed:?}")
        })
    }

    /// Row and ownership come and go together (ADM-08, OWN-05, REC-04).
    fn check_owner(&self) -> Result<(), Broken> {
        let owner = self.lineage.owner();
        let Some(row) = self.lineage.row() else {
            let is_outstanding = |run: RunId| {
                self.store.pending.is_some_and(|pending| u64::from(pending) == run.number())
            };
            return ensure(owner.is_none_or(is_outstanding), "REC-04", || {
                format!("{owner:?} owns the session and is over")
            });
        };
        let rule = if row.phase == Phase::Cancelling { "OWN-05" } else { "ADM-08" };
        ensure(owner == Some(row.run_id), rule, || {
            format!("{} has the row, the owner is {owner:?}", row.run_id)
        })
    }

    /// Whoever asks about a stopping session is told the same (REC-03, INV-9, INV-10).
    fn check_views(&self) -> Result<(), Broken> {
        let Some(row) = self.lineage.row().filter(|row| row.phase == Phase::Cancelling) else {
            return Ok(());
        };
        ensure(!self.lineage.may_attach(row.run_id), "INV-9", || {
            format!("{} is stopping and offered to attach to", row.run_id)
        })?;
        let Some(stopped_at) = self.stop_time(row.run_id) else { return Ok(()) };
        let last = Instant::from_micros(stopped_at.plus(UNWIND).as_micros() - 1);
        for at in [self.now, stopped_at.plus(SHORT), last, stopped_at.plus(UNWIND)] {
            let is_shown_idle = self.lineage.status(at) == SessionStatus::Idle;
            let may_start = self.lineage.may_start(at).is_ok();
            ensure(at < self.now || is_shown_idle == may_start, "INV-10", || {
                format!(
                    "at {at:?} the session is shown idle: {is_shown_idle}, may start: {may_start}"
                )
            })?;
        }
        Ok(())
    }

    fn stop_time(&self, run_id: RunId) -> Option<Instant> {
        let index = usize::try_from(run_id.number()).ok()?.checked_sub(1)?;
        self.runs.get(index)?.stopped_at
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
        let is_busy = !self.store.calls.is_empty()
            || self.is_draining()
            || self.is_draining_wakeups()
            || self.outside.is_busy()
            || !self.is_screen_quiet()
            || self.is_slot_busy()
            || self.runs.iter().any(|model| model.due != Due::Nothing)
            || self.next_time().is_some();
        if is_busy {
            return Ok(());
        }
        ensure(!self.is_deletion_awaited() && !self.is_rotation_awaited(), "INV-LIVE", || {
            "a deletion or a rotation is never answered".to_owned()
        })?;
        if self.store.is_deleted {
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
        ensure(!self.is_change_awaited(), "INV-LIVE", || {
            "a change of the record is never answered".to_owned()
        })?;
        self.check_steers_over()?;
        self.check_screen_over()?;
        self.check_slots_over()?;
        self.check_wakeups_over()?;
        self.check_queue_over()
    }

    pub(super) fn check_over(&self, run: u8, model: &RunModel) -> Result<(), Broken> {
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
        ensure(stored.markers <= 1, "STOP-09", || format!("run {run} has two markers"))?;
        let is_closed = matches!(stored.turn, Turn::None | Turn::Ended);
        ensure(is_closed, "TRN-03", || format!("the turn of run {run} stays open"))?;
        ensure(stored.markers == 0 || stored.partial >= model.shown, "INV-TEXT", || {
            let shown = model.shown;
            format!("{shown} rows of run {run} were shown, {} are kept", stored.partial)
        })?;
        let is_seen = model.ended.is_some() || model.is_forgotten || stored.prompts == 0;
        ensure(is_seen, "STOP-15", || format!("nobody was shown the end of run {run}"))
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
