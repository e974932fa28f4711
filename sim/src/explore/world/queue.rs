//! The send queue: messages of clients that wait, and the drain that starts them.

use runwarden_protocol::ids::{AskId, Revision, RunId, TurnId};
use runwarden_protocol::run::admission::{SlotFact, StartFacts};
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{Input, QueueAnswer, Start};
use runwarden_protocol::run::queue::{Change, Queue};
use runwarden_protocol::wire::actions::WhenBusy;
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::dispatch::{PortAnswer, QueueCall};

use super::check::ensure;
use super::choices::Choice;
use super::conditions::Fault;
use super::runs::{RunModel, Start as StartModel};
use super::store::{Call, CallKind, SESSION};
use super::take::{Cause, FACTS};
use super::{Broken, World};

/// The removal of message n is asked by this number and n.
const REMOVE_ASKS: u64 = 10_000;

/// The one who ends a hold.
const RESUME_ASK: AskId = AskId::new(11_000);

/// Retry hint of a refused slot.
const RETRY_MS: u32 = 1_000;

/// What the world knows of the queue beside its store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct QueueModel {
    /// The entry whose start the machine asked for.
    pub(super) head_due: Option<u8>,
    /// Whether the machine will be told of a freed slot.
    slot_due: bool,
    /// Whether something happened that is good for one attempt (STR-12).
    is_triggered: bool,
    /// Whether that is the end of a hold by a user.
    is_resumed: bool,
    /// Whether a Stop was accepted while entries waited.
    is_held: bool,
    /// Removals and ends of the hold without answer.
    waiting: u8,
}

impl<G: Guards> World<G> {
    pub(super) fn queue_choices(&self, choices: &mut Vec<Choice>) {
        if self.queue.head_due.is_some() {
            choices.push(Choice::StartHead);
        }
        if self.queue.slot_due {
            choices.push(Choice::FreeSlot);
        }
        if !self.conditions.queues || self.budget.clients == 0 {
            return;
        }
        choices.push(Choice::Queue);
        if self.lineage.queue().held().is_some() {
            choices.push(Choice::Resume);
        }
        for (turn, model) in self.numbered() {
            if model.start == StartModel::Queued {
                choices.push(Choice::Remove(turn));
            }
        }
    }

    pub(super) fn queue_faults(&self, choices: &mut Vec<Choice>) {
        if self.queue.head_due.is_some() {
            if self.conditions.slots {
                return;
            }
            choices.push(Choice::StartHeadBusy);
            choices.push(Choice::StartHeadStale);
        }
    }

    /// Whether the drain goes on by itself.
    pub(super) fn is_draining(&self) -> bool {
        self.queue.head_due.is_some() || self.queue.slot_due
    }

    pub(super) fn queue_call(&mut self, call: QueueCall) -> Result<(), Broken> {
        match call {
            QueueCall::Change { change, held, expected, .. } => {
                self.queue_change(change, held, expected)
            }
            QueueCall::StartHead { turn_id } => self.head_wanted(turn(turn_id)),
        }
    }

    pub(super) fn remove_queued(&mut self, entry: u8) -> Result<(), Broken> {
        self.budget.clients -= 1;
        self.queue.waiting += 1;
        self.run(entry).start = StartModel::Removing;
        let ask = AskId::new(REMOVE_ASKS + u64::from(entry));
        let turn_id = TurnId::new(u64::from(entry));
        self.feed(Cause::Nobody, Input::RemoveQueued { ask, turn_id })
    }

    pub(super) fn resume_queue(&mut self) -> Result<(), Broken> {
        self.budget.clients -= 1;
        self.queue.waiting += 1;
        self.feed(Cause::Nobody, Input::ResumeQueue { ask: RESUME_ASK })
    }

    /// The drain starts the head, whose agent and slot are there.
    pub(super) fn start_head(&mut self) -> Result<(), Broken> {
        let slot = self.slot_of(self.last_run() + 1);
        self.ask_head(StartFacts { slot, ..FACTS })
    }

    /// The drain finds no slot for the head (STR-13): it keeps its place.
    pub(super) fn start_head_busy(&mut self) -> Result<(), Broken> {
        self.budget.drops -= 1;
        let was_held = self.lineage.queue().held().is_some();
        let slot = SlotFact::Refused { retry_after_ms: RETRY_MS };
        self.ask_head(StartFacts { slot, ..FACTS })?;
        self.queue.slot_due = true;
        ensure(was_held || self.lineage.queue().held().is_none(), "STR-13", || {
            "a head that found the server busy holds its queue".to_owned()
        })
    }

    /// The agent of the head is not configured any more: the queue is held (STR-13).
    pub(super) fn start_head_stale(&mut self) -> Result<(), Broken> {
        self.budget.drops -= 1;
        self.ask_head(StartFacts { agent_available: false, ..FACTS })?;
        // A deletion that is under way refuses the head first, and takes the queue with it.
        let is_held = self.lineage.queue().held().is_some() || self.is_deletion_awaited();
        ensure(is_held, "STR-13", || {
            "a head that was refused for good stays first, and nothing says so".to_owned()
        })
    }

    pub(super) fn free_slot(&mut self) -> Result<(), Broken> {
        self.queue.slot_due = false;
        self.queue.is_triggered = true;
        self.wakeup_slot_freed();
        self.feed(Cause::Nobody, Input::QueueTriggered)?;
        self.pass_slot()
    }

    /// The driver will be told of a free slot.
    pub(super) fn slot_is_free(&mut self) {
        self.queue.slot_due = true;
    }

    pub(super) fn queue_answered(&mut self, ask: AskId, answer: QueueAnswer) -> Result<(), Broken> {
        self.queue.waiting = self.queue.waiting.saturating_sub(1);
        let entry = u8::try_from(ask.number().saturating_sub(REMOVE_ASKS)).unwrap_or(0);
        if ask != RESUME_ASK {
            self.run(entry).start = StartModel::Queued;
        }
        match answer {
            QueueAnswer::Removed { .. } => {
                let has_turn = self.store.queue.contains(&entry) || self.turns_of(entry) > 0;
                ensure(!has_turn, "LIFE-06", || {
                    format!("message {entry} is called removed, and its turn is there")
                })?;
                self.run(entry).start = StartModel::Removed;
                Ok(())
            }
            QueueAnswer::Gone => ensure(!self.store.queue.contains(&entry), "LIFE-06", || {
                format!("message {entry} is called gone, and it waits")
            }),
            QueueAnswer::Resumed { .. } => {
                self.queue.is_held = false;
                self.queue.is_triggered = true;
                self.queue.is_resumed = !self.store.queue.is_empty();
                ensure(self.store.held.is_none(), "LIFE-07", || {
                    "the hold is called ended, and it is stored".to_owned()
                })
            }
            QueueAnswer::Refused(_) | QueueAnswer::Failed => Ok(()),
        }
    }

    /// A message is confirmed: it is stable, and behind those before it (STR-09).
    pub(super) fn check_queued(&self, turn_id: TurnId, position: u32) -> Result<(), Broken> {
        let entry = turn(turn_id);
        let place = self.store.queue.iter().position(|queued| *queued == entry);
        ensure(place.is_some_and(|place| place as u32 + 1 == position), "STR-09", || {
            format!("message {entry} is confirmed at {position}, the store has it at {place:?}")
        })
    }

    /// By STR-10: the commit that accepts the turn of an entry removes it, and a message has one turn.
    pub(super) fn check_accepted(&self, entry: Option<u8>) -> Result<(), Broken> {
        let Some(entry) = entry else { return Ok(()) };
        let (turns, is_kept) = (self.turns_of(entry), self.store.queue.contains(&entry));
        ensure(turns == 1 && !is_kept, "STR-10", || {
            format!("message {entry} has {turns} turns, and waits: {is_kept}")
        })
    }

    /// An idle transition is good for one attempt.
    pub(super) fn queue_triggered(&mut self) {
        // Without a slot a message that waited for the settlement is queued in this very step.
        let is_waiting = |model: &RunModel| model.start == StartModel::Waiting;
        let is_next = self.conditions.slots && self.runs.iter().any(is_waiting);
        self.queue.is_triggered =
            !self.store.queue.is_empty() || self.is_appending_message() || is_next;
    }

    /// A Stop was accepted: what waits is held (STR-18).
    pub(super) fn hold_queue(&mut self) {
        self.queue.is_held |= !self.store.queue.is_empty() || self.is_appending_message();
    }

    /// A rotation moved what waits, which is held.
    pub(super) fn queue_moved(&mut self) {
        self.queue.is_triggered = false;
        self.queue.is_held |= !self.store.queue.is_empty();
    }

    /// A change of the queue was answered: without entries nothing is held.
    pub(super) fn queue_written(&mut self) {
        self.queue.is_held &= !self.store.queue.is_empty();
        self.queue.is_resumed &= !self.store.queue.is_empty();
    }

    /// The settlement of a Stop stores the hold (STR-18).
    pub(super) fn check_hold_stored(&self, run: u8) -> Result<(), Broken> {
        let must_be = self.queue.is_held && !self.store.queue.is_empty();
        ensure(!must_be || self.store.held.is_some(), "STR-18", || {
            format!("run {run} is cancelled, and the hold of the queue is not stored")
        })
    }

    /// A deletion takes the queue along, so that no hold of it is made any more.
    pub(super) fn check_queue(&self) -> Result<(), Broken> {
        let must_be =
            self.queue.is_held && !self.store.queue.is_empty() && !self.is_deletion_awaited();
        ensure(!must_be || self.lineage.queue().held().is_some(), "STR-18", || {
            "a Stop was accepted, and the queue behind it is not held".to_owned()
        })
    }

    /// What must hold of a queue when nothing happens by itself.
    pub(super) fn check_queue_over(&self) -> Result<(), Broken> {
        ensure(self.queue.waiting == 0, "INV-LIVE", || {
            "a change of the queue is never answered".to_owned()
        })?;
        for (entry, model) in self.numbered() {
            if model.start == StartModel::Queued {
                let queued = u8::from(self.store.queue.contains(&entry));
                let turns = self.turns_of(entry);
                ensure(queued + turns == 1, "INV-TEXT", || {
                    format!("message {entry} waits {queued} times and had {turns} turns")
                })?;
            }
        }
        let is_held = self.store.held.is_some() || self.lineage.queue().held().is_some();
        let rule = if self.queue.is_resumed { "LIFE-07" } else { "STR-12" };
        ensure(self.store.queue.is_empty() || is_held, rule, || {
            "messages wait, and nothing will start them".to_owned()
        })
    }

    /// What is durable is found again, and the start of the process is a trigger (STR-12).
    pub(super) fn restart_queue(&mut self) -> Result<(), Broken> {
        let entries = self.store.queue.iter().map(|entry| TurnId::new(u64::from(*entry)));
        let is_forgotten = self.conditions.fault == Some(Fault::HoldForgotten);
        let held = self.store.held.filter(|_| !is_forgotten);
        let queue = Queue::found(entries.collect(), held);
        self.queue = QueueModel {
            is_triggered: true,
            is_held: self.store.held.is_some(),
            ..QueueModel::default()
        };
        for model in self.runs.iter_mut().filter(|model| model.start == StartModel::Removing) {
            model.start = StartModel::Lost;
        }
        self.lineage = self.lineage.clone().with_queue(queue);
        self.feed(Cause::Nobody, Input::QueueTriggered)
    }

    /// Turns that this message had, without those that were undone.
    pub(super) fn turns_of(&self, entry: u8) -> u8 {
        let is_turn = |run: &u8| {
            let stored = self.store.run(*run);
            stored.entry == Some(entry) && stored.is_admitted && !stored.is_undone
        };
        (1..=self.last_run()).filter(is_turn).count() as u8
    }

    fn is_appending_message(&self) -> bool {
        let is_append = |call: &Call| match call.kind {
            CallKind::Queue { change, .. } => matches!(change, Change::Append { .. }),
            _ => false,
        };
        self.store.calls.iter().any(is_append)
    }

    fn queue_change(
        &mut self,
        change: Change,
        held: Option<Code>,
        expected: Revision,
    ) -> Result<(), Broken> {
        let is_release = matches!(change, Change::Release { .. });
        let may_resume = !is_release || self.lineage.may_start(self.now).is_ok();
        ensure(may_resume, "LIFE-03", || "a hold ends while no turn may start".to_owned())?;
        self.store
            .calls
            .push(Call { run: SESSION, kind: CallKind::Queue { change, held, expected } });
        Ok(())
    }

    fn head_wanted(&mut self, entry: u8) -> Result<(), Broken> {
        let is_held = self.queue.is_held || self.store.held.is_some();
        ensure(!is_held, "STR-20", || {
            format!("message {entry} is started, and its queue is held: {:?}", self.store.held)
        })?;
        ensure(self.queue.is_triggered, "STR-12", || {
            format!("message {entry} is started by nothing that happened")
        })?;
        let is_head = self.store.queue.first() == Some(&entry);
        ensure(is_head, "STR-09", || {
            format!("message {entry} is started, {:?} wait", self.store.queue)
        })?;
        (self.queue.is_triggered, self.queue.is_resumed) = (false, false);
        self.queue.head_due = Some(entry);
        if self.conditions.fault == Some(Fault::HeadRemovedFirst) {
            self.store.queue.remove(0);
        }
        Ok(())
    }

    fn ask_head(&mut self, facts: StartFacts) -> Result<(), Broken> {
        let Some(entry) = self.queue.head_due.take() else { return Ok(()) };
        self.runs.push(RunModel { turn: entry, ..RunModel::asked(self.last_run() + 1) });
        let number = u64::from(self.last_run());
        let facts = StartFacts { is_head: true, when_busy: WhenBusy::Reject, ..facts };
        let (ask, run_id) = (AskId::new(number), RunId::new(number));
        let turn_id = TurnId::new(u64::from(entry));
        let start = Start { ask, run_id, turn_id, facts };
        self.answer(self.last_run(), PortAnswer::HeadAsked(start))?;
        // Refused for a deletion, it has its attempt when that fails.
        self.queue.is_triggered |= self.is_deletion_awaited();
        Ok(())
    }
}

fn turn(turn_id: TurnId) -> u8 {
    u8::try_from(turn_id.number()).expect("messages are few")
}
