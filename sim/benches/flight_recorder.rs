//! What the flight recorder costs: per step of a session's machine, and of a whole run through the drivers of
//! the server. On and off take turns in one process, so that a busy machine slows both.
//!
//! `cargo bench -p runwarden-sim --bench flight_recorder`

use std::hint::black_box;
use std::time::Instant as Clock;

use runwarden_protocol::flight::{FlightRecorder, RECORD_BYTES_DEFAULT, Taken};
use runwarden_protocol::ids::{
    AgentId, AskId, ItemId, MessageId, PayloadId, PayloadRef, Revision, RunId, Seq, SessionId,
};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::row::{ItemKind, RowEvent};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::run::admission::{KeyFact, SlotFact, StartFacts};
use runwarden_protocol::run::lineage::{Input, Lineage, RunLimits, Start};
use runwarden_protocol::wire::actions::WhenBusy;
use runwarden_sim::weave::{Act, Bed, Script};

/// Rounds; each measures on and off once.
const ROUNDS: usize = 15;

/// Rows of one round through the machine alone.
const MACHINE_ROWS: u64 = 200_000;

/// Rows of one round through the drivers.
const DRIVER_ROWS: usize = 2_000;

/// Time of one row when 100 subscribers get 1.5 million frames a second.
const ROW_NS_AT_TARGET: f64 = 1e9 / 15_000.0;

const RUN: RunId = RunId::new(1);

fn main() {
    let machine = rounds(|on| machine_ns_per_row(if on { RECORD_BYTES_DEFAULT } else { 0 }));
    let cost = median(machine.iter().map(|(off, on)| on - off).collect());
    println!(
        "machine alone, 2 steps a row: {} ns a row without, {} ns with",
        median(machine.iter().map(|pair| pair.0).collect()).round(),
        median(machine.iter().map(|pair| pair.1).collect()).round()
    );
    println!(
        "cost {cost:.0} ns a row, {:.2} % of a row at 1.5 M frames/s to 100 subscribers",
        100.0 * cost / ROW_NS_AT_TARGET
    );
    report("drivers, store model and one subscriber", rounds(driver_seconds));
    println!(
        "a step is {} bytes, {RECORD_BYTES_DEFAULT} bytes keep {} of them; a state of a session at work is \
        {} bytes",
        FlightRecorder::<Lineage>::STEP_BYTES,
        2 * (RECORD_BYTES_DEFAULT / 2 / FlightRecorder::<Lineage>::STEP_BYTES),
        running().weight()
    );
}

/// Off and on, in turns.
fn rounds(measure: impl Fn(bool) -> f64) -> Vec<(f64, f64)> {
    measure(true);
    (0..ROUNDS)
        .map(|round| {
            if round % 2 == 0 {
                let off = measure(false);
                (off, measure(true))
            } else {
                let on = measure(true);
                (measure(false), on)
            }
        })
        .collect()
}

fn report(what: &str, rounds: Vec<(f64, f64)>) {
    let mut ratios: Vec<f64> = rounds.iter().map(|(off, on)| on / off).collect();
    ratios.sort_by(f64::total_cmp);
    println!(
        "{what}: on/off {:.4} (median of {ROUNDS}, {:.4} to {:.4})",
        ratios[ROUNDS / 2],
        ratios[0],
        ratios[ROUNDS - 1]
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn machine_ns_per_row(bytes_max: usize) -> f64 {
    let mut session = running();
    let mut recorder = (bytes_max > 0).then(|| FlightRecorder::new(bytes_max));
    let mut out = Outbox::new();
    let begun = Clock::now();
    for seq in 1..=MACHINE_ROWS {
        let now = Instant::from_micros(seq);
        let row = RowRef {
            event: RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text },
            payload: PayloadRef { id: PayloadId::new(seq), json_bytes: 200 },
            at: now,
        };
        let persisted = Input::Persisted { run_id: RUN, first_seq: Seq::new(seq), count: 1 };
        for input in [Input::Produced { run_id: RUN, row }, persisted] {
            if let Some(recorder) = &mut recorder {
                recorder.note(&session, now, Taken::Input(input.clone()));
            }
            session.step(now, input, &mut out).expect("the run takes rows");
            out.drain().for_each(|output| drop(black_box(output)));
        }
    }
    black_box(&recorder);
    begun.elapsed().as_nanos() as f64 / MACHINE_ROWS as f64
}

/// A session whose agent is called.
fn running() -> Lineage {
    let mut session = Lineage::new(SessionId::new(1), Revision::new(1), RunLimits::default());
    let mut out = Outbox::new();
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
    let (ask, turn_id, agent) = (AskId::new(1), MessageId::new(1), AgentId::new(1));
    for input in [
        Input::Start(Start { ask, run_id: RUN, turn_id, facts }),
        Input::Committed { run_id: RUN, revision: Revision::new(2), terminal_seq: None },
        Input::Launched { run_id: RUN },
        Input::WorkerBegan { run_id: RUN },
        Input::AgentConstructed { run_id: RUN, agent },
        Input::RegistrationAsked { run_id: RUN },
        Input::InvocationAsked { run_id: RUN, agent },
    ] {
        session.step(Instant::ZERO, input, &mut out).expect("a run begins like this");
        out.drain().for_each(drop);
    }
    session
}

/// Time of one run with many rows, from its prompt to its end.
fn driver_seconds(on: bool) -> f64 {
    let scenario = move |mut bed: Bed| async move {
        bed.record_bytes_max = if on { RECORD_BYTES_DEFAULT } else { 0 };
        // Text that comes later than this does not merge.
        let row = [
            Act::Say("two hundred bytes are not needed here "),
            Act::Work(Duration::from_millis(50)),
        ];
        bed.agents.will([Script::of(&row.repeat(DRIVER_ROWS))]);
        bed.start().await;
        let mut client = bed.connect().await;
        let session = client.create_session().await.expect("a session");
        let begun = Clock::now();
        let reply = client.say(&session, "go").await.expect("a reply");
        let run = reply.data["run_id"].as_str().expect("a run").to_owned();
        let ended = client.ended(&run).await.expect("an end");
        assert_eq!(ended.data["status"], "completed");
        begun.elapsed().as_secs_f64()
    };
    Bed::run(1, scenario).expect("the run ends")
}
