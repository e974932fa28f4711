//! Steers: hints of clients for an agent that works.

use runwarden_protocol::ids::{AskId, PayloadId, PayloadRef, RunId, SteerId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{RowEvent, SteerFate};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{Input, Offered, SteerAnswer};
use runwarden_protocol::run::steer::SettledSteer;
use smallvec::SmallVec;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::Fault;
use super::runs::Due;
use super::take::{Cause, id};
use super::{Broken, World};

/// Who gives steer n asks by this number and n.
const STEER_ASKS: u64 = 30_000;

/// Bodies of rows about steers have numbers from this on.
const PAYLOADS: u64 = 500_000;

/// Steers and whoever waits for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SteerModels {
    steers: SmallVec<[SteerModel; 1]>,
    listener: Option<Listener>,
    /// A worker that drains once more, behind its run.
    drained: Option<u8>,
}

/// One steer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SteerModel {
    run: u8,
    state: Given,
    /// Whether an agent took it while its run was not stopped.
    is_read: bool,
    /// Whether the row of its acceptance is durable.
    is_stored: bool,
    /// The fate whose row is durable.
    fate: Option<SteerFate>,
}

/// How far a steer got, as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Given {
    Waiting,
    Accepted,
    Refused,
    Lost,
}

/// Who waits for the next steer, and as which run he asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Listener {
    run: u8,
    asked_as: u8,
    handed: Option<u8>,
}

/// Rows about steers in one write, one bit for each steer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SteerRows {
    accepted: u8,
    consumed: u8,
    returned: u8,
}

impl SteerRows {
    pub(super) fn of_rows(rows: &[RowRef]) -> Self {
        let mut of = Self::default();
        for row in rows {
            match row.event {
                RowEvent::SteerAccepted { steer_id } => of.accepted |= bit(steer_id),
                RowEvent::SteerSettled { steer_id, fate } => of.settle(steer_id, fate),
                RowEvent::Content { .. }
                | RowEvent::QuestionAsked { .. }
                | RowEvent::QuestionResolved { .. }
                | RowEvent::Terminal { .. } => {}
            }
        }
        of
    }

    pub(super) fn of_settled(steers: &[SettledSteer]) -> Self {
        let mut of = Self::default();
        for steer in steers {
            of.settle(steer.steer_id, steer.fate);
        }
        of
    }

    /// Rows that settle a steer.
    pub(super) fn settled(self) -> u8 {
        (self.consumed.count_ones() + self.returned.count_ones()) as u8
    }

    fn settle(&mut self, steer_id: SteerId, fate: SteerFate) {
        match fate {
            SteerFate::Consumed => self.consumed |= bit(steer_id),
            SteerFate::Returned => self.returned |= bit(steer_id),
        }
    }
}

impl<G: Guards> World<G> {
    pub(super) fn steer_choices(&self, choices: &mut Vec<Choice>) {
        if !self.conditions.steers {
            return;
        }
        if self.steering.listener.is_some_and(|listener| listener.handed.is_some()) {
            choices.push(Choice::ReadSteer);
        }
        for (run, model) in self.numbered() {
            if self.budget.clients > 0 && model.has_run() && self.lineage.holds(id(run)) {
                choices.push(Choice::Steer(run));
            }
            if model.is_invoked() && self.steering.listener.is_none() {
                choices.push(Choice::WantSteer(run));
            }
            let is_late = model.stopped_at.is_some() && model.due == Due::Exit;
            if self.conditions.workers_stall && is_late && self.steering.drained.is_none() {
                choices.push(Choice::Drain(run));
            }
        }
    }

    pub(super) fn steer(&mut self, run: u8) -> Result<(), Broken> {
        self.budget.clients -= 1;
        let steer =
            SteerModel { run, state: Given::Waiting, is_read: false, is_stored: false, fate: None };
        self.steering.steers.push(steer);
        let number = self.steering.steers.len() as u64;
        let (ask, steer_id) = (AskId::new(STEER_ASKS + number), SteerId::new(number));
        let row = row(2 * number, RowEvent::SteerAccepted { steer_id });
        let offered = Offered { ask, run_id: id(run), steer_id, row, is_supported: true };
        self.feed(Cause::Nobody, Input::Steer(offered))?;
        let state = self.steering.steers[self.steering.steers.len() - 1].state;
        let phase = self.lineage.row().filter(|row| row.run_id == id(run)).map(|row| row.phase);
        let rule = if phase == Some(Phase::Finalizing) { "STR-03" } else { "STR-01" };
        ensure(state == Given::Refused || phase == Some(Phase::Running), rule, || {
            format!("run {run} takes a steer in phase {phase:?}")
        })?;
        let falls_back = self.conditions.fault == Some(Fault::FallsBackToStop);
        let may_stop = self.budget.stops > 0 && self.run(run).stopped_at.is_none();
        if falls_back && state == Given::Refused && may_stop {
            self.stop(run)?;
            ensure(self.run(run).stops_waiting == 0, "STR-02", || {
                format!("a steer of run {run} is refused, and the run is stopped for it")
            })?;
        }
        Ok(())
    }

    /// The agent of a run waits for a steer.
    pub(super) fn want_steer(&mut self, run: u8) -> Result<(), Broken> {
        self.listen(run, run)
    }

    /// A worker that was left behind looks for steers once more (STR-05).
    pub(super) fn drain(&mut self, run: u8) -> Result<(), Broken> {
        self.steering.drained = Some(run);
        let by_agent = self.conditions.fault == Some(Fault::DrainsByAgent);
        let called = self.numbered().find(|(_, model)| model.is_invoked()).map(|(run, _)| run);
        let asked_as = called.filter(|_| by_agent).unwrap_or(run);
        if asked_as != run {
            return self.listen(run, asked_as);
        }
        let is_held = self.lineage.holds(id(run));
        let wanted = Input::SteerWanted { run_id: id(run) };
        if is_held { self.feed(Cause::Port(run), wanted) } else { Ok(()) }
    }

    pub(super) fn read_steer(&mut self) -> Result<(), Broken> {
        let Some(Listener { run, handed: Some(steer), .. }) = self.steering.listener.take() else {
            return Ok(());
        };
        let is_stopped = self.run(run).stopped_at.is_some();
        self.steering.steers[usize::from(steer) - 1].is_read = !is_stopped;
        let steer_id = SteerId::new(u64::from(steer));
        let event = RowEvent::SteerSettled { steer_id, fate: SteerFate::Consumed };
        // The agent has begun, and no other one may.
        self.run(run).produced += 1;
        let row = row(2 * u64::from(steer) + 1, event);
        self.feed(Cause::Port(run), Input::SteerRead { run_id: id(run), row })
    }

    pub(super) fn steer_handed(&mut self, run: u8, steer_id: SteerId) -> Result<(), Broken> {
        let number = number(steer_id);
        let of = self.steering.steers[usize::from(number) - 1].run;
        let taker = self.steering.listener.as_mut();
        let by = taker.map(|listener| {
            listener.handed = Some(number);
            listener.run
        });
        ensure(of == run && by == Some(run), "STR-05", || {
            format!("a steer of run {of} is handed to run {run}, and {by:?} takes it")
        })
    }

    pub(super) fn steer_answered(&mut self, ask: AskId, answer: SteerAnswer) -> Result<(), Broken> {
        let index = usize::try_from(ask.number() - STEER_ASKS).expect("steers are few") - 1;
        let steer = &mut self.steering.steers[index];
        let given = match answer {
            SteerAnswer::Accepted { .. } => Given::Accepted,
            SteerAnswer::Refused { .. } => Given::Refused,
        };
        if steer.state == Given::Waiting {
            steer.state = given;
        }
        let is_true = steer.is_stored == (given == Given::Accepted);
        let rule = if given == Given::Accepted { "DI-5" } else { "STR-02" };
        ensure(is_true, rule, || format!("steer {} is answered {answer:?}", index + 1))
    }

    /// Rows of a run about steers became durable.
    pub(super) fn store_steers(&mut self, run: u8, rows: SteerRows) -> Result<(), Broken> {
        for (n, steer) in self.steering.steers.iter_mut().enumerate() {
            let has = |bits: u8| bits & (1 << n) != 0;
            steer.is_stored |= has(rows.accepted);
            for (is_there, fate) in [
                (has(rows.consumed), SteerFate::Consumed),
                (has(rows.returned), SteerFate::Returned),
            ] {
                if !is_there {
                    continue;
                }
                let is_first = steer.is_stored && steer.fate.is_none() && steer.run == run;
                ensure(is_first, "STR-04", || {
                    format!("steer {} is {fate:?} by run {run}: {steer:?}", n + 1)
                })?;
                ensure(steer.is_read == (fate == SteerFate::Consumed), "INV-STEER", || {
                    format!("steer {} is {fate:?}, and was read: {}", n + 1, steer.is_read)
                })?;
                steer.fate = Some(fate);
            }
        }
        Ok(())
    }

    /// The terminal lists what it gives back (STR-07).
    pub(super) fn check_returned(&self, run: u8, listed: &[SettledSteer]) -> Result<(), Broken> {
        for (n, steer) in (1_u8..).zip(&self.steering.steers) {
            let is_due = steer.run == run && steer.fate == Some(SteerFate::Returned);
            let is_listed = listed
                .iter()
                .any(|listed| number(listed.steer_id) == n && listed.fate == SteerFate::Returned);
            ensure(is_due == is_listed, "STR-07", || {
                format!("steer {n} is {:?}, listed as returned: {is_listed}", steer.fate)
            })?;
        }
        Ok(())
    }

    pub(super) fn check_steers_over(&self) -> Result<(), Broken> {
        for (n, steer) in (1_u8..).zip(&self.steering.steers) {
            ensure(steer.state != Given::Waiting, "INV-LIVE", || {
                format!("steer {n} is never answered")
            })?;
            let has_ended = self.store.run(steer.run).terminal.is_some();
            let is_lost = has_ended && steer.is_stored && steer.fate.is_none();
            ensure(!is_lost, "STR-04", || {
                format!("steer {n} was accepted and is settled nowhere")
            })?;
        }
        Ok(())
    }

    /// What the journal of a run accepts and does not settle.
    pub(super) fn unsettled_steers(&self, run: u8) -> Vec<SteerId> {
        let steers = (1_u64..).zip(&self.steering.steers);
        let unsettled =
            steers.filter(|(_, steer)| steer.run == run && steer.is_stored && steer.fate.is_none());
        unsettled.map(|(n, _)| SteerId::new(n)).collect()
    }

    /// Whoever waited and works no more, waits no more.
    pub(super) fn drop_listener(&mut self) {
        let Some(listener) = self.steering.listener else { return };
        if !self.run(listener.asked_as).is_invoked() {
            self.steering.listener = None;
        }
    }

    pub(super) fn crash_steers(&mut self) {
        self.steering.listener = None;
        for steer in &mut self.steering.steers {
            if steer.state == Given::Waiting {
                steer.state = Given::Lost;
            }
            // What an agent did with it is gone too.
            steer.is_read &= steer.fate.is_some();
        }
    }

    fn listen(&mut self, run: u8, asked_as: u8) -> Result<(), Broken> {
        self.steering.listener = Some(Listener { run, asked_as, handed: None });
        self.feed(Cause::Port(run), Input::SteerWanted { run_id: RunId::new(u64::from(asked_as)) })
    }
}

fn row(payload: u64, event: RowEvent) -> RowRef {
    let payload = PayloadRef { id: PayloadId::new(PAYLOADS + payload), json_bytes: 1 };
    RowRef { event, payload, at: Instant::ZERO }
}

fn bit(steer_id: SteerId) -> u8 {
    1 << (number(steer_id) - 1)
}

fn number(steer_id: SteerId) -> u8 {
    u8::try_from(steer_id.number()).expect("steers are few")
}
