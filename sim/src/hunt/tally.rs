//! What a hunt has seen, so that a hunt that saw nothing is not taken for one that found nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::Strategy;
use super::cells::{self, Cell};
use crate::schedule::{Course, words};

/// Every kind of fault there is.
pub const FAULTS: [&str; 19] = [
    "admission_failed",
    "append_failed",
    "append_unknown",
    "change_failed",
    "compensation_failed",
    "construction_failed",
    "crash",
    "drop",
    "hold_failed",
    "launch_failed",
    "lease_lost",
    "lost",
    "no_agent",
    "no_slot",
    "queueing_failed",
    "release_failed",
    "removal_failed",
    "save_failed",
    "settlement_failed",
];

/// Choices that a hunt must take some time: each is a way a run goes on that a wrong hunt would never reach.
pub const MARKS: [&str; 32] = [
    "admitted",
    "answer_question",
    "began",
    "changed",
    "compensated",
    "completed",
    "constructed",
    "end",
    "evict",
    "exited",
    "failed",
    "free_slot",
    "invocation_asked",
    "launched",
    "persisted",
    "question",
    "queue",
    "queued",
    "registration_asked",
    "released",
    "remove_queued",
    "removed",
    "resume_queue",
    "settled",
    "start",
    "start_head",
    "stop_kill",
    "stop_run",
    "stop_term",
    "take_over",
    "text",
    "unwind",
];

/// A hunt of fewer schedules is not judged by what it did not see.
pub const JUDGED_SCHEDULES_MIN: u64 = 4_000;

/// Counts of one hunt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Schedules taken to their end.
    pub schedules: u64,
    /// Choices taken.
    pub transitions: u64,
    /// The most choices of one schedule.
    pub steps_max: usize,
    strategies: BTreeMap<Strategy, u64>,
    /// By verb and name.
    choices: BTreeMap<(String, String), u64>,
    cells: BTreeSet<Cell>,
}

impl Tally {
    /// Counts one schedule.
    pub fn count(&mut self, strategy: Strategy, course: &Course) {
        self.schedules += 1;
        self.transitions += course.steps.len() as u64;
        self.steps_max = self.steps_max.max(course.steps.len());
        *self.strategies.entry(strategy).or_default() += 1;
        for step in &course.steps {
            let (_, verb, name) = words(&step.label);
            let key = if verb == "fault" { "fault" } else { "" };
            *self.choices.entry((key.to_owned(), name.to_owned())).or_default() += 1;
        }
    }

    /// Adds the cells that a schedule tried.
    pub(super) fn count_cells(&mut self, tried: BTreeSet<Cell>) {
        self.cells.extend(tried);
    }

    /// How many cells of the session machine's matrix were tried.
    pub fn cells_tried(&self) -> usize {
        self.cells.len()
    }

    /// The cells in which an input does something and that were not tried, as `<state> + <input>`.
    pub fn cells_untried(&self) -> Vec<String> {
        let all = cells::all();
        all.difference(&self.cells).map(|(state, input)| format!("{state} + {input}")).collect()
    }

    /// Schedules by strategy.
    pub fn strategies(&self) -> impl Iterator<Item = (Strategy, u64)> {
        Strategy::ALL.into_iter().map(|s| (s, self.strategies.get(&s).copied().unwrap_or(0)))
    }

    /// How often each kind of fault was injected, those that never were included.
    pub fn faults(&self) -> BTreeMap<String, u64> {
        self.counts("fault", &FAULTS)
    }

    /// How often each other choice was taken, those of [`MARKS`] that never were included.
    pub fn marks(&self) -> BTreeMap<String, u64> {
        self.counts("", &MARKS)
    }

    /// Faults and marks that were never seen, if the hunt is long enough to be judged.
    pub fn missing(&self) -> Vec<String> {
        if self.schedules < JUDGED_SCHEDULES_MIN {
            return Vec::new();
        }
        let counts = self.faults().into_iter().chain(self.marks());
        counts.filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
    }

    fn counts(&self, key: &str, known: &[&str]) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<_, _> = known.iter().map(|name| ((*name).to_owned(), 0)).collect();
        for ((found, name), count) in &self.choices {
            if found == key {
                counts.insert(name.clone(), *count);
            }
        }
        counts
    }
}
