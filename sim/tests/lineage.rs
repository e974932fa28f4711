//! A session recorded as a flight recorder does it: what is exported replays to the same chain.

use runwarden_protocol::flight::{
    FlightRecorder, RECORD_BYTES_DEFAULT, RECORD_BYTES_MAX, Taken, end_digest,
};
use runwarden_protocol::ids::{
    AgentId, AskId, ItemId, MessageId, PayloadId, PayloadRef, Revision, RunId, Seq, SessionId,
};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::row::{ItemKind, RowEvent};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::record::{Digest, Record, Recorder, SCHEMA_VERSION};
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::lineage::{Input, KnownRun, Lineage, Output, RunLimits, Start};
use runwarden_protocol::run::worker::CallResult;
use runwarden_protocol::wire::actions::WhenBusy;
use runwarden_sim::draw::Scene;
use runwarden_sim::machines::Registry;
use runwarden_sim::race::{Choice, Expectation, Label, Race, Ring, Scope, ScopeKey};
use runwarden_sim::replay::{Replayed, replay};
use serde_json::{Value, json};

const RUN: RunId = RunId::new(1);
const AGENT: AgentId = AgentId::new(1);
const MACHINE: &str = "run/ses_0000000000000001";

/// A session whose steps are recorded.
struct Recorded {
    session: Lineage,
    init: Value,
    now: Instant,
    recorder: Recorder,
    records: Vec<Record>,
}

impl Recorded {
    fn new() -> Self {
        let session = Lineage::new(SessionId::new(1), Revision::new(1), RunLimits::default());
        let init = serde_json::to_value(&session).expect("a machine has a JSON form");
        let recorder = Recorder::default();
        Self { session, init, now: Instant::ZERO, recorder, records: Vec::new() }
    }

    fn feed(&mut self, input: Input) -> Vec<Output> {
        let mut out = Outbox::new();
        let reject = self.session.step(self.now, input.clone(), &mut out).err();
        let outputs: Vec<Output> = out.drain().collect();
        let record = self.recorder.record(self.now, MACHINE, &input, &outputs, reject.as_ref());
        self.records.push(record.expect("a step has a JSON form"));
        outputs
    }

    fn pass(&mut self, by: Duration) {
        self.now = self.now.plus(by);
        let mut out = Outbox::new();
        self.session.tick(self.now, &mut out);
        let outputs: Vec<Output> = out.drain().collect();
        let record =
            self.recorder.record(self.now, MACHINE, &json!({"kind": "tick"}), &outputs, None);
        self.records.push(record.expect("a step has a JSON form"));
    }

    fn commit(&mut self, terminal_seq: Option<u64>) -> Vec<Output> {
        let revision = Revision::new(self.session.revision().get() + 1);
        self.feed(Input::Committed {
            run_id: RUN,
            revision,
            terminal_seq: terminal_seq.map(Seq::new),
        })
    }

    /// A run that has shown two rows.
    fn run_with_rows(&mut self) {
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
        let turn_id = MessageId::new(1);
        self.feed(Input::Start(Start { ask: AskId::new(1), run_id: RUN, turn_id, facts }));
        self.commit(None);
        self.feed(Input::Launched { run_id: RUN });
        self.feed(Input::WorkerBegan { run_id: RUN });
        self.feed(Input::AgentConstructed { run_id: RUN, agent: AGENT });
        self.feed(Input::RegistrationAsked { run_id: RUN });
        self.feed(Input::InvocationAsked { run_id: RUN, agent: AGENT });
        for seq in 1..=2 {
            let row = RowRef {
                event: RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text },
                payload: PayloadRef { id: PayloadId::new(seq), json_bytes: 10 },
                at: self.now,
            };
            self.feed(Input::Produced { run_id: RUN, row });
            self.feed(Input::Persisted { run_id: RUN, first_seq: Seq::new(seq), count: 1 });
        }
    }

    fn stop(&mut self) {
        let ask = AskId::new(2);
        self.feed(Input::Stop { ask, run_id: RUN, known: KnownRun::Never });
    }

    fn export(&self) -> Race {
        let choice = |record: &Record| Choice {
            step: record.n,
            now: record.now_us,
            actor: record.machine.parse().expect("a machine's name is a word"),
            verb: Race::INPUT.parse().expect("`input` is a word"),
            label: Label::Input(record.input.clone()),
        };
        Race {
            scenario: "flight-recorder".parse().expect("this is a name"),
            ring: Ring::Explore,
            variant: None,
            scope: Scope::new([(ScopeKey::Clients, 1)].into()).expect("one count"),
            seed: 0,
            schema: SCHEMA_VERSION,
            init: Some([(MACHINE.to_owned(), self.init.clone())].into_iter().collect()),
            choices: self.records.iter().map(choice).collect(),
            expect: Expectation::Ok,
            digest: self.digest(),
        }
    }

    fn digest(&self) -> Digest {
        let state = serde_json::to_value(&self.session).expect("a machine has a JSON form");
        let states = [(MACHINE.to_owned(), state)].into_iter().collect();
        end_digest(self.recorder.digest(), &states)
    }

    /// Writes the export, reads it back and replays it.
    fn replayed(&self) -> (Vec<Record>, Replayed) {
        let race = Race::parse(self.export().to_string().as_bytes()).expect("an export is read");
        let mut records = Vec::new();
        let replayed = replay(&race, &Registry::product(), |record| records.push(record.clone()));
        (records, replayed.expect("an export replays"))
    }
}

#[test]
fn a_stopped_run_replays_to_the_same_records() {
    let mut recorded = Recorded::new();
    recorded.run_with_rows();
    recorded.stop();
    recorded.pass(Duration::from_secs(1));
    let ended = recorded.commit(Some(3));
    assert!(ended.iter().any(|output| matches!(output, Output::RunEnded { .. })), "{ended:?}");
    recorded.feed(Input::Returned { run_id: RUN, result: CallResult::Completed });
    recorded.feed(Input::WorkerExited { run_id: RUN });
    recorded.stop();
    let (records, replayed) = recorded.replayed();
    assert_eq!(records, recorded.records);
    assert_eq!(replayed.digest, recorded.digest());
    assert_eq!((replayed.is_met, replayed.violation), (true, None));
    insta::with_settings!({
        snapshot_path => "../../snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!("sim_stopped_run", Scene::of_records(&records).text());
    });
}

/// What docs/limits.md states of the memory of a session.
#[test]
fn a_flight_recorder_keeps_a_session_within_its_bound() {
    const STEP_BYTES_STATED: usize = 96;
    const STATE_BYTES_STATED: usize = 4_096;
    let mut recorded = Recorded::new();
    recorded.run_with_rows();
    assert!(recorded.session.weight() <= STATE_BYTES_STATED, "{}", recorded.session.weight());
    let step_bytes = FlightRecorder::<Lineage>::STEP_BYTES;
    assert!(step_bytes <= STEP_BYTES_STATED, "{step_bytes}");
    for bytes_max in [16_384, RECORD_BYTES_DEFAULT, RECORD_BYTES_MAX] {
        let mut recorder = FlightRecorder::new(bytes_max);
        let steps_max = 2 * (bytes_max / 2 / step_bytes);
        let note = |recorder: &mut FlightRecorder<Lineage>| {
            recorder.note(&recorded.session, recorded.now, Taken::Tick);
            assert!(recorder.step_bytes() <= bytes_max);
            recorder.len()
        };
        for steps in 1..=steps_max {
            assert_eq!(note(&mut recorder), steps);
        }
        assert_eq!(note(&mut recorder), steps_max / 2 + 1, "the older half went");
    }
}
