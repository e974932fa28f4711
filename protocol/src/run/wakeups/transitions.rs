use super::state::{
    Answer, Change, Claim, Input, Output, WAKEUP_MEMORY, WAKEUPS_MAX, Wakeups, Written,
};
use crate::ids::{AskId, RunId, WakeupId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::guards::Guards;
use crate::wire::codes::Code;

impl<G: Guards> Machine for Wakeups<G> {
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
        match (self.claim, input) {
            (Claim::None, Input::Offered { ask, wakeup, by }) => self.offered(ask, wakeup, by, out),
            // What a turn asks for needs no commit of its own.
            (Claim::Asked { .. } | Claim::Reserved { .. }, Input::Offered { ask, wakeup, by })
                if by.is_some_and(|run_id| self.is_of(run_id)) =>
            {
                self.offered(ask, wakeup, by, out)
            }
            (Claim::None, Input::CountAsked) => self.write_count(out),
            (Claim::None, Input::Saved) => self.saved(out),
            (Claim::None, Input::SaveFailed) => self.save_failed(out),
            (
                Claim::Asked { .. } | Claim::Reserved { .. },
                Input::Offered { .. } | Input::CountAsked | Input::Saved | Input::SaveFailed,
            ) => Err(Reject::Local("wakeup_starting")),
            (Claim::None, Input::Triggered) => self.triggered(out),
            // The attempt is under way (STR-12).
            (Claim::Asked { .. } | Claim::Reserved { .. }, Input::Triggered) => Ok(()),
            (Claim::Asked { wakeup }, Input::Reserved { run_id }) => {
                self.claim = Claim::Reserved { wakeup, run_id };
                Ok(())
            }
            (Claim::Reserved { wakeup, run_id }, Input::Accepted) => {
                self.waiting.retain(|waits| *waits != wakeup);
                self.running = Some((wakeup, run_id));
                self.claim = Claim::None;
                Ok(())
            }
            (Claim::Asked { .. } | Claim::Reserved { .. }, Input::Refused { code }) => {
                self.refused(code);
                Ok(())
            }
            (Claim::None, Input::Returned) => self.returned(),
            (
                Claim::None | Claim::Asked { .. } | Claim::Reserved { .. },
                Input::Settled { run_id, outcome },
            ) => {
                self.settled(run_id, outcome, out);
                Ok(())
            }
            (Claim::None | Claim::Asked { .. } | Claim::Reserved { .. }, Input::UserAccepted) => {
                self.failures = 0;
                self.is_count_unsaved = false;
                Ok(())
            }
            (Claim::None, Input::Reserved { .. } | Input::Accepted | Input::Refused { .. })
            | (Claim::Asked { .. }, Input::Accepted | Input::Returned)
            | (Claim::Reserved { .. }, Input::Reserved { .. } | Input::Returned) => {
                Err(Reject::Local("wakeup_not_starting"))
            }
        }
    }

    fn tick(&mut self, _now: Instant, _out: &mut Outbox<Output>) {}

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        None
    }

    fn weight(&self) -> usize {
        let ids = (self.waiting.len() + self.known.len()) * size_of::<WakeupId>();
        let adds = self.asked.len() * size_of::<(AskId, WakeupId)>();
        size_of::<Self>() + ids + adds
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        match self.claim {
            Claim::Asked { .. } => "claiming",
            Claim::Reserved { .. } => "reserved",
            Claim::None if self.running.is_some() => "running",
            Claim::None if self.is_paused() => "paused",
            Claim::None if self.waiting.is_empty() => "empty",
            Claim::None => "waiting",
        }
    }
}

impl<G: Guards> Wakeups<G> {
    fn offered(
        &mut self,
        ask: AskId,
        wakeup: WakeupId,
        by: Option<RunId>,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        let is_by_turn = by.is_some_and(|run_id| self.is_of(run_id));
        if self.writing.is_some() && !is_by_turn {
            return Err(Reject::Local("change_unanswered"));
        }
        if self.is_known(wakeup) {
            out.push(Output::Answered { asks: vec![ask], answer: Answer::Known });
        } else if self.is_full() {
            out.push(Output::Answered { asks: vec![ask], answer: Answer::Full });
        } else if is_by_turn {
            self.asked.push((ask, wakeup));
        } else {
            self.write(Change::Append { ask, wakeup }, out);
        }
        Ok(())
    }

    fn write_count(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if self.writing.is_some() || !self.is_count_unsaved {
            return Err(Reject::Local("no_count_to_save"));
        }
        self.write(Change::Count, out);
        Ok(())
    }

    /// Every commit of wakeups holds the count.
    fn write(&mut self, change: Change, out: &mut Outbox<Output>) {
        self.is_count_unsaved = false;
        self.writing = Some(change.clone());
        out.push(Output::Write { written: Written { change, failures: self.failures } });
    }

    fn saved(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match self.writing.take().ok_or(Reject::Local("no_change_unanswered"))? {
            Change::Append { ask, wakeup } => {
                self.waiting.push(wakeup);
                self.remember(wakeup);
                out.push(Output::Answered { asks: vec![ask], answer: Answer::Stored });
            }
            Change::Claim { .. }
            | Change::Return { .. }
            | Change::Settle { .. }
            | Change::Count => {}
        }
        Ok(())
    }

    /// A count that was not stored goes with the next commit.
    fn save_failed(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match self.writing.take().ok_or(Reject::Local("no_change_unanswered"))? {
            Change::Append { ask, .. } => {
                out.push(Output::Answered { asks: vec![ask], answer: Answer::Failed });
            }
            Change::Claim { .. }
            | Change::Return { .. }
            | Change::Settle { .. }
            | Change::Count => {}
        }
        Ok(())
    }

    fn triggered(&mut self, out: &mut Outbox<Output>) -> Result<(), Reject> {
        if self.writing.is_some() {
            return Err(Reject::Local("change_unanswered"));
        }
        if self.has_next() {
            let wakeup = self.waiting[0];
            self.claim = Claim::Asked { wakeup };
            out.push(Output::Start { wakeup });
        }
        Ok(())
    }

    fn refused(&mut self, code: Code) {
        self.claim = Claim::None;
        if G::counts_refused_wakeup(code) {
            self.failures = self.failed();
            self.is_count_unsaved = true;
        }
    }

    fn returned(&mut self) -> Result<(), Reject> {
        let (wakeup, _) = self.running.ok_or(Reject::Local("no_wakeup_running"))?;
        if self.waiting.len() >= WAKEUPS_MAX {
            return Err(Reject::Local("wakeup_cannot_return"));
        }
        self.running = None;
        self.waiting.insert(0, wakeup);
        self.failures = self.failed();
        self.is_count_unsaved = false;
        Ok(())
    }

    fn settled(&mut self, run_id: RunId, outcome: Outcome, out: &mut Outbox<Output>) {
        if !self.is_of(run_id) {
            return;
        }
        let kept = self.kept(outcome);
        self.failures = self.failures_after(outcome);
        self.running = None;
        self.is_count_unsaved = false;
        let asks: Vec<_> =
            std::mem::take(&mut self.asked).into_iter().map(|(ask, _)| ask).collect();
        if asks.is_empty() {
            return;
        }
        let answer = if kept.is_empty() { Answer::Dropped } else { Answer::Stored };
        for wakeup in kept {
            self.waiting.push(wakeup);
            self.remember(wakeup);
        }
        out.push(Output::Answered { asks, answer });
    }

    fn is_known(&self, wakeup: WakeupId) -> bool {
        self.known.contains(&wakeup)
            || self.waiting.contains(&wakeup)
            || self.asked.iter().any(|(_, asked)| *asked == wakeup)
    }

    fn is_full(&self) -> bool {
        let is_writing = usize::from(self.writing.is_some());
        self.waiting.len() + self.asked.len() + is_writing >= WAKEUPS_MAX
    }

    fn remember(&mut self, wakeup: WakeupId) {
        self.known.push_back(wakeup);
        if self.known.len() > WAKEUP_MEMORY {
            self.known.pop_front();
        }
    }
}
