//! Taking a choice: the world acts, the machine steps, its effects reach the ports.

use runwarden_protocol::ids::{
    AgentId, AskId, ItemId, MessageId, PayloadId, PayloadRef, RunId, Seq,
};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{ItemKind, RowEvent};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::machine::{Machine, Outbox, Reject};
use runwarden_protocol::record::TICK;
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{Input, KnownRun, Output, Start};
use runwarden_protocol::run::settlement::Failure;
use runwarden_protocol::run::worker::CallResult;
use runwarden_runtime::dispatch::{PortAnswer, fact, port_call};
use serde::Serialize;

use super::choices::Choice;
use super::runs::{AgentModel, Due, RunModel};
use super::store::{CallKind, Written};
use super::{Broken, World, session};

/// Bodies of one run have numbers from this times the run's number on.
const PAYLOADS_PER_RUN: u64 = 1_000;

/// A start that only the session's state can refuse.
const FACTS: StartFacts = StartFacts {
    key: KeyFact::Unused,
    agent_available: true,
    attachment_unknown: false,
    storage_low: false,
    slot: SlotFact::Granted,
};

impl<G: Guards> World<G> {
    /// Takes a choice that [`World::choices`] offers.
    ///
    /// # Errors
    /// The first rule that is broken in this step.
    pub fn take(&mut self, choice: Choice) -> Result<(), Broken> {
        match choice {
            Choice::Start => self.start()?,
            Choice::Stop(run) => self.stop(run)?,
            Choice::Drop(run) => self.run(run).lose_connection(),
            Choice::Store { call, is_written } => self.answer_call(call, is_written)?,
            Choice::Work(run) => self.work(run)?,
            Choice::FailWork(run) => self.fail_work(run)?,
            Choice::LoseWorker(run) => {
                self.budget.drops -= 1;
                self.run(run).due = Due::Nothing;
                self.answer(run, PortAnswer::Exited(id(run)))?;
            }
            Choice::LoseAgent(run) => {
                self.budget.drops -= 1;
                self.give_back(run, CallResult::Lost)?;
            }
            Choice::Emit(run) => self.emit(run)?,
            Choice::Complete(run) => self.give_back(run, CallResult::Completed)?,
            Choice::Fail(run) => {
                let failure = Failure { retryable: true };
                self.give_back(run, CallResult::Failed { failure })?;
            }
            Choice::Fire => self.fire()?,
            Choice::Crash(written) => self.crash(written)?,
        }
        if choice == Choice::Fire {
            self.check_bound()?;
        }
        if matches!(choice, Choice::Drop(_)) {
            self.budget.drops -= 1;
        }
        self.check_quiet()
    }

    fn start(&mut self) -> Result<(), Broken> {
        self.budget.clients -= 1;
        self.runs.push(RunModel::asked());
        let number = self.runs.len() as u64;
        let (ask, run_id) = (AskId::new(number), RunId::new(number));
        let turn_id = MessageId::new(number);
        self.feed(Cause::Nobody, Input::Start(Start { ask, run_id, turn_id, facts: FACTS }))
    }

    fn stop(&mut self, run: u8) -> Result<(), Broken> {
        self.budget.stops -= 1;
        let stored = self.store.run(run);
        let known = match stored.terminal {
            Some(outcome) => KnownRun::Ended { outcome },
            None => KnownRun::Never,
        };
        let model = self.run(run);
        model.stops_waiting += 1;
        let cause = if model.stopped_at.is_some() { Cause::RepeatedStop } else { Cause::Nobody };
        // Distinct while several wait; the same in every order of the same Stops.
        let ask = AskId::new(100 + u64::from(self.budget.stops));
        self.feed(cause, Input::Stop { ask, run_id: id(run), known })
    }

    fn answer_call(&mut self, call: u8, is_written: bool) -> Result<(), Broken> {
        let call = self.store.calls.remove(usize::from(call));
        if !is_written {
            self.budget.drops -= 1;
        }
        let written = if is_written { self.store.write(call) } else { None };
        let (run, run_id) = (call.run, id(call.run));
        if written.is_none() && matches!(call.kind, CallKind::Settle { .. }) {
            let model = self.run(run);
            model.saves_failed = model.saves_failed.saturating_add(1);
        }
        let answer = match (call.kind, written) {
            (_, Some(Written::Commit { revision, terminal_seq })) => {
                PortAnswer::Committed(run_id, Some((revision, terminal_seq)))
            }
            (_, Some(Written::Rows { first_seq, count })) => {
                PortAnswer::Appended(run_id, Some((first_seq, count)))
            }
            (CallKind::Append { .. }, None) => PortAnswer::Appended(run_id, None),
            (_, None) => PortAnswer::Committed(run_id, None),
        };
        self.answer(run, answer)
    }

    fn work(&mut self, run: u8) -> Result<(), Broken> {
        let run_id = id(run);
        let due = std::mem::replace(&mut self.run(run).due, Due::Nothing);
        let answer = match due {
            Due::Launch => {
                // The worker exists and may begin at any time from here on.
                self.run(run).due = Due::Begin;
                PortAnswer::Launched(run_id, true)
            }
            Due::Begin => PortAnswer::Began(run_id),
            Due::Construct => {
                self.agents.push(AgentModel::default());
                PortAnswer::Constructed(run_id, Some(AgentId::new(self.agents.len() as u64)))
            }
            Due::Register => PortAnswer::RegistrationAsked(run_id),
            Due::Prepare(agent) => PortAnswer::Prepared(run_id, agent),
            Due::Exit => PortAnswer::Exited(run_id),
            Due::Nothing | Due::Call { .. } => return Ok(()),
        };
        self.answer(run, answer)
    }

    fn fail_work(&mut self, run: u8) -> Result<(), Broken> {
        self.budget.drops -= 1;
        let due = std::mem::replace(&mut self.run(run).due, Due::Nothing);
        let answer = match due {
            Due::Launch => PortAnswer::Launched(id(run), false),
            _ => PortAnswer::Constructed(id(run), None),
        };
        self.answer(run, answer)
    }

    fn emit(&mut self, run: u8) -> Result<(), Broken> {
        self.budget.events -= 1;
        let model = self.run(run);
        model.produced += 1;
        let number = u64::from(run) * PAYLOADS_PER_RUN + u64::from(model.produced);
        let row = RowRef {
            event: RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text },
            payload: PayloadRef { id: PayloadId::new(number), json_bytes: 1 },
            at: Instant::ZERO,
        };
        self.answer(run, PortAnswer::Produced(id(run), row))
    }

    fn give_back(&mut self, run: u8, result: CallResult) -> Result<(), Broken> {
        self.run(run).due = Due::Nothing;
        self.answer(run, PortAnswer::Returned(id(run), result))
    }

    fn fire(&mut self) -> Result<(), Broken> {
        let Some(at) = self.next_time() else { return Ok(()) };
        self.now = at;
        let mut out = Outbox::new();
        self.lineage.tick(at, &mut out);
        if self.trace.is_some() {
            self.trace_step(&serde_json::json!({"kind": TICK}), &out, None);
        }
        self.carry_out(Cause::Nobody, &mut out)
    }

    /// Memory is lost, what was written stays; recovery comes before anything else (RST-01).
    fn crash(&mut self, written: u8) -> Result<(), Broken> {
        self.budget.crashes -= 1;
        let calls = std::mem::take(&mut self.store.calls);
        for (bit, call) in calls.into_iter().enumerate() {
            if written & (1 << bit) != 0 {
                self.store.write(call);
            }
        }
        for run in 1..=self.last_run() {
            let rows = self.store.run(run).rows;
            let model = self.run(run);
            model.lose_connection();
            model.due = Due::Nothing;
            model.stopped_at = None;
            // Whoever comes back is shown the stored rows.
            model.shown = rows;
        }
        for agent in &mut self.agents {
            agent.is_closed = true;
        }
        self.lineage = session(self.store.revision);
        let Some(run) = self.store.pending else { return Ok(()) };
        let number = u64::from(run);
        self.feed(
            Cause::Nobody,
            Input::Recover {
                run_id: RunId::new(number),
                turn_id: MessageId::new(number),
                pending_started_at: self.now,
                last_seq: Seq::new(u64::from(self.store.run(run).rows)),
                terminal: None,
            },
        )
    }

    fn answer(&mut self, run: u8, answer: PortAnswer) -> Result<(), Broken> {
        self.feed(Cause::Port(run), fact(answer))
    }

    fn feed(&mut self, cause: Cause, input: Input) -> Result<(), Broken> {
        let mut out = Outbox::new();
        let result = self.lineage.step(self.now, input.clone(), &mut out);
        if self.trace.is_some() {
            self.trace_step(&input, &out, result.as_ref().err());
        }
        if let Err(reject) = result {
            let detail = format!("{input:?} was turned away: {reject}");
            return Err(Broken { rule: "DI-24", detail });
        }
        self.carry_out(cause, &mut out)
    }

    fn trace_step(
        &mut self,
        input: &impl Serialize,
        out: &Outbox<Output>,
        reject: Option<&Reject>,
    ) {
        let machine = format!("run/{}", self.lineage.session_id());
        if let Some(trace) = &mut self.trace {
            trace.step(self.now, &machine, input, out, reject);
        }
    }

    fn carry_out(&mut self, cause: Cause, out: &mut Outbox<Output>) -> Result<(), Broken> {
        for output in out.drain() {
            self.call(cause, port_call(output))?;
        }
        Ok(())
    }
}

/// What a step of the machine was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A client, time, or a crash.
    Nobody,
    /// A Stop of a run that was stopped before.
    RepeatedStop,
    /// An answer of a port to this run.
    Port(u8),
}

/// The id of a run by its number.
fn id(run: u8) -> RunId {
    RunId::new(u64::from(run))
}
