//! Every order of a rewrite, a change of agent, a change of title and one run with its Stop, on the session's own machine.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

use std::collections::{BTreeMap, HashSet};

use runwarden_protocol::ids::{AgentId, AskId, MessageId, Revision, RunId, Seq, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::changes::{Change, ChangeKind};
use runwarden_protocol::run::guards::{Guards, Rules};
use runwarden_protocol::run::lineage::{
    ChangeAnswer, Input, KnownRun, Lineage, Output, RunLimits, Start,
};
use runwarden_protocol::run::worker::CallResult;
use runwarden_protocol::wire::actions::WhenBusy;
use runwarden_protocol::wire::codes::Code;
use serde::{Deserialize, Serialize};

const NOW: Instant = Instant::from_millis(1_000);
const RUN: RunId = RunId::new(1);
const AGENT: AskId = AskId::new(50);
const TITLE: AskId = AskId::new(51);
const REWRITE: AskId = AskId::new(52);

/// A faulty machine: agent and model change at any time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct ChangesBesideARun;

impl Guards for ChangesBesideARun {
    fn may_change_agent(_may_start: bool) -> bool {
        true
    }
}

/// A faulty machine: it rewrites at any revision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
struct RewritesWhatNobodySaw;

impl Guards for RewritesWhatNobodySaw {
    fn rewrites_at(_expected: Revision, _current: Revision) -> bool {
        true
    }
}

/// The session, what its ports owe it, and what is asked for only once.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World<G: Guards> {
    lineage: Lineage<G>,
    /// The store's revision, and the commit without answer.
    revision: Revision,
    commit: Option<Owed>,
    /// What the worker does next.
    worker: Option<WorkerStep>,
    left: Vec<Choice>,
    failures: u8,
    answered: BTreeMap<u64, u8>,
    /// The revision that the client of the rewrite saw.
    seen: Revision,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Owed {
    OfRun { is_settlement: bool },
    OfChange(AskId),
}

/// A step of the worker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum WorkerStep {
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
    Stop,
    ChangeAgent,
    ChangeTitle,
    Rewrite,
    Commits,
    Fails,
    Works,
}

impl<G: Guards> World<G> {
    fn new() -> Self {
        let revision = Revision::new(1);
        Self {
            lineage: Lineage::new(SessionId::new(1), revision, RunLimits::default()),
            revision,
            commit: None,
            worker: None,
            left: vec![
                Choice::Start,
                Choice::Stop,
                Choice::ChangeAgent,
                Choice::ChangeTitle,
                Choice::Rewrite,
            ],
            failures: 1,
            answered: BTreeMap::new(),
            seen: revision,
        }
    }

    fn choices(&self) -> Vec<Choice> {
        let mut choices = self.left.clone();
        if self.commit.is_some() {
            choices.push(Choice::Commits);
            choices.extend((self.failures > 0).then_some(Choice::Fails));
        }
        choices.extend(self.worker.map(|_| Choice::Works));
        choices
    }

    fn take(&mut self, choice: Choice) -> Result<(), String> {
        self.left.retain(|left| *left != choice);
        let input = match choice {
            Choice::Start => start(),
            Choice::Stop => Input::Stop { ask: AskId::new(9), run_id: RUN, known: KnownRun::Never },
            Choice::ChangeAgent => change(AGENT, ChangeKind::Agent),
            Choice::ChangeTitle => change(TITLE, ChangeKind::Description),
            Choice::Rewrite => {
                self.seen = self.revision;
                change(REWRITE, ChangeKind::Rewrite { expected: self.seen })
            }
            Choice::Commits => self.committed(),
            Choice::Fails => self.failed(),
            Choice::Works => self.work(),
        };
        self.feed(input)
    }

    fn committed(&mut self) -> Input {
        self.revision = self.revision.plus(1);
        let revision = self.revision;
        match self.commit.take().unwrap() {
            Owed::OfRun { is_settlement } => {
                let terminal_seq = is_settlement.then_some(Seq::new(1));
                Input::Committed { run_id: RUN, revision, terminal_seq }
            }
            Owed::OfChange(ask) => Input::ChangeCommitted { ask, revision },
        }
    }

    fn failed(&mut self) -> Input {
        self.failures -= 1;
        match self.commit.take().unwrap() {
            Owed::OfRun { .. } => Input::CommitFailed { run_id: RUN },
            Owed::OfChange(ask) => Input::ChangeFailed { ask },
        }
    }

    fn work(&mut self) -> Input {
        let (run_id, agent) = (RUN, AgentId::new(1));
        match self.worker.take().unwrap() {
            WorkerStep::Launched => {
                self.worker = Some(WorkerStep::Began);
                Input::Launched { run_id }
            }
            WorkerStep::Began => Input::WorkerBegan { run_id },
            WorkerStep::Constructed => Input::AgentConstructed { run_id, agent },
            WorkerStep::Registers => Input::RegistrationAsked { run_id },
            WorkerStep::Invokes => Input::InvocationAsked { run_id, agent },
            WorkerStep::Returns => Input::Returned { run_id, result: CallResult::Completed },
            WorkerStep::Exits => Input::WorkerExited { run_id },
        }
    }

    fn feed(&mut self, input: Input) -> Result<(), String> {
        let mut out = Outbox::new();
        // What no table lists, such as the return of a call after its run ended, changes nothing.
        let _ = self.lineage.step(NOW, input, &mut out);
        let outputs: Vec<Output> = out.drain().collect();
        outputs.into_iter().try_for_each(|output| self.carry_out(output))
    }

    fn carry_out(&mut self, output: Output) -> Result<(), String> {
        match output {
            Output::Admit { expected, .. } => {
                self.issue(expected, Owed::OfRun { is_settlement: false })?;
            }
            Output::Settle { expected, .. } => {
                self.issue(expected, Owed::OfRun { is_settlement: true })?;
            }
            Output::Change { ask, expected, .. } => {
                let row = self.lineage.row();
                ensure(ask == TITLE || row.is_none(), || {
                    format!("LIFE-03: {ask} is changed beside {row:?}")
                })?;
                ensure(ask != REWRITE || expected == self.seen, || {
                    format!("LIFE-04: a rewrite of {:?} is made at {expected:?}", self.seen)
                })?;
                self.issue(expected, Owed::OfChange(ask))?;
            }
            Output::ChangeAnswered { ask, answer } => {
                *self.answered.entry(ask.number()).or_default() += 1;
                let code = match answer {
                    ChangeAnswer::Refused(refusal) => Some(refusal.code),
                    ChangeAnswer::Committed { .. } | ChangeAnswer::Failed => None,
                };
                let is_busy = self.lineage.may_start(NOW).is_err();
                let is_stale = ask == REWRITE && self.lineage.revision() != self.seen;
                let is_right = code.is_none_or(|code| match code {
                    Code::SessionBusy => ask != TITLE && is_busy,
                    Code::RegenerationStale => is_stale,
                    _ => false,
                });
                ensure(is_right, || format!("ACT-19: {ask} is refused {code:?}"))?;
            }
            Output::Launch { .. } => self.worker = Some(WorkerStep::Launched),
            Output::Construct { .. } => self.worker = Some(WorkerStep::Constructed),
            Output::AskRegistration { .. } => self.worker = Some(WorkerStep::Registers),
            Output::Prepare { .. } => self.worker = Some(WorkerStep::Invokes),
            Output::Invoke { .. } => self.worker = Some(WorkerStep::Returns),
            Output::ExitWorker { .. } => self.worker = Some(WorkerStep::Exits),
            _ => {}
        }
        Ok(())
    }

    fn issue(&mut self, expected: Revision, owed: Owed) -> Result<(), String> {
        let other = self.commit.replace(owed);
        ensure(other.is_none(), || format!("SES-2: {owed:?} is issued beside {other:?}"))?;
        ensure(expected == self.revision, || format!("OWN-03: {owed:?} is of another revision"))
    }

    /// When nothing happens any more: all changes were answered once, and a turn may start.
    fn check_end(&self) -> Result<(), String> {
        ensure(
            self.answered.values().all(|times| *times == 1) && self.answered.len() == 3,
            || format!("answers to the changes: {:?}", self.answered),
        )?;
        ensure(self.lineage.may_start(NOW).is_ok() && self.lineage.is_at_rest(), || {
            "INV-LIVE: no turn may start".to_owned()
        })
    }
}

fn ensure(is_so: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(broken()) }
}

fn start() -> Input {
    let facts = StartFacts {
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
    Input::Start(Start { ask: AskId::new(1), run_id: RUN, turn_id: MessageId::new(1), facts })
}

fn change(ask: AskId, kind: ChangeKind) -> Input {
    Input::Change(Change { ask, kind })
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
            next.take(choice)?;
            waiting.push(next);
        }
    }
    Ok(seen.len())
}

/// LIFE-03 [explore], ACT-19 [explore], ACT-20 [explore]: in every order of starts, Stops, commits and failures a
/// rewrite and a change of agent or model are refused `session_busy` exactly while a run has its row, a change of
/// title never is, a rewrite is made at the revision its client saw or refused as stale, each is answered once,
/// and commits stand one after another; machines that ask nothing are caught.
#[test]
fn agent_and_model_change_only_between_runs_in_every_order() {
    let states = explore::<Rules>().unwrap_or_else(|broken| panic!("{broken}"));
    assert!(states > 500, "{states} states");
    println!("{states} states");
    let broken = explore::<ChangesBesideARun>().unwrap_err();
    assert!(broken.starts_with("LIFE-03"), "{broken}");
    let broken = explore::<RewritesWhatNobodySaw>().unwrap_err();
    assert!(broken.starts_with("LIFE-04"), "{broken}");
}
