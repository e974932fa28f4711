//! The replay of a race file that holds the inputs of machines, as a flight recorder writes it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use runwarden_protocol::flight::end_digest;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::invariants::{Auditor, Violation};
use runwarden_protocol::record::{Digest, Record, Recorder, SCHEMA_VERSION};
use serde_json::{Map, Value};

use super::{ReplayError, Replayed, is_met};
use crate::machines::{Player, Registry, StartError};
use crate::race::{Choice, Expectation, Label, Race};
use crate::scenarios::Variant;

/// The kind of machine that a variant gets wrong.
const SESSION: &str = "run";

pub(super) fn replay(
    race: &Race,
    registry: &Registry,
    mut each: impl FnMut(&Record),
) -> Result<Replayed, ReplayError> {
    let mut replay = Replay::start(race, registry)?;
    for (index, choice) in race.choices.iter().enumerate() {
        match replay.step(race.line_of(index), choice)? {
            Some(record) => each(&record),
            None => break,
        }
    }
    replay.end(&race.expect)
}

struct Replay {
    players: BTreeMap<String, Box<dyn Player>>,
    recorder: Recorder,
    auditor: Auditor,
    steps: usize,
    times: Vec<Instant>,
    rejects: usize,
    violation: Option<Violation>,
    has_panicked: bool,
}

impl Replay {
    fn start(race: &Race, registry: &Registry) -> Result<Self, ReplayError> {
        if race.schema != SCHEMA_VERSION {
            return Err(ReplayError::Schema(race.schema));
        }
        let registry = match &race.variant {
            Some(name) => {
                let session = Variant::session(name.as_str())
                    .ok_or_else(|| ReplayError::Variant(name.to_string()))?;
                &registry.clone().replaced(SESSION, session)
            }
            None => registry,
        };
        let mut players = BTreeMap::new();
        let mut auditor = Auditor::default();
        for (name, state) in race.init.as_ref().ok_or(ReplayError::NoInit)? {
            players.insert(name.clone(), registry.start(name, state)?);
            auditor.resume(name, state);
        }
        Ok(Self {
            players,
            recorder: Recorder::default(),
            auditor,
            steps: 0,
            times: Vec::new(),
            rejects: 0,
            violation: None,
            has_panicked: false,
        })
    }

    /// The record of the next step, none when the machine panicked.
    fn step(&mut self, line: usize, choice: &Choice) -> Result<Option<Record>, ReplayError> {
        let input = input_of(line, choice)?;
        let machine = choice.actor.as_str();
        let Some(player) = self.players.get_mut(machine) else {
            return Err(ReplayError::NoState { line, machine: machine.to_owned() });
        };
        // The machine is not used again after a panic, so its state cannot be seen half changed.
        let played = catch_unwind(AssertUnwindSafe(|| player.play(choice.now, input)));
        self.steps += 1;
        self.times.push(choice.now);
        let Ok(played) = played else {
            self.panicked(machine);
            return Ok(None);
        };
        let played = played.map_err(|source| ReplayError::Input {
            line,
            machine: machine.to_owned(),
            source,
        })?;
        let record = self
            .recorder
            .record(choice.now, machine, input, &played.outputs, played.reject.as_ref())
            .map_err(|source| ReplayError::Record { line, source })?;
        self.rejects += usize::from(played.reject.is_some());
        let violations =
            self.auditor.check(&record).map_err(|source| ReplayError::Shape { line, source })?;
        if self.violation.is_none() {
            self.violation = violations.into_iter().next();
        }
        Ok(Some(record))
    }

    fn panicked(&mut self, machine: &str) {
        self.has_panicked = true;
        let violation = Violation {
            invariant: "DI-24",
            n: self.steps as u64,
            machine: machine.to_owned(),
            detail: "the machine panicked; its message is on standard error".to_owned(),
        };
        self.violation.get_or_insert(violation);
    }

    fn end(self, expect: &Expectation) -> Result<Replayed, ReplayError> {
        let digest = self.digest()?;
        Ok(Replayed {
            steps: self.steps,
            walked: 0,
            times: self.times,
            skipped: Vec::new(),
            rejects: self.rejects,
            broke_at: self.violation.as_ref().map(|violation| step_of(violation.n)),
            is_met: is_met(expect, self.violation.as_ref()),
            violation: self.violation,
            digest,
        })
    }

    /// The chain, and behind it the states. The state of a machine that panicked cannot be looked at.
    fn digest(&self) -> Result<Digest, ReplayError> {
        let chain = self.recorder.digest();
        if self.has_panicked {
            return Ok(chain);
        }
        let mut states = Map::new();
        for (name, player) in &self.players {
            let state = player.state();
            let state = state.map_err(|source| StartError::State { name: name.clone(), source })?;
            states.insert(name.clone(), state);
        }
        Ok(end_digest(chain, &states))
    }
}

fn step_of(n: u64) -> usize {
    usize::try_from(n).expect("a file has few lines")
}

fn input_of(line: usize, choice: &Choice) -> Result<&Value, ReplayError> {
    match &choice.label {
        Label::Input(input) => Ok(input),
        Label::Named { .. } => Err(ReplayError::Verb { line, verb: choice.verb.to_string() }),
    }
}
