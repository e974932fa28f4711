//! Every order of a deletion with one run, its Stop, a queued message, a change of title, failing commits and a
//! crash, on the session's own machine.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

use std::collections::{BTreeSet, HashSet};

use runwarden_protocol::ids::{
    AgentId, AskId, ItemId, MessageId, PayloadId, PayloadRef, Revision, RunId, Seq, SessionId,
};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{ItemKind, Outcome, Reason, RowEvent};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::machine::{Machine, Outbox, Reject};
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::changes::{Change, ChangeKind};
use runwarden_protocol::run::deletion::DeletedRun;
use runwarden_protocol::run::guards::{Guards, Rules};
use runwarden_protocol::run::lineage::{
    DeletionAnswer, Input, KnownRun, Lineage, Output, RunLimits, Start,
};
use runwarden_protocol::run::queue::Change as QueueChange;
use runwarden_protocol::run::worker::CallResult;
use runwarden_protocol::wire::actions::WhenBusy;
use serde::{Deserialize, Serialize};

const NOW: Instant = Instant::from_millis(1_000);
const FIRST: RunId = RunId::new(1);
const SECOND: RunId = RunId::new(2);
const DELETE: AskId = AskId::new(70);
const TITLE: AskId = AskId::new(51);
const AGENT: AgentId = AgentId::new(1);

/// A faulty machine: the record goes and the run works on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct LeavesTheRun;

impl Guards for LeavesTheRun {
    fn ends_run_with_deletion() -> bool {
        false
    }
}

/// A faulty machine: a deleted session goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct GoesOn;

impl Guards for GoesOn {
    fn forgets_deleted() -> bool {
        false
    }
}

/// The session, what its ports owe it, and what is asked for only once.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World<G: Guards> {
    lineage: Lineage<G>,
    revision: Revision,
    /// The commit without answer.
    commit: Option<Owed>,
    /// Whether an append is unanswered, and the rows of the journal of the first run.
    is_appending: bool,
    rows: u64,
    worker: Option<(RunId, Step)>,
    left: Vec<Choice>,
    failures: u8,
    crashes: u8,
    /// Who asked and was not answered.
    waiting: BTreeSet<u64>,
    /// The run whose turn is pending, and the ends that are stored and shown.
    pending: Option<RunId>,
    stored: Vec<(RunId, Outcome)>,
    shown: Vec<(RunId, Outcome)>,
    is_deleted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Owed {
    Admission(RunId),
    Settlement(RunId, Outcome),
    Change,
    Queue,
    Deletion(Option<(RunId, Outcome)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Launched,
    Began,
    Constructed,
    Registers,
    Invokes,
    Returns,
    Exits,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Choice {
    Start,
    Queue,
    Stop,
    Delete,
    Title,
    Emit,
    Appends,
    Commits,
    Fails,
    Works,
    Crash,
}

impl<G: Guards> World<G> {
    fn new() -> Self {
        let revision = Revision::new(1);
        let left = [
            Choice::Start,
            Choice::Queue,
            Choice::Stop,
            Choice::Delete,
            Choice::Title,
            Choice::Emit,
        ];
        Self {
            lineage: Lineage::new(SessionId::new(1), revision, RunLimits::default()),
            revision,
            commit: None,
            is_appending: false,
            rows: 0,
            worker: None,
            left: left.to_vec(),
            failures: 1,
            crashes: 1,
            waiting: BTreeSet::new(),
            pending: None,
            stored: Vec::new(),
            shown: Vec::new(),
            is_deleted: false,
        }
    }

    fn choices(&self) -> Vec<Choice> {
        let is_called = self.worker == Some((FIRST, Step::Returns));
        let mut choices = self.left.clone();
        choices.retain(|choice| *choice != Choice::Emit || is_called);
        if self.commit.is_some() {
            choices.push(Choice::Commits);
            choices.extend((self.failures > 0).then_some(Choice::Fails));
        }
        choices.extend(self.is_appending.then_some(Choice::Appends));
        choices.extend(self.worker.map(|_| Choice::Works));
        let may_crash = self.crashes > 0 && !self.is_deleted && self.pending.is_some();
        choices.extend(may_crash.then_some(Choice::Crash));
        choices
    }

    fn take(&mut self, choice: Choice) -> Result<(), String> {
        self.left.retain(|left| *left != choice);
        let input = match choice {
            Choice::Start => start(FIRST, WhenBusy::Reject),
            Choice::Queue => start(SECOND, WhenBusy::Queue),
            Choice::Stop => {
                Input::Stop { ask: AskId::new(9), run_id: FIRST, known: KnownRun::Never }
            }
            Choice::Delete => Input::Delete { ask: DELETE },
            Choice::Title => Input::Change(Change { ask: TITLE, kind: ChangeKind::Description }),
            Choice::Emit => Input::Produced { run_id: FIRST, row: row() },
            Choice::Appends => {
                self.is_appending = false;
                self.rows += 1;
                Input::Persisted { run_id: FIRST, first_seq: Seq::new(self.rows), count: 1 }
            }
            Choice::Commits => self.committed(),
            Choice::Fails => self.failed(),
            Choice::Works => self.work(),
            Choice::Crash => return self.crash(),
        };
        let asked = match &input {
            Input::Start(start) => Some(start.ask),
            Input::Stop { ask, .. } | Input::Delete { ask } => Some(*ask),
            Input::Change(change) => Some(change.ask),
            _ => None,
        };
        self.feed(input, asked)
    }

    fn committed(&mut self) -> Input {
        self.revision = self.revision.plus(1);
        let revision = self.revision;
        let end = |world: &mut Self, run_id, outcome| {
            world.pending = None;
            world.stored.push((run_id, outcome));
            (run_id == FIRST).then(|| Seq::new(world.rows + 1)).or(Some(Seq::new(1)))
        };
        match self.commit.take().unwrap() {
            Owed::Admission(run_id) => {
                self.pending = Some(run_id);
                Input::Committed { run_id, revision, terminal_seq: None }
            }
            Owed::Settlement(run_id, outcome) => {
                let terminal_seq = end(self, run_id, outcome);
                Input::Committed { run_id, revision, terminal_seq }
            }
            Owed::Change => Input::ChangeCommitted { ask: TITLE, revision },
            Owed::Queue => Input::QueueCommitted { revision },
            Owed::Deletion(run) => {
                self.is_deleted = true;
                let terminal_seq = run.and_then(|(run_id, outcome)| end(self, run_id, outcome));
                Input::DeletionCommitted { revision, terminal_seq }
            }
        }
    }

    fn failed(&mut self) -> Input {
        self.failures -= 1;
        match self.commit.take().unwrap() {
            Owed::Admission(run_id) | Owed::Settlement(run_id, _) => Input::CommitFailed { run_id },
            Owed::Change => Input::ChangeFailed { ask: TITLE },
            Owed::Queue => Input::QueueCommitFailed,
            Owed::Deletion(_) => Input::DeletionFailed,
        }
    }

    fn work(&mut self) -> Input {
        let (run_id, step) = self.worker.take().unwrap();
        match step {
            Step::Launched => {
                self.worker = Some((run_id, Step::Began));
                Input::Launched { run_id }
            }
            Step::Began => Input::WorkerBegan { run_id },
            Step::Constructed => Input::AgentConstructed { run_id, agent: AGENT },
            Step::Registers => Input::RegistrationAsked { run_id },
            Step::Invokes => Input::InvocationAsked { run_id, agent: AGENT },
            Step::Returns => Input::Returned { run_id, result: CallResult::Completed },
            Step::Exits => Input::WorkerExited { run_id },
        }
    }

    /// Memory is lost; a deletion that was asked for and not committed is forgotten (RACE-94).
    fn crash(&mut self) -> Result<(), String> {
        self.crashes -= 1;
        let run_id = self.pending.unwrap();
        self.lineage = Lineage::new(SessionId::new(1), self.revision, RunLimits::default());
        (self.commit, self.worker, self.is_appending) = (None, None, false);
        self.waiting.clear();
        let turn_id = MessageId::new(run_id.number());
        let last_seq = Seq::new(if run_id == FIRST { self.rows } else { 0 });
        let recover = Input::Recover {
            run_id,
            turn_id,
            pending_started_at: NOW,
            last_seq,
            terminal: None,
            steers: Vec::new(),
        };
        self.feed(recover, None)
    }

    fn feed(&mut self, input: Input, asked: Option<AskId>) -> Result<(), String> {
        let was_deleted = self.lineage.is_deleted();
        let mut out = Outbox::new();
        let result = self.lineage.step(NOW, input.clone(), &mut out);
        if was_deleted && asked.is_some() {
            let is_unknown = result == Err(Reject::Local("session_deleted"));
            ensure(is_unknown && out.is_empty(), || {
                format!("LIFE-02: {input:?} of a deleted session is taken")
            })?;
        } else {
            self.waiting.extend(asked.map(AskId::number));
        }
        let outputs: Vec<Output> = out.drain().collect();
        outputs.into_iter().try_for_each(|output| self.carry_out(output))
    }

    fn carry_out(&mut self, output: Output) -> Result<(), String> {
        match output {
            Output::Admit { run_id, expected, .. } => {
                self.issue(expected, Owed::Admission(run_id))?;
            }
            Output::Settle { run_id, expected, verdict, .. } => {
                self.issue(expected, Owed::Settlement(run_id, verdict.outcome))?;
            }
            Output::Change { expected, .. } => self.issue(expected, Owed::Change)?,
            Output::ChangeQueue { expected, change, .. } => {
                let is_append = matches!(change, QueueChange::Append { .. } | QueueChange::Hold);
                ensure(is_append, || format!("{change:?} was never asked for"))?;
                self.issue(expected, Owed::Queue)?;
            }
            Output::Delete { run, expected, .. } => self.delete(run, expected)?,
            Output::StartHead { turn_id } => self.start_head(turn_id)?,
            Output::Append { .. } => {
                ensure(!self.is_deleted, || "JRN-12: a row of a deleted journal".to_owned())?;
                self.is_appending = true;
            }
            Output::RunEnded { run_id, outcome, reason, .. } => {
                self.shown.push((run_id, outcome));
                let is_right = reason != Some(Reason::Deleted) || outcome == Outcome::Cancelled;
                ensure(is_right, || format!("LIFE-01: {outcome:?} of a deletion"))?;
            }
            Output::DeletionAnswered { ask, answer } => {
                let is_deleted = matches!(answer, DeletionAnswer::Deleted { .. });
                ensure(!is_deleted || self.shown == self.stored, || {
                    let (shown, stored) = (&self.shown, &self.stored);
                    format!("LIFE-01: session_deleted before {stored:?} is shown: {shown:?}")
                })?;
                self.answered(ask)?;
            }
            Output::StartAnswered { ask, .. } if ask.number() != 3 => self.answered(ask)?,
            Output::ChangeAnswered { ask, .. } => self.answered(ask)?,
            Output::StopAnswered { asks, .. } => {
                asks.into_iter().try_for_each(|ask| self.answered(ask))?;
            }
            Output::Launch { run_id } => self.worker = Some((run_id, Step::Launched)),
            Output::Construct { run_id } => self.worker = Some((run_id, Step::Constructed)),
            Output::AskRegistration { run_id } => self.worker = Some((run_id, Step::Registers)),
            Output::Prepare { run_id, .. } => self.worker = Some((run_id, Step::Invokes)),
            Output::Invoke { run_id, .. } => self.worker = Some((run_id, Step::Returns)),
            Output::ExitWorker { run_id } => self.worker = Some((run_id, Step::Exits)),
            _ => {}
        }
        Ok(())
    }

    /// A deletion is issued alone, behind the Stop of the run that is not settled, with its end.
    fn delete(&mut self, run: Option<DeletedRun>, expected: Revision) -> Result<(), String> {
        let ends = run.map(|run| (run.run_id, run.verdict.outcome));
        ensure(ends.map(|(run_id, _)| run_id) == self.pending, || {
            format!("LIFE-01: {ends:?} ends with the session, pending is {:?}", self.pending)
        })?;
        ensure(!self.is_appending || run.is_none(), || {
            "STOP-22: an append is unanswered".to_owned()
        })?;
        let row = self.lineage.row();
        let is_stopped = row.is_none_or(|row| row.phase == Phase::Cancelling);
        ensure(is_stopped, || format!("LIFE-01: {row:?} is deleted and was not stopped"))?;
        self.issue(expected, Owed::Deletion(ends))
    }

    /// The head starts at once, if at all.
    fn start_head(&mut self, turn_id: MessageId) -> Result<(), String> {
        ensure(!self.waiting.contains(&DELETE.number()), || {
            "LIFE-01: the head of the queue starts beside a deletion".to_owned()
        })?;
        let facts = StartFacts { is_head: true, ..facts(WhenBusy::Reject) };
        let start = Start { ask: AskId::new(3), run_id: RunId::new(3), turn_id, facts };
        let mut out = Outbox::new();
        let _ = self.lineage.step(NOW, Input::Start(start), &mut out);
        let outputs: Vec<Output> = out.drain().collect();
        outputs.into_iter().try_for_each(|output| self.carry_out(output))
    }

    fn issue(&mut self, expected: Revision, owed: Owed) -> Result<(), String> {
        ensure(!self.is_deleted, || format!("LIFE-02: {owed:?} brings a deleted session back"))?;
        let other = self.commit.replace(owed);
        ensure(other.is_none(), || format!("SES-2: {owed:?} is issued beside {other:?}"))?;
        ensure(expected == self.revision, || format!("OWN-03: {owed:?} is of another revision"))
    }

    fn answered(&mut self, ask: AskId) -> Result<(), String> {
        ensure(self.waiting.remove(&ask.number()), || format!("ACT-5: {ask} is answered twice"))
    }

    /// When nothing happens any more: everybody was answered, each run that was admitted has one end, which was
    /// shown, and the session is over or takes a turn.
    fn check_end(&self) -> Result<(), String> {
        ensure(self.waiting.is_empty(), || format!("ACT-5: {:?} wait for ever", self.waiting))?;
        ensure(self.pending.is_none(), || format!("INV-TERM: {:?} has no end", self.pending))?;
        let runs: BTreeSet<RunId> = self.stored.iter().map(|(run_id, _)| *run_id).collect();
        ensure(runs.len() == self.stored.len(), || format!("INV-TERM: {:?}", self.stored))?;
        let is_free = self.lineage.may_start(NOW).is_ok();
        ensure(if self.is_deleted { self.lineage.is_over() } else { is_free }, || {
            "INV-LIVE: neither over nor free".to_owned()
        })
    }
}

fn ensure(is_so: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(broken()) }
}

fn facts(when_busy: WhenBusy) -> StartFacts {
    StartFacts {
        key: KeyFact::Unused,
        agent_available: true,
        attachment_unknown: false,
        storage_low: false,
        slot: SlotFact::Granted,
        when_busy,
        is_head: false,
        is_wakeup: false,
        rewrites: None,
    }
}

fn start(run_id: RunId, when_busy: WhenBusy) -> Input {
    let number = run_id.number();
    let (ask, turn_id) = (AskId::new(number), MessageId::new(number));
    Input::Start(Start { ask, run_id, turn_id, facts: facts(when_busy) })
}

fn row() -> RowRef {
    let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
    RowRef {
        event,
        payload: PayloadRef { id: PayloadId::new(1), json_bytes: 1 },
        at: Instant::ZERO,
    }
}

/// Visits every reachable state; how many there are.
fn explore<G: Guards>() -> Result<usize, String> {
    let mut seen = HashSet::new();
    let mut waiting = vec![World::<G>::new()];
    while let Some(world) = waiting.pop() {
        if !seen.insert(world.clone()) {
            continue;
        }
        let choices = world.choices();
        if choices.is_empty() {
            world.check_end()?;
        }
        for choice in choices {
            let mut next = world.clone();
            next.take(choice).map_err(|broken| format!("{broken}, by {choice:?}"))?;
            waiting.push(next);
        }
    }
    Ok(seen.len())
}

/// LIFE-01 [explore], LIFE-02 [explore], LIST-6 [explore], JRN-12 [explore]: in every order a deletion stops the run it
/// meets, is committed with its end and nothing else beside it, shows that end first, and afterwards nothing of
/// the session is written, started or answered as if it were there; machines that forget one of these are caught.
#[test]
fn a_deletion_ends_its_run_and_everything_else_in_every_order() {
    let states = explore::<Rules>().unwrap_or_else(|broken| panic!("{broken}"));
    assert!(states > 2_000, "{states} states");
    println!("{states} states");
    let broken = explore::<LeavesTheRun>().unwrap_err();
    assert!(broken.starts_with("LIFE-01"), "{broken}");
    let broken = explore::<GoesOn>().unwrap_err();
    assert!(broken.starts_with("LIFE-02"), "{broken}");
}
