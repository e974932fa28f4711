//! What is noted of the steps of a session.

use std::any::Any;
use std::sync::Arc;

use runwarden_protocol::flight::{Flight, FlightRecorder, Taken, began};
use runwarden_protocol::ids::SessionId;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::machine::Reject;
use runwarden_protocol::record::TICK;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{Input, Lineage, Output};
use serde_json::{Value, json};

use crate::hub::HubConfig;
use crate::records::{self, RecordSink, Step};

/// The flight recorder and the sink of one session, each if it is wanted.
pub(super) struct Recording<G: Guards> {
    machine_name: String,
    flight: Option<FlightRecorder<Lineage<G>>>,
    sink: Option<Arc<dyn RecordSink>>,
    began_at: Option<Instant>,
}

impl<G: Guards> Recording<G> {
    pub(super) fn new(config: &HubConfig, session_id: SessionId) -> Self {
        let bytes_max = config.record_bytes_max;
        Self {
            machine_name: format!("run/{session_id}"),
            flight: (bytes_max > 0).then(|| FlightRecorder::new(bytes_max)),
            sink: config.records.clone(),
            began_at: None,
        }
    }

    /// Notes what `machine` is about to take; returns what [`Recording::after`] is to be given.
    pub(super) fn before(
        &mut self,
        machine: &Lineage<G>,
        now: Instant,
        taken: &Taken<Input>,
    ) -> Option<Value> {
        if let Some(flight) = &mut self.flight {
            flight.note(machine, now, taken.clone());
        }
        let is_first = self.began_at.is_none();
        self.began_at.get_or_insert(now);
        let sink = self.sink.as_ref()?;
        if is_first {
            let (machine, input) = (self.machine_name.clone(), began(machine));
            sink.record(Step { now, machine, input, outputs: Vec::new(), reject: None });
        }
        Some(match taken {
            Taken::Input(input) => records::json(input),
            Taken::Tick => json!({ "kind": TICK }),
        })
    }

    /// Notes what came of it.
    pub(super) fn after(
        &self,
        now: Instant,
        input: Option<Value>,
        outputs: &[Output],
        reject: Option<Reject>,
    ) {
        let (Some(sink), Some(input)) = (&self.sink, input) else { return };
        let outputs = outputs.iter().map(records::json).collect();
        sink.record(Step { now, machine: self.machine_name.clone(), input, outputs, reject });
    }

    /// What the flight recorder keeps, if it is on and anything happened; `live` is the machine now. A machine
    /// that gets a rule wrong has no flight: nothing could play it.
    pub(super) fn flight(&self, live: &Lineage<G>) -> Option<Flight<Lineage>> {
        let recorder = self.flight.as_ref().filter(|recorder| !recorder.is_empty())?;
        let (machine, recorder) = (self.machine_name.clone(), recorder.clone());
        let flight: Box<dyn Any> = Box::new(Flight { machine, recorder, live: live.clone() });
        flight.downcast().ok().map(|flight| *flight)
    }

    /// The session leaves memory.
    pub(super) fn end(&self) {
        if let (Some(sink), Some(began_at)) = (&self.sink, self.began_at) {
            sink.ended(&self.machine_name, began_at);
        }
    }
}
