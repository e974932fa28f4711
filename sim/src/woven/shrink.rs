//! Shrinking a schedule of ring weave: what is left out takes the calm course.

use std::collections::BTreeSet;

use super::WovenSetting;
use crate::explore::Recording;
use crate::weave::{Departure, Schedule};

/// Schedules tried at most.
pub const TRIES_MAX: u64 = 3_000;

/// A schedule of which no departure can be left out alone.
#[derive(Clone, Debug)]
pub struct WovenShrunk {
    /// The schedule, with its Records.
    pub schedule: Schedule,
    /// Schedules tried.
    pub tries: u64,
}

/// Shrinks the departures of a schedule under `seed` that breaks a rule; `None` when they break none.
///
/// The steps, in order: leave out actors, leave out kinds of departures, delta-debug what is left, and let
/// numbers be as small as they can.
pub fn shrink(setting: WovenSetting, seed: u64, departures: Vec<Departure>) -> Option<WovenShrunk> {
    let schedule = setting.given(seed, departures, Recording::On);
    let rule = schedule.broken.as_ref()?.rule;
    let mut trial = Trial { setting, seed, rule, best: schedule, tries: 1 };
    let mut before = usize::MAX;
    while trial.best.departures.len() < before {
        before = trial.best.departures.len();
        trial.leave_out_groups(|departure| departure.actor());
        trial.leave_out_groups(Departure::kind);
        trial.leave_out_parts();
    }
    trial.lower_numbers();
    Some(WovenShrunk { schedule: trial.best, tries: trial.tries })
}

struct Trial {
    setting: WovenSetting,
    seed: u64,
    rule: &'static str,
    best: Schedule,
    tries: u64,
}

impl Trial {
    /// Takes these departures in the place of the best ones if they break the same rule.
    fn improve(&mut self, departures: Vec<Departure>) -> bool {
        if self.tries >= TRIES_MAX {
            return false;
        }
        self.tries += 1;
        let schedule = self.setting.given(self.seed, departures, Recording::On);
        let breaks = schedule.broken.as_ref().is_some_and(|broken| broken.rule == self.rule);
        let is_better = breaks && weight(&schedule) < weight(&self.best);
        if is_better {
            self.best = schedule;
        }
        is_better
    }

    fn leave_out_groups(&mut self, group_of: impl Fn(&Departure) -> String) {
        let groups: BTreeSet<_> = self.best.departures.iter().map(&group_of).collect();
        for group in groups {
            let others = self.best.departures.iter().filter(|each| group_of(each) != group);
            let others: Vec<_> = others.cloned().collect();
            if others.len() < self.best.departures.len() {
                self.improve(others);
            }
        }
    }

    /// All, halves, quarters and so on, down to single ones.
    fn leave_out_parts(&mut self) {
        let mut size = self.best.departures.len();
        while size > 0 {
            let mut end = self.best.departures.len();
            while end > 0 {
                let begin = end.saturating_sub(size);
                let departures = &self.best.departures;
                let without = [&departures[..begin], &departures[end..]].concat();
                self.improve(without);
                end = begin.min(self.best.departures.len());
            }
            size /= 2;
        }
    }

    fn lower_numbers(&mut self) {
        let mut index = 0;
        while index < self.best.departures.len() {
            let lower = self.best.departures[index].lower();
            let is_lowered = lower.into_iter().any(|lower| {
                let mut departures = self.best.departures.clone();
                departures[index] = lower;
                self.improve(departures)
            });
            index += usize::from(!is_lowered);
        }
    }
}

/// Fewer departures first, then smaller numbers.
fn weight(schedule: &Schedule) -> (usize, u64) {
    let numbers = schedule.departures.iter().map(Departure::weight).sum();
    (schedule.departures.len(), numbers)
}
