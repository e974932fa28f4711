//! Random search of scopes that are too large to be searched exhaustively.
//!
//! Each seed is one schedule of one scenario, by the [`Strategy`] of the seed. What happened is counted: a
//! long hunt in all scenarios that never saw some kind of fault or some mark proves nothing, and fails.

mod cells;
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

/// One of so many schedules of each strategy keeps its records.
const RECORDED_EVERY: u64 = 8;

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
    /// Whether every scenario is hunted in, so that every fault and mark must come. One scenario alone has
    /// not everything.
    pub is_whole: bool,
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
        // Records are dear: some schedules of every strategy keep them, to count the cells they try.
        let is_recorded = (seed / 4).is_multiple_of(RECORDED_EVERY);
        let recording = if is_recorded { Recording::On } else { Recording::Off };
        let (course, play) = schedule(setting, seed, recording);
        self.tally.count(Strategy::of(seed), &course);
        self.tally.count_cells(cells::tried(&course, play.as_ref()));
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
        self.violations.is_empty() && (!self.is_whole || self.tally.missing().is_empty())
    }
}
