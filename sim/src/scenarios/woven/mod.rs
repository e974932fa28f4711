//! The scenarios of ring weave, with their faulty variants.

mod completion;

use runwarden_protocol::run::guards::{Guards, Rules};

use crate::weave::{Plan, Play, Schedule, Story, Wrong, schedule};

/// A scenario of `docs/spec/scenarios.toml` that ring weave plays.
#[derive(Clone, Copy, Debug)]
pub struct Woven {
    /// Its id in the catalogue.
    pub id: &'static str,
    /// Its slug.
    pub name: &'static str,
    /// Its faulty variants in this ring.
    pub variants: &'static [WovenVariant],
    play: Play,
}

/// A faulty variant of a scenario in ring weave.
#[derive(Clone, Copy, Debug)]
pub struct WovenVariant {
    /// Its name.
    pub name: &'static str,
    /// The rule or invariant it is caught by.
    pub rule: &'static str,
    play: Play,
    wrong: Option<Wrong>,
}

/// All scenarios, in the order of the catalogue.
pub const WOVEN: &[Woven] = &[completion::RACE_23];

impl Woven {
    /// The scenario `S` plays.
    const fn of<S: Story>(
        id: &'static str,
        name: &'static str,
        variants: &'static [WovenVariant],
    ) -> Self {
        Self { id, name, variants, play: schedule::<S, Rules> }
    }

    /// The scenario with this slug or id.
    pub fn find(name: &str) -> Option<&'static Self> {
        WOVEN.iter().find(|woven| woven.name == name || woven.id == name)
    }

    /// The variant with this name.
    pub fn variant(&self, name: &str) -> Option<&'static WovenVariant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Runs one schedule of the real machines, or of a variant.
    pub fn run(&self, variant: Option<&WovenVariant>, plan: &Plan) -> Schedule {
        match variant {
            Some(variant) => (variant.play)(plan, variant.wrong),
            None => (self.play)(plan, None),
        }
    }
}

impl WovenVariant {
    /// `S` with session machines that get a guard wrong.
    #[allow(dead_code, reason = "each scenario has its own kind of variant")]
    const fn guards<S: Story, G: Guards>(name: &'static str, rule: &'static str) -> Self {
        Self { name, rule, play: schedule::<S, G>, wrong: None }
    }

    /// `S` with the real machines, in a world that does one thing wrong.
    const fn around<S: Story>(name: &'static str, rule: &'static str, wrong: Wrong) -> Self {
        Self { name, rule, play: schedule::<S, Rules>, wrong: Some(wrong) }
    }
}
