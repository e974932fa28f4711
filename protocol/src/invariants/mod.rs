//! Invariants as predicates on a trace: each looks at Records alone, so that it judges our own runs,
//! a replay, and the trace of any other server alike.
//!
//! | Invariant | What breaks it in a trace |
//! |---|---|
//! | INV-TERM | a second `run_ended` of a run |
//! | INV-SEQ | `published` rows or a terminal row whose numbers leave a hole or repeat |
//! | DI-5 | rows published before they were `persisted`; a run ended before its settlement was `committed` |
//! | DI-7 | rows published after `run_ended` |
//! | INV-REG | `start_worker`, `construct`, `prepare` or `invoke` of a run behind its Stop; STOP-05 is its `append` |
//! | INV-EXCL | an `admit` or `invoke` beside the unreturned call of another run, unless that one's window is over |
//! | INV-OWN | a `prepare` or `invoke` of an agent behind its `close` |
//! | INV-LIVE | a start refused because of a stopped and ended run whose window is over |
//! | INV-TERM | a `run_ended` with another outcome than its `settle`; a `settle` behind the end |
//! | ASK-03, ASK-04, ASK-05 | a question resolved twice, or open behind the Stop or the end of its run |
//! | INV-STEER, STR-04 | a `hand_steer` to another run; a steer settled twice, or by no row and no `run_ended` of its run |
//! | INV-TEXT, STR-09, ADM-17 | a queued message with two turns, before an older one, or overtaken by a new one |
//! | REG-08, STOP-08 | a `signal` to an agent that the run does not call; a second interrupt |
//! | STOP-04 | the first Stop of a run answered as accepted before the store answered the settlement |
//! | STOP-06 | a Stop accepted of a run that is over and forgotten |
//! | STOP-13, STOP-21 | a run settled `cancelled` by the Stop of another, or by nobody's |

mod event;
mod given;
mod run;
mod session;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::record::Record;
use crate::record::{RESTARTED, SERVER};
use event::{Event, Subject};
use run::RunAudit;
use session::SessionAudit;

pub use session::CLOSED_AGENTS_MAX;

/// Most runs an [`Auditor`] remembers. Beyond it the run seen first is forgotten and counted.
pub const RUNS_MAX: usize = 16_384;

/// Most sessions an [`Auditor`] remembers. Beyond it one of them is forgotten and counted.
pub const SESSIONS_MAX: usize = 4_096;

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
    /// Runs and sessions forgotten at their bounds; what came later of them was judged as new.
    pub forgotten: u64,
}

/// Judges the records of one trace in order.
#[derive(Clone, Debug, Default)]
pub struct Auditor {
    runs: BTreeMap<Subject, RunAudit>,
    order: VecDeque<Subject>,
    sessions: BTreeMap<String, SessionAudit>,
    judged: Judged,
}

impl Auditor {
    /// The trace begins with `machine` in this state: of the runs it holds nobody has seen how they came
    /// there, and what depends on that is not judged.
    pub fn resume(&mut self, machine: &str, state: &Value) {
        self.sessions.entry(machine.to_owned()).or_default().resume(state);
    }

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
        for (invariant, detail) in self.session(record) {
            let machine = record.machine.clone();
            violations.push(Violation { invariant, n: record.n, machine, detail });
        }
        Ok(violations)
    }

    /// How much was judged so far.
    pub fn judged(&self) -> Judged {
        self.judged
    }

    fn session(&mut self, record: &Record) -> Vec<run::Broken> {
        if record.machine == SERVER && record.input["kind"] == RESTARTED {
            self.sessions.clear();
            return Vec::new();
        }
        let is_known = self.sessions.contains_key(&record.machine);
        if !is_known && self.sessions.len() == SESSIONS_MAX {
            self.sessions.pop_first();
            self.judged.forgotten += 1;
        }
        self.sessions.entry(record.machine.clone()).or_default().take(record)
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
