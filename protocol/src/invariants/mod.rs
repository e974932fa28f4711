//! Invariants as predicates on a trace: each looks at Records alone, so that it judges our own runs,
//! a replay, and the trace of any other server alike.
//!
//! | Invariant | What breaks it in a trace |
//! |---|---|
//! | INV-TERM | a second `run_ended` of a run |
//! | INV-SEQ | `published` rows or a terminal row whose numbers leave a hole or repeat |
//! | DI-5 | rows published before they were `persisted`; a run ended before its settlement was `committed` |
//! | DI-7 | rows published after `run_ended` |

mod event;
mod run;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use crate::record::Record;
use event::{Event, Subject};
use run::RunAudit;

/// Most runs an [`Auditor`] remembers. Beyond it the run seen first is forgotten and counted.
pub const RUNS_MAX: usize = 16_384;

/// A record that breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{invariant} broken by record {n} of {machine}: {detail}")]
pub struct Violation {
    /// Id of the invariant.
    pub invariant: &'static str,
    /// Number of the record.
    pub n: u64,
    /// The machine of the record.
    pub machine: String,
    /// What was seen, with the run.
    pub detail: String,
}

/// A record whose content has another form than its kind says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {n}: `{kind}` needs {field}")]
pub struct ShapeError {
    /// Number of the record.
    pub n: u64,
    /// Kind of the input or output.
    pub kind: String,
    /// The field, and what it holds.
    pub field: &'static str,
}

/// How much an [`Auditor`] has judged; zeros mean that a trace shows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Records seen.
    pub records: u64,
    /// Runs seen.
    pub runs: u64,
    /// Published rows with a number.
    pub rows: u64,
    /// Ends of runs.
    pub terminals: u64,
    /// Runs forgotten at [`RUNS_MAX`]; what came later of them was judged as new.
    pub forgotten: u64,
}

/// Judges the records of one trace in order.
#[derive(Clone, Debug, Default)]
pub struct Auditor {
    runs: BTreeMap<Subject, RunAudit>,
    order: VecDeque<Subject>,
    judged: Judged,
}

impl Auditor {
    /// Judges the next record and returns what it breaks.
    ///
    /// # Errors
    /// [`ShapeError`] when an input or output of a judged kind lacks what it must hold.
    pub fn check(&mut self, record: &Record) -> Result<Vec<Violation>, ShapeError> {
        self.judged.records += 1;
        if record.reject.is_some() {
            return Ok(Vec::new());
        }
        let mut violations = Vec::new();
        for (subject, event) in event::events_of(record)? {
            self.count(&event);
            let name = subject.to_string();
            if let Some((invariant, detail)) = self.run(subject).take(record.n, event) {
                violations.push(Violation {
                    invariant,
                    n: record.n,
                    machine: record.machine.clone(),
                    detail: format!("{name}: {detail}"),
                });
            }
        }
        Ok(violations)
    }

    /// How much was judged so far.
    pub fn judged(&self) -> Judged {
        self.judged
    }

    fn run(&mut self, subject: Subject) -> &mut RunAudit {
        if !self.runs.contains_key(&subject) {
            if self.order.len() == RUNS_MAX
                && let Some(first) = self.order.pop_front()
            {
                self.runs.remove(&first);
                self.judged.forgotten += 1;
            }
            self.judged.runs += 1;
            self.order.push_back(subject.clone());
        }
        self.runs.entry(subject).or_default()
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::Published { rows, .. } => self.judged.rows += rows,
            Event::Ended { .. } => self.judged.terminals += 1,
            Event::Admitted
            | Event::Recovered { .. }
            | Event::Persisted { .. }
            | Event::Committed
            | Event::PublishedDegraded => {}
        }
    }
}
