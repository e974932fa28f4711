//! The content of a race file.

use crate::instant::Instant;
use crate::record::Digest;
use serde_json::{Map, Value};

use super::names::{Argument, InvariantId, Slug, Word};
use super::scope::Scope;

/// One schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Race {
    /// The scenario, `flight-recorder` for an export.
    pub scenario: Slug,
    /// Where it runs.
    pub ring: Ring,
    /// The faulty variant of the machines; the real ones without it.
    pub variant: Option<Slug>,
    /// How much of everything there is.
    pub scope: Scope,
    /// Decides what the choices leave open.
    pub seed: u64,
    /// Version of the machines' inputs and states.
    pub schema: u64,
    /// State of the machines before the first step, by machine.
    pub init: Option<Map<String, Value>>,
    /// What happened, in order.
    pub choices: Vec<Choice>,
    /// What the replay must show.
    pub expect: Expectation,
    /// The chain of the replay as it was seen when the file was written.
    pub digest: Digest,
}

/// A ring of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Pure machines and links.
    Explore,
    /// The drivers in one process.
    Weave,
    /// The drivers on several simulated hosts.
    Turmoil,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Number of the step; grows, and is at least 1.
    pub step: u64,
    /// When; never falls.
    pub now: Instant,
    /// Who acts.
    pub actor: Word,
    /// What kind of choice it is.
    pub verb: Word,
    /// Which one.
    pub label: Label,
}

/// Which choice it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A name with its arguments.
    Named {
        /// The name.
        name: Word,
        /// What stands between the parentheses, if there are any.
        arguments: Option<Vec<Argument>>,
    },
    /// Behind the verb `input`: the input of a machine, as a Record holds it.
    Input(Value),
}

/// What a replay must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Nothing is violated.
    Ok,
    /// The first violation is of this id.
    Violation(InvariantId),
}

impl Race {
    /// The verb of the choices a flight recorder writes.
    pub const INPUT: &str = "input";

    /// The scenario of a file that a flight recorder exported.
    pub const FLIGHT_RECORDER: &str = "flight-recorder";

    /// The line of the choice at `index`, counted from 1, in a file that holds this schedule.
    pub fn line_of(&self, index: usize) -> usize {
        const FIRST_AND_BLANK: usize = 2;
        const REQUIRED_KEYS: usize = 5;
        let optional = usize::from(self.variant.is_some()) + usize::from(self.init.is_some());
        FIRST_AND_BLANK + REQUIRED_KEYS + optional + index + 1
    }
}

impl Choice {
    /// What happened, without step and time, as [`Choice::named`] reads it.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.actor, self.verb, self.label)
    }
}

impl Ring {
    /// All rings.
    pub const ALL: [Self; 3] = [Self::Explore, Self::Weave, Self::Turmoil];

    /// The name in a file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Weave => "weave",
            Self::Turmoil => "turmoil",
        }
    }
}
