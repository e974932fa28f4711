//! Replays of race files as a flight recorder writes them.

use runwarden_protocol::flight::end_digest;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::run_journal::RunJournal;
use runwarden_protocol::machine::{Machine, Outbox, Reject, TimerKind};
use runwarden_protocol::record::{Digest, Record, SCHEMA_VERSION};
use runwarden_sim::machines::Registry;
use runwarden_sim::race::Race;
use runwarden_sim::replay::{ReplayError, Replayed, replay};
use runwarden_sim::shrink::shrink_inputs;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn file(init: &Value, choices: &[(u64, &str, Value)], expect: &str) -> Race {
    let choices: String = choices
        .iter()
        .enumerate()
        .map(|(index, (now, actor, input))| format!("{} {now} {actor} input {input}\n", index + 1))
        .collect();
    let text = format!(
        "race/1\nscenario: flight-recorder\nring: explore\nscope: clients:1\nseed: 1\n\
         schema: {SCHEMA_VERSION}\ninit: {init}\n\n{choices}expect {expect}\n\
         digest 0000000000000000\n"
    );
    Race::parse(text.as_bytes()).expect("the file follows the grammar")
}

fn play(race: &Race, registry: &Registry) -> (Vec<Record>, Result<Replayed, ReplayError>) {
    let mut records = Vec::new();
    let replayed = replay(race, registry, |record| records.push(record.clone()));
    (records, replayed)
}

/// A journal that shows the rows it stored `times` times.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Stutterer {
    times: u32,
    due: Option<Instant>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Input {
    Persisted { first_seq: u64, count: u64 },
    Refuse,
    Fall,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Output {
    Published { first_seq: u64, rows: Vec<u64> },
    Rang,
}

impl Machine for Stutterer {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 2;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match input {
            Input::Persisted { first_seq, count } => {
                for _ in 0..self.times {
                    let rows = (0..count).collect();
                    out.push(Output::Published { first_seq, rows });
                }
                self.due = Some(now);
                Ok(())
            }
            Input::Refuse => Err(Reject::Remote("refused")),
            Input::Fall => panic!("this machine falls"),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            out.push(Output::Rang);
        }
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        self.due.map(|due| (due, TimerKind::Heartbeat))
    }

    fn weight(&self) -> usize {
        1
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn state_name(&self) -> &'static str {
        "open"
    }
}

fn stutterer(times: u32, expect: &str) -> Race {
    let persisted = |first_seq| json!({"kind": "persisted", "first_seq": first_seq, "count": 1});
    file(
        &json!({"stutterer/1": {"times": times, "due": null}}),
        &[
            (5, "stutterer/1", persisted(1)),
            (5, "stutterer/1", json!({"kind": "refuse"})),
            (9, "stutterer/1", json!({"kind": "tick"})),
            (9, "stutterer/1", persisted(2)),
        ],
        expect,
    )
}

fn registry() -> Registry {
    Registry::product().with::<Stutterer>("stutterer")
}

#[test]
fn inputs_rejects_and_ticks_become_one_chain_of_records() {
    let (records, replayed) = play(&stutterer(1, "ok"), &registry());
    let replayed = replayed.unwrap();
    assert!(replayed.is_met && replayed.violation.is_none());
    assert_eq!((replayed.steps, replayed.rejects), (4, 1));
    let mut chain = runwarden_protocol::record::Recorder::default();
    for record in &records {
        chain.check(&Record::from_line(&record.to_line()).unwrap()).unwrap();
    }
    let states = json!({"stutterer/1": {"times": 1, "due": 9}});
    assert_eq!(end_digest(chain.digest(), states.as_object().unwrap()), replayed.digest);
    assert_eq!(records[1].reject.as_ref().map(|reject| reject.side.as_str()), Some("remote"));
    assert_eq!(records[2].outputs, [json!({"kind": "rang"})]);
    let again = play(&stutterer(1, "ok"), &registry()).1.unwrap();
    assert_eq!(again, replayed);
}

#[test]
fn an_expectation_is_met_by_its_own_violation_only() {
    for (times, expect, is_met) in [
        (1, "ok", true),
        (2, "ok", false),
        (2, "violation INV-SEQ", true),
        (2, "violation INV-TERM", false),
        (1, "violation INV-SEQ", false),
    ] {
        let replayed = play(&stutterer(times, expect), &registry()).1.unwrap();
        assert_eq!(replayed.is_met, is_met, "{times} {expect}");
        let broken = replayed.violation.map(|violation| (violation.invariant, violation.n));
        assert_eq!(broken, (times == 2).then_some(("INV-SEQ", 1)));
    }
}

#[test]
fn a_machine_that_panics_breaks_an_invariant_and_ends_the_replay() {
    let text = stutterer(1, "violation DI-24").to_string().replace("refuse", "fall");
    let (records, replayed) = play(&Race::parse(text.as_bytes()).unwrap(), &registry());
    let replayed = replayed.unwrap();
    let broken = replayed.violation.map(|violation| (violation.invariant, violation.n));
    assert_eq!((broken, replayed.is_met), (Some(("DI-24", 2)), true));
    assert_eq!((records.len(), replayed.steps), (1, 2));
}

#[test]
fn the_run_journal_replays_from_its_state() {
    let name = "journal/run/run_1";
    let state = serde_json::to_value(RunJournal::new()).unwrap();
    let row = json!({
        "kind": "hand_over", "event": "content", "item_id": "item_0000000000000001",
        "item_kind": "text", "at": 4,
        "payload": {"id": "pay_0000000000000001", "json_bytes": 7},
    });
    let persisted = json!({"kind": "persisted", "first_seq": 1, "count": 1});
    let race = file(&json!({ name: state }), &[(4, name, row), (6, name, persisted)], "ok");
    let (records, replayed) = play(&race, &Registry::product());
    let replayed = replayed.unwrap();
    assert_eq!((replayed.steps, replayed.rejects, replayed.is_met), (2, 0, true), "{records:?}");
    assert_eq!(records[0].outputs[0]["kind"], "append");
    assert_eq!(records[1].outputs[0]["kind"], "published");
    assert_ne!(replayed.digest, "0000000000000000".parse::<Digest>().unwrap());
}

#[test]
fn a_file_that_cannot_be_replayed_says_why() {
    let race = || stutterer(1, "ok");
    let error = |change: fn(&mut Race)| {
        let mut race = race();
        change(&mut race);
        play(&race, &registry()).1.unwrap_err().to_string()
    };
    let schema = error(|race| race.schema = SCHEMA_VERSION + 1);
    assert!(schema.starts_with("schema 2 is another"), "{schema}");
    let variant = error(|race| race.variant = Some("late".parse().unwrap()));
    assert!(variant.contains("no machine of variant \"late\""), "{variant}");
    assert!(error(|race| race.init = None).contains("has no `init`"));
    let scenario = error(|race| {
        race.init = None;
        race.scenario = "stop-of-nothing".parse().unwrap();
    });
    assert!(scenario.contains("no scenario \"stop-of-nothing\""), "{scenario}");
    let state = error(|race| {
        race.init.as_mut().unwrap().insert("stutterer/2".into(), json!({"times": "x"}));
    });
    assert!(state.contains("the state of \"stutterer/2\""), "{state}");
    let machine = error(|race| race.choices[1].actor = "stutterer/3".parse().unwrap());
    assert!(machine.starts_with("line 10: \"stutterer/3\" is not in `init`"), "{machine}");
    let unknown = play(&race(), &Registry::product()).1.unwrap_err().to_string();
    assert!(unknown.contains("no machine plays \"stutterer/1\""), "{unknown}");
    let text = race().to_string();
    let odd = text.replace("\"kind\":\"refuse\"", "\"kind\":\"dance\"");
    let odd = play(&Race::parse(odd.as_bytes()).unwrap(), &registry()).1.unwrap_err().to_string();
    assert!(odd.starts_with("line 10: \"stutterer/1\" knows no such input"), "{odd}");
    let verb = text.replace("input {\"kind\":\"refuse\"}", "emit text(5)");
    let verb = play(&Race::parse(verb.as_bytes()).unwrap(), &registry()).1.unwrap_err();
    assert!(verb.to_string().starts_with("line 10: the verb `emit`"), "{verb}");
}

#[test]
fn recorded_inputs_shrink_to_those_that_break_the_invariant() {
    let race = stutterer(2, "ok");
    let small = shrink_inputs(&race, &registry()).expect("it breaks an invariant");
    assert_eq!(small.choices.len(), 1, "{small}");
    let replayed = play(&small, &registry()).1.unwrap();
    assert!(replayed.is_met && replayed.digest == small.digest);
    assert!(shrink_inputs(&stutterer(1, "ok"), &registry()).is_none());
}

#[test]
fn the_example_of_the_race_page_replays() {
    let page = include_str!("../../docs/spec/race.md");
    let example = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let race = Race::parse(example.as_bytes()).unwrap();
    let replayed = play(&race, &Registry::empty()).1.unwrap();
    assert!(replayed.is_met && replayed.skipped.is_empty());
}
