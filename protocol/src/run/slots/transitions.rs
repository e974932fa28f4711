use super::state::{Input, Output, SLOT_RETRY_AFTER_MS, SlotLimit, Slots, WAITERS_MAX, Waiter};
use crate::ids::{AskId, PrincipalId, RunId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};

/// What the table distinguishes: whether the run of an input holds a slot.
#[derive(Clone, Copy)]
enum Held {
    No,
    By(PrincipalId),
}

impl Machine for Slots {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(
        &mut self,
        _now: Instant,
        input: Input,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match (self.held(input), input) {
            (Held::No, Input::Acquire { ask, principal, run_id }) => {
                out.push(self.acquire(ask, principal, run_id));
                Ok(())
            }
            (Held::By(_), Input::Acquire { .. }) => Err(Reject::Local("slot_already_held")),
            (Held::By(principal), Input::Release { run_id }) => {
                self.release(principal, run_id);
                self.wake(out);
                Ok(())
            }
            (Held::No, Input::Release { .. }) => Err(Reject::Local("slot_not_held")),
            (Held::No | Held::By(_), Input::Wait { session, principal, since }) => {
                self.wait(Waiter { session, principal, since }, out);
                Ok(())
            }
            (Held::No | Held::By(_), Input::Pass) => {
                self.wake(out);
                Ok(())
            }
        }
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        self.runs.len() * size_of::<(RunId, PrincipalId)>()
            + self.counts.len() * size_of::<(PrincipalId, u32)>()
            + self.waiters.len() * size_of::<Waiter>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match (self.runs.is_empty(), self.taken() >= self.limits.server_runs_max) {
            (true, _) => "free",
            (false, false) => "taken",
            (false, true) => "full",
        }
    }
}

impl Slots {
    fn held(&self, input: Input) -> Held {
        match input {
            Input::Acquire { run_id, .. } | Input::Release { run_id } => {
                self.runs.get(&run_id).map_or(Held::No, |principal| Held::By(*principal))
            }
            Input::Wait { .. } | Input::Pass => Held::No,
        }
    }

    fn acquire(&mut self, ask: AskId, principal: PrincipalId, run_id: RunId) -> Output {
        // The principal's own bound comes first: its user can do something about it.
        if self.taken_by(principal) >= self.limits.principal_runs_max {
            return refused(ask, SlotLimit::Principal, self.limits.principal_runs_max);
        }
        if self.taken() >= self.limits.server_runs_max {
            return refused(ask, SlotLimit::Server, self.limits.server_runs_max);
        }
        self.runs.insert(run_id, principal);
        *self.counts.entry(principal).or_default() += 1;
        Output::Granted { ask, run_id }
    }

    fn has_room_for(&self, principal: PrincipalId) -> bool {
        self.taken_by(principal) < self.limits.principal_runs_max
            && self.taken() < self.limits.server_runs_max
    }

    /// A session that could start at once is woken at once: its slot was freed meanwhile.
    fn wait(&mut self, waiter: Waiter, out: &mut Outbox<Output>) {
        let Waiter { session, principal, since } = waiter;
        self.waiters.retain(|known| known.session != session);
        if self.has_room_for(principal) {
            out.push(Output::Woken { session });
        } else if self.waiters.len() == WAITERS_MAX {
            out.push(Output::NotWaiting { session });
        } else {
            let place = self.waiters.partition_point(|known| known.since <= since);
            self.waiters.insert(place, waiter);
        }
    }

    /// Wakes the oldest session that could start now.
    fn wake(&mut self, out: &mut Outbox<Output>) {
        let oldest = self.waiters.iter().position(|known| self.has_room_for(known.principal));
        if let Some(place) = oldest {
            let Waiter { session, .. } = self.waiters.remove(place);
            out.push(Output::Woken { session });
        }
    }

    fn release(&mut self, principal: PrincipalId, run_id: RunId) {
        self.runs.remove(&run_id);
        let left = self.taken_by(principal).saturating_sub(1);
        if left == 0 {
            self.counts.remove(&principal);
        } else {
            self.counts.insert(principal, left);
        }
    }
}

const fn refused(ask: AskId, limit: SlotLimit, max: u32) -> Output {
    Output::Refused { ask, limit, max, retry_after_ms: SLOT_RETRY_AFTER_MS }
}
