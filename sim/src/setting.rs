//! What a schedule runs on: a scenario, its machines, and how much may happen.

use runwarden_protocol::record::{DIGEST_START, SCHEMA_VERSION};

use crate::explore::{Budget, BudgetError, Found, Limits, Play, Recording};
use crate::machines::Registry;
use crate::race::{Choice, Expectation, Race, Ring};
use crate::replay::replay;
use crate::scenarios::{Scenario, Variant};

/// A scenario with the machines and the scope it runs in.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The scenario.
    pub scenario: &'static Scenario,
    /// The faulty variant; the real machines without it.
    pub variant: Option<&'static Variant>,
    /// What may happen.
    pub budget: Budget,
}

/// A name or scope that this release has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// There is no such scenario.
    #[error("there is no scenario {0:?}: `runwarden-sim list` names them")]
    Scenario(String),
    /// The scenario has no such variant.
    #[error("{scenario} has no variant {name:?}: it has {known}")]
    Variant {
        /// The scenario.
        scenario: &'static str,
        /// The variant.
        name: String,
        /// The variants there are.
        known: String,
    },
    /// Schedules of this ring cannot be followed.
    #[error("this release follows schedules of rings `explore` and `weave`, not of `{0}`")]
    Ring(&'static str),
    /// The scope is too large.
    #[error("scope: {0}")]
    Scope(#[from] BudgetError),
}

impl Setting {
    /// The scenario called `scenario` by slug or id, in its own scope.
    ///
    /// # Errors
    /// [`SettingError`] when there is no such scenario or variant.
    pub fn find(scenario: &str, variant: Option<&str>) -> Result<Self, SettingError> {
        let scenario =
            Scenario::find(scenario).ok_or_else(|| SettingError::Scenario(scenario.to_owned()))?;
        let variant = variant.map(|name| {
            scenario.variant(name).ok_or_else(|| SettingError::Variant {
                scenario: scenario.name,
                name: name.to_owned(),
                known: scenario.variants.iter().map(|v| v.name).collect::<Vec<_>>().join(", "),
            })
        });
        Ok(Self { scenario, variant: variant.transpose()?, budget: scenario.budget })
    }

    /// What a race file names.
    ///
    /// # Errors
    /// [`SettingError`] when this release has it not.
    pub fn of(race: &Race) -> Result<Self, SettingError> {
        if race.ring != Ring::Explore {
            return Err(SettingError::Ring(race.ring.as_str()));
        }
        let variant = race.variant.as_ref().map(|name| name.as_str());
        let setting = Self::find(race.scenario.as_str(), variant)?;
        Ok(setting.within(setting.budget.with(&race.scope)?))
    }

    /// This setting with another budget.
    #[must_use]
    pub fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The world at its begin.
    pub fn begin(&self, recording: Recording) -> Box<dyn Play> {
        self.scenario.begin(self.variant, self.budget, recording)
    }

    /// Searches it breadth first.
    pub fn search(&self, limits: &Limits<'_>) -> Found {
        self.scenario.search(self.variant, self.budget, limits)
    }

    /// The file that holds these choices; its times, its expectation and its digest are those of its
    /// replay.
    pub fn race(&self, seed: u64, choices: &[String]) -> Race {
        let named = |(index, name): (u64, &String)| {
            Choice::named(index, self.begin(Recording::Off).now(), name)
                .expect("a world names its choices as the grammar wants it")
        };
        let mut race = Race {
            scenario: self.scenario.name.parse().expect("a scenario has a slug"),
            ring: Ring::Explore,
            variant: self.variant.map(|v| v.name.parse().expect("a variant has a slug")),
            scope: self.budget.scope(),
            seed,
            schema: SCHEMA_VERSION,
            init: None,
            choices: (1..).zip(choices).map(named).collect(),
            expect: Expectation::Ok,
            digest: DIGEST_START,
        };
        let replayed =
            replay(&race, &Registry::empty(), |_| {}).expect("a file of this release replays");
        for (choice, now) in race.choices.iter_mut().zip(replayed.times) {
            choice.now = now;
        }
        if let Some(violation) = replayed.violation {
            let id = violation.invariant.parse().expect("rules have ids");
            race.expect = Expectation::Violation(id);
        }
        race.digest = replayed.digest;
        race
    }
}
