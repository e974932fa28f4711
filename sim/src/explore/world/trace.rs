//! The Records of a world, when somebody wants to see them.

use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::{Outbox, Reject};
use runwarden_protocol::record::{Record, Recorder};
use serde::Serialize;

/// The chain of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    recorder: Recorder,
    pub(super) records: Vec<Record>,
}

impl Trace {
    pub(super) fn step(
        &mut self,
        now: Instant,
        machine: &str,
        input: &impl Serialize,
        out: &Outbox<impl Serialize>,
        reject: Option<&Reject>,
    ) {
        let record = self.recorder.record(now, machine, input, out.as_slice(), reject);
        self.records.push(record.expect("inputs and outputs of a session are JSON objects"));
    }
}
