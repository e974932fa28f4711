//! Runs on remote backends: the session's machine among a store that writes at once, a worker that does what it is
//! asked, and a scripted backend. RACE-40.

use std::collections::VecDeque;

use runwarden_protocol::ids::{AgentId, AskId, MessageId, Revision, RunId, Seq, SessionId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::guards::{Guards, Rules};
use runwarden_protocol::run::lineage::{Input, KnownRun, Lineage, Output, RunLimits, Start};
use runwarden_protocol::run::remote::Fact;
use runwarden_protocol::run::stop::Answer;
use runwarden_protocol::run::worker::CallResult;
use runwarden_protocol::wire::actions::WhenBusy;
use runwarden_runtime::dispatch::{PortAnswer, PortCall, StoreCall, WorkerCall, fact, port_call};

const RUN: RunId = RunId::new(1);
const AGENT: AgentId = AgentId::new(1);
const ASK: AskId = AskId::new(7);

/// How long after the Stop things are looked at, in seconds.
const SECONDS: u64 = 12;

/// What a backend does.
#[derive(Clone, Copy)]
struct Script {
    /// When it gives its id, in seconds after the Stop; none: before it.
    id_at_s: Option<u64>,
    /// Whether it refuses to stop.
    refuses: bool,
}

/// What was seen, in seconds after the Stop.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    answers: Vec<(u64, Answer)>,
    remote_stops: Vec<u64>,
    ends: Vec<Outcome>,
}

struct Bed<G: Guards> {
    session: Lineage<G>,
    script: Script,
    second: u64,
    is_known: bool,
    seen: Seen,
}

impl<G: Guards> Bed<G> {
    fn new(script: Script) -> Self {
        let session = Lineage::new(SessionId::new(1), Revision::new(1), RunLimits::default());
        Self { session, script, second: 0, is_known: false, seen: Seen::default() }
    }

    fn now(&self) -> Instant {
        Instant::ZERO.plus(Duration::from_secs(self.second))
    }

    /// Feeds an input, and whatever the ports answer at once.
    fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let mut out = Outbox::new();
            let result = self.session.step(self.now(), input.clone(), &mut out);
            result.unwrap_or_else(|reject| panic!("{input:?}: {reject:?}"));
            self.carry_out(&mut out, &mut inputs);
        }
    }

    fn tick(&mut self) {
        let (mut out, mut inputs) = (Outbox::new(), VecDeque::new());
        self.session.tick(self.now(), &mut out);
        self.carry_out(&mut out, &mut inputs);
        inputs.into_iter().for_each(|input| self.feed(input));
    }

    fn carry_out(&mut self, out: &mut Outbox<Output>, inputs: &mut VecDeque<Input>) {
        for output in out.drain() {
            if let Output::StopAnswered { answer, .. } = output {
                self.seen.answers.push((self.second, answer));
            } else if let Output::RunEnded { outcome, .. } = output {
                self.seen.ends.push(outcome);
            }
            match port_call(output) {
                PortCall::Store(run_id, call) => inputs.extend(self.write(run_id, &call)),
                PortCall::Worker(run_id, call) => self.work(run_id, call, inputs),
                _ => {}
            }
        }
    }

    fn write(&self, run_id: RunId, call: &StoreCall) -> Option<Input> {
        let terminal_seq = match call {
            StoreCall::Admit { .. } => None,
            StoreCall::Settle { .. } => Some(Seq::new(1)),
            StoreCall::StartWorker { .. } => return None,
            StoreCall::Compensate { .. } | StoreCall::Append { .. } => panic!("{call:?}"),
        };
        let revision = self.session.revision().plus(1);
        Some(fact(PortAnswer::Committed(run_id, Some((revision, terminal_seq)))))
    }

    fn work(&mut self, run_id: RunId, call: WorkerCall, inputs: &mut VecDeque<Input>) {
        let answers = match call {
            WorkerCall::Launch => {
                vec![PortAnswer::Launched(run_id, true), PortAnswer::Began(run_id)]
            }
            WorkerCall::Construct => vec![PortAnswer::Constructed(run_id, Some(AGENT))],
            WorkerCall::AskRegistration => vec![PortAnswer::RegistrationAsked(run_id)],
            WorkerCall::Prepare(agent) => vec![PortAnswer::Prepared(run_id, agent)],
            WorkerCall::Invoke(_) => {
                self.is_known = self.script.id_at_s.is_none();
                let known = self.is_known.then_some(Fact::Identified);
                [Some(Fact::Started), known]
                    .into_iter()
                    .flatten()
                    .map(|fact| PortAnswer::Remote(run_id, fact))
                    .collect()
            }
            WorkerCall::StopRemote => {
                self.seen.remote_stops.push(self.second);
                assert!(self.is_known, "a backend is stopped by its id");
                let is_refused = self.script.refuses;
                let fact = if is_refused { Fact::StopRefused } else { Fact::StopTaken };
                vec![PortAnswer::Remote(run_id, fact)]
            }
            WorkerCall::Signal(..) => vec![PortAnswer::Returned(run_id, CallResult::Interrupted)],
            WorkerCall::Exit => vec![PortAnswer::Exited(run_id)],
            WorkerCall::HandSteer(_) | WorkerCall::AbandonConstruction => panic!("{call:?}"),
        };
        inputs.extend(answers.into_iter().map(fact));
    }

    fn phase(&self) -> Option<Phase> {
        self.session.row().map(|row| row.phase)
    }

    fn start(&mut self, number: u64) {
        let facts = StartFacts {
            key: KeyFact::Unused,
            agent_available: true,
            attachment_unknown: false,
            storage_low: false,
            liveness_unreadable: false,
            slot: SlotFact::Granted,
            when_busy: WhenBusy::Reject,
            is_head: false,
            is_wakeup: false,
            rewrites: None,
        };
        let (ask, run_id) = (AskId::new(number), RunId::new(number));
        self.feed(Input::Start(Start { ask, run_id, turn_id: MessageId::new(number), facts }));
    }
}

/// A run is called, stopped at once, and looked at for a while.
fn stopped<G: Guards>(script: Script) -> Bed<G> {
    let mut bed = Bed::<G>::new(script);
    bed.start(1);
    assert_eq!(bed.phase(), Some(Phase::Running));
    bed.feed(Input::Stop { ask: ASK, run_id: RUN, known: KnownRun::Never });
    for second in 1..=SECONDS {
        bed.second = second;
        if script.id_at_s == Some(second) {
            bed.is_known = true;
            if bed.session.holds(RUN) {
                bed.feed(Input::Remote { run_id: RUN, fact: Fact::Identified });
            }
        }
        bed.tick();
    }
    bed
}

fn seen(answer: (u64, Answer), remote_stop: u64, ends: &[Outcome]) -> Seen {
    Seen { answers: vec![answer], remote_stops: vec![remote_stop], ends: ends.to_vec() }
}

const EARLY: Script = Script { id_at_s: Some(3), refuses: false };
const LATE: Script = Script { id_at_s: Some(9), refuses: false };
const KNOWN: Script = Script { id_at_s: None, refuses: false };
const REFUSING: Script = Script { id_at_s: None, refuses: true };

/// STOP-17 [sim]: a Stop before the remote id is known waits for it at most 5 s, then it is accepted, and the remote
/// stop follows once, as soon as the id is there; until then nobody takes the session for finished with it.
#[test]
fn a_stop_waits_for_the_remote_id_and_the_remote_run_never_goes_on_unseen() {
    let cancelled = &[Outcome::Cancelled];
    assert_eq!(stopped::<Rules>(KNOWN).seen, seen((0, Answer::Accepted), 0, cancelled));
    assert_eq!(stopped::<Rules>(EARLY).seen, seen((3, Answer::Accepted), 3, cancelled));
    let mut late = stopped::<Rules>(LATE);
    assert_eq!(late.seen, seen((5, Answer::Accepted), 9, cancelled));
    assert!(!late.session.holds(RUN), "nothing is owed any more");
    late.start(2);
    assert_eq!(late.phase(), Some(Phase::Running), "the session takes the next turn");
}

/// STOP-18 [sim]: a backend that refuses leaves row, phase and token as they were, and the Stop is answered
/// `remote_refused`; the run may be stopped again.
#[test]
fn a_refusal_of_the_backend_changes_nothing() {
    let mut bed = stopped::<Rules>(REFUSING);
    assert_eq!(bed.seen, seen((0, Answer::RemoteRefused), 0, &[]));
    assert_eq!(bed.phase(), Some(Phase::Running));
    assert!(bed.session.may_stop(RUN) && bed.session.may_attach(RUN));
    bed.script.refuses = false;
    bed.feed(Input::Stop { ask: ASK, run_id: RUN, known: KnownRun::Never });
    assert_eq!(bed.seen.answers.last(), Some(&(SECONDS, Answer::Accepted)));
    assert_eq!(bed.seen.ends, [Outcome::Cancelled]);
}

/// The local run is freed at once, and nobody asks the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct LocalStopOnly;

impl Guards for LocalStopOnly {
    fn awaits_remote() -> bool {
        false
    }
}

/// A stopped run is forgotten before its backend was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct OwedStopForgotten;

impl Guards for OwedStopForgotten {
    fn remembers_owed_stop() -> bool {
        false
    }
}

/// A refusal is overridden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct RefusalIgnored;

impl Guards for RefusalIgnored {
    fn heeds_remote_refusal() -> bool {
        false
    }
}

/// Each wrong behaviour of RACE-40 is seen.
#[test]
fn a_remote_run_that_goes_on_unseen_is_noticed() {
    assert_eq!(stopped::<LocalStopOnly>(LATE).seen.remote_stops, Vec::<u64>::new());
    assert_eq!(stopped::<LocalStopOnly>(KNOWN).seen.remote_stops, Vec::<u64>::new());
    assert_eq!(stopped::<OwedStopForgotten>(LATE).seen.remote_stops, Vec::<u64>::new());
    assert_ne!(stopped::<RefusalIgnored>(REFUSING).seen, stopped::<Rules>(REFUSING).seen);
}
