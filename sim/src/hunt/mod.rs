//! Random search of scopes that are too large to be searched exhaustively.
//!
//! Each seed is one schedule of one scenario, by the [`Strategy`] of the seed. What happened is counted: a
//! kind of fault or a mark that a long hunt never saw proves nothing, and fails it.

mod strategy;
mod tally;
#[cfg(test)]
mod tests;

pub use strategy::{PCT_DEPTH, Strategy};
pub use tally::{FAULTS, JUDGED_SCHEDULES_MIN, MARKS, Tally};

use crate::explore::{Budget, Recording};
use crate::race::Race;
use crate::schedule::{Course, WALK_STEPS_MAX};
use crate::setting::Setting;
use crate::shrink::{Shrunk, shrink};

/// What may happen in a hunt, in every scenario.
pub const WIDE: Budget = Budget { clients: 4, events: 4, stops: 4, drops: 3, crashes: 2 };

/// Violations a hunt shrinks and keeps at most; more are counted.
pub const VIOLATIONS_MAX: usize = 20;

/// A violation that a hunt found.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The seed that found it.
    pub seed: u64,
    /// The shrunk schedule.
    pub shrunk: Shrunk,
    /// Its file.
    pub race: Race,
}

/// A hunt in some scenarios.
#[derive(Clone, Debug, Default)]
pub struct Hunt {
    /// What was tried so far.
    pub tally: Tally,
    /// One violation of each scenario and rule.
    pub violations: Vec<Violation>,
    /// Schedules that broke something.
    pub broken: u64,
}

/// The schedule of `seed` in `setting`, taken to its end.
pub fn schedule(
    setting: &Setting,
    seed: u64,
    recording: Recording,
) -> (Course, Box<dyn crate::explore::Play>) {
    let mut play = setting.begin(recording);
    let mut course = Course::default();
    course.walk(play.as_mut(), Strategy::of(seed).picker(seed).as_mut(), WALK_STEPS_MAX);
    (course, play)
}

impl Hunt {
    /// Takes the schedule of `seed` in `setting`.
    pub fn take(&mut self, setting: &Setting, seed: u64) {
        let (course, _) = schedule(setting, seed, Recording::Off);
        self.tally.count(Strategy::of(seed), &course);
        let Some(rule) = course.rule() else { return };
        self.broken += 1;
        let is_known = self.violations.iter().any(|violation| {
            let shrunk = &violation.shrunk;
            shrunk.broken.rule == rule && shrunk.setting.scenario.id == setting.scenario.id
        });
        if is_known || self.violations.len() >= VIOLATIONS_MAX {
            return;
        }
        let shrunk =
            shrink(*setting, &course.labels()).expect("the same choices break the same rule");
        let race = shrunk.setting.race(seed, &shrunk.labels());
        self.violations.push(Violation { seed, shrunk, race });
    }

    /// Whether nothing was broken and nothing is missing that a hunt of this length must have seen.
    pub fn holds(&self) -> bool {
        self.violations.is_empty() && self.tally.missing().is_empty()
    }
}
