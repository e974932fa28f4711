use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::recorder::{FlightRecorder, Kept, Step, Taken};
use crate::machine::{Machine, Outbox, Reject};
use crate::race::{
    Choice, Expectation, FILE_BYTES_MAX, LINE_BYTES_MAX, LINES_MAX, Label, NameError, Race, Ring,
    Scope, ScopeKey,
};
use crate::record::{Digest, RecordError, Recorder, SCHEMA_VERSION, TICK};

/// What a recorder kept of one machine, and where the machine is now.
#[derive(Clone, Debug)]
pub struct Flight<M: Machine<Input: Kept>> {
    /// Name of the machine in Records, `run/ses_0123456789abcdef` for instance.
    pub machine: String,
    /// What was kept.
    pub recorder: FlightRecorder<M>,
    /// The machine behind the last step.
    pub live: M,
}

/// A flight that cannot leave as a race file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlightError {
    /// The same steps led somewhere else.
    #[error(
        "the recorded steps do not lead to the state the machine is in: a step was not recorded, or a machine \
         does not depend on its inputs alone; report this with the file"
    )]
    Differs,
    /// Even half of what was kept is no race file.
    #[error("what was recorded passes the bounds of a race file: set record_bytes_max lower")]
    TooLarge,
    /// The machine has a name that no race file can hold.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A step has no record.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl<M> Flight<M>
where
    M: Machine<Input: Kept, Reject = Reject>,
{
    /// The race file of what was kept: all of it, or the newer half if all of it passes the bounds of a file. Its
    /// digest is that of the steps and of the live machine.
    ///
    /// # Errors
    /// [`FlightError`]; above all when the steps do not lead to where the live machine is.
    pub fn export(&self) -> Result<Race, FlightError> {
        let whole = self.export_of(true)?;
        if fits(&whole) {
            return Ok(whole);
        }
        let newer = self.export_of(false)?;
        if fits(&newer) { Ok(newer) } else { Err(FlightError::TooLarge) }
    }

    fn export_of(&self, with_older: bool) -> Result<Race, FlightError> {
        let (begin, steps) = match self.recorder.kept(with_older) {
            Some((begin, steps)) => (begin, steps.collect()),
            None => (&self.live, Vec::new()),
        };
        let mut race = self.empty_race(begin)?;
        let (mut machine, mut chain) = (begin.clone(), Recorder::default());
        for step in steps {
            race.choices.push(self.play(&mut machine, &mut chain, step)?);
        }
        if machine != self.live {
            return Err(FlightError::Differs);
        }
        race.digest = end_digest(chain.digest(), &self.states(&self.live)?);
        Ok(race)
    }

    /// Takes one step again, notes it in the chain, and writes it as a choice.
    fn play(
        &self,
        machine: &mut M,
        chain: &mut Recorder,
        step: &Step<M::Input>,
    ) -> Result<Choice, FlightError> {
        let mut out = Outbox::new();
        let (input, reject) = match &step.taken {
            Taken::Tick => {
                machine.tick(step.now, &mut out);
                (serde_json::json!({ "kind": TICK }), None)
            }
            Taken::Input(input) => {
                (json(input)?, machine.step(step.now, input.clone(), &mut out).err())
            }
        };
        let record =
            chain.record(step.now, &self.machine, &input, out.as_slice(), reject.as_ref())?;
        Ok(Choice {
            step: record.n,
            now: step.now,
            actor: self.machine.parse()?,
            verb: Race::INPUT.parse()?,
            label: Label::Input(input),
        })
    }

    fn empty_race(&self, begin: &M) -> Result<Race, FlightError> {
        let none: BTreeMap<_, _> = ScopeKey::ALL
            .into_iter()
            .filter(|key| *key != ScopeKey::Cap)
            .map(|key| (key, 0))
            .collect();
        Ok(Race {
            scenario: Race::FLIGHT_RECORDER.parse()?,
            ring: Ring::Explore,
            variant: None,
            scope: Scope::new(none).expect("a scope names something"),
            seed: 0,
            schema: SCHEMA_VERSION,
            init: Some(self.states(begin)?),
            choices: Vec::new(),
            expect: Expectation::Ok,
            digest: Recorder::default().digest(),
        })
    }

    fn states(&self, machine: &M) -> Result<Map<String, Value>, RecordError> {
        Ok(Map::from_iter([(self.machine.clone(), json(machine)?)]))
    }
}

/// The digest of a file with `init`: the chain of its steps, and behind it the states that the machines end
/// in, as one object, machine name to state.
pub fn end_digest(chain: Digest, states: &Map<String, Value>) -> Digest {
    chain.chain_json(&Value::Object(states.clone()))
}

fn fits(race: &Race) -> bool {
    let text = race.to_string();
    text.len() <= FILE_BYTES_MAX
        && text.lines().count() <= LINES_MAX
        && text.lines().all(|line| line.len() <= LINE_BYTES_MAX)
}

fn json(value: &impl serde::Serialize) -> Result<Value, RecordError> {
    serde_json::to_value(value).map_err(|error| RecordError::Malformed(error.to_string()))
}
