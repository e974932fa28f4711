use serde_json::{Value, json};

use super::export::Flight;
use super::recorder::{FlightRecorder, Kept, Taken};
use crate::machine::{Machine, Outbox, Reject};
use crate::record::{BEGAN, Record, RecordReject, TICK};

/// Records that are not the whole life of one machine of this release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The first record does not say in which state the machine began.
    #[error("the recording does not begin with a state of this release")]
    NoBegin,
    /// Another machine stands between.
    #[error("record {n} is of another machine than the first")]
    OtherMachine {
        /// Number of the record.
        n: u64,
    },
    /// An input is none of this machine.
    #[error("record {n} holds no input of this release: {detail}")]
    Input {
        /// Number of the record.
        n: u64,
        /// What it lacks.
        detail: String,
    },
    /// The same input led to other outputs.
    #[error("record {n} has other outputs than this release gives: use the release that wrote it")]
    Outputs {
        /// Number of the record.
        n: u64,
    },
}

/// The input of a record that tells in which state a machine began; no step is taken by it.
///
/// # Panics
/// Never: a machine has a JSON form.
pub fn began<M: Machine>(machine: &M) -> Value {
    let state = serde_json::to_value(machine).expect("a machine has a JSON form");
    json!({ "kind": BEGAN, "state": state })
}

/// What a recorder of `bytes_max` bytes keeps of a machine whose whole life these records are. Each step is
/// taken again and must lead to the outputs that were recorded.
///
/// # Errors
/// [`RecordingError`] when they are no such life, or what reading one of them gave.
pub fn flight_of<M, E>(
    bytes_max: usize,
    mut records: impl Iterator<Item = Result<Record, E>>,
) -> Result<Flight<M>, E>
where
    M: Machine<Input: Kept, Reject = Reject>,
    E: From<RecordingError>,
{
    let first = records.next().transpose()?.ok_or(RecordingError::NoBegin)?;
    let live = begin_of(first.input).ok_or(RecordingError::NoBegin)?;
    let recorder = FlightRecorder::new(bytes_max);
    let mut flight = Flight { machine: first.machine, recorder, live };
    for record in records {
        flight.take(record?)?;
    }
    Ok(flight)
}

fn begin_of<M: Machine>(mut input: Value) -> Option<M> {
    let state = input.get_mut("state").map(Value::take)?;
    let machine = serde_json::from_value(state).ok()?;
    (input["kind"] == BEGAN).then_some(machine)
}

impl<M> Flight<M>
where
    M: Machine<Input: Kept, Reject = Reject>,
{
    fn take(&mut self, record: Record) -> Result<(), RecordingError> {
        let Record { n, now_us: now, machine, input, outputs, reject, .. } = record;
        if machine != self.machine {
            return Err(RecordingError::OtherMachine { n });
        }
        let taken = if input["kind"] == TICK {
            Taken::Tick
        } else {
            let input = serde_json::from_value(input);
            Taken::Input(
                input.map_err(|error| RecordingError::Input { n, detail: error.to_string() })?,
            )
        };
        self.recorder.note(&self.live, now, taken.clone());
        let mut out = Outbox::new();
        let rejected = match taken {
            Taken::Tick => {
                self.live.tick(now, &mut out);
                None
            }
            Taken::Input(input) => self.live.step(now, input, &mut out).err(),
        };
        let found: Result<Vec<Value>, _> = out.drain().map(serde_json::to_value).collect();
        let is_same = found.is_ok_and(|found| found == outputs)
            && rejected.as_ref().map(RecordReject::from) == reject;
        if is_same { Ok(()) } else { Err(RecordingError::Outputs { n }) }
    }
}
