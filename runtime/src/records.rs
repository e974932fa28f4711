//! Records of the steps of session machines: the files of `--record`, and the flight recorder.

use runwarden_protocol::flight::Flight;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::Reject;
use runwarden_protocol::run::lineage::Lineage;
use serde::Serialize;
use serde_json::Value;

/// One step as it is handed to a sink, which numbers and chains it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Time of the step.
    pub now: Instant,
    /// Which machine, e.g. `run/ses_0123456789abcdef`.
    pub machine: String,
    /// The input; the first of a machine tells the state it begins in
    /// ([`BEGAN`](runwarden_protocol::record::BEGAN)).
    pub input: Value,
    /// The outputs.
    pub outputs: Vec<Value>,
    /// Why the input was turned away.
    pub reject: Option<Reject>,
}

/// Takes steps in the order they happened. Never blocks.
pub trait RecordSink: Send + Sync {
    /// Takes one step.
    fn record(&self, step: Step);

    /// The machine that began at this time left memory; another one of this name may have begun meanwhile.
    fn ended(&self, machine: &str, began_at: Instant) {
        let _ = (machine, began_at);
    }
}

/// What the flight recorder has of a session.
#[derive(Debug)]
pub enum Recorded {
    /// Its last steps.
    Kept(Box<Flight<Lineage>>),
    /// It has taken no step since the server began, or so long ago that nothing is kept.
    Nothing,
    /// There is no such session.
    Unknown,
    /// The flight recorder is off.
    Off,
}

/// The JSON form of an input or output.
pub(crate) fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("inputs and outputs of machines have a JSON form")
}
