//! Taking a choice: the world acts, the machine steps, its effects reach the ports.

use runwarden_protocol::ids::{AskId, ItemId, MessageId, PayloadId, PayloadRef, RunId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{ItemKind, Reason, RowEvent};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::machine::{Machine, Outbox, Reject};
use runwarden_protocol::record::{RESTARTED, SERVER, TICK};
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::changes::ChangeKind;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{Input, KnownRun, Output, Start};
use runwarden_protocol::run::settlement::{Failure, Verdict};
use runwarden_protocol::run::worker::CallResult;
use runwarden_protocol::wire::actions::WhenBusy;
use runwarden_runtime::dispatch::{PortAnswer, fact, port_call};
use serde::Serialize;
use serde_json::json;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::{Fault, Oddity};
use super::runs::{AgentModel, Due, RunModel, Start as StartModel};
use super::store::{Call, CallKind, SESSION, Written};
use super::{Broken, World, session};

/// Bodies of one run have numbers from this times the run's number on.
const PAYLOADS_PER_RUN: u64 = 1_000;

/// Bytes of a row where the journal is nearly full.
const LARGE_ROW_BYTES: u32 = 2 << 10;

/// A start that only the session's state can refuse.
pub(super) const FACTS: StartFacts = StartFacts {
    key: KeyFact::Unused,
    agent_available: true,
    attachment_unknown: false,
    storage_low: false,
    slot: SlotFact::Granted,
    when_busy: WhenBusy::Reject,
    is_head: false,
    is_wakeup: false,
    rewrites: None,
    liveness_unreadable: false,
};

impl<G: Guards> World<G> {
    /// Takes a choice that [`World::choices`] offers.
    ///
    /// # Errors
    /// The first rule that is broken in this step.
    pub fn take(&mut self, choice: Choice) -> Result<(), Broken> {
        match choice {
            Choice::Start => self.start(KeyFact::SameContent, WhenBusy::Reject)?,
            Choice::StartOther => self.start(KeyFact::OtherContent, WhenBusy::Reject)?,
            Choice::Queue => self.start(KeyFact::SameContent, WhenBusy::Queue)?,
            Choice::Remove(entry) => self.remove_queued(entry)?,
            Choice::Resume => self.resume_queue()?,
            Choice::StartHead => self.start_head()?,
            Choice::StartHeadBusy => self.start_head_busy()?,
            Choice::StartHeadStale => self.start_head_stale()?,
            Choice::FreeSlot => self.free_slot()?,
            Choice::Delete => self.delete()?,
            Choice::Rotate(run) => self.rotate(run)?,
            Choice::OtherStart(session) => self.other_start(session)?,
            Choice::OtherEnd(session) => self.other_end(session)?,
            Choice::ReadPage => self.read_page()?,
            Choice::Screen(choice) => self.take_screen(choice)?,
            Choice::Wake => self.wake_here(None)?,
            Choice::WakeElsewhere => self.wake_elsewhere()?,
            Choice::WakeAgain => self.wake_again()?,
            Choice::WakeBy(run) => self.wake_here(Some(run))?,
            Choice::StartWakeup => self.start_wakeup()?,
            Choice::StartWakeupBusy => self.start_wakeup_busy()?,
            Choice::StartWakeupStale => self.start_wakeup_stale()?,
            Choice::Steer(run) => self.steer(run)?,
            Choice::WantSteer(run) => self.want_steer(run)?,
            Choice::ReadSteer => self.read_steer()?,
            Choice::Drain(run) => self.drain(run)?,
            Choice::ChangeTitle => self.change(ChangeKind::Description)?,
            Choice::ChangeAgent => self.change(ChangeKind::Agent)?,
            Choice::Recover => self.recover_late()?,
            Choice::LoseLease => self.lose_lease(),
            Choice::TakeOver => self.take_over()?,
            Choice::AppendLate(run) => self.append_late(run),
            Choice::Stop(run) => self.stop(run)?,
            Choice::End(run) => self.end(run)?,
            Choice::Answer(number) => self.answer_question(number)?,
            Choice::Drop(run) => {
                self.budget.drops -= 1;
                self.run(run).lose_connection();
                self.lose_questions(run)?;
            }
            Choice::Unknown(call) => self.lose_answer(call)?,
            Choice::Evict => {
                self.budget.drops -= 1;
                self.feed(Cause::Evictor, Input::Evict)?;
            }
            Choice::SaveLate(run) => self.save_late(run),
            Choice::Ask(run) => self.ask(run)?,
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
        self.drop_listener();
        if choice == Choice::Fire {
            self.check_bound()?;
        }
        self.check_step()?;
        self.check_ends()?;
        self.check_quiet()
    }

    /// A start; if its key had an effect, that was with `content`.
    fn start(&mut self, content: KeyFact, when_busy: WhenBusy) -> Result<(), Broken> {
        self.recover_first()?;
        self.budget.clients -= 1;
        let key = if self.is_key_used() { content } else { KeyFact::Unused };
        self.runs.push(RunModel::asked(self.last_run() + 1));
        let number = self.runs.len() as u64;
        let (ask, run_id) = (AskId::new(number), RunId::new(number));
        let turn_id = MessageId::new(number);
        let slot = self.slot_of(self.last_run());
        let facts = StartFacts { key, when_busy, slot, ..FACTS };
        let saving = (1..=self.last_run()).find(|run| self.store.is_settling(*run));
        if self.lineage.is_deleted() {
            return self.start_deleted(Start { ask, run_id, turn_id, facts });
        }
        self.feed(Cause::Nobody, Input::Start(Start { ask, run_id, turn_id, facts }))?;
        let run = self.last_run();
        let is_decided = when_busy == WhenBusy::Queue
            || self.run(run).start != StartModel::Waiting
            || self.store.calls.iter().any(|call| call.run == run);
        ensure(saving.is_none() || is_decided, "REG-12", || {
            format!("start {run} waits for the save of run {saving:?}")
        })
    }

    /// Whoever names a deleted session is told that nobody knows it (LIFE-02).
    fn start_deleted(&mut self, start: Start) -> Result<(), Broken> {
        let mut probe = self.lineage.clone();
        let answer = probe.step(self.now, Input::Start(start), &mut Outbox::new());
        ensure(answer == Err(Reject::Local("session_deleted")), "LIFE-02", || {
            format!("a deleted session takes start {}", start.run_id)
        })?;
        self.run(self.last_run()).start = StartModel::Refused;
        Ok(())
    }

    /// Whether the key of the starts had an effect, as the store says (ADM-13).
    fn is_key_used(&self) -> bool {
        if !self.conditions.keyed {
            return false;
        }
        let used_by = self.store.key_used_by;
        let is_any = |start| self.runs.iter().any(|model| model.start == start);
        match self.conditions.fault {
            Some(Fault::RefusalRemembered) => used_by.is_some() || is_any(StartModel::Refused),
            Some(Fault::KeyFreedByLoss) => used_by.is_some() && !is_any(StartModel::Lost),
            _ => used_by.is_some(),
        }
    }

    /// The server ends a run (STOP-21).
    fn end(&mut self, run: u8) -> Result<(), Broken> {
        self.budget.stops -= 1;
        let Some(reason) = self.conditions.server_ends else { return Ok(()) };
        let is_stopped = self.run(run).stopped_at.is_some();
        self.feed(Cause::Nobody, Input::EndByServer { run_id: id(run), reason })?;
        let model = self.run(run);
        if !is_stopped && model.stopped_at.is_some() && !model.is_stop_asked {
            model.ending = Some(Verdict::of_server(reason).outcome);
        }
        Ok(())
    }

    /// An append is written and its answer lost; before anything else the port reads the tail.
    fn lose_answer(&mut self, call: u8) -> Result<(), Broken> {
        self.budget.drops -= 1;
        let call = self.store.calls.remove(usize::from(call));
        let written = self.write(call)?;
        let is_known = self.conditions.fault != Some(Fault::UnknownCountsAsFailed);
        let rows = match written {
            Some(Written::Rows { first_seq, count }) if is_known => Some((first_seq, count)),
            Some(Written::Rows { .. } | Written::Commit { .. }) | None => None,
        };
        self.answer(call.run, PortAnswer::Appended(id(call.run), rows))
    }

    fn save_late(&mut self, run: u8) {
        self.run(run).has_saved_late = true;
        let expected = self.store.run(run).admitted_at;
        let is_fenced = self.run(run).is_ghost;
        self.store.calls.push(Call { run, kind: CallKind::SaveLate { expected, is_fenced } });
    }

    pub(super) fn stop(&mut self, run: u8) -> Result<(), Broken> {
        self.recover_first()?;
        self.budget.stops -= 1;
        let stored = self.store.run(run);
        let known = match stored.terminal {
            Some(outcome) => KnownRun::Ended { outcome },
            None => KnownRun::Never,
        };
        let is_held = self.lineage.holds(id(run));
        let may_server_end =
            self.conditions.server_ends.is_some() || self.conditions.oddity.is_some();
        let model = self.run(run);
        model.stops_waiting += 1;
        let cause = Cause::Stop { run, is_repeat: model.stopped_at.is_some() };
        model.is_stop_asked = may_server_end;
        // Distinct while several wait; the same in every order of the same Stops.
        let ask = AskId::new(100 + u64::from(self.budget.stops));
        self.feed(cause, Input::Stop { ask, run_id: id(run), known })?;
        ensure(is_held || self.run(run).stops_waiting == 0, "STOP-13", || {
            format!("a Stop of run {run}, which is over, waits for another run")
        })
    }

    fn answer_call(&mut self, call: u8, is_written: bool) -> Result<(), Broken> {
        let call = self.store.calls.remove(usize::from(call));
        if !is_written {
            self.budget.drops -= 1;
        }
        let written = if is_written { self.write(call)? } else { None };
        if written.is_none() {
            self.write_wakeups(call, false)?;
        }
        if call.run == SESSION {
            return self.session_answered(call.kind, written);
        }
        let is_number_lost = !is_written && self.conditions.fault == Some(Fault::NumberTakenEarly);
        if let (true, CallKind::Append { count, .. }) = (is_number_lost, call.kind) {
            self.store.stored(call.run).rows += count;
        }
        if matches!(call.kind, CallKind::SaveLate { .. } | CallKind::AppendLate) {
            return Ok(());
        }
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

    fn session_answered(&mut self, kind: CallKind, written: Option<Written>) -> Result<(), Broken> {
        let revision = match written {
            Some(Written::Commit { revision, .. }) => Some(revision),
            Some(Written::Rows { .. }) | None => None,
        };
        let answer = match kind {
            CallKind::Wakeups { .. } => {
                self.wakeups_written(revision);
                PortAnswer::WakeupsCommitted(revision)
            }
            CallKind::Change { .. } => PortAnswer::Changed(Self::change_ask(), revision),
            CallKind::Delete { .. } => PortAnswer::Deleted(match written {
                Some(Written::Commit { revision, terminal_seq }) => Some((revision, terminal_seq)),
                Some(Written::Rows { .. }) | None => None,
            }),
            CallKind::Rotate { .. } => PortAnswer::Rotated(revision),
            _ => PortAnswer::QueueCommitted(revision),
        };
        self.queue_written();
        self.feed(Cause::Nobody, fact(answer))
    }

    /// Carries out a call, and sees that it changes no other run's turn.
    fn write(&mut self, call: Call) -> Result<Option<Written>, Broken> {
        let run = call.run;
        if run == SESSION {
            return self.write_session(call);
        }
        let pending = self.store.pending;
        let is_admission = matches!(call.kind, CallKind::Admit { .. });
        let is_key_used = self.conditions.keyed && self.store.key_used_by.is_some();
        let partial = self.partial_of(run);
        let first = self.store.run(run).terminal;
        let written = self.store.write(call, partial, self.conditions.fault);
        let standing = self.store.run(run).terminal;
        ensure(first.is_none() || standing == first, "JRN-08", || {
            format!("run {run} ended {first:?}, and its journal takes {standing:?} behind that")
        })?;
        ensure(!(is_admission && is_key_used && written.is_some()), "ADM-13", || {
            format!("run {run} is admitted under a key that had its turn")
        })?;
        let rule = if self.store.is_deleted { "JRN-12" } else { "JRN-14" };
        ensure(call.kind != CallKind::AppendLate || written.is_none(), rule, || {
            format!("a row of run {run} is stored, which may write no more")
        })?;
        let is_fenced = matches!(call.kind, CallKind::SaveLate { is_fenced: true, .. });
        ensure(!is_fenced || written.is_none(), "OWN-07", || {
            format!("a result of run {run} is saved, whose lease another process has")
        })?;
        let is_commit = matches!(written, Some(Written::Commit { .. }));
        if let (CallKind::Append { steers, .. } | CallKind::Settle { steers, .. }, Some(_)) =
            (call.kind, written)
        {
            self.store_steers(run, steers)?;
        }
        if is_commit {
            self.count_turn(call);
            self.write_wakeups(call, true)?;
        }
        if let (CallKind::Admit { entry, .. }, true) = (call.kind, is_commit) {
            self.note_pending();
            self.check_accepted(entry)?;
        }
        let is_owner = pending == Some(run) || (is_admission && pending.is_none());
        ensure(!is_commit || is_owner, "OWN-02", || {
            format!("a write of run {run} changes the session, whose turn is that of {pending:?}")
        })?;
        Ok(written)
    }

    /// A commit of the session itself, worked out from its present record (OWN-03).
    fn write_session(&mut self, call: Call) -> Result<Option<Written>, Broken> {
        let before = self.store.revision;
        let partial = match call.kind {
            CallKind::Delete { run: Some((run, _)), .. } => self.partial_of(run),
            _ => 0,
        };
        let written = self.store.write(call, partial, self.conditions.fault);
        self.write_wakeups(call, written.is_some())?;
        if let (CallKind::Change { loaded, .. }, Some(_)) = (call.kind, written) {
            ensure(loaded == before, "OWN-03", || {
                format!("a copy of {loaded:?} is written over {before:?}")
            })?;
        }
        Ok(written)
    }

    /// Rows of the run that its partial row would hold now.
    fn partial_of(&self, run: u8) -> u8 {
        let rows = self.store.run(run).rows;
        let is_working = self.runs[usize::from(run) - 1].is_invoked();
        match self.conditions.fault {
            Some(Fault::PartialCopiedLate) if !is_working => 0,
            Some(Fault::PartialNeedsText) if self.conditions.agents_think => 0,
            _ => rows,
        }
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
                let id = self.next_agent(run);
                self.agents.push(AgentModel { id, registered_by: None, is_closed: false });
                PortAnswer::Constructed(run_id, Some(id))
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
        let item_kind =
            if self.conditions.agents_think { ItemKind::Thinking } else { ItemKind::Text };
        let row = self.produce(run, RowEvent::Content { item_id: ItemId::new(1), item_kind });
        let is_stopped = self.run(run).stopped_at.is_some();
        self.answer(run, PortAnswer::Produced(id(run), row))?;
        let is_full = self.conditions.oddity == Some(Oddity::NearlyFullJournal) && run == 1;
        let model = self.run(run);
        if is_full && !is_stopped && model.stopped_at.is_some() && !model.is_stop_asked {
            model.ending = Some(Verdict::of_server(Reason::JournalFull).outcome);
        }
        Ok(())
    }

    /// The next row of a run.
    pub(super) fn produce(&mut self, run: u8, event: RowEvent) -> RowRef {
        let is_large = self.conditions.oddity == Some(Oddity::NearlyFullJournal);
        let model = self.run(run);
        model.produced += 1;
        let number = u64::from(run) * PAYLOADS_PER_RUN + u64::from(model.produced);
        let json_bytes = if is_large { LARGE_ROW_BYTES } else { 1 };
        let payload = PayloadRef { id: PayloadId::new(number), json_bytes };
        RowRef { event, payload, at: Instant::ZERO }
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
            self.trace_step(&json!({"kind": TICK}), &out, None);
        }
        self.carry_out(Cause::Nobody, &mut out)
    }

    /// Memory is lost, what was written stays; recovery comes before anything else (RST-01).
    fn crash(&mut self, written: u8) -> Result<(), Broken> {
        self.budget.crashes -= 1;
        let calls = std::mem::take(&mut self.store.calls);
        for (bit, call) in calls.into_iter().enumerate() {
            if written & (1 << bit) != 0 {
                self.write(call)?;
            }
        }
        self.restart()
    }

    /// A new process finds what is durable.
    pub(super) fn restart(&mut self) -> Result<(), Broken> {
        for run in 1..=self.last_run() {
            let rows = self.store.run(run).rows;
            let model = self.run(run);
            model.lose_connection();
            model.due = Due::Nothing;
            model.stopped_at = None;
            model.ending = None;
            model.is_forgotten = model.ended.is_none();
            // Whoever comes back is shown the stored rows.
            model.shown = rows;
        }
        for agent in &mut self.agents {
            agent.is_closed = true;
        }
        let session_id = SessionId::new(if self.store.is_rotated { 2 } else { 1 });
        self.lineage = session(session_id, self.store.revision);
        self.find_wakeups();
        if let Some(trace) = &mut self.trace {
            trace.step(
                self.now,
                SERVER,
                &json!({"kind": RESTARTED}),
                &Outbox::<Output>::new(),
                None,
            );
        }
        self.crash_questions();
        self.crash_outside();
        self.crash_steers();
        self.crash_deletion();
        self.crash_rotation();
        self.crash_slots();
        self.crash_screen()?;
        if self.store.is_deleted {
            return Ok(());
        }
        let is_left_alone = self.conditions.fault == Some(Fault::YoungTurnLeftAlone);
        if let Some(run) = self.store.pending.filter(|_| !is_left_alone) {
            if self.conditions.recovers_late {
                self.outside.judged = Some(run);
            } else {
                self.recover(run)?;
            }
        }
        if self.conditions.queues {
            self.restart_queue()?;
        }
        self.trigger_wakeups()
    }

    pub(super) fn answer(&mut self, run: u8, answer: PortAnswer) -> Result<(), Broken> {
        self.feed(Cause::Port(run), fact(answer))
    }

    pub(super) fn feed(&mut self, cause: Cause, input: Input) -> Result<(), Broken> {
        let mut out = Outbox::new();
        let result = self.lineage.step(self.now, input.clone(), &mut out);
        if self.trace.is_some() {
            self.trace_step(&input, &out, result.as_ref().err());
        }
        if let Err(reject) = result {
            let is_number =
                matches!(reject, Reject::Local("seq_not_next" | "terminal_seq_not_next"));
            let detail = format!("{input:?} was turned away: {reject}");
            return Err(Broken { rule: if is_number { "INV-SEQ" } else { "DI-24" }, detail });
        }
        self.carry_out(cause, &mut out)
    }

    fn trace_step(
        &mut self,
        input: &impl Serialize,
        out: &Outbox<Output>,
        reject: Option<&Reject>,
    ) {
        // One machine for the session and its continuation, named by the root.
        let machine = format!("run/{}", SessionId::new(1));
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
    /// A Stop of this run.
    Stop {
        run: u8,
        /// Whether it was stopped before.
        is_repeat: bool,
    },
    /// The loss of a connection.
    Loss,
    /// The evictor.
    Evictor,
    /// An answer of a port to this run.
    Port(u8),
}

/// The id of a run by its number.
pub(super) fn id(run: u8) -> RunId {
    RunId::new(u64::from(run))
}
