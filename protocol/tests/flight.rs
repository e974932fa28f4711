//! The flight recorder: its bound, and what leaves it as a race file.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

use runwarden_protocol::flight::{
    Flight, FlightError, FlightRecorder, Kept, RecordingError, Taken, began, end_digest, flight_of,
};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::machine::{Machine, Outbox, Reject, TimerKind};
use runwarden_protocol::race::{Choice, LINE_BYTES_MAX, Label, Race};
use runwarden_protocol::record::{NUMBER_MAX, Record, Recorder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Adds what it is given, and says the sum; a tick halves it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Sum {
    sum: u64,
    since: Option<Instant>,
    pad: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Input {
    Add {
        number: u64,
    },
    /// Adds how many there are.
    List {
        numbers: Vec<u64>,
    },
}

impl Kept for Input {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Add { .. } => 0,
            Self::List { numbers } => numbers.capacity() * size_of::<u64>(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Output {
    Summed { sum: u64 },
}

impl Machine for Sum {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 1;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        let number = match input {
            Input::Add { number } => number,
            Input::List { numbers } => numbers.len() as u64,
        };
        if number == 0 {
            return Err(Reject::Local("nothing_to_add"));
        }
        self.sum += number;
        self.since = Some(now);
        out.push(Output::Summed { sum: self.sum });
        Ok(())
    }

    fn tick(&mut self, _now: Instant, out: &mut Outbox<Output>) {
        self.sum /= 2;
        out.push(Output::Summed { sum: self.sum });
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        self.since.map(|since| (since.plus(Duration::from_secs(1)), TimerKind::TextMerge))
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        "summing"
    }
}

/// A machine whose steps are noted, and recorded as `--record` does it.
struct Flown {
    flight: Flight<Sum>,
    chain: Recorder,
    records: Vec<Record>,
    now: u64,
}

impl Flown {
    fn new(bytes_max: usize) -> Self {
        let live = Sum { sum: 0, since: None, pad: String::new() };
        let mut chain = Recorder::default();
        let none: [Value; 0] = [];
        let first = chain.record(Instant::ZERO, "run/a", &began(&live), &none, None).unwrap();
        let (machine, recorder) = ("run/a".to_owned(), FlightRecorder::new(bytes_max));
        let flight = Flight { machine, recorder, live };
        Self { flight, chain, records: vec![first], now: 0 }
    }

    fn take(&mut self, taken: Taken<Input>) {
        self.now += 1;
        let (now, mut out) = (Instant::from_micros(self.now), Outbox::new());
        self.flight.recorder.note(&self.flight.live, now, taken.clone());
        let (input, reject) = match taken {
            Taken::Input(input) => {
                (json!(input), self.flight.live.step(now, input, &mut out).err())
            }
            Taken::Tick => {
                self.flight.live.tick(now, &mut out);
                (json!({"kind": "tick"}), None)
            }
        };
        let record =
            self.chain.record(now, "run/a", &input, out.as_slice(), reject.as_ref()).unwrap();
        self.records.push(record);
    }

    fn add(&mut self, number: u64) {
        self.take(Taken::Input(Input::Add { number }));
    }

    fn adding(bytes_max: usize, steps: u64) -> Self {
        let mut flown = Self::new(bytes_max);
        (1..=steps).for_each(|number| flown.add(number));
        flown
    }
}

const STEP: usize = FlightRecorder::<Sum>::STEP_BYTES;

fn numbers(race: &Race) -> Vec<u64> {
    let number = |choice: &Choice| match &choice.label {
        Label::Input(input) => input["number"].as_u64().unwrap(),
        Label::Named { .. } => panic!("a recorder writes inputs"),
    };
    race.choices.iter().map(number).collect()
}

#[test]
fn all_steps_leave_with_the_state_they_begin_from_and_end_in() {
    let mut flown = Flown::adding(100 * STEP, 2);
    flown.take(Taken::Tick);
    flown.add(0);
    let race = flown.flight.export().unwrap();
    assert_eq!(race.init.as_ref().unwrap()["run/a"]["sum"], 0);
    assert_eq!(race.choices.len(), 4);
    assert_eq!(Race::parse(race.to_string().as_bytes()), Ok(race.clone()));
    // The chain of the file begins behind the record of the begin.
    let mut chain = Recorder::default();
    for record in &flown.records[1..] {
        let reject = record.reject.as_ref().map(|_| Reject::Local("nothing_to_add"));
        let input = &record.input;
        chain.record(record.now_us, "run/a", input, &record.outputs, reject.as_ref()).unwrap();
    }
    let states = json!({"run/a": {"sum": 1, "since": 2, "pad": ""}});
    assert_eq!(race.digest, end_digest(chain.digest(), states.as_object().unwrap()));
}

#[test]
fn a_recorder_without_steps_leaves_with_the_state_alone() {
    let flown = Flown::new(STEP);
    assert!(flown.flight.recorder.is_empty());
    let race = flown.flight.export().unwrap();
    assert_eq!((race.choices.len(), Race::parse(race.to_string().as_bytes())), (0, Ok(race)));
}

#[test]
fn the_bound_drops_the_older_half_and_the_begin_moves_on() {
    let half = 20;
    let bytes_max = 2 * half * STEP;
    for (steps, first) in [(39, 1), (40, 1), (41, 21), (60, 21), (61, 41)] {
        let flown = Flown::adding(bytes_max, steps);
        let race = flown.flight.export().unwrap();
        assert_eq!(numbers(&race), (first..=steps).collect::<Vec<_>>());
        let sum_before: u64 = (1..first).sum();
        assert_eq!(race.init.unwrap()["run/a"]["sum"], sum_before, "{steps}");
        let recorder = &flown.flight.recorder;
        assert_eq!(recorder.len() as u64, steps - first + 1);
        assert!(recorder.step_bytes() <= bytes_max, "{steps}: {}", recorder.step_bytes());
    }
    let full = Flown::adding(bytes_max, 40);
    assert_eq!(full.flight.recorder.step_bytes(), bytes_max, "the bound is used");
}

#[test]
fn what_inputs_hold_beside_their_size_counts() {
    let bytes_max = 100 * STEP;
    let mut flown = Flown::new(bytes_max);
    let list = |length: usize| Taken::Input(Input::List { numbers: vec![1; length] });
    // A half holds 50 steps, or room for 16 and a list of the size of the other 34.
    let beside = 34 * STEP / size_of::<u64>();
    (1..10).for_each(|number| flown.add(number));
    flown.take(list(beside));
    assert_eq!(flown.flight.recorder.step_bytes(), 50 * STEP);
    for (step, kept) in [(list(0), 11), (list(beside), 12)] {
        flown.take(step);
        assert_eq!(flown.flight.recorder.len(), kept);
        assert!(flown.flight.recorder.step_bytes() <= bytes_max);
    }
    flown.take(list(2 * beside));
    assert_eq!(flown.flight.recorder.len(), 2, "one that fills more than its half is kept alone");
    let race = flown.flight.export().unwrap();
    assert_eq!(race.choices.len(), 2);
}

#[test]
fn even_the_smallest_recorder_keeps_two_steps() {
    for bytes_max in [1, 2 * STEP, 4 * STEP - 1] {
        let flown = Flown::adding(bytes_max, 9);
        assert_eq!(numbers(&flown.flight.export().unwrap()), [8, 9], "{bytes_max}");
    }
}

#[test]
fn steps_that_lead_elsewhere_are_no_file() {
    let mut flown = Flown::adding(100 * STEP, 3);
    flown.flight.live.sum += 1;
    assert_eq!(flown.flight.export(), Err(FlightError::Differs));
}

#[test]
fn what_no_file_can_hold_leaves_as_its_newer_half_or_not_at_all() {
    let wide = || Taken::Input(Input::List { numbers: vec![NUMBER_MAX; 32] });
    let exported = |bytes_max: usize| {
        let mut flown = Flown::new(bytes_max);
        (0..7_900).for_each(|_| flown.take(wide()));
        flown.flight.export().map(|race| race.choices.len())
    };
    let step_bytes = STEP + 32 * size_of::<u64>();
    let newer_half = exported(8_000 * step_bytes).unwrap();
    assert!((3_000..5_000).contains(&newer_half), "{newer_half}");
    assert_eq!(exported(20_000 * step_bytes), Err(FlightError::TooLarge));
    let mut wide = Flown::new(STEP);
    wide.flight.live.pad = "x".repeat(LINE_BYTES_MAX);
    assert_eq!(wide.flight.export(), Err(FlightError::TooLarge));
}

#[test]
fn the_records_of_a_life_give_the_same_file() {
    let mut flown = Flown::adding(40 * STEP, 70);
    flown.take(Taken::Tick);
    flown.add(0);
    flown.add(5);
    let records = flown.records.iter().cloned().map(Ok::<_, RecordingError>);
    let again: Flight<Sum> = flight_of(40 * STEP, records).unwrap();
    assert_eq!(again.export(), flown.flight.export());
}

#[test]
fn records_that_are_no_life_are_named() {
    let flown = Flown::adding(40 * STEP, 3);
    let read = |change: &dyn Fn(&mut Vec<Record>)| {
        let mut records = flown.records.clone();
        change(&mut records);
        let records = records.into_iter().map(Ok::<_, RecordingError>);
        flight_of::<Sum, _>(40 * STEP, records).unwrap_err()
    };
    assert_eq!(read(&|records| records.clear()), RecordingError::NoBegin);
    assert_eq!(read(&|records| drop(records.remove(0))), RecordingError::NoBegin);
    let state = |records: &mut Vec<Record>| records[0].input["state"] = json!({"sum": "x"});
    assert_eq!(read(&state), RecordingError::NoBegin);
    let machine = |records: &mut Vec<Record>| records[2].machine = "run/b".into();
    assert_eq!(read(&machine), RecordingError::OtherMachine { n: 3 });
    let input = |records: &mut Vec<Record>| records[2].input = json!({"kind": "dance"});
    assert!(matches!(read(&input), RecordingError::Input { n: 3, .. }));
    let outputs = |records: &mut Vec<Record>| records[3].outputs.clear();
    assert_eq!(read(&outputs), RecordingError::Outputs { n: 4 });
}
