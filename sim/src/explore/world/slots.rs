//! The slots of running runs, of which the server has one, and two other sessions that want it too (LIM-03).

use runwarden_protocol::ids::{AskId, PrincipalId, RunId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::run::admission::SlotFact;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::StartAnswer;
use runwarden_protocol::run::queue::State;
use runwarden_protocol::run::slots::{Input, Output, SlotLimits, Slots};
use runwarden_protocol::wire::codes::Code;
use smallvec::SmallVec;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::{Conditions, Fault};
use super::take::id;
use super::{Broken, World};

const RUNS_MAX: u32 = 1;
const ASK: AskId = AskId::new(60_000);
const PRINCIPAL: PrincipalId = PrincipalId::new(1);
const EXPLORED: u8 = 1;
/// The other sessions; each has one run, of this number and its own.
const OTHERS: [u8; 2] = [2, 3];
const RUNS_OF_OTHERS: u64 = 200;
const RETRY_MS: u32 = 1_000;

/// The slots, and what the other sessions do with them.
#[derive(Clone, Debug, Hash)]
pub(super) struct SlotModel {
    slots: Slots,
    others: [Other; 2],
    /// When sessions began to want a slot; a count stands in place of a clock.
    begins: [Option<u8>; 3],
    begun: u8,
    /// Sessions that wait and were not woken, with the begin of their waiting.
    waiting: SmallVec<[(u8, u8); 3]>,
}

/// Another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Other {
    Idle,
    Waiting,
    Woken,
    Running,
    Over,
}

impl SlotModel {
    pub(super) fn new(conditions: Conditions) -> Option<Box<Self>> {
        conditions.slots.then(|| {
            let limits = SlotLimits { server_runs_max: RUNS_MAX, principal_runs_max: RUNS_MAX };
            Box::new(Self {
                slots: Slots::new(limits),
                others: [Other::Idle; 2],
                begins: [None; 3],
                begun: 0,
                waiting: SmallVec::new(),
            })
        })
    }

    fn step(&mut self, input: Input) -> Option<Output> {
        let mut out = Outbox::new();
        // A run that was never granted a slot gives none back.
        let _ = self.slots.step(Instant::ZERO, input, &mut out);
        out.drain().next()
    }

    fn is_busy(&self) -> bool {
        self.others.iter().any(|other| matches!(other, Other::Woken | Other::Running))
    }
}

impl<G: Guards> World<G> {
    pub(super) fn slot_choices(&self, choices: &mut Vec<Choice>) {
        let Some(model) = &self.slots else { return };
        for (session, other) in OTHERS.into_iter().zip(model.others) {
            match other {
                Other::Idle if self.budget.clients > 0 => choices.push(Choice::OtherStart(session)),
                Other::Woken => choices.push(Choice::OtherStart(session)),
                Other::Running => choices.push(Choice::OtherEnd(session)),
                Other::Idle | Other::Waiting | Other::Over => {}
            }
        }
    }

    pub(super) fn is_slot_busy(&self) -> bool {
        self.slots.as_ref().is_some_and(|model| model.is_busy())
    }

    /// What a start of the run brings along; without slots in the world it has one.
    pub(super) fn slot_of(&mut self, run: u8) -> SlotFact {
        match self.acquire(id(run), EXPLORED) {
            true => SlotFact::Granted,
            false => SlotFact::Refused { retry_after_ms: RETRY_MS },
        }
    }

    pub(super) fn release_slot(&mut self, run_id: RunId) -> Result<(), Broken> {
        self.tell_slots(Input::Release { run_id })
    }

    /// What the driver does with the answer to a start (LIM-03).
    pub(super) fn slot_told(&mut self, run: u8, answer: StartAnswer) -> Result<(), Broken> {
        if self.slots.is_none() {
            return Ok(());
        }
        let is_head = self.runs[usize::from(run) - 1].turn != run;
        let is_free = self.lineage.queue().state() == State::Waiting
            && self.lineage.may_start(self.now).is_ok();
        match answer {
            StartAnswer::Refused(refusal) if is_head && refusal.code == Code::ServerBusy => {
                self.await_slot(EXPLORED)
            }
            StartAnswer::Queued { .. } if is_free => self.await_slot(EXPLORED),
            StartAnswer::Started { .. }
            | StartAnswer::Queued { .. }
            | StartAnswer::Unstored
            | StartAnswer::Repeated
            | StartAnswer::Refused(_) => Ok(()),
        }
    }

    /// A session that was woken and starts nothing passes the slot on.
    pub(super) fn pass_slot(&mut self) -> Result<(), Broken> {
        if self.slots.is_none() || self.queue.head_due.is_some() {
            return Ok(());
        }
        self.forget_begin(EXPLORED);
        self.tell_slots(Input::Pass)
    }

    pub(super) fn other_start(&mut self, session: u8) -> Result<(), Broken> {
        if self.other(session) == Other::Idle {
            self.budget.clients -= 1;
        }
        let run_id = RunId::new(RUNS_OF_OTHERS + u64::from(session));
        if self.acquire(run_id, session) {
            self.set_other(session, Other::Running);
            return Ok(());
        }
        self.set_other(session, Other::Waiting);
        self.await_slot(session)
    }

    pub(super) fn other_end(&mut self, session: u8) -> Result<(), Broken> {
        self.set_other(session, Other::Over);
        self.release_slot(RunId::new(RUNS_OF_OTHERS + u64::from(session)))
    }

    /// Memory is gone, and the other sessions with it.
    pub(super) fn crash_slots(&mut self) {
        if self.slots.is_some() {
            self.slots = SlotModel::new(self.conditions);
        }
        if let Some(model) = &mut self.slots {
            model.others = [Other::Over; 2];
        }
    }

    pub(super) fn check_slots(&self) -> Result<(), Broken> {
        let Some(model) = &self.slots else { return Ok(()) };
        let running = model.others.iter().filter(|other| **other == Other::Running).count();
        let rows = running + usize::from(self.lineage.row().is_some());
        ensure(rows <= RUNS_MAX as usize, "LIM-03", || {
            format!("{rows} runs have a row, {RUNS_MAX} may")
        })
    }

    /// When nothing happens any more a free slot is wanted by nobody.
    pub(super) fn check_slots_over(&self) -> Result<(), Broken> {
        let Some(model) = &self.slots else { return Ok(()) };
        let is_waiting = model.others.contains(&Other::Waiting)
            || (!self.store.queue.is_empty() && self.lineage.queue().held().is_none());
        ensure(!is_waiting || model.slots.taken() >= RUNS_MAX, "LIM-03", || {
            format!("a slot is free, and {:?} wait for one", model.waiting)
        })
    }

    fn acquire(&mut self, run_id: RunId, session: u8) -> bool {
        let fault = self.conditions.fault;
        let Some(model) = &mut self.slots else { return true };
        let acquire = Input::Acquire { ask: ASK, principal: PRINCIPAL, run_id };
        let is_granted = matches!(model.step(acquire), Some(Output::Granted { .. }));
        if is_granted {
            self.forget_begin(session);
        }
        is_granted || fault == Some(Fault::SlotsUncounted)
    }

    fn await_slot(&mut self, session: u8) -> Result<(), Broken> {
        let Some(model) = &mut self.slots else { return Ok(()) };
        let begin = model.begins[usize::from(session) - 1].unwrap_or_else(|| {
            model.begun += 1;
            model.begun
        });
        model.begins[usize::from(session) - 1] = Some(begin);
        model.waiting.retain(|(waiting, _)| *waiting != session);
        model.waiting.push((session, begin));
        let since = Instant::from_micros(u64::from(begin));
        let session = SessionId::new(u64::from(session));
        self.tell_slots(Input::Wait { session, principal: PRINCIPAL, since })
    }

    fn tell_slots(&mut self, input: Input) -> Result<(), Broken> {
        let fault = self.conditions.fault;
        let Some(model) = &mut self.slots else { return Ok(()) };
        let is_release = matches!(input, Input::Release { .. });
        let Some(Output::Woken { session }) = model.step(input) else { return Ok(()) };
        if is_release && fault == Some(Fault::FreedSlotWakesNobody) {
            return Ok(());
        }
        let session = u8::try_from(session.number()).expect("sessions are few");
        let oldest = model.waiting.iter().min_by_key(|(_, begin)| *begin);
        let oldest = oldest.map(|(waiting, _)| *waiting);
        ensure(oldest == Some(session), "LIM-03", || {
            format!("session {session} is woken, {oldest:?} waits longer")
        })?;
        model.waiting.retain(|(waiting, _)| *waiting != session);
        if session == EXPLORED {
            self.slot_is_free();
        } else {
            self.set_other(session, Other::Woken);
        }
        Ok(())
    }

    fn forget_begin(&mut self, session: u8) {
        if let Some(model) = &mut self.slots {
            model.begins[usize::from(session) - 1] = None;
        }
    }

    fn other(&self, session: u8) -> Other {
        self.slots.as_ref().map_or(Other::Over, |model| model.others[usize::from(session) - 2])
    }

    fn set_other(&mut self, session: u8, other: Other) {
        if let Some(model) = &mut self.slots {
            model.others[usize::from(session) - 2] = other;
        }
    }
}
