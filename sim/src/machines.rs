//! The machines a race file may name, each behind one interface that speaks JSON.

use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::{Machine, Outbox, Reject};
use runwarden_protocol::record::TICK;
use serde_json::Value;

/// Machines by the kind that begins their names: `run` plays `run/ses_0123456789abcdef`.
#[derive(Clone, Debug)]
pub struct Registry {
    kinds: Vec<Kind>,
}

/// A machine that takes inputs as Records hold them.
pub trait Player {
    /// Takes one input at time `now`.
    ///
    /// # Errors
    /// What the input lacks to be one of this machine.
    fn play(&mut self, now: Instant, input: &Value) -> Result<Played, serde_json::Error>;

    /// The name of the current state.
    fn state_name(&self) -> &'static str;

    /// The state, as `init` holds it.
    ///
    /// # Errors
    /// When the machine has no JSON form.
    fn state(&self) -> Result<Value, serde_json::Error>;
}

/// What came of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The outputs in order.
    pub outputs: Vec<Value>,
    /// Why the input was turned away, if it was.
    pub reject: Option<Reject>,
}

/// A machine that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No machine of this kind is known.
    #[error("no machine plays {name:?}; this release has {known}")]
    Unknown {
        /// The name of the machine.
        name: String,
        /// The kinds there are.
        known: String,
    },
    /// The state is none of this machine.
    #[error("the state of {name:?} is not one of this release: {source}")]
    State {
        /// The name of the machine.
        name: String,
        /// What it lacks.
        source: serde_json::Error,
    },
}

/// Makes a machine in a state.
pub(crate) type Start = fn(&Value) -> Result<Box<dyn Player>, serde_json::Error>;

#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    start: Start,
}

impl Registry {
    /// A registry without machines.
    pub const fn empty() -> Self {
        Self { kinds: Vec::new() }
    }

    /// The machines of the product, with the rules as they are.
    pub fn product() -> Self {
        use runwarden_protocol::{client, delivery, journal, run};
        Self::empty()
            .with::<run::lineage::Lineage>("run")
            .with::<run::deletion::Deletion>("run/deletion")
            .with::<run::ownership::Ownership>("run/ownership")
            .with::<run::pending::Pending>("run/pending")
            .with::<run::questions::Questions>("run/questions")
            .with::<run::queue::Queue>("run/queue")
            .with::<run::reclaim::Reclaim>("run/reclaim")
            .with::<run::record::SessionRecord>("run/record")
            .with::<run::rotation::Rotation>("run/rotation")
            .with::<run::remote::Remote>("run/remote")
            .with::<run::row::Row>("run/row")
            .with::<run::settlement::Settlement>("run/settlement")
            .with::<run::steer::Steers>("run/steer")
            .with::<run::stop::Stop>("run/stop")
            .with::<run::wakeups::Wakeups>("run/wakeups")
            .with::<run::worker::Worker>("run/worker")
            .with::<run::slots::Slots>("slots")
            .with::<run::cache::Cache>("cache")
            .with::<run::storage::Storage>("storage")
            .with::<journal::run_journal::RunJournal>("journal/run")
            .with::<journal::text_merge::TextMerge>("journal/text_merge")
            .with::<journal::turn_journal::TurnJournal>("journal/turn")
            .with::<delivery::sender::SenderQueue>("sender")
            .with::<delivery::connection::Connection>("connection")
            .with::<delivery::requests::Requests>("requests")
            .with::<client::screen::Screen>("client/screen")
    }

    /// This registry and the machine `M` under `kind`.
    #[must_use]
    pub fn with<M>(mut self, kind: &'static str) -> Self
    where
        M: Machine<Reject = Reject> + 'static,
    {
        self.kinds.push(Kind { name: kind, start: start::<M> });
        self
    }

    /// This registry, with the machines of `kind` made by `start`.
    #[must_use]
    pub(crate) fn replaced(mut self, kind: &str, start: Start) -> Self {
        for entry in self.kinds.iter_mut().filter(|entry| entry.name == kind) {
            entry.start = start;
        }
        self
    }

    /// The kinds in the order they were entered.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|kind| kind.name)
    }

    /// Makes the machine called `name` in `state`. The longest kind that fits the name decides.
    ///
    /// # Errors
    /// [`StartError`] when no kind fits or the state is none of it.
    pub fn start(&self, name: &str, state: &Value) -> Result<Box<dyn Player>, StartError> {
        let fitting = self.kinds.iter().filter(|kind| fits(kind.name, name));
        let Some(kind) = fitting.max_by_key(|kind| kind.name.len()) else {
            let known: Vec<_> = self.kinds().collect();
            return Err(StartError::Unknown { name: name.to_owned(), known: known.join(", ") });
        };
        (kind.start)(state).map_err(|source| StartError::State { name: name.to_owned(), source })
    }
}

fn fits(kind: &str, name: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A machine of type `M` in this state.
pub(crate) fn start<M>(state: &Value) -> Result<Box<dyn Player>, serde_json::Error>
where
    M: Machine<Reject = Reject> + 'static,
{
    let machine: M = serde_json::from_value(state.clone())?;
    Ok(Box::new(Boxed { machine, out: Outbox::new() }))
}

struct Boxed<M: Machine> {
    machine: M,
    out: Outbox<M::Output>,
}

impl<M: Machine<Reject = Reject>> Player for Boxed<M> {
    fn play(&mut self, now: Instant, input: &Value) -> Result<Played, serde_json::Error> {
        let reject = if input["kind"] == TICK {
            self.machine.tick(now, &mut self.out);
            None
        } else {
            let input: M::Input = serde_json::from_value(input.clone())?;
            self.machine.step(now, input, &mut self.out).err()
        };
        let outputs = self.out.drain().map(|output| serde_json::to_value(&output));
        Ok(Played { outputs: outputs.collect::<Result<_, _>>()?, reject })
    }

    fn state_name(&self) -> &'static str {
        self.machine.state_name()
    }

    fn state(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(&self.machine)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_kind_that_fits_a_name_decides() {
        for (kind, name, is_fitting) in [
            ("run", "run/ses_1", true),
            ("run", "run", true),
            ("run", "runs", false),
            ("run/questions", "run/questions/1", true),
            ("run/questions", "run/ses_1", false),
        ] {
            assert_eq!(fits(kind, name), is_fitting, "{kind} {name}");
        }
    }

    #[test]
    fn what_cannot_start_is_refused() {
        let registry = Registry::product();
        let unknown = registry.start("walk/1", &json!({})).err().map(|error| error.to_string());
        assert!(unknown.is_some_and(|text| text.contains("run, run/deletion, run/")));
        let state = registry.start("slots", &json!({"odd": 1})).err();
        assert!(matches!(state, Some(StartError::State { .. })));
    }

    #[test]
    fn each_kind_is_entered_once() {
        let mut kinds: Vec<_> = Registry::product().kinds().collect();
        let entered = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), entered);
    }
}
