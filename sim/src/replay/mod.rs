//! The replay of a race file: of recorded inputs, or of choices in a simulated world.

mod inputs;
mod world;
mod woven;

use runwarden_protocol::instant::Instant;
use runwarden_protocol::invariants::{ShapeError, Violation};
use runwarden_protocol::record::{Digest, Record, RecordError, SCHEMA_VERSION};

use crate::machines::{Registry, StartError};
use crate::race::{Expectation, Race, Ring};
use crate::setting::SettingError;

/// What a replay saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Steps taken.
    pub steps: usize,
    /// How many of these were taken under the seed, behind the choices of the file.
    pub walked: usize,
    /// When each step was taken.
    pub times: Vec<Instant>,
    /// Lines of the choices that were not enabled.
    pub skipped: Vec<usize>,
    /// Inputs that their machine turned away.
    pub rejects: usize,
    /// The first violation.
    pub violation: Option<Violation>,
    /// The step that broke it, counted from 1.
    pub broke_at: Option<usize>,
    /// Whether the expectation of the file is met.
    pub is_met: bool,
    /// The chain after the last step; with an `init`, continued over the states the machines end in.
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
    /// The file names what this release has not.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The variant has no faulty machine.
    #[error(
        "no machine of variant {0:?} is faulty in this release: `runwarden-sim list` names the variants; those of \
         which the world is faulty need a file of choices"
    )]
    Variant(String),
    /// The file has no initial state.
    #[error("the file has no `init`: an export of a flight recorder has one")]
    NoInit,
    /// A machine of `init` cannot be made.
    #[error("init: {0}")]
    Start(#[from] StartError),
    /// A choice is none of a flight recorder.
    #[error(
        "line {line}: the verb `{verb}` needs a simulated world; behind `init` only `input` replays"
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

/// Replays `race` and hands each Record to `each`: with an `init` on the machines of `registry`, otherwise in
/// the world of its scenario. A machine that panics breaks DI-24, and the replay ends with this step.
///
/// # Errors
/// [`ReplayError`] when the file cannot be used; no other record follows.
pub fn replay(
    race: &Race,
    registry: &Registry,
    each: impl FnMut(&Record),
) -> Result<Replayed, ReplayError> {
    if race.init.is_some() || race.scenario.as_str() == Race::FLIGHT_RECORDER {
        return inputs::replay(race, registry, each);
    }
    match race.ring {
        Ring::Weave => woven::replay(race, each),
        Ring::Explore | Ring::Turmoil => world::replay(race, each),
    }
}

fn is_met(expect: &Expectation, violation: Option<&Violation>) -> bool {
    match (expect, violation) {
        (Expectation::Ok, violation) => violation.is_none(),
        (Expectation::Violation(id), Some(violation)) => id.as_str() == violation.invariant,
        (Expectation::Violation(_), None) => false,
    }
}
