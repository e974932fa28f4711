//! What the records of a session or of a journal say about a run.

use std::fmt;

use serde_json::Value;

use super::ShapeError;
use crate::record::Record;

/// Whose rows and ends are judged together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// A run, named by the record.
    Run(String),
    /// The one run of a machine that holds a single journal.
    Machine(String),
}

/// One thing a record says about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The run begins in this trace; its journal is empty.
    Admitted,
    /// The run was found at a start of the server with this many rows.
    Recovered { last_seq: u64 },
    /// Rows became durable.
    Persisted { first_seq: u64, count: u64 },
    /// A commit of the run became durable.
    Committed,
    /// Rows were shown.
    Published { first_seq: u64, rows: u64 },
    /// Rows that have no number were shown.
    PublishedDegraded,
    /// The run ended, with the number of its terminal row if that was stored, and the rows of its settlement
    /// before it.
    Ended { seq: Option<u64>, settled_rows: u64 },
}

/// The events of a record: those of its input, then those of its outputs.
pub(super) fn events_of(record: &Record) -> Result<Vec<(Subject, Event)>, ShapeError> {
    let mut events = Vec::new();
    // A deletion commits the end of the run that it meets, and names no run itself.
    if record.input["kind"] == "deletion_committed" {
        let ended = record.outputs.iter().filter(|output| output["kind"] == "run_ended");
        let runs = ended.filter_map(|output| output["run_id"].as_str());
        events.extend(runs.map(|run_id| (Subject::Run(run_id.to_owned()), Event::Committed)));
    }
    for (entry, is_input) in
        std::iter::once((&record.input, true)).chain(record.outputs.iter().map(|o| (o, false)))
    {
        let fields = Fields { n: record.n, entry };
        if let Some(event) = fields.event(is_input)? {
            events.push((fields.subject(&record.machine), event));
        }
    }
    Ok(events)
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(name) | Self::Machine(name) => f.write_str(name),
        }
    }
}

struct Fields<'a> {
    n: u64,
    entry: &'a Value,
}

impl Fields<'_> {
    fn event(&self, is_input: bool) -> Result<Option<Event>, ShapeError> {
        Ok(Some(match (self.kind(), is_input) {
            ("recover", true) => Event::Recovered { last_seq: self.number("last_seq")? },
            ("persisted", true) => Event::Persisted {
                first_seq: self.number("first_seq")?,
                count: self.number("count")?,
            },
            ("committed", true) => Event::Committed,
            ("admit", false) => Event::Admitted,
            ("published", false) => {
                Event::Published { first_seq: self.number("first_seq")?, rows: self.rows()? }
            }
            ("published_degraded", false) => Event::PublishedDegraded,
            ("run_ended", false) => {
                Event::Ended { seq: self.terminal_seq()?, settled_rows: self.settled_rows() }
            }
            (_, true | false) => return Ok(None),
        }))
    }

    fn subject(&self, machine: &str) -> Subject {
        match self.entry.get("run_id").and_then(Value::as_str) {
            Some(run_id) => Subject::Run(run_id.to_owned()),
            None => Subject::Machine(machine.to_owned()),
        }
    }

    fn kind(&self) -> &str {
        self.entry.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, field: &'static str) -> Result<u64, ShapeError> {
        self.entry.get(field).and_then(Value::as_u64).ok_or_else(|| self.lacks(field))
    }

    fn rows(&self) -> Result<u64, ShapeError> {
        let rows = self.entry.get("rows").and_then(Value::as_array);
        rows.map(|rows| rows.len() as u64).ok_or_else(|| self.lacks("rows"))
    }

    /// Rows of steers that the settlement put before the terminal.
    fn settled_rows(&self) -> u64 {
        self.entry.get("steers").and_then(Value::as_array).map_or(0, |steers| steers.len() as u64)
    }

    fn terminal_seq(&self) -> Result<Option<u64>, ShapeError> {
        match self.entry.get("seq") {
            None | Some(Value::Null) => Ok(None),
            Some(seq) => seq.as_u64().map(Some).ok_or_else(|| self.lacks("seq")),
        }
    }

    fn lacks(&self, field: &'static str) -> ShapeError {
        ShapeError { n: self.n, kind: self.kind().to_owned(), field }
    }
}
