//! Records of the steps of session machines, for `--record` and the flight recorder.

use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::Reject;
use serde::Serialize;
use serde_json::Value;

/// One step as it is handed to a sink, which numbers and chains it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Time of the step.
    pub now: Instant,
    /// Which machine, e.g. `run/ses_0123456789abcdef`.
    pub machine: String,
    /// The input.
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
}

/// The JSON form of an input or output.
pub(crate) fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("inputs and outputs of machines have a JSON form")
}
