//! The replay of a race file that holds the inputs of machines, as a flight recorder writes it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use runwarden_protocol::invariants::{Auditor, ShapeError, Violation};
use runwarden_protocol::record::{Digest, Record, RecordError, Recorder, SCHEMA_VERSION};
use serde_json::Value;

use crate::machines::{Player, Registry, StartError};
use crate::race::{Choice, Expectation, Label, Race};

/// What a replay saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Steps taken.
    pub steps: usize,
    /// Inputs that their machine turned away.
    pub rejects: usize,
    /// The first violation.
    pub violation: Option<Violation>,
    /// Whether the expectation of the file is met.
    pub is_met: bool,
    /// The chain after the last step.
    pub digest: Digest,
}

/// A file that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file was written for other machines.
    #[error(
        "schema {0} is another than that of this release, {SCHEMA_VERSION}: use the release that wrote the file"
    )]
    Schema(u64),
    /// The file wants a faulty variant.
    #[error("this release has no variant {0:?}: only files without `variant` replay")]
    Variant(String),
    /// The file has no initial state.
    #[error("the file has no `init`: only exports of a flight recorder replay in this release")]
    NoInit,
    /// A machine of `init` cannot be made.
    #[error("init: {0}")]
    Start(#[from] StartError),
    /// A choice is none of a flight recorder.
    #[error(
        "line {line}: the verb `{verb}` needs a simulated world; in this release only `input` replays"
    )]
    Verb {
        /// The line.
        line: usize,
        /// The verb.
        verb: String,
    },
    /// The machine has no state.
    #[error("line {line}: {machine:?} is not in `init`: add its state")]
    NoState {
        /// The line.
        line: usize,
        /// The machine.
        machine: String,
    },
    /// The input is none of its machine.
    #[error("line {line}: {machine:?} knows no such input: {source}")]
    Input {
        /// The line.
        line: usize,
        /// The machine.
        machine: String,
        /// What it lacks.
        source: serde_json::Error,
    },
    /// A step has no record.
    #[error("line {line}: {source}")]
    Record {
        /// The line.
        line: usize,
        /// What is wrong with the record.
        source: RecordError,
    },
    /// A record cannot be judged.
    #[error("line {line}: {source}")]
    Shape {
        /// The line.
        line: usize,
        /// What the record lacks.
        source: ShapeError,
    },
}

/// Replays `race` on the machines of `registry` and hands each Record to `each`. A machine that panics
/// breaks DI-24, and the replay ends with this step.
///
/// # Errors
/// [`ReplayError`] when the file cannot be used; no other record follows.
pub fn replay(
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
    Ok(replay.end(&race.expect))
}

struct Replay {
    players: BTreeMap<String, Box<dyn Player>>,
    recorder: Recorder,
    auditor: Auditor,
    steps: usize,
    rejects: usize,
    violation: Option<Violation>,
}

impl Replay {
    fn start(race: &Race, registry: &Registry) -> Result<Self, ReplayError> {
        if race.schema != SCHEMA_VERSION {
            return Err(ReplayError::Schema(race.schema));
        }
        if let Some(variant) = &race.variant {
            return Err(ReplayError::Variant(variant.to_string()));
        }
        let mut players = BTreeMap::new();
        for (name, state) in race.init.as_ref().ok_or(ReplayError::NoInit)? {
            players.insert(name.clone(), registry.start(name, state)?);
        }
        Ok(Self {
            players,
            recorder: Recorder::default(),
            auditor: Auditor::default(),
            steps: 0,
            rejects: 0,
            violation: None,
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
        let violation = Violation {
            invariant: "DI-24",
            n: self.steps as u64,
            machine: machine.to_owned(),
            detail: "the machine panicked; its message is on standard error".to_owned(),
        };
        self.violation.get_or_insert(violation);
    }

    fn end(self, expect: &Expectation) -> Replayed {
        let is_met = match (expect, &self.violation) {
            (Expectation::Ok, violation) => violation.is_none(),
            (Expectation::Violation(id), Some(violation)) => id.as_str() == violation.invariant,
            (Expectation::Violation(_), None) => false,
        };
        Replayed {
            steps: self.steps,
            rejects: self.rejects,
            violation: self.violation,
            is_met,
            digest: self.recorder.digest(),
        }
    }
}

fn input_of(line: usize, choice: &Choice) -> Result<&Value, ReplayError> {
    match &choice.label {
        Label::Input(input) => Ok(input),
        Label::Named { .. } => Err(ReplayError::Verb { line, verb: choice.verb.to_string() }),
    }
}
