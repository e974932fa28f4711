//! What may happen next.

use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::Machine;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::limits::UNWIND;

use super::runs::Due;
use super::screen::ScreenChoice;
use super::store::CallKind;
use super::take::id;
use super::{STOP_BOUND, World};

/// One thing that may happen. Runs are named by their number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The next client starts its turn.
    Start,
    /// The next client starts a turn of other content under the same key.
    StartOther,
    /// The next client sends a message that may wait.
    Queue,
    /// A client takes a message out of the queue.
    Remove(u8),
    /// A client ends the hold of the queue.
    Resume,
    /// The drain starts the head of the queue.
    StartHead,
    /// The drain finds no slot for the head.
    StartHeadBusy,
    /// The drain finds no agent for the head.
    StartHeadStale,
    /// The slot that the head waits for is free.
    FreeSlot,
    /// A client deletes the session.
    Delete,
    /// The agent of a run compresses, and the session is rotated.
    Rotate(u8),
    /// Another session starts its run, or tries.
    OtherStart(u8),
    /// The run of another session ends.
    OtherEnd(u8),
    /// The reader of the journal reads a page.
    ReadPage,
    /// Something happens to the client that watches the session in its list.
    Screen(ScreenChoice),
    /// A producer asks for a turn of this session.
    Wake,
    /// A producer asks here for a turn of another session.
    WakeElsewhere,
    /// The first producer asks once more.
    WakeAgain,
    /// The agent of a run asks for a turn.
    WakeBy(u8),
    /// The drain starts the oldest wakeup.
    StartWakeup,
    /// The drain finds no slot for it.
    StartWakeupBusy,
    /// The drain finds no agent for it.
    StartWakeupStale,
    /// A client steers a run.
    Steer(u8),
    /// The agent of a run waits for a steer.
    WantSteer(u8),
    /// The agent takes the steer it was handed.
    ReadSteer,
    /// The worker of a stopped run drains once more.
    Drain(u8),
    /// A client changes the title.
    ChangeTitle,
    /// A client changes the agent.
    ChangeAgent,
    /// Recovery comes back to the run that it judged dead.
    Recover,
    /// The process stalls until its lease is lost.
    LoseLease,
    /// Another process settles the pending turn and has the session from here on.
    TakeOver,
    /// The worker of a session that another process has appends a row.
    AppendLate(u8),
    /// A client stops a run.
    Stop(u8),
    /// The server ends a run.
    End(u8),
    /// A client answers a question, numbered from 1.
    Answer(u8),
    /// The client that waits for answers about a run loses its connection.
    Drop(u8),
    /// The store answers a call, counted from 0; without success nothing was written.
    Store {
        /// Which call.
        call: u8,
        /// Whether it was written.
        is_written: bool,
    },
    /// The store writes an append, counted from 0, and its answer is lost; the port reads the tail.
    Unknown(u8),
    /// A worker takes its next step.
    Work(u8),
    /// The next step of a worker fails: its launch, or its agent's construction.
    FailWork(u8),
    /// A worker is lost.
    LoseWorker(u8),
    /// The agent of a call is lost.
    LoseAgent(u8),
    /// The cache asks for the kept agent.
    Evict,
    /// The worker of a settled run saves a result of its own.
    SaveLate(u8),
    /// An agent produces a row.
    Emit(u8),
    /// An agent asks a question.
    Ask(u8),
    /// A call returns with a complete answer.
    Complete(u8),
    /// A call returns with an error, or since it was interrupted.
    Fail(u8),
    /// Time passes up to the next deadline.
    Fire,
    /// The server crashes and starts again; of the unanswered calls these were written, one bit each.
    Crash(u8),
}

impl<G: Guards> World<G> {
    /// Adds every choice there is, in a fixed order.
    pub fn choices(&self, choices: &mut Vec<Choice>) {
        if self.outside.is_stalled() {
            return self.stalled(choices);
        }
        if self.store.is_deleted {
            return self.deleted_choices(choices);
        }
        self.progress(choices);
        if self.may_delete() {
            choices.push(Choice::Delete);
        }
        self.rotation_choices(choices);
        self.slot_choices(choices);
        self.reading_choices(choices);
        self.screen_choices(choices);
        self.queue_choices(choices);
        self.steer_choices(choices);
        self.wakeup_choices(choices);
        self.outside_choices(choices);
        if self.budget.clients > 0 {
            choices.push(Choice::Start);
            if self.conditions.keyed {
                choices.push(Choice::StartOther);
            }
        }
        self.answers(choices);
        for (run, model) in self.numbered() {
            if self.budget.stops > 0 && model.has_run() {
                choices.push(Choice::Stop(run));
            }
            if matches!(model.due, Due::Call { .. }) && self.budget.events > 0 {
                choices.push(Choice::Emit(run));
                if self.conditions.agents_ask {
                    choices.push(Choice::Ask(run));
                }
            }
            let may_end = self.conditions.server_ends.is_some() && self.lineage.holds(id(run));
            if self.budget.stops > 0 && may_end {
                choices.push(Choice::End(run));
            }
            let is_late = model.stopped_at.is_some() && model.due != Due::Nothing;
            let is_settled = self.store.run(run).terminal.is_some();
            if self.conditions.workers_save && is_late && is_settled && !model.has_saved_late {
                choices.push(Choice::SaveLate(run));
            }
        }
        if self.budget.drops > 0 {
            self.faults(choices);
        }
        if self.budget.crashes > 0 {
            for written in 0..1_u8 << self.store.calls.len() {
                choices.push(Choice::Crash(written));
            }
        }
        // Last, so that of two shortest schedules the one with somebody's action is found.
        if self.may_time_pass() && self.next_time().is_some() {
            choices.push(Choice::Fire);
        }
    }

    /// A process without lease does nothing.
    fn stalled(&self, choices: &mut Vec<Choice>) {
        self.outside_choices(choices);
        if self.next_time().is_some() {
            choices.push(Choice::Fire);
        }
    }

    /// What happens at once if nobody asks anything and nothing fails.
    pub(super) fn progress(&self, choices: &mut Vec<Choice>) {
        for call in (0_u8..).take(self.store.calls.len()) {
            choices.push(Choice::Store { call, is_written: true });
        }
        for (run, model) in self.numbered() {
            match model.due {
                Due::Nothing => {}
                Due::Call { is_interrupted, .. } => {
                    if !is_interrupted {
                        choices.push(Choice::Complete(run));
                    }
                    choices.push(Choice::Fail(run));
                }
                Due::Launch
                | Due::Begin
                | Due::Construct
                | Due::Register
                | Due::Prepare(_)
                | Due::Exit => choices.push(Choice::Work(run)),
            }
        }
    }

    fn faults(&self, choices: &mut Vec<Choice>) {
        if self.conditions.evicts && self.lineage.cached_agent().is_some() {
            choices.push(Choice::Evict);
        }
        for call in (0_u8..).take(self.store.calls.len()) {
            choices.push(Choice::Store { call, is_written: false });
            let kind = self.store.calls[usize::from(call)].kind;
            if self.conditions.appends_unknown && matches!(kind, CallKind::Append { .. }) {
                choices.push(Choice::Unknown(call));
            }
        }
        self.queue_faults(choices);
        self.wakeup_faults(choices);
        if self.may_lose_lease() {
            choices.push(Choice::LoseLease);
        }
        for (run, model) in self.numbered() {
            let is_client = model.turn == run && !self.is_of_screen(run);
            if is_client && (model.is_awaited() || self.has_open_question(run)) {
                choices.push(Choice::Drop(run));
            }
            if matches!(model.due, Due::Launch | Due::Construct) {
                choices.push(Choice::FailWork(run));
            }
            if !matches!(model.due, Due::Nothing | Due::Launch | Due::Exit) {
                choices.push(Choice::LoseWorker(run));
            }
            if self.conditions.agents_die && model.is_invoked() {
                choices.push(Choice::LoseAgent(run));
            }
        }
    }

    /// Time passes only while nothing is due at once.
    pub(super) fn may_time_pass(&self) -> bool {
        self.store.calls.is_empty()
            && !self.is_draining()
            && !self.is_draining_wakeups()
            && self.outside.judged.is_none()
            && self.is_screen_quiet()
            && !self.is_slot_busy()
            && self.runs.iter().all(|model| match model.due {
                Due::Nothing => true,
                Due::Call { is_killed, .. } => !is_killed || self.conditions.agents_wedge,
                Due::Launch => false,
                Due::Begin | Due::Construct | Due::Register | Due::Prepare(_) | Due::Exit => {
                    self.conditions.workers_stall
                }
            })
    }

    /// The next deadline of the machine, or the next time a stopped run must be gone.
    pub(super) fn next_time(&self) -> Option<Instant> {
        if self.outside.is_stalled() {
            return self.next_judgement();
        }
        let deadline = self.lineage.deadline().map(|(at, _)| at);
        let bound = self.stop_bound().filter(|at| *at > self.now);
        let judgement = self.next_judgement();
        [deadline, bound, judgement].into_iter().flatten().min()
    }

    /// When the session must have been freed of the stopped run whose row it has (STOP-20, INV-LIVE).
    pub(super) fn stop_bound(&self) -> Option<Instant> {
        let run = u8::try_from(self.lineage.row()?.run_id.number()).ok()?;
        let stopped_at = self.runs.get(usize::from(run) - 1)?.stopped_at?;
        let may_hang = self.conditions.workers_stall || self.conditions.agents_wedge;
        Some(stopped_at.plus(if may_hang { UNWIND } else { STOP_BOUND }))
    }
}
