//! Schedules of ring weave: run, searched, written down, shrunk and hunted.

mod hunt;
mod shrink;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use runwarden_protocol::record::SCHEMA_VERSION;

pub use hunt::{JUDGED_SCHEDULES_MIN, VIOLATIONS_MAX, WovenHunt, WovenViolation};
pub use shrink::{TRIES_MAX, WovenShrunk, shrink};

use crate::explore::Recording;
use crate::race::{Choice, Expectation, Race, Ring, Scope, ScopeKey};
use crate::scenarios::{Woven, WovenVariant};
use crate::setting::SettingError;
use crate::weave::{Departure, Plan, Schedule};

/// A scenario of ring weave with the machines and the world it runs in.
#[derive(Clone, Copy, Debug)]
pub struct WovenSetting {
    /// The scenario.
    pub woven: &'static Woven,
    /// The faulty variant; the real machines without it.
    pub variant: Option<&'static WovenVariant>,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct WovenFound {
    /// Schedules run, that of the violation included.
    pub schedules: u64,
    /// Tasks polled in all of them.
    pub polls: u64,
    /// The seed of the violation and its schedule.
    pub broken: Option<(u64, Schedule)>,
}

impl WovenSetting {
    /// The scenario called `scenario` by slug or id.
    ///
    /// # Errors
    /// [`SettingError`] when ring weave has no such scenario, or the scenario no such variant there.
    pub fn find(scenario: &str, variant: Option<&str>) -> Result<Self, SettingError> {
        let woven =
            Woven::find(scenario).ok_or_else(|| SettingError::Scenario(scenario.to_owned()))?;
        let variant = variant.map(|name| {
            woven.variant(name).ok_or_else(|| SettingError::Variant {
                scenario: woven.name,
                name: name.to_owned(),
                known: woven.variants.iter().map(|v| v.name).collect::<Vec<_>>().join(", "),
            })
        });
        Ok(Self { woven, variant: variant.transpose()? })
    }

    /// What a race file names.
    ///
    /// # Errors
    /// [`SettingError`] when this release has it not.
    pub fn of(race: &Race) -> Result<Self, SettingError> {
        let variant = race.variant.as_ref().map(|name| name.as_str());
        Self::find(race.scenario.as_str(), variant)
    }

    /// The schedule of a seed.
    pub fn drawn(&self, seed: u64, recording: Recording) -> Schedule {
        self.woven.run(self.variant, &Plan { seed, departures: None, recording })
    }

    /// The schedule with these departures from the calm course, and no others.
    pub fn given(&self, seed: u64, departures: Vec<Departure>, recording: Recording) -> Schedule {
        self.woven.run(self.variant, &Plan { seed, departures: Some(departures), recording })
    }

    /// Runs the schedules of `seeds`, in order, until one breaks a rule.
    pub fn search(&self, seeds: Range<u64>) -> WovenFound {
        let mut found = WovenFound { schedules: 0, polls: 0, broken: None };
        for seed in seeds {
            let schedule = self.drawn(seed, Recording::On);
            found.schedules += 1;
            found.polls += schedule.polls;
            if schedule.broken.is_some() {
                found.broken = Some((seed, schedule));
                break;
            }
        }
        found
    }

    /// The file of a schedule under this seed that took these departures and kept its Records.
    pub fn race(&self, seed: u64, schedule: &Schedule) -> Race {
        let named = |(step, departure): (u64, &Departure)| {
            Choice::named(step, departure.now, &departure.to_string())
                .expect("departures are written as the grammar wants it")
        };
        let expect = match &schedule.broken {
            None => Expectation::Ok,
            Some(broken) => Expectation::Violation(broken.rule.parse().expect("rules have ids")),
        };
        Race {
            scenario: self.woven.name.parse().expect("a scenario has a slug"),
            ring: Ring::Weave,
            variant: self.variant.map(|v| v.name.parse().expect("a variant has a slug")),
            scope: scope_of(&schedule.departures),
            seed,
            schema: SCHEMA_VERSION,
            init: None,
            choices: (1..).zip(&schedule.departures).map(named).collect(),
            expect,
            digest: schedule.digest,
        }
    }
}

/// The departures that a race file of ring weave names; `None` in the place of a choice that names none.
pub fn departures_of(race: &Race) -> Vec<Option<Departure>> {
    let read = |choice: &Choice| Departure::parse(choice.now, &choice.name()).ok();
    race.choices.iter().map(read).collect()
}

/// How many faults there are, crashes apart.
fn scope_of(departures: &[Departure]) -> Scope {
    let faults = departures.iter().filter(|departure| departure.is_fault());
    let (crashes, drops): (Vec<_>, Vec<_>) = faults.partition(|fault| fault.actor() == "server");
    let counts = [(ScopeKey::Drops, drops.len()), (ScopeKey::Crashes, crashes.len())];
    let counts: BTreeMap<_, _> = counts.map(|(key, count)| (key, count as u64)).into();
    Scope::new(counts).expect("two keys are counted")
}
