//! Following a schedule choice by choice, and walking on at random.

use crate::explore::{Broken, NotTaken, Play, ScheduledStep};
use crate::random::Random;

/// Steps that a walk takes at most.
pub const WALK_STEPS_MAX: usize = 2_000;

/// The way a play took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// The choices taken.
    pub steps: Vec<ScheduledStep>,
    /// Which entries of the schedule were not enabled, counted from 0.
    pub skipped: Vec<usize>,
    /// What the last step broke.
    pub broken: Option<Broken>,
    /// Of a walk: what each step found.
    pub found: Vec<Found>,
}

/// What a step found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The state of the session machine.
    pub state: &'static str,
    /// Records that the play held.
    pub records: usize,
}

/// Picks one of the choices of a state.
pub trait Picker {
    /// The index of the choice to take; none to end the walk. `enabled` is not empty.
    fn pick(&mut self, enabled: &[String]) -> Option<usize>;
}

/// Picks every choice with the same chance.
#[derive(Clone, Debug)]
pub struct Uniform(pub Random);

impl Picker for Uniform {
    fn pick(&mut self, enabled: &[String]) -> Option<usize> {
        Some(self.0.below(enabled.len()))
    }
}

impl Course {
    /// Takes the choices of `schedule` in order. One that is not enabled is skipped; the first violation
    /// ends it.
    pub fn follow<L: AsRef<str>>(play: &mut dyn Play, schedule: &[L]) -> Self {
        let mut course = Self::default();
        for (index, label) in schedule.iter().enumerate() {
            match play.take(label.as_ref()) {
                Err(NotTaken::NotEnabled) => course.skipped.push(index),
                result => course.note(play, label.as_ref().to_owned(), result),
            }
            if course.broken.is_some() {
                break;
            }
        }
        course
    }

    /// Goes on from here until nothing is left to do, a rule is broken, or `steps_max` steps were taken.
    pub fn walk(&mut self, play: &mut dyn Play, picker: &mut dyn Picker, steps_max: usize) {
        for _ in 0..steps_max {
            if self.broken.is_some() {
                return;
            }
            let mut enabled = play.enabled();
            if enabled.is_empty() {
                return;
            }
            let Some(index) = picker.pick(&enabled) else { return };
            let label = enabled.swap_remove(index);
            self.found.push(Found { state: play.state_name(), records: play.records().len() });
            let result = play.take(&label);
            self.note(play, label, result);
        }
    }

    /// The names of the choices taken.
    pub fn labels(&self) -> Vec<String> {
        self.steps.iter().map(|step| step.label.clone()).collect()
    }

    /// The rule that was broken.
    pub fn rule(&self) -> Option<&'static str> {
        self.broken.as_ref().map(|broken| broken.rule)
    }

    fn note(&mut self, play: &dyn Play, label: String, result: Result<(), NotTaken>) {
        if let Err(NotTaken::Broken(broken)) = result {
            self.broken = Some(broken);
        }
        self.steps.push(ScheduledStep { now: play.now(), label });
    }
}

/// The three words of a choice: who acts, what kind of choice it is, and its name without arguments.
pub fn words(label: &str) -> (&str, &str, &str) {
    let mut parts = label.splitn(3, ' ');
    let mut next = || parts.next().unwrap_or_default();
    let (actor, verb, name) = (next(), next(), next());
    (actor, verb, name.split('(').next().unwrap_or_default())
}
