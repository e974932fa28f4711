//! The scenarios that this release can run, with what each begins from and its faulty variants.

mod catalogue;
mod listed;
mod woven;

use runwarden_protocol::run::guards::{Guards, Rules};
use runwarden_protocol::run::lineage::Lineage;

use crate::explore::{
    Budget, Choice, Conditions, Fault, Found, Limits, Play, Recording, World, search,
};
use crate::machines::{self, Start};
use crate::race::Ring;

pub use catalogue::ALL;
pub use listed::{Listed, list};
pub use woven::{WOVEN, Woven, WovenVariant};

/// A scenario of `docs/spec/scenarios.toml` that can be run.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its slug.
    pub name: &'static str,
    /// Its id in the catalogue.
    pub id: &'static str,
    /// Where it runs.
    pub rings: &'static [Ring],
    /// Its faulty variants.
    pub variants: &'static [Variant],
    /// What happened before the search begins, as labels.
    pub init: &'static [&'static [&'static str]],
    /// What may happen from there on.
    pub budget: Budget,
    /// What its workers and agents may do.
    pub conditions: Conditions,
}

/// A faulty variant of the machines.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name.
    pub name: &'static str,
    /// The rule or invariant it is caught by.
    pub rule: &'static str,
    search: fn(&Scenario, Conditions, Budget, &Limits<'_>) -> Found,
    begin: fn(&Scenario, Conditions, Budget, Recording) -> Box<dyn Play>,
    session: Start,
    fault: Option<Fault>,
}

impl Scenario {
    /// The scenario with this slug or id.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|scenario| scenario.name == name || scenario.id == name)
    }

    /// The variant with this name.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Searches the real machines, or those of a variant.
    pub fn explore(&self, variant: Option<&Variant>, budget: Budget, states_max: usize) -> Found {
        self.search(variant, budget, &Limits::states(states_max))
    }

    /// Searches the real machines, or those of a variant, within `limits`.
    pub fn search(&self, variant: Option<&Variant>, budget: Budget, limits: &Limits<'_>) -> Found {
        match variant {
            Some(variant) => (variant.search)(self, variant.conditions(self), budget, limits),
            None => run::<Rules>(self, self.conditions, budget, limits),
        }
    }

    /// The state its search begins from, to follow schedules one choice at a time.
    pub fn begin(
        &self,
        variant: Option<&Variant>,
        budget: Budget,
        recording: Recording,
    ) -> Box<dyn Play> {
        match variant {
            Some(variant) => (variant.begin)(self, variant.conditions(self), budget, recording),
            None => begin::<Rules>(self, self.conditions, budget, recording),
        }
    }
}

impl Variant {
    /// What makes the session machine of the variant called `name`; none when no machine of it is faulty.
    pub(crate) fn session(name: &str) -> Option<Start> {
        let all = ALL.iter().flat_map(|scenario| scenario.variants);
        let mut named = all.filter(|variant| variant.name == name && variant.fault.is_none());
        named.next().map(|variant| variant.session)
    }

    const fn of<G: Guards>(name: &'static str, rule: &'static str) -> Self {
        let session = machines::start::<Lineage<G>>;
        Self { name, rule, search: run::<G>, begin: begin::<G>, session, fault: None }
    }

    /// The machines as they are, in a world that does one thing wrong.
    const fn around(name: &'static str, rule: &'static str, fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::of::<Rules>(name, rule) }
    }

    fn conditions(&self, scenario: &Scenario) -> Conditions {
        Conditions { fault: self.fault, ..scenario.conditions }
    }
}

/// What may happen until a scenario begins.
const BEFORE: Budget = Budget { clients: 15, events: 15, stops: 15, drops: 15, crashes: 15 };

fn run<G: Guards>(
    scenario: &Scenario,
    conditions: Conditions,
    budget: Budget,
    limits: &Limits<'_>,
) -> Found {
    search(&world::<G>(scenario, conditions, budget, Recording::Off), limits)
}

fn begin<G: Guards>(
    scenario: &Scenario,
    conditions: Conditions,
    budget: Budget,
    recording: Recording,
) -> Box<dyn Play> {
    Box::new(world::<G>(scenario, conditions, budget, recording))
}

/// The scenario's begin, reached by its machines themselves.
fn world<G: Guards>(
    scenario: &Scenario,
    conditions: Conditions,
    budget: Budget,
    recording: Recording,
) -> World<G> {
    let mut world = World::<G>::new(conditions, BEFORE);
    if recording == Recording::On {
        world = world.recorded();
    }
    for label in scenario.init.iter().copied().flatten() {
        let mut choices = Vec::new();
        world.choices(&mut choices);
        let is_named = |choice: &&Choice| world.label(**choice) == *label;
        let choice = choices.iter().find(is_named).copied();
        let choice = choice.unwrap_or_else(|| panic!("{}: {label} is not enabled", scenario.id));
        let taken = world.take(choice);
        assert!(taken.is_ok(), "{}: {label}: {taken:?}", scenario.id);
    }
    world.with_oddity().with_budget(budget)
}
