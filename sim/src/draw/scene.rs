//! What a diagram shows, before anybody draws it.

use std::collections::BTreeMap;

use runwarden_protocol::instant::Instant;
use runwarden_protocol::record::{Record, TICK};
use serde_json::Value;

use super::caption::{caption, detail, kind_of, short_ids};
use super::peers::{Peer, is_housekeeping, peer_of_input, peer_of_output};
use crate::explore::{NotTaken, Play, Recording};
use crate::machines::Registry;
use crate::race::{Expectation, Race, Ring};
use crate::random::Random;
use crate::replay::{ReplayError, replay};
use crate::schedule::{Picker, Uniform, WALK_STEPS_MAX, words};
use crate::setting::Setting;
use crate::woven::{WovenSetting, departures_of};

/// Runs that get lifelines of their own; more of them share theirs.
const RUNS_APART_MAX: usize = 4;

/// Everything a diagram shows.
#[derive(Clone, Debug)]
pub struct Scene {
    pub(super) title: String,
    /// What the diagram is of, in a few words each.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) lifelines: Vec<Lifeline>,
    pub(super) rows: Vec<Row>,
    pub(super) verdict: Verdict,
}

/// Who takes part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lifeline {
    Client(Option<usize>),
    Machine(String),
    Store,
    Worker(Option<usize>),
    Transport,
    Server,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) part: Part,
    /// The number of the step in the file; none in the begin.
    pub(super) step: Option<u64>,
    pub(super) now: Instant,
    /// What happened, as the file says it.
    pub(super) title: String,
    /// Spans the diagram: a fault, or time that passes.
    pub(super) note: Option<String>,
    pub(super) arrows: Vec<Arrow>,
    /// Outputs that nobody outside sees.
    pub(super) aside: Vec<String>,
}

/// Where a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Begin,
    File,
    UnderSeed,
}

/// From one lifeline to another, by index.
#[derive(Clone, Debug)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
    pub(super) detail: String,
    pub(super) is_rejected: bool,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Held,
    Broken { rule: String, detail: String },
}

impl Scene {
    /// Replays `race` and notes what a diagram needs.
    ///
    /// # Errors
    /// [`ReplayError`] when the file cannot be used.
    pub fn of(race: &Race) -> Result<Self, ReplayError> {
        let mut stage = Stage::default();
        let is_recorded = race.init.is_some();
        let verdict = if is_recorded {
            let mut step = 0;
            let replayed = replay(race, &Registry::product(), |record| {
                step += 1;
                stage.add(Part::File, Some(step), record.now_us, "", std::slice::from_ref(record));
            })?;
            replayed.violation.map(|v| (v.invariant, v.detail))
        } else if race.ring == Ring::Weave {
            weave(&mut stage, WovenSetting::of(race)?, race)
        } else {
            perform(&mut stage, Setting::of(race)?, race)
        };
        let verdict = match verdict {
            None => Verdict::Held,
            Some((rule, detail)) => {
                Verdict::Broken { rule: rule.to_owned(), detail: short_ids(&detail) }
            }
        };
        Ok(stage.scene(title_of(race), facts_of(race, is_recorded), verdict))
    }

    /// A scene of records alone.
    pub fn of_records(records: &[Record]) -> Self {
        let mut stage = Stage::default();
        for record in records {
            let records = std::slice::from_ref(record);
            stage.add(Part::File, Some(record.n), record.now_us, "", records);
        }
        stage.scene("Records".to_owned(), Vec::new(), Verdict::Held)
    }

    /// What happened before the schedule, as names of choices.
    pub(super) fn begin(&self) -> String {
        let begin = self.rows.iter().filter(|row| row.part == Part::Begin);
        let names: Vec<_> = begin.filter_map(|row| row.title.rsplit(' ').next()).collect();
        names.join(", ")
    }

    /// When the first row is.
    pub(super) fn start(&self) -> Instant {
        self.rows.first().map_or(Instant::ZERO, |row| row.now)
    }
}

/// Takes the choices of the file and goes on under its seed, as the replay does.
fn perform(stage: &mut Stage, setting: Setting, race: &Race) -> Option<(&'static str, String)> {
    let mut play = setting.begin(Recording::On);
    let labels: Vec<&str> = setting.scenario.init.iter().copied().flatten().copied().collect();
    for (index, record) in play.records().iter().enumerate() {
        let label = labels.get(index).copied().unwrap_or_default();
        stage.add(Part::Begin, None, record.now_us, label, std::slice::from_ref(record));
    }
    for choice in &race.choices {
        if let Some(broken) = stage.take(play.as_mut(), Part::File, choice.step, &choice.name()) {
            return Some(broken);
        }
    }
    let mut picker = Uniform(Random::new(race.seed));
    let last = race.choices.last().map_or(0, |choice| choice.step);
    for step in (last + 1..).take(WALK_STEPS_MAX) {
        let enabled = play.enabled();
        let index = if enabled.is_empty() { None } else { picker.pick(&enabled) }?;
        let broken = stage.take(play.as_mut(), Part::UnderSeed, step, &enabled[index]);
        if broken.is_some() {
            return broken;
        }
    }
    None
}

/// Plays the schedule of the file: the departures that it takes among the steps of the machines, by time.
fn weave(stage: &mut Stage, setting: WovenSetting, race: &Race) -> Option<(&'static str, String)> {
    let given = departures_of(race).into_iter().flatten().collect();
    let schedule = setting.given(race.seed, given, Recording::On);
    let mut records = schedule.records.iter().peekable();
    for (step, departure) in (1..).zip(&schedule.departures) {
        while let Some(record) = records.next_if(|record| record.now_us < departure.now) {
            stage.add(Part::File, None, record.now_us, "", std::slice::from_ref(record));
        }
        stage.add(Part::File, Some(step), departure.now, &departure.to_string(), &[]);
    }
    for record in records {
        stage.add(Part::File, None, record.now_us, "", std::slice::from_ref(record));
    }
    schedule.broken.map(|broken| (broken.rule, broken.detail))
}

/// Steps as they come, and who takes part in them.
#[derive(Default)]
struct Stage {
    steps: Vec<Step>,
    /// Runs in the order they appear, by id.
    runs: BTreeMap<String, usize>,
    /// The run of each start's ask and of each agent, the last one that named it.
    others: BTreeMap<String, usize>,
    /// Whether clients and workers share one lifeline each.
    is_shared: bool,
}

struct Step {
    part: Part,
    number: Option<u64>,
    now: Instant,
    title: String,
    records: Vec<Record>,
}

impl Stage {
    fn take(
        &mut self,
        play: &mut dyn Play,
        part: Part,
        step: u64,
        label: &str,
    ) -> Option<(&'static str, String)> {
        let before = play.records().len();
        match play.take(label) {
            Err(NotTaken::NotEnabled) => None,
            result => {
                let records = play.records()[before..].to_vec();
                self.add(part, Some(step), play.now(), label, &records);
                match result {
                    Err(NotTaken::Broken(broken)) => Some((broken.rule, broken.detail)),
                    Ok(()) | Err(NotTaken::NotEnabled) => None,
                }
            }
        }
    }

    fn add(
        &mut self,
        part: Part,
        number: Option<u64>,
        now: Instant,
        title: &str,
        records: &[Record],
    ) {
        for entry in
            records.iter().flat_map(|record| std::iter::once(&record.input).chain(&record.outputs))
        {
            self.meet(entry);
        }
        let records = records.to_vec();
        self.steps.push(Step { part, number, now, title: title.to_owned(), records });
    }

    fn meet(&mut self, entry: &Value) {
        let Some(run) = entry.get("run_id").and_then(Value::as_str) else { return };
        let next = self.runs.len();
        let run = *self.runs.entry(run.to_owned()).or_insert(next);
        for key in ["ask", "agent"] {
            if let Some(name) = entry.get(key).and_then(Value::as_str) {
                self.others.insert(name.to_owned(), run);
            }
        }
    }

    fn run_of(&self, entry: &Value) -> Option<usize> {
        if self.is_shared {
            return None;
        }
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let by_run = text("run_id").and_then(|run| self.runs.get(run));
        let other = || text("ask").or_else(|| text("agent")).and_then(|key| self.others.get(key));
        by_run.or_else(other).copied()
    }

    fn lifeline(&self, peer: Peer, entry: &Value) -> Lifeline {
        match peer {
            Peer::Client => Lifeline::Client(self.run_of(entry)),
            Peer::Store => Lifeline::Store,
            Peer::Agent => Lifeline::Worker(self.run_of(entry)),
            Peer::Transport => Lifeline::Transport,
            Peer::Clock | Peer::Server => Lifeline::Server,
        }
    }

    /// From and to of everything that is drawn as an arrow, in order.
    fn arrows<'a>(&self, record: &'a Record) -> Vec<(Lifeline, Lifeline, &'a Value)> {
        let machine = Lifeline::Machine(record.machine.clone());
        let mut arrows = Vec::new();
        if kind_of(&record.input) != TICK {
            let peer = self.lifeline(peer_of_input(kind_of(&record.input)), &record.input);
            arrows.push((peer, machine.clone(), &record.input));
        }
        for output in record.outputs.iter().filter(|output| !is_housekeeping(kind_of(output))) {
            let peer = self.lifeline(peer_of_output(kind_of(output)), output);
            arrows.push((machine.clone(), peer, output));
        }
        arrows
    }

    fn scene(
        mut self,
        title: String,
        facts: Vec<(&'static str, String)>,
        verdict: Verdict,
    ) -> Scene {
        let is_unknown = |lifeline: &Lifeline| {
            matches!(lifeline, Lifeline::Client(None) | Lifeline::Worker(None))
        };
        self.is_shared =
            self.runs.len() > RUNS_APART_MAX || self.lifelines().iter().any(is_unknown);
        let lifelines = self.lifelines();
        let mut rows = Vec::with_capacity(self.steps.len());
        let mut last = None;
        for step in &self.steps {
            rows.push(self.row(step, &lifelines, last));
            last = Some(step.now);
        }
        Scene { title, facts, lifelines, rows, verdict }
    }

    fn lifelines(&self) -> Vec<Lifeline> {
        let records = self.steps.iter().flat_map(|step| &step.records);
        let arrows = records.flat_map(|record| self.arrows(record));
        let mut lifelines: Vec<_> = arrows.flat_map(|(from, to, _)| [from, to]).collect();
        lifelines.sort();
        lifelines.dedup();
        lifelines
    }

    fn row(&self, step: &Step, lifelines: &[Lifeline], last: Option<Instant>) -> Row {
        let index = |lifeline: &Lifeline| {
            lifelines.iter().position(|each| each == lifeline).expect("everyone has a lifeline")
        };
        let mut arrows = Vec::new();
        let mut aside = Vec::new();
        for record in &step.records {
            for (from, to, entry) in self.arrows(record) {
                let reject = record.reject.as_ref().filter(|_| std::ptr::eq(entry, &record.input));
                arrows.push(Arrow {
                    from: index(&from),
                    to: index(&to),
                    label: caption(entry),
                    detail: match reject {
                        Some(reject) => format!("turned away: {} {}", reject.side, reject.code),
                        None => detail(entry),
                    },
                    is_rejected: reject.is_some(),
                });
            }
            let unseen = record.outputs.iter().filter(|output| is_housekeeping(kind_of(output)));
            aside.extend(unseen.map(caption));
        }
        Row {
            part: step.part,
            step: step.number,
            now: step.now,
            title: short_ids(&step.title),
            note: note_of(step, last),
            arrows,
            aside,
        }
    }
}

/// What a step says that is no message: a fault, or time that passed.
fn note_of(step: &Step, last: Option<Instant>) -> Option<String> {
    let (actor, verb, name) = words(&step.title);
    let ticked = step.records.iter().any(|record| kind_of(&record.input) == TICK);
    if verb == "fault" {
        let arguments = step.title.split_once('(').map(|(_, rest)| rest.trim_end_matches(')'));
        return Some(match (name, arguments) {
            ("crash", None) => {
                "the server crashes: memory is lost, nothing in flight is written".to_owned()
            }
            ("crash", Some(written)) => {
                format!("the server crashes: memory is lost, but written is {written}")
            }
            ("drop", Some(client)) => format!("{client} loses its connection"),
            ("lost", _) => format!("{actor} is lost"),
            _ => format!("fault: {}", name.replace('_', " ")),
        });
    }
    if !ticked && verb != "fire" {
        return None;
    }
    let passed = last.map_or(0, |last| step.now.as_micros() - last.as_micros());
    let due = if name.is_empty() { "a deadline" } else { name };
    Some(format!("{} pass: {} is due", super::caption::duration(passed), due.replace('_', " ")))
}

fn title_of(race: &Race) -> String {
    const CATALOGUE: &str = include_str!("../../../docs/spec/scenarios.toml");
    let name = race.scenario.as_str();
    if name == Race::FLIGHT_RECORDER {
        return "What a flight recorder saw".to_owned();
    }
    let slug = format!("slug = {name:?}\n");
    let entry = CATALOGUE.split("[[scenario]]").find(|entry| entry.contains(&slug));
    let field = |key: &str| {
        let line = entry?.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    match (field("id"), field("title")) {
        (Some(id), Some(title)) => format!("{id}: {title}"),
        _ => name.to_owned(),
    }
}

fn facts_of(race: &Race, is_recorded: bool) -> Vec<(&'static str, String)> {
    let expected = match &race.expect {
        Expectation::Ok => "no violation".to_owned(),
        Expectation::Violation(id) => format!("violation of {id}"),
    };
    let machines = match &race.variant {
        Some(variant) => format!("faulty variant {variant}"),
        None => "the real ones".to_owned(),
    };
    let mut facts = vec![("scenario", race.scenario.to_string()), ("machines", machines)];
    if !is_recorded {
        facts.push(("scope", race.scope.to_string().replace(',', ", ")));
        facts.push(("seed", race.seed.to_string()));
    }
    facts.push(("ring", race.ring.as_str().to_owned()));
    facts.push(("expected", expected));
    facts.push(("digest", race.digest.to_string()));
    facts
}

impl Lifeline {
    /// The name above it.
    pub(super) fn name(&self) -> String {
        let letter =
            |run: &usize| char::from(b'a' + u8::try_from(*run % 26).expect("it is below 26"));
        match self {
            Self::Client(None) => "client".to_owned(),
            Self::Client(Some(run)) => format!("client-{}", letter(run)),
            Self::Machine(name) => short_ids(name),
            Self::Store => "store".to_owned(),
            Self::Worker(None) => "worker".to_owned(),
            Self::Worker(Some(run)) => format!("worker-{}", run + 1),
            Self::Transport => "transport".to_owned(),
            Self::Server => "server".to_owned(),
        }
    }
}
