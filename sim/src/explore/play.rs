//! A world without its guards in its type: what replay, shrinking and random search are written against.

use runwarden_protocol::instant::Instant;
use runwarden_protocol::record::Record;
use runwarden_protocol::run::guards::Guards;

use super::search::{attempt, fingerprint};
use super::world::{Broken, World};

/// One scenario in one state, with the real machines or those of a variant.
///
/// A choice is named as a race file writes it, `<actor> <verb> <label(args)>`; no two choices of one state
/// have the same name. Made by [`crate::scenarios::Scenario::begin`]:
///
/// ```
/// use runwarden_sim::explore::Recording;
/// use runwarden_sim::scenarios::Scenario;
///
/// let scenario = Scenario::find("RACE-16").expect("it is in the list");
/// let variant = scenario.variant("settled-stop-accepted");
/// let mut play = scenario.begin(variant, scenario.budget, Recording::On);
/// let enabled = play.enabled();
/// assert!(enabled.iter().any(|label| label == "client-a send stop_run(run_1)"));
/// play.take("store answer settled(run_1)").expect("the run may end first");
/// let broken = play.take("client-a send stop_run(run_1)").expect_err("the variant is caught");
/// assert_eq!(broken.rule(), Some("STOP-06"));
/// assert!(play.records().len() > 1);
/// ```
pub trait Play {
    /// The time of the last choice taken. Only a choice of the clock moves it.
    fn now(&self) -> Instant;

    /// The names of all choices that are enabled, in a fixed order; none when nothing is left to do.
    fn enabled(&self) -> Vec<String>;

    /// Takes the choice called `label` and asks every checker.
    ///
    /// # Errors
    /// [`NotTaken::NotEnabled`] changes nothing; behind [`NotTaken::Broken`] the play is over.
    fn take(&mut self, label: &str) -> Result<(), NotTaken>;

    /// The state of the session machine, as its matrix names it.
    fn state_name(&self) -> &'static str;

    /// The Records of all steps since the session began, the scenario's own begin included; none when they
    /// are not kept.
    fn records(&self) -> &[Record];

    /// Eight bytes that stand for the state; times count relative to now, records do not count.
    fn fingerprint(&self) -> u64;

    /// A second play in the same state.
    fn fork(&self) -> Box<dyn Play>;
}

/// Whether a play keeps the Records of its steps. Without them a step is some ten times faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// It keeps them.
    On,
    /// It does not.
    Off,
}

/// A choice that led nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The state offers no such choice.
    #[error("not enabled")]
    NotEnabled,
    /// It broke a rule.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl NotTaken {
    /// The id of the rule that was broken, if one was.
    pub fn rule(&self) -> Option<&'static str> {
        match self {
            Self::NotEnabled => None,
            Self::Broken(broken) => Some(broken.rule),
        }
    }
}

impl<G: Guards> Play for World<G> {
    fn now(&self) -> Instant {
        World::now(self)
    }

    fn enabled(&self) -> Vec<String> {
        let mut choices = Vec::new();
        self.choices(&mut choices);
        choices.into_iter().map(|choice| self.label(choice)).collect()
    }

    fn take(&mut self, label: &str) -> Result<(), NotTaken> {
        let mut choices = Vec::new();
        self.choices(&mut choices);
        let choice = choices.into_iter().find(|choice| self.label(*choice) == label);
        Ok(attempt(self, choice.ok_or(NotTaken::NotEnabled)?)?)
    }

    fn state_name(&self) -> &'static str {
        World::state_name(self)
    }

    fn records(&self) -> &[Record] {
        World::records(self)
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self)
    }

    fn fork(&self) -> Box<dyn Play> {
        Box::new(self.clone())
    }
}
