//! Wakeups: producers that ask for turns, their part of the store, and the drain that starts them.

use runwarden_protocol::ids::{AskId, Revision, RunId, SessionId, TurnId, WakeupId};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::admission::{SlotFact, StartFacts};
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{Input, Start};
use runwarden_protocol::run::wakeups::{
    Answer, Change, WAKEUP_FAILURES_MAX, Wakeups, Written as WakeupsWritten,
};
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::dispatch::{PortAnswer, WakeupCall};
use smallvec::SmallVec;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::Fault;
use super::runs::{Due, RunModel};
use super::store::{Call, CallKind, SESSION};
use super::take::{Cause, FACTS, id};
use super::{Broken, World};

/// The producer of wakeup n waits by this number and n.
const WAKE_ASKS: u64 = 30_000;

/// The session of this world, and another one.
const HERE: SessionId = SessionId::new(1);
const ELSEWHERE: SessionId = SessionId::new(2);

/// Retry hint of a refused slot.
const RETRY_MS: u32 = 1_000;

/// The wakeup whose producer asks once more.
const REPEATED: u8 = 1;

type Numbers = SmallVec<[u8; 8]>;

/// Wakeups outside the machine, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WakeupModel {
    /// What the store holds.
    waiting: Numbers,
    known: Numbers,
    failures: u8,
    /// The wakeup of the pending turn, and its run.
    running: Option<(u8, u8)>,
    /// What the commit without answer writes.
    in_flight: Option<WakeupsWritten>,
    /// The wakeup whose start the machine asked for.
    start_due: Option<u8>,
    /// Whether the machine will be told of a freed slot.
    slot_due: bool,
    /// Whether something happened that is good for one attempt (STR-12).
    is_triggered: bool,
    /// Whether the last start was refused for good: the next trigger is awaited.
    is_refused: bool,
    /// Number of the last one that was asked for.
    last: u8,
    /// Those that were made for another session.
    elsewhere: Numbers,
    /// Those whose producers were told that they are stored, or known.
    confirmed: Numbers,
    /// Producers without answer.
    asks_waiting: u8,
    /// Runs of wakeups: run and wakeup.
    turns: SmallVec<[(u8, u8); 8]>,
    /// Failed turns in a row, as whoever watches counts them.
    failed: u8,
}

impl WakeupModel {
    fn turn_of(&self, run: u8) -> Option<u8> {
        self.turns.iter().find(|(turn, _)| *turn == run).map(|(_, wakeup)| *wakeup)
    }
}

impl<G: Guards> World<G> {
    pub(super) fn wakeup_choices(&self, choices: &mut Vec<Choice>) {
        let Some(model) = &self.wakeups else { return };
        if model.start_due.is_some() {
            choices.push(Choice::StartWakeup);
        }
        if model.slot_due {
            choices.push(Choice::FreeSlot);
        }
        if self.budget.events == 0 {
            return;
        }
        choices.push(Choice::Wake);
        choices.push(Choice::WakeElsewhere);
        if model.known.contains(&REPEATED) {
            choices.push(Choice::WakeAgain);
        }
        for (run, worker) in self.numbered() {
            if matches!(worker.due, Due::Call { .. }) {
                choices.push(Choice::WakeBy(run));
            }
        }
    }

    pub(super) fn wakeup_faults(&self, choices: &mut Vec<Choice>) {
        if self.wakeups.as_ref().is_some_and(|model| model.start_due.is_some()) {
            choices.push(Choice::StartWakeupBusy);
            choices.push(Choice::StartWakeupStale);
        }
    }

    pub(super) fn is_draining_wakeups(&self) -> bool {
        let is_due = |model: &WakeupModel| model.start_due.is_some() || model.slot_due;
        self.wakeups.as_ref().is_some_and(|model| is_due(model))
    }

    pub(super) fn wakeup_due(&self) -> u8 {
        self.wakeups.as_ref().and_then(|model| model.start_due).unwrap_or_default()
    }

    /// So many turns of wakeups in a row have failed, as the store knows.
    pub(super) fn fail_wakeup_turns(&mut self, turns: u8) {
        let model = self.wakeup_model();
        (model.failures, model.failed) = (turns, turns);
    }

    /// The number of the wakeup that a producer asks for next.
    pub(super) fn next_wakeup(&self) -> u8 {
        self.wakeups.as_ref().map_or(0, |model| model.last) + 1
    }

    /// A producer asks for a turn, of this session or of another one, or from within a run.
    pub(super) fn wake(&mut self, session_id: SessionId, by: Option<u8>) -> Result<(), Broken> {
        let wakeup = self.next_wakeup();
        let model = self.wakeup_model();
        model.last = wakeup;
        if session_id != HERE {
            model.elsewhere.push(wakeup);
        }
        self.ask_wakeup(wakeup, session_id, by)
    }

    pub(super) fn wake_here(&mut self, by: Option<u8>) -> Result<(), Broken> {
        self.wake(HERE, by)
    }

    pub(super) fn wake_elsewhere(&mut self) -> Result<(), Broken> {
        self.wake(ELSEWHERE, None)
    }

    /// A producer that was not answered in time asks for the same turn once more.
    pub(super) fn wake_again(&mut self) -> Result<(), Broken> {
        self.ask_wakeup(REPEATED, HERE, None)
    }

    fn ask_wakeup(
        &mut self,
        wakeup: u8,
        session_id: SessionId,
        by: Option<u8>,
    ) -> Result<(), Broken> {
        self.budget.events -= 1;
        self.wakeup_model().asks_waiting += 1;
        let (ask, by) = (AskId::new(WAKE_ASKS + u64::from(wakeup)), by.map(id));
        let wakeup = WakeupId::new(u64::from(wakeup));
        self.feed(Cause::Nobody, Input::Wake { ask, wakeup, session_id, by })
    }

    pub(super) fn wakeup_call(&mut self, call: WakeupCall) -> Result<(), Broken> {
        match call {
            WakeupCall::Change { written, expected, .. } => {
                self.note_wakeups(Some(written));
                let kind = CallKind::Wakeups { expected };
                self.store.calls.push(Call { run: SESSION, kind });
                Ok(())
            }
            WakeupCall::Start { wakeup } => self.wakeup_wanted(number(wakeup)),
            WakeupCall::Answer { asks, answer } => {
                asks.into_iter().try_for_each(|ask| self.wakeup_answered(ask, answer))
            }
        }
    }

    /// What the commit that was just issued writes here: there is one at a time.
    pub(super) fn note_wakeups(&mut self, written: Option<WakeupsWritten>) {
        if let Some(model) = &mut self.wakeups {
            model.in_flight = written;
        }
    }

    /// The commit without answer was written, or was not.
    pub(super) fn write_wakeups(&mut self, call: Call, is_written: bool) -> Result<(), Broken> {
        let Some(model) = &mut self.wakeups else { return Ok(()) };
        let is_commit = matches!(
            call.kind,
            CallKind::Admit { .. }
                | CallKind::Compensate { .. }
                | CallKind::Settle { .. }
                | CallKind::Wakeups { .. }
        );
        let Some(written) = is_commit.then(|| model.in_flight.take()).flatten() else {
            return Ok(());
        };
        if is_written { self.apply_wakeups(call, written) } else { Ok(()) }
    }

    fn apply_wakeups(&mut self, call: Call, written: WakeupsWritten) -> Result<(), Broken> {
        let is_kept = self.conditions.fault == Some(Fault::ClaimedWakeupKept);
        let model = self.wakeup_model();
        model.failures = written.failures;
        match written.change {
            Change::Append { wakeup, .. } => {
                let wakeup = number(wakeup);
                model.waiting.push(wakeup);
                model.known.push(wakeup);
                let is_strange = model.elsewhere.contains(&wakeup);
                ensure(!is_strange, "STR-15", || {
                    format!("wakeup {wakeup} of another session is taken by this one")
                })
            }
            Change::Claim { wakeup } => {
                let wakeup = number(wakeup);
                model.running = Some((wakeup, call.run));
                if !is_kept {
                    model.waiting.retain(|waits| *waits != wakeup);
                }
                let turns = self.wakeup_turns(wakeup);
                ensure(turns == 1, "STR-14", || format!("wakeup {wakeup} has {turns} turns"))
            }
            Change::Return { wakeup } => {
                model.running = None;
                model.waiting.insert(0, number(wakeup));
                Ok(())
            }
            Change::Settle { adds } => {
                model.running = None;
                for wakeup in &adds {
                    model.waiting.push(number(*wakeup));
                    model.known.push(number(*wakeup));
                }
                let terminal = self.store.run(call.run).terminal;
                let is_completed = terminal == Some(Outcome::Completed);
                ensure(is_completed || adds.is_empty(), "STR-16", || {
                    format!("run {}, which ended {terminal:?}, leaves wakeups {adds:?}", call.run)
                })
            }
            Change::Count => Ok(()),
        }
    }

    /// Whoever watches counts the ends of wakeup turns; the turn of a user begins anew.
    pub(super) fn count_turn(&mut self, call: Call) {
        let run = call.run;
        let outcome = match call.kind {
            CallKind::Admit { .. } => None,
            CallKind::Settle { verdict, .. } => Some(verdict.outcome),
            _ => return,
        };
        let Some(model) = &mut self.wakeups else { return };
        match (model.turn_of(run), outcome) {
            (None, None) => model.failed = 0,
            (Some(_), Some(Outcome::Completed)) => model.failed = 0,
            (Some(_), Some(Outcome::Failed | Outcome::Interrupted)) => model.failed += 1,
            (Some(_), Some(Outcome::Cancelled | Outcome::Superseded) | None) | (None, Some(_)) => {}
        }
    }

    /// The start of a wakeup was refused: not where session or server was busy does it count (STR-13).
    pub(super) fn wakeup_refused(&mut self, run: u8, code: Code) -> Result<(), Broken> {
        let stored = self.store.run(run);
        let Some(model) = &mut self.wakeups else { return Ok(()) };
        let Some(wakeup) = model.turn_of(run) else { return Ok(()) };
        if stored.is_admitted && !stored.is_undone {
            // Its compensation failed: recovery settles it.
            return Ok(());
        }
        if !matches!(code, Code::SessionBusy | Code::ServerBusy) {
            model.failed += 1;
            model.is_refused = true;
        }
        let failed = model.failed.min(WAKEUP_FAILURES_MAX);
        let Some(wakeups) = self.lineage.wakeups() else { return Ok(()) };
        let is_first = wakeups.waiting().first() == Some(&WakeupId::new(u64::from(wakeup)));
        ensure(is_first && wakeups.failures() == failed, "STR-13", || {
            let counted = wakeups.failures();
            format!("wakeup {wakeup} was refused {code:?}: first {is_first}, {counted} failures")
        })
    }

    /// The drain starts the wakeup, whose agent and slot are there.
    pub(super) fn start_wakeup(&mut self) -> Result<(), Broken> {
        self.start_wakeup_with(FACTS)
    }

    /// The drain finds no slot (STR-13): the wakeup keeps its place, and a freed slot is a trigger.
    pub(super) fn start_wakeup_busy(&mut self) -> Result<(), Broken> {
        self.budget.drops -= 1;
        let slot = SlotFact::Refused { retry_after_ms: RETRY_MS };
        self.wakeup_model().slot_due = true;
        self.start_wakeup_with(StartFacts { slot, ..FACTS })
    }

    /// The agent is not configured any more: that is a failed turn (STR-13).
    pub(super) fn start_wakeup_stale(&mut self) -> Result<(), Broken> {
        self.budget.drops -= 1;
        self.start_wakeup_with(StartFacts { agent_available: false, ..FACTS })
    }

    fn start_wakeup_with(&mut self, facts: StartFacts) -> Result<(), Broken> {
        let run = self.last_run() + 1;
        let model = self.wakeup_model();
        let Some(wakeup) = model.start_due.take() else { return Ok(()) };
        model.turns.push((run, wakeup));
        // Nobody waits for it at a connection.
        self.runs.push(RunModel { turn: 0, ..RunModel::asked(run) });
        let facts = StartFacts { is_wakeup: true, ..facts };
        let number = u64::from(run);
        let (ask, run_id) = (AskId::new(number), RunId::new(number));
        let start = Start { ask, run_id, turn_id: TurnId::new(number), facts };
        self.answer(run, PortAnswer::WakeupAsked(start))
    }

    pub(super) fn wakeup_slot_freed(&mut self) {
        if let Some(model) = &mut self.wakeups {
            model.slot_due = false;
            model.is_triggered = true;
        }
    }

    /// An idle transition is good for one attempt.
    pub(super) fn wakeups_triggered(&mut self) {
        if let Some(model) = &mut self.wakeups {
            let is_append = |w: &WakeupsWritten| matches!(w.change, Change::Append { .. });
            let is_appending = model.in_flight.as_ref().is_some_and(is_append);
            model.is_triggered = !model.waiting.is_empty() || is_appending;
        }
    }

    /// A wakeup that is stored where a turn may start is good for one attempt of its own.
    pub(super) fn wakeups_written(&mut self, revision: Option<Revision>) {
        let may_start = self.lineage.may_start(self.now).is_ok();
        let model = self.wakeup_model();
        model.is_triggered |= revision.is_some() && may_start;
    }

    fn wakeup_wanted(&mut self, wakeup: u8) -> Result<(), Broken> {
        let model = self.wakeup_model();
        let (is_triggered, failed) = (model.is_triggered, model.failed);
        let is_first = model.waiting.first() == Some(&wakeup);
        ensure(is_triggered && model.start_due.is_none(), "STR-12", || {
            format!("wakeup {wakeup} is started by nothing that happened")
        })?;
        ensure(failed < WAKEUP_FAILURES_MAX, "STR-16", || {
            format!("wakeup {wakeup} is started behind {failed} failed turns in a row")
        })?;
        ensure(is_first, "STR-14", || {
            format!("wakeup {wakeup} is started, which is not the oldest that waits")
        })?;
        (model.is_triggered, model.is_refused) = (false, false);
        model.start_due = Some(wakeup);
        Ok(())
    }

    fn wakeup_answered(&mut self, ask: AskId, answer: Answer) -> Result<(), Broken> {
        let wakeup = u8::try_from(ask.number() - WAKE_ASKS).expect("wakeups are few");
        let model = self.wakeup_model();
        model.asks_waiting = model.asks_waiting.saturating_sub(1);
        let is_stored = model.known.contains(&wakeup);
        let is_new = !model.confirmed.contains(&wakeup);
        match answer {
            Answer::Stored | Answer::Known => {
                ensure(is_stored, "STR-14", || format!("wakeup {wakeup} is confirmed unstored"))?;
                let is_twice = answer == Answer::Stored && !is_new;
                if is_new {
                    model.confirmed.push(wakeup);
                }
                ensure(!is_twice, "STR-14", || format!("wakeup {wakeup} is taken twice"))
            }
            Answer::Full | Answer::Elsewhere | Answer::Dropped | Answer::Failed => Ok(()),
        }
    }

    /// What must hold of wakeups when nothing happens by itself.
    pub(super) fn check_wakeups_over(&self) -> Result<(), Broken> {
        let Some(model) = &self.wakeups else { return Ok(()) };
        ensure(model.asks_waiting == 0, "INV-LIVE", || {
            "the producer of a wakeup is never answered".to_owned()
        })?;
        for wakeup in &model.confirmed {
            let waits = usize::from(model.waiting.contains(wakeup));
            let turns = self.wakeup_turns(*wakeup);
            ensure(waits + turns == 1, "STR-14", || {
                format!("wakeup {wakeup} waits {waits} times and had {turns} turns")
            })?;
        }
        let held = self.lineage.wakeups().map_or(&[][..], |wakeups| wakeups.waiting());
        let held: Numbers = held.iter().map(|wakeup| number(*wakeup)).collect();
        ensure(held == model.waiting, "STR-14", || {
            format!("wakeups {:?} wait, and the session knows {held:?}", model.waiting)
        })?;
        let is_paused = model.failed >= WAKEUP_FAILURES_MAX;
        ensure(model.waiting.is_empty() || is_paused || model.is_refused, "STR-12", || {
            format!("wakeups {:?} wait, and nothing will start them", model.waiting)
        })
    }

    /// What is durable is found again, before recovery (STR-14).
    pub(super) fn find_wakeups(&mut self) {
        let fault = self.conditions.fault;
        let Some(model) = &mut self.wakeups else { return };
        model.in_flight = None;
        (model.start_due, model.slot_due, model.asks_waiting) = (None, false, 0);
        model.is_refused = false;
        model.failed = model.failures;
        let wakeup = |number: &u8| WakeupId::new(u64::from(*number));
        let is_forgotten = fault == Some(Fault::WakeupsForgotten);
        let is_identity_forgotten = fault == Some(Fault::IdentitiesForgotten);
        let waiting = model.waiting.iter().filter(|_| !is_forgotten).map(wakeup).collect();
        let known: Vec<_> =
            model.known.iter().filter(|_| !is_identity_forgotten).map(wakeup).collect();
        let failures = if fault == Some(Fault::PauseForgotten) { 0 } else { model.failures };
        let running = model.running.map(|(number, run)| (wakeup(&number), id(run)));
        let found = Wakeups::found(waiting, known, failures, running);
        self.lineage = self.lineage.clone().with_wakeups(found);
    }

    /// The start of the process is a trigger (STR-12).
    pub(super) fn trigger_wakeups(&mut self) -> Result<(), Broken> {
        let Some(model) = &mut self.wakeups else { return Ok(()) };
        model.is_triggered = true;
        self.feed(Cause::Nobody, Input::QueueTriggered)
    }

    /// Turns that this wakeup had, without those that were undone.
    fn wakeup_turns(&self, wakeup: u8) -> usize {
        let Some(model) = &self.wakeups else { return 0 };
        let is_turn = |run: u8| {
            let stored = self.store.run(run);
            stored.is_admitted && !stored.is_undone
        };
        model.turns.iter().filter(|(run, of)| *of == wakeup && is_turn(*run)).count()
    }

    fn wakeup_model(&mut self) -> &mut WakeupModel {
        self.wakeups.as_mut().expect("only a world with wakeups has them")
    }
}

fn number(wakeup: WakeupId) -> u8 {
    u8::try_from(wakeup.number()).expect("wakeups are few")
}
