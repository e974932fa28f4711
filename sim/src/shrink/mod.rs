//! Shrinking a schedule that breaks a rule, until nothing can be left out.
//!
//! The steps, in order: leave out actors, leave out faults, delta-debug the choices, shrink the scope to what
//! is needed, put the choices in canonical order, and prove by a breadth-first search that no shorter schedule
//! breaks the rule, or take the one that does. A schedule counts only if it breaks the same rule.

mod actors;
mod inputs;
mod order;
mod reduce;
#[cfg(test)]
mod tests;

pub use inputs::{INPUT_TRIES_MAX, shrink_inputs};

use crate::explore::{Broken, Limits, Play, Recording, ScheduledStep};
use crate::race::ScopeKey;
use crate::schedule::{Course, words};
use crate::setting::Setting;

/// States the proof visits at most in each of its two scopes.
pub const PROOF_STATES_MAX: usize = 250_000;

/// A schedule from which nothing can be left out.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario, the machines, and the smallest scope in which the schedule breaks its rule.
    pub setting: Setting,
    /// The choices.
    pub schedule: Vec<ScheduledStep>,
    /// What the last one breaks.
    pub broken: Broken,
    /// How many choices were left before the proof.
    pub reduced: usize,
    /// Whether no schedule with fewer choices breaks the rule.
    pub proof: Proof,
    /// Schedules tried.
    pub tries: u64,
}

/// What is known about shorter schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// There is none in the scope that the schedule was found in.
    Minimal,
    /// There is none in the scope that the schedule needs; the larger one has too many states.
    MinimalInItsScope,
    /// There are too many states to tell.
    Open,
}

impl Proof {
    /// Whether there is a proof.
    pub fn is_minimal(self) -> bool {
        match self {
            Self::Minimal | Self::MinimalInItsScope => true,
            Self::Open => false,
        }
    }
}

impl Shrunk {
    /// The names of the choices.
    pub fn labels(&self) -> Vec<String> {
        self.schedule.iter().map(|step| step.label.clone()).collect()
    }
}

/// Shrinks `labels`, which break a rule in `setting`; `None` when they break none.
pub fn shrink(setting: Setting, labels: &[String]) -> Option<Shrunk> {
    shrink_within(setting, labels, PROOF_STATES_MAX)
}

/// Shrinks like [`shrink`]; the proof visits at most `states_max` states in each of its scopes.
pub fn shrink_within(setting: Setting, labels: &[String], states_max: usize) -> Option<Shrunk> {
    let begin = setting.begin(Recording::Off);
    let first = Course::follow(begin.fork().as_mut(), labels);
    let mut trial = Trial { setting, begin, rule: first.rule()?, tries: 1 };
    let mut best = first.labels();
    // What one step left out may be what another one needed gone.
    let mut before = usize::MAX;
    while best.len() < before {
        before = best.len();
        actors::leave_out(&mut trial, &mut best);
        leave_out_faults(&mut trial, &mut best);
        reduce::reduce(&mut trial, &mut best);
    }
    let reduced = best.len();
    trial.shrink_scope(&best);
    let proof = prove(&mut trial, setting, &mut best, states_max);
    trial.shrink_scope(&best);
    order::canonical(&mut trial, &mut best);
    let last = Course::follow(trial.begin.as_mut(), &best);
    Some(Shrunk {
        setting: trial.setting,
        schedule: last.steps,
        broken: last.broken.expect("each step kept the violation"),
        reduced,
        proof,
        tries: trial.tries,
    })
}

/// Tries schedules for one rule.
pub(crate) struct Trial {
    setting: Setting,
    /// The begin of the setting.
    begin: Box<dyn Play>,
    rule: &'static str,
    tries: u64,
}

impl Trial {
    /// The choices that were taken up to the violation, if `labels` break the rule.
    fn attempt(&mut self, labels: &[String]) -> Option<Vec<String>> {
        self.tries += 1;
        let course = Course::follow(self.begin.fork().as_mut(), labels);
        (course.rule() == Some(self.rule)).then(|| course.labels())
    }

    /// Goes over to the smallest count of each key with which `labels` still break the rule.
    fn shrink_scope(&mut self, labels: &[String]) {
        for key in ScopeKey::ALL {
            let Some(count) = self.setting.budget.scope().get(key) else { continue };
            for fewer in 0..count {
                let before = self.setting;
                self.go_to(before.within(before.budget.with_count(key, fewer)));
                if self.attempt(labels).is_some_and(|taken| taken.len() == labels.len()) {
                    break;
                }
                self.go_to(before);
            }
        }
    }

    fn go_to(&mut self, setting: Setting) {
        self.setting = setting;
        self.begin = setting.begin(Recording::Off);
    }

    /// Puts `labels` in the place of `best` if they break the rule with fewer choices.
    fn improve(&mut self, best: &mut Vec<String>, labels: &[String]) -> bool {
        match self.attempt(labels) {
            Some(taken) if taken.len() < best.len() => {
                *best = taken;
                true
            }
            Some(_) | None => false,
        }
    }
}

fn leave_out_faults(trial: &mut Trial, best: &mut Vec<String>) {
    let is_fault = |label: &String| words(label).1 == "fault";
    let without: Vec<_> = best.iter().filter(|label| !is_fault(label)).cloned().collect();
    if trial.improve(best, &without) {
        return;
    }
    let mut index = best.len();
    while index > 0 {
        index -= 1;
        if best.get(index).is_some_and(is_fault) {
            let mut without = best.clone();
            without.remove(index);
            trial.improve(best, &without);
        }
    }
}

/// Looks for a shorter schedule in the scope where this one was found, and where that has too many states in
/// the scope that it needs.
fn prove(trial: &mut Trial, found_in: Setting, best: &mut Vec<String>, states_max: usize) -> Proof {
    for (setting, proof) in [(found_in, Proof::Minimal), (trial.setting, Proof::MinimalInItsScope)]
    {
        let limits = Limits { states_max, depth_max: best.len() - 1, rule: Some(trial.rule) };
        let found = setting.search(&limits);
        if found.broken.is_some() {
            *best = found.schedule.into_iter().map(|step| step.label).collect();
            trial.go_to(setting);
            return proof;
        }
        if !found.is_cut {
            return proof;
        }
    }
    Proof::Open
}
